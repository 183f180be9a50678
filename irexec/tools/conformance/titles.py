"""Titles of clusters in plain words: `Interpolate-11: wrong result with mode=linear and dynamic shapes`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from irexec.model.arrays.brief import plural

_NAMES = 3
_WORDS = {
    "wrong": "wrong result", "shape": "wrong shape", "type": "wrong element type", "refused": "refused",
    "error": "a call raises an exception", "crash": "the process ends", "hang": "no answer in time",
    "accepted": "a forbidden case is computed", "open": "open result",
    "reference": "irexec is wrong", "invalid": "not judged",
}  # fmt: skip
_KINDS = {"static": "static shapes", "dynamic": "dynamic shapes", "bounded": "bounded dimensions",
          "sequence": "shapes or values that change between calls"}  # fmt: skip
_DATA = {
    "edges": "infinities, NaN or signed zeros", "sparse": "a few infinities or NaN",
    "ties": "equal values", "large": "large values", "wide": "integers above 2**24", "beyond": "values above 2**31",
    "tails": "very small beside large values", "tiny": "tiny values", "far": "values up to 120",
    "denormal": "denormal numbers", "pixels": "values from 0 to 255",
}  # fmt: skip
_FLAGS = {
    "turned": "a Transpose after the operator", "twice": "a second call", "again": "a second call with other data",
    "requests": "several requests at once", "cache": "the model cache", "reset": "a reset of variables",
    "default": "the default precision", "one-thread": "one thread", "empty": "empty inputs",
}  # fmt: skip
# Parts of a message other than the reason: locations, descriptions of nodes, shapes, numbers, names.
_PLACE = re.compile(r"(?:Exception from|failed at)\s++\S{,200}?:\d+:?|END: node: .{,200}? CALLBACK HAS THROWN:")
_FALLBACK = re.compile(r"Not Implemented: Cannot fallback|Ngraph::Node::evaluate")
_CHECK = re.compile(r"\bCheck '.{,200}?'\s*$")
_ADDED = re.compile(
    r"While validating node '.{,200}?' with friendly_name '.{,200}?':?"
    r"|Shape inference input shapes \{.{,200}?\}\s(?=[A-Z])|[,.]? ?\b(?:Operation )?name: \S+"
    r"|node with name '.{,200}?'|\bDetails:\s*$|^(\w+Error:\s*)?(Not Implemented: )?|\.$"
)
_VALUES = re.compile(
    r"\{[^{}]*\}|\[[^\[\]]*\]|\([^()\d]*+\d[^()]*+\)|\b0x[0-9a-f]+\b|-?\b\d+(?:\.\d+)?(?:e-?\d+)?\b|'[^\s'\d]*+\d[^\s']*+'"
)
_LONGEST = 120


def reason_of(message: str, type: str = "") -> str:
    """Return the reason in a message of a runtime, without locations, names, shapes and numbers, so that failures for
    one reason are alike. `type`: the type of the operator, which is left out.
    """
    parts = [part.strip() for part in _PLACE.split(message)]
    stated = [text for part in parts if not _FALLBACK.match(part) and (text := _plain(_CHECK.sub("", part)))]
    checks = [found[0] for part in parts if (found := _CHECK.search(part)) is not None]
    reason = stated[-1] if stated else checks[-1] if checks else _plain(message)
    if type:
        reason = re.sub(rf"\b(?:op(?:set\d+)?::)?(?:v\d+::)?{re.escape(type)}\b", "...", reason)
    reason = " ".join(_VALUES.sub("N", reason).split())
    return reason if len(reason) <= _LONGEST else f"{reason[:_LONGEST].rpartition(' ')[0]} ..."


def _plain(text: str) -> str:
    return " ".join(_ADDED.sub("", _ADDED.sub("", text).strip()).split()).strip(" :,")


def title_of(cause: str, word: str, operators: Sequence[str], common: Mapping[str, str], detail: str) -> str:
    """Return the title of a cluster. `cause`: the type of its operator, or why several operators fail. `detail`: the
    description of one failure.
    """
    names = ", ".join(operators[:_NAMES])
    if len(operators) > _NAMES:
        names += f" and {plural(len(operators) - _NAMES, 'other')}"
    later = " only in later calls" if "call" in common else ""
    phrases = [phrase for key, value in common.items() if (phrase := _phrase(key, value))]
    given = f" with {', '.join(phrases[:-1])}{' and ' if len(phrases) > 1 else ''}{phrases[-1]}" if phrases else ""
    if operators[0].startswith(cause):
        cause = reason_of(detail) if word == "crash" else ""
    why = f": {cause}" if cause else ""
    return f"{names}: {_WORDS[word]}{later}{given}{why}"


def _phrase(key: str, value: str) -> str:
    """Return a property as a noun phrase; an empty text if it is stated elsewhere."""
    if key.startswith("attribute "):
        return f"{key.removeprefix('attribute ')}={value}"
    if key == "kind":
        return _KINDS.get(value, value)
    if key == "type":
        return f"{value} inputs"
    if key == "data":
        return _DATA.get(value, value)
    if key in _FLAGS:
        return _FLAGS[key]
    if key == "forbidden":
        return f"a breach of {value}"
    if key == "layers":
        return f"the layers {value.replace(' ', ', ')}"
    if key == "inner":
        return "an inner value as a result"
    if key == "call":
        return ""
    name, _, what = key.rpartition(" ")
    forms = {
        "is": f"{value} {name}", "rank": f"{name} of rank {value}", "type": f"{name} in {value}",
        "layout": f"transposed {name}", "values": f"values of {name} that change between calls",
    }  # fmt: skip
    return forms.get(what, f"{key} {value}")
