"""Words of the text form: names, with quotes where they need them, and the texts of types and values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from irexec.core.types import ElementType

NOTHING = "_"
"""The word for an input that is not connected, and for an output of which nothing is said."""
_BARE = re.compile(r"[\w./+*?$%&;|~^!'-]++", re.ASCII)
_ITEM = re.compile(r"[\w.+?-]++", re.ASCII)


def word(text: str) -> str:
    """Return the word that is read as this text: the text itself, or the text in quotes."""
    return text if _BARE.fullmatch(text) and text != NOTHING and "->" not in text else quote(text)


def quote(text: str) -> str:
    """Return the text in quotes, with the escapes of JSON for everything that is not printed."""
    plain = json.dumps(text, ensure_ascii=False)
    return plain if plain.isprintable() else "".join(map(_escaped, plain))


def _escaped(character: str) -> str:
    return character if character.isprintable() else json.dumps(character)[1:-1]


def reference(name: str, output: int, names: Iterable[str]) -> str:
    """Return the word for an output of a layer. `names`: all names, one of which `name.1` may be."""
    if not output:
        return word(name)
    plain = f"{word(name)}.{output}"
    return f"{quote(name)}.{output}" if plain in names else plain


def items(text: str) -> list[str] | None:
    """Return the items of a comma-separated list that can be written in brackets; None for any other text."""
    if not text:
        return []
    parts = [part.strip(" ") for part in text.split(",")]
    return parts if all(map(_ITEM.fullmatch, parts)) else None


def value(text: str, *, is_list: bool = False) -> str:
    """Return the text of an attribute. `is_list`: blanks around its items have no meaning."""
    found = items(text)
    if found is not None and ((len(found) > 1 and ",".join(found) == text) or is_list):
        return f"[{','.join(found)}]"
    return word(text) if text else '""'


def names_text(names: list[str]) -> str:
    """Return the tensor names of an output: `as x` or `as (x, y)`."""
    return f"as {word(names[0])}" if len(names) == 1 else f"as ({', '.join(map(word, names))})"


def port_type(precision: str | None, dims: tuple[str, ...], *, is_scalar: bool = False) -> str | None:
    """Return the type that a port declares, such as `f32[?,3]`; None if the text form cannot write it.

    A port without dims has a dynamic rank unless it `is_scalar`.
    """
    kind = ElementType.from_port(precision or "")
    if kind is None or not all(dim == "-1" or dim.isdecimal() for dim in dims):
        return None
    shape = ",".join("?" if dim == "-1" else dim for dim in dims) if dims or is_scalar else "..."
    return f"{kind.name}[{shape}]"
