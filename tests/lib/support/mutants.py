"""Mutants of a file with one change: every attribute and text replaced, tags removed and repeated, bytes changed."""

from __future__ import annotations

import random
import re

from support.amounts import amount

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
    """Return mutants: every attribute value and text replaced by several others, every tag removed or repeated, and
    random changes of bytes.
    """
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
    for _ in range(amount(200, 60)):
        place = rng.randrange(len(text))
        result.append(text[:place] + rng.choice(STRUCTURE) + text[place + rng.randrange(3) :])
        result.append(text[:place])
    return result


NUMBERS = [
    "0",
    "-1",
    "1",
    "2",
    "3",
    "7",
    "64",
    "65535",
    "1000000",
    "2147483648",
    "9223372036854775807",
    "-9223372036854775808",
]
WORDS = [
    "f32",
    "i64",
    "boolean",
    "string",
    "u4",
    "dynamic",
    "FP32",
    "I64",
    "UNSPECIFIED",
    "true",
    "NaN",
    "inf",
    "...",
    "?,?",
    "1..3",
]
_VALUE = re.compile(r'\s([\w-]+)="([^"]*)"')
_ELEMENT = re.compile(r"<(dim|port|edge|layer|data|input|output|body)\b[^>]*?(?:/>|>(?:[^<]*</\1>)?)")


def mutant(text: str, rng: random.Random, types: list[str], changes: int | None = None) -> str:
    """Return the text with changes (default: one to three), as someone who edits, converts or attacks a file could make
    them.

    Mostly it stays XML: numbers, words, types of layers and whole elements are exchanged. `types`: the types that
    layers may get.
    """
    for _ in range(changes or rng.choice([1, 1, 1, 2, 3])):
        text = rng.choice([_other_value, _other_value, _other_value, _other_element, _other_type, _other_byte])(
            text, rng, types
        )
    return text


def _other_value(text: str, rng: random.Random, types: list[str]) -> str:
    found = list(_VALUE.finditer(text))
    if not found:
        return text
    match, other = rng.choice(found), rng.choice(found)
    items = match[2].split(",")
    items[rng.randrange(len(items))] = rng.choice(NUMBERS)
    value = rng.choice([rng.choice(NUMBERS), rng.choice(WORDS), rng.choice(VALUES), other[2], ",".join(items)])
    return text[: match.start(2)] + value + text[match.end(2) :]


def _other_element(text: str, rng: random.Random, types: list[str]) -> str:
    found = list(_ELEMENT.finditer(text))
    if not found:
        return text
    match, other = rng.choice(found), rng.choice(found)
    if match[1] == "dim":
        number = f"<dim>{rng.choice(NUMBERS)}</dim>"
        return text[: match.start()] + rng.choice([number, "", match[0] * 2]) + text[match.end() :]
    return text[: match.start()] + rng.choice(["", match[0] * 2, other[0]]) + text[match.end() :]


def _other_type(text: str, rng: random.Random, types: list[str]) -> str:
    found = list(re.finditer(r'type="(\w+)" version="(\w+)"', text))
    if not found:
        return text
    match = rng.choice(found)
    return (
        text[: match.start()] + f'type="{rng.choice(types)}" version="opset{rng.randint(1, 17)}"' + text[match.end() :]
    )


def _other_byte(text: str, rng: random.Random, types: list[str]) -> str:
    place = rng.randrange(len(text) + 1)
    return text[:place] + rng.choice([*STRUCTURE, "", chr(rng.randrange(32, 127))]) + text[place + rng.randrange(3) :]
