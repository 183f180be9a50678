"""VocabEncoder, VocabDecoder, BytesToChars, CharsToBytes and EqualStr: strings by number, and bytes as characters.

Source: OpenVINO Tokenizers.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from irexec.core.types import I32, I64, Array, PartialShape, TensorType
from irexec.ops.rules.shapes import has_rank, same_shape
from irexec.ops.spec.operator import Check, Elements, operator, require
from irexec.ops.tokenizers.strings import (
    ANY_LENGTH,
    Chars,
    Index,
    Part,
    are_ragged_strings,
    are_strings,
    borders,
    is_flags,
    joined,
    ragged_string_types,
    rows,
    string_types,
    strings,
)

Number: TypeAlias = Annotated[Array, Elements("T", {I32, I64})]

# GPT-2's characters for bytes: printable characters of Latin-1 are unchanged, other bytes become characters from 256
# on.
_OWN = [*range(33, 127), *range(161, 173), *range(174, 256)]
_OTHERS = [byte for byte in range(256) if byte not in _OWN]
_CHARS = {byte: chr(byte).encode() for byte in _OWN} | {b: chr(256 + n).encode() for n, b in enumerate(_OTHERS)}
_BYTES = {char: byte for byte, char in _CHARS.items()}


@operator("VocabEncoder", "extension")
def vocab_encoder(
    begins: Index,
    ends: Index,
    chars: Chars,
    vocabulary_begins: Index,
    vocabulary_ends: Index,
    vocabulary_chars: Chars,
    numbers: Number,
    default: Number,
    /,
) -> Number:
    """Return the number of each string in a vocabulary, or `default`; for equal entries, the number of the first.

    C1: begins and ends have the same shape, chars has rank 1. C2: each string lies within chars. C3: each entry has a
    number. C4: default has one element.
    """
    known: dict[bytes, int] = {}
    for text, number in zip(
        strings(vocabulary_begins, vocabulary_ends, vocabulary_chars), numbers.ravel().tolist(), strict=False
    ):
        known.setdefault(text, number)
    require("C4", default.size == 1, f"default has {default.size} elements, expected one", port="default")
    other = default.ravel()[0]
    found = [known.get(text, other) for text in strings(begins, ends, chars)]
    return np.array(found, numbers.dtype).reshape(begins.shape)


@vocab_encoder.shapes
def _(check: Check, *inputs: TensorType) -> PartialShape:
    shape = are_strings(check, *inputs[:3])
    entries = are_strings(check, *inputs[3:6])
    same_shape(check, "C3", entries, inputs[6].shape, "numbers")
    return shape


@operator("VocabDecoder", "extension")
def vocab_decoder(
    data: Index,
    vocabulary_begins: Index,
    vocabulary_ends: Index,
    vocabulary_chars: Chars,
    skipped: Annotated[Array, Elements(None, {I32})] | None = None,
    /,
    *,
    skip_tokens: tuple[int, ...] = (),
) -> tuple[Index, Index, Index, Index, Chars]:
    """Return the entries of a vocabulary by number, with a row of strings for each row of `data`.

    A number becomes an empty string if it is skipped (in `skipped`, by default `skip_tokens`) or not in the vocabulary.

    C1: begins and ends have the same shape, chars has rank 1. C2: each string lies within chars. C3: data has rank 2.
    """
    entries = strings(vocabulary_begins, vocabulary_ends, vocabulary_chars)
    left_out = set(skip_tokens if skipped is None else skipped.ravel().tolist())
    batch, length = data.shape
    # Rows without tokens have one empty string each.
    texts = [
        entries[number] if 0 <= number < len(entries) and number not in left_out else b""
        for number in (data.ravel().tolist() if length else [-1] * batch)
    ]
    return *borders([max(1, length)] * batch, (batch,)), *joined(texts)


@vocab_decoder.shapes
def _(check: Check, data: TensorType, *others: TensorType) -> list[TensorType]:
    are_strings(check, *others[:3])
    has_rank(check, "C3", data, 2, "data")
    return ragged_string_types(PartialShape([data.shape[0]]) if data.rank == 2 else ANY_LENGTH)


@operator("BytesToChars", "extension")
def bytes_to_chars(
    ragged_begins: Index, ragged_ends: Index, begins: Index, ends: Index, chars: Chars, /, *skips: Part
) -> list[Part]:
    """Write each byte of each string as one of GPT-2's characters; strings flagged by `skips` stay unchanged.

    C1: begins and ends have the same shape, chars has rank 1. C2: each string lies within chars. C3: there are 5
    inputs, or 6 with flags (boolean) as the sixth.
    """
    texts = strings(begins, ends, chars)
    flags = skips[0].ravel().tolist() if skips else [False] * len(texts)
    require("C2", len(flags) >= len(texts), f"there are {len(flags)} flags for {len(texts)} strings")
    made = [text if flag else b"".join(_CHARS[byte] for byte in text) for text, flag in zip(texts, flags, strict=False)]
    return [ragged_begins, ragged_ends, *joined(made), *skips]


@bytes_to_chars.shapes
def _(check: Check, *inputs: TensorType) -> list[TensorType]:
    shape, skips = are_ragged_strings(check, *inputs[:5]), inputs[5:]
    fits = not skips or (len(skips) == 1 and is_flags(skips[0]))
    check("C3", fits, f"there are {5 + len(skips)} inputs, expected 5, or 6 with flags (boolean) as the sixth")
    row, _, _, _, made = ragged_string_types(shape)
    return [row, row, *inputs[2:4], made, *(skips[:1] if fits else ())]


@operator("CharsToBytes", "extension")
def chars_to_bytes(
    ragged_begins: Index, ragged_ends: Index, begins: Index, ends: Index, chars: Chars, /
) -> tuple[Index, Index, Chars]:
    """Read GPT-2's characters as bytes, and join the strings of each row.

    C1: begins and ends have the same shape, chars has rank 1. C2: each string lies within chars. C3: the characters are
    those of BytesToChars.
    """
    texts = strings(begins, ends, chars)
    first, last, made = joined(
        [b"".join(_as_bytes(texts[n]) for n in row) for row in rows(ragged_begins, ragged_ends, len(texts))]
    )
    return first.reshape(ragged_begins.shape), last.reshape(ragged_begins.shape), made


def _as_bytes(text: bytes) -> bytes:
    found = bytearray()
    at = 0
    while at < len(text):
        # OpenVINO reads a byte below 0xC2 as itself.
        length = 1 if text[at] < 0xC2 else 2
        char = text[at : at + length]
        byte = char[0] if length == 1 else _BYTES.get(char)
        require("C3", byte is not None, f"{char!r} does not represent a byte", port="chars")
        found.append(byte or 0)
        at += length
    return bytes(found)


@chars_to_bytes.shapes
def _(check: Check, *inputs: TensorType) -> list[TensorType]:
    return string_types(are_ragged_strings(check, *inputs))


@operator("EqualStr", "extension")
def equal_str(
    begins: Index, ends: Index, chars: Chars, other_begins: Index, other_ends: Index, other_chars: Chars, /
) -> Annotated[Array, Elements(None, {I32})]:
    """Return 1 for each pair of equal strings, else 0. A shorter tensor repeats its first string.

    C1: begins and ends have the same shape, chars has rank 1. C2: each string lies within chars.
    """
    mine, others = strings(begins, ends, chars), strings(other_begins, other_ends, other_chars)
    count = max(len(mine), len(others)) if mine and others else 0
    pairs = ((mine[n if n < len(mine) else 0], others[n if n < len(others) else 0]) for n in range(count))
    return np.array([a == b for a, b in pairs], np.int32)


@equal_str.shapes
def _(check: Check, *inputs: TensorType) -> PartialShape:
    are_strings(check, *inputs[:3])
    are_strings(check, *inputs[3:])
    return ANY_LENGTH
