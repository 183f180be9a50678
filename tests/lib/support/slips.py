"""Errors in a model's text that do not change the results, and that `irexec fix` fixes."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

Slip = Callable[[str, random.Random], str]


def slipped(text: str, rng: random.Random) -> str:
    """Return the text with one to four such errors."""
    for _ in range(rng.randint(1, 4)):
        text = rng.choice(SLIPS)(text, rng)
    return text


def _replaced(text: str, pattern: str, rng: random.Random, other: Callable[[str], str]) -> str:
    found = list(re.finditer(pattern, text))
    if not found:
        return text
    match = rng.choice(found)
    return text[: match.start(1)] + other(match[1]) + text[match.end(1) :]


def _precision(text: str, rng: random.Random) -> str:
    return _replaced(text, r' precision="(\w+)"', rng, lambda old: rng.choice(["FP32", "FP16", "I64", "BOOL", "U8"]))


def _precision_name(text: str, rng: random.Random) -> str:
    names = {"FP32": "f32", "FP16": "f16", "I64": "i64", "I32": "i32"}
    return _replaced(text, r' precision="(\w+)"', rng, lambda old: names.get(old, old))


def _dim(text: str, rng: random.Random) -> str:
    return _replaced(text, r"<dim>(-?\d+)</dim>", rng, lambda old: str(rng.randint(1, 9)))


def _dim_text(text: str, rng: random.Random) -> str:
    return _replaced(text, r"<dim>(\d+)</dim>", rng, lambda old: f"{old}.0")


def _rank(text: str, rng: random.Random) -> str:
    return _replaced(text, r"(<dim>-?\d+</dim>)", rng, lambda old: rng.choice([old * 2, f"{old}<dim>1</dim>"]))


def _type_case(text: str, rng: random.Random) -> str:
    # For Parameter, Result and Assign the letter case has a meaning.
    pattern = r' type="(?!Parameter|Result|Assign)([A-Z]\w+)" version'
    return _replaced(text, pattern, rng, lambda old: rng.choice([old.lower(), old.upper()]))


def _member_case(text: str, rng: random.Random) -> str:
    return _replaced(text, r' auto_\w+="([a-z_]+)"', rng, str.upper)


def _comma(text: str, rng: random.Random) -> str:
    return _replaced(text, r' (?:strides|pads_begin|pads_end|dilations)="([\d, ]+)"', rng, lambda old: f"{old},")


def _number(text: str, rng: random.Random) -> str:
    pattern = r' (?:id|from-layer|from-port|to-layer|to-port)="(\d+)"'
    return _replaced(text, pattern, rng, lambda old: rng.choice([f" {old}", f"+{old}", f"0{old}"]))


def _brackets(text: str, rng: random.Random) -> str:
    return _replaced(text, r'<data shape="([\d?, ]+)"', rng, lambda old: f"[{old}]")


SLIPS: list[Slip] = [
    _precision,
    _precision_name,
    _dim,
    _dim_text,
    _rank,
    _type_case,
    _member_case,
    _comma,
    _number,
    _brackets,
]
