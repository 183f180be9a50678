"""Operators that change each string separately: RegexNormalization, CaseFold, CharsMapNormalization, and others.

Source: OpenVINO Tokenizers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

from irexec.core.types import Array, TensorType
from irexec.ops.rules.shapes import has_rank
from irexec.ops.spec.operator import Check, operator, require
from irexec.ops.tokenizers.charsmap import CompiledMap, form_of, whitespace
from irexec.ops.tokenizers.patterns import normalization_pattern
from irexec.ops.tokenizers.strings import Chars, Index, Part, are_strings, is_flags, joined, string_types, strings

_BYTE = re.compile(rb"<0x([0-9A-F]{2})>|<[^<]{4}>", re.DOTALL)
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}".encode()


@operator("RegexNormalization", "extension")
def regex_normalization(
    begins: Index, ends: Index, chars: Chars, /, *rest: Part, global_replace: bool = True
) -> list[Part]:
    """Replace the matches of a pattern in each string, or without `global_replace` the first match.

    `rest`: the pattern and the replacement, optionally preceded by flags of unchanged strings, which are then also the
    last result.

    C1: begins and ends have the same shape, chars has rank 1. C2: each string lies within chars. C3: there are 5 or 6
    inputs, with flags (boolean) as the fourth of 6. C4: the pattern is a regular expression.
    """
    pattern, by = normalization_pattern(rest[-2].tobytes(), "C4"), rest[-1].tobytes()
    skips = rest[0] if len(rest) == 3 else None
    return _each(begins, ends, chars, skips, lambda raw: pattern.replaced(raw, by, everywhere=global_replace))


@regex_normalization.shapes
def _(check: Check, begins: TensorType, ends: TensorType, chars: TensorType, *rest: TensorType) -> list[TensorType]:
    shape = are_strings(check, begins, ends, chars)
    has_skips = len(rest) == 3
    fits = len(rest) in (2, 3) and is_flags(rest[0]) is has_skips
    message = f"there are {3 + len(rest)} inputs, expected 5, or 6 with flags (boolean) as the fourth"
    if check("C3", fits, message):
        for number, given in enumerate(rest):
            has_rank(check, "C4", given, 1, f"rest[{number}]")
    return string_types(shape) + [rest[0]] * (has_skips and fits)


@operator("CaseFold", "extension")
def case_fold(
    begins: Index, ends: Index, chars: Chars, /, *rest: Part, encoding: Literal["", "utf-8"] = "", lower: bool = True
) -> list[Part]:
    """Change each string to lower case (or upper case): letters of ASCII, or with `utf-8` all by folding their case.

    `rest`: optional flags of unchanged strings, which are also the last result.

    C1: begins and ends have the same shape, chars has rank 1. C2: each string lies within chars. C3: there are 3
    inputs, or 4 with flags (boolean) as the fourth. C4: with `utf-8`, lower is true.
    """
    skips = rest[0] if rest else None
    if not encoding:
        return _each(begins, ends, chars, None, bytes.lower if lower else bytes.upper) + list(rest)
    return _each(begins, ends, chars, skips, _in_form("identity", True))


@case_fold.shapes
def _(
    check: Check, begins: TensorType, ends: TensorType, chars: TensorType, *rest: TensorType, encoding: str, lower: bool
) -> list[TensorType]:
    check("C4", lower or not encoding, "case folding in utf-8 requires lower case", attribute="lower")
    return _with_flags(check, begins, ends, chars, *rest)


@operator("NormalizeUnicode", "extension")
def normalize_unicode(
    begins: Index,
    ends: Index,
    chars: Chars,
    /,
    *rest: Part,
    normalization_form: Literal["NFC", "NFD", "NFKC", "NFKD"] = "NFD",
) -> list[Part]:
    """Convert each string to a normalization form of Unicode; the order of combining marks is not changed.

    `rest`: optional flags of unchanged strings, which are also the last result.

    C1: begins and ends have the same shape, chars has rank 1. C2: each string lies within chars. C3: there are 3
    inputs, or 4 with flags (boolean) as the fourth.
    """
    return _each(begins, ends, chars, rest[0] if rest else None, _in_form(normalization_form, False))


@normalize_unicode.shapes
def _with_flags(
    check: Check, begins: TensorType, ends: TensorType, chars: TensorType, *rest: TensorType
) -> list[TensorType]:
    shape = are_strings(check, begins, ends, chars)
    fits = not rest or (len(rest) == 1 and is_flags(rest[0]))
    check("C3", fits, f"there are {3 + len(rest)} inputs, expected 3, or 4 with flags (boolean) as the fourth")
    return string_types(shape) + list(rest[:1] if fits else ())


@operator("CharsMapNormalization", "extension")
def chars_map_normalization(
    begins: Index,
    ends: Index,
    chars: Chars,
    /,
    *rest: Part,
    add_dummy_prefix: bool = False,
    remove_extra_whitespaces: bool = True,
    escape_whitespaces: bool = False,
    normalization_form: str = "",
    case_fold: bool = False,
    nmt: bool = False,
) -> list[Part]:
    """Normalize each string as SentencePiece does: by a compiled map of characters, or by the map of a Unicode form.

    `rest`: optional flags of unchanged strings, which are also the last result, and the map if `normalization_form` is
    empty. add_dummy_prefix: put a space in front. remove_extra_whitespaces: keep one space of several, and none at the
    ends. escape_whitespaces: write spaces as U+2581. `nmt` has no effect.

    C1: begins and ends have the same shape, chars has rank 1. C2: each string lies within chars. C3: there are flags
    (boolean), a map, or both. C4: the bytes are a compiled map of characters. C5: the form is identity, nfc, nfd, nfkc
    or nfkd.
    """
    skips = rest[0] if rest and rest[0].dtype == bool else None
    if normalization_form:
        one = _in_form(normalization_form, case_fold)
        if not (add_dummy_prefix or remove_extra_whitespaces or escape_whitespaces):
            return _each(begins, ends, chars, skips, one)
        replace = _after(one)
    else:
        replace = CompiledMap(rest[-1], "C4").replace
    rules = {"dummy_prefix": add_dummy_prefix, "extra_removed": remove_extra_whitespaces, "escaped": escape_whitespaces}
    return _each(begins, ends, chars, skips, whitespace(replace, **rules))


def _after(one: Callable[[bytes], bytes]) -> Callable[[bytes, int], tuple[bytes, int]]:
    """Return a function that replaces the character at a position, with the marks that follow it, by `one`."""

    def replace(raw: bytes, start: int) -> tuple[bytes, int]:
        at = start + 1
        while at < len(raw) and raw[at] & 0xC0 == 0x80:
            at += 1
        while at < len(raw) and raw[at] >= 0xCC:  # All combining marks are at U+0300 or above.
            at += 1
            while at < len(raw) and raw[at] & 0xC0 == 0x80:
                at += 1
        return one(raw[start:at]), at - start

    return replace


@chars_map_normalization.shapes
def _(
    check: Check,
    begins: TensorType,
    ends: TensorType,
    chars: TensorType,
    *rest: TensorType,
    normalization_form: str,
    case_fold: bool,
) -> list[TensorType]:
    shape = are_strings(check, begins, ends, chars)
    flags = list(rest[:1]) if rest and is_flags(rest[0]) else []
    maps = len(rest) - len(flags)
    fits = maps <= 1 and all(not is_flags(given) for given in rest[1:]) and (maps == 1 or bool(normalization_form))
    check(
        "C3", fits, f"there are {3 + len(rest)} inputs, expected flags (boolean), a map (u8), or both, after the third"
    )
    known = ("", "nfc", "nfd", "nfkc", "nfkd", "identity")
    form = normalization_form.lower()
    fits = form in known and (form != "identity" or case_fold)
    check(
        "C5",
        fits,
        f"{normalization_form!r} is not a known form",
        attribute="normalization_form",
        allowed=", ".join(known[1:]),
    )
    return string_types(shape) + flags


@operator("UTF8Validate", "extension")
def utf8_validate(
    begins: Index, ends: Index, chars: Chars, /, *, replace_mode: bool = False
) -> tuple[Index, Index, Chars]:
    """Drop bytes that are not UTF-8 from each string, or with `replace_mode` replace them by U+FFFD.

    C1: begins and ends have the same shape, chars has rank 1. C2: each string lies within chars.
    """
    found = [_valid(raw, _REPLACEMENT if replace_mode else b"") for raw in strings(begins, ends, chars)]
    first, last, made = joined(found)
    return first.reshape(begins.shape), last.reshape(begins.shape), made


def _valid(raw: bytes, replacement: bytes) -> bytes:
    """Decode as OpenVINO does: surrogates are valid, and each byte of an overlong character is an error."""
    try:
        raw.decode()
        return raw
    except UnicodeDecodeError:
        parts: list[bytes] = []
    at = 0
    while at < len(raw):
        lead = raw[at]
        length = 1 if lead < 0x80 else 2 if lead >> 5 == 6 else 3 if lead >> 4 == 14 else 4 if lead >> 3 == 30 else 0
        if not length:
            parts.append(replacement)
            at += 1
            continue
        last = at + 1
        code = lead & (0xFF >> (length + 1) if length > 1 else 0x7F)
        while last < min(at + length, len(raw)) and raw[last] >> 6 == 2:
            code = code << 6 | raw[last] & 0x3F
            last += 1
        if last < at + length:
            parts.append(replacement)
        elif code < (0, 0x80, 0x800, 0x10000)[length - 1]:
            parts.append(replacement * length)
        else:
            parts.append(raw[at:last])
        at = last
    return b"".join(parts)


@operator("ByteFallback", "extension")
def byte_fallback(begins: Index, ends: Index, chars: Chars, /) -> tuple[Index, Index, Chars]:
    """Replace each string of the form `<0x41>` by this byte. Any other four bytes in `<>` become the byte 255.

    C1: begins and ends have the same shape, chars has rank 1. C2: each string lies within chars.
    """
    named = ((raw, _BYTE.fullmatch(raw)) for raw in strings(begins, ends, chars))
    first, last, made = joined([raw if found is None else bytes([int(found[1] or b"FF", 16)]) for raw, found in named])
    return first.reshape(begins.shape), last.reshape(begins.shape), made


@utf8_validate.shapes
@byte_fallback.shapes
def _(check: Check, begins: TensorType, ends: TensorType, chars: TensorType) -> list[TensorType]:
    return string_types(are_strings(check, begins, ends, chars))


def _in_form(name: str, case_fold: bool) -> Callable[[bytes], bytes]:
    change = form_of(name, case_fold)
    return lambda raw: change(raw.decode(errors="replace")).encode()


def _each(
    begins: Array, ends: Array, chars: Array, skips: Array | None, change: Callable[[bytes], bytes]
) -> list[Array]:
    """Return the strings, with `change` applied to all strings that are not skipped, and the flags `skips` if given."""
    given = strings(begins, ends, chars)
    skipped = [False] * len(given) if skips is None else skips.ravel().tolist()
    require("C2", len(skipped) >= len(given), f"there are {len(skipped)} flags for {len(given)} strings")
    first, last, made = joined([raw if skip else change(raw) for raw, skip in zip(given, skipped, strict=False)])
    found = [first.reshape(begins.shape), last.reshape(begins.shape), made]
    return found if skips is None else [*found, skips]
