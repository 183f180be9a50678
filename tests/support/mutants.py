"""One-change mutants of a file: every attribute and text replaced, tags dropped and doubled, bytes gone astray."""

from __future__ import annotations

import random
import re

VALUES = ["", " ", "-1", "0", "1.5", "+1", "x", "9" * 30, "1,2", "?", "..", "é", "&lt;", "true", "Result", "-0", "0x1"]
STRUCTURE = [
    "<",
    ">",
    "/",
    '"',
    "&",
    "\0",
    "<!--",
    "<![CDATA[",
    "<?x?>",
    "<!DOCTYPE a>",
    "]]>",
    "&#0;",
    "\ud7ff",
    "<a:b/>",
]


def mutants(text: str, seed: int) -> list[str]:
    """Every attribute value and text replaced by a few others, every tag dropped or doubled, and bytes gone astray."""
    rng = random.Random(seed)
    result = []
    for match in re.finditer(r'"([^"]*)"|>([^<>\s]+)<', text):
        start, end = match.span(1 if match[1] is not None else 2)
        result += [text[:start] + value + text[end:] for value in rng.sample(VALUES, 4)]
    for match in re.finditer(r"<[^>]+>", text):
        result.append(text[: match.start()] + text[match.end() :])
        result.append(text[: match.end()] + match[0] + text[match.end() :])
    for match in re.finditer(r'\s[\w-]+="[^"]*"', text):
        result.append(text[: match.start()] + text[match.end() :])
        result.append(text[: match.start()] + match[0].replace('="', 'x="') + text[match.end() :])
    for _ in range(200):
        place = rng.randrange(len(text))
        result.append(text[:place] + rng.choice(STRUCTURE) + text[place + rng.randrange(3) :])
        result.append(text[:place])
    return result
