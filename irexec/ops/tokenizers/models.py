"""BPETokenizer, WordpieceTokenizer, UnigramTokenizer and TrieTokenizer: strings become rows of token numbers.

Source: OpenVINO Tokenizers. The inputs are rows of strings and a vocabulary, whose entries are numbered from 0. A
constant vocabulary is prepared once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Annotated, Any, TypeAlias

import numpy as np

from irexec.core.types import F32, I32, I64, U8, Array, TensorType
from irexec.ops.rules.shapes import has_rank, same_shape
from irexec.ops.spec.operator import Check, Elements, NodeTypes, operator, require
from irexec.ops.tokenizers.pair_merging import Merging
from irexec.ops.tokenizers.strings import (
    Chars,
    Index,
    are_ragged_strings,
    are_strings,
    borders,
    indices,
    ragged_types,
    rows,
    strings,
)
from irexec.ops.tokenizers.trie import Trie
from irexec.ops.tokenizers.unigram import BestPath

Tokens: TypeAlias = tuple[Index, Index, Index]
Mixed: TypeAlias = Annotated[Array, Elements(None, {I32, U8})]
Encode = Callable[[bytes], Sequence[int]]


def _strings(inputs: Sequence[Array], first: int) -> list[bytes]:
    return strings(inputs[first], inputs[first + 1], inputs[first + 2])


def _tokens(given: Sequence[Array], encode: Encode) -> tuple[Array, Array, Array]:
    """Return the tokens of each row: the concatenated tokens of its strings."""
    texts = strings(given[2], given[3], given[4])
    known: dict[bytes, Sequence[int]] = {}
    found: list[int] = []
    counts: list[int] = []
    for row in rows(given[0], given[1], len(texts)):
        before = len(found)
        for number in row:
            text = texts[number]
            tokens = known.get(text)
            if tokens is None:
                tokens = known[text] = encode(text)
            found += tokens
        counts.append(len(found) - before)
    return *borders(counts, given[0].shape), indices(found)


def _once(name: str, make: Callable[..., Any], call: Callable[..., Any]) -> Callable[..., Callable[..., Any] | None]:
    """Return a specializer for `call(inputs, make(vocabulary inputs, **attributes))` that calls `make` only once if the
    vocabulary is constant.
    """

    def specialize(node: NodeTypes) -> Callable[..., Any] | None:
        constants = tuple(constant for constant in node.constants[5:] if constant is not None)
        if not constants or len(constants) < len(node.constants) - 5:
            return None
        form: Hashable = name, tuple(sorted(node.attributes.items()))
        vocabulary = node.prepared.of(constants, form, lambda: make(constants, **node.attributes))
        return lambda *inputs, **_: call(inputs, vocabulary)

    return specialize


def _bpe(inputs: Sequence[Array], **attributes: Any) -> Merging:
    """Return the model defined by the inputs that follow the strings."""
    vocabulary = {text: number for number, text in enumerate(_strings(inputs, 0))}
    inputs = inputs[3:]
    if len(inputs) in (6, 10):
        left, right = _strings(inputs, 0), _strings(inputs, 3)
        require(
            "C5",
            len(left) == len(right),
            f"the merges have {len(left)} left and {len(right)} right parts, expected equal numbers",
        )
        merges = list(zip(left, right, strict=True))
    else:
        merges = [(a, c if b else a) for a, b, c in (text.partition(b" ") for text in _strings(inputs, 0))]
    if len(inputs) in (7, 10):
        added = _strings(inputs, len(inputs) - 4)
        numbers = inputs[-1].ravel().tolist()
        require(
            "C5",
            len(added) == len(numbers),
            f"there are {len(added)} added tokens and {len(numbers)} numbers, expected one for each token",
        )
        for text, number in zip(added, numbers, strict=True):
            vocabulary.setdefault(text, number)
    return Merging(
        vocabulary,
        merges,
        "C5",
        unknown=attributes["unk_token"].encode(),
        suffix=attributes["end_suffix"].encode(),
        by_bytes=attributes["byte_fallback"],
    )


@operator("BPETokenizer", "extension")
def bpe_tokenizer(
    ragged_begins: Index,
    ragged_ends: Index,
    begins: Index,
    ends: Index,
    chars: Chars,
    /,
    *vocabulary: Mixed,
    unk_token: str = "",
    fuse_unk: bool = False,
    suffix_indicator: str = "",
    end_suffix: str = "",
    byte_fallback: bool = False,
    cache_capacity: int = 20000,
) -> Tokens:
    """Split each string into the longest entries that are not results of merges, and merge these parts by pairs in the
    order of `merges`.

    vocabulary: begins, ends and chars of the entries; of the merges, as `left right` or in two string tensors; and
    optionally of added tokens, followed by their numbers. end_suffix: appended to each string. byte_fallback: a byte
    without an entry becomes an entry such as `<0x41>`, else `unk_token`, or is omitted. `fuse_unk`, `suffix_indicator`
    and `cache_capacity` have no effect on the result.

    C1: begins and ends have the same shape, chars has rank 1. C2: each string lies within chars. C3: there are 11, 14,
    15 or 18 inputs, of the types above. C4: each added token has a number. C5: the parts of a merge and its result are
    entries.
    """
    given = (ragged_begins, ragged_ends, begins, ends, chars)
    model = _bpe(vocabulary, unk_token=unk_token, end_suffix=end_suffix, byte_fallback=byte_fallback)
    return _tokens(given, model.encode)


bpe_tokenizer.specialize(_once("BPETokenizer", _bpe, lambda inputs, model: _tokens(inputs, model.encode)))


@bpe_tokenizer.shapes
def _(check: Check, *inputs: TensorType) -> list[TensorType]:
    shape, vocabulary = are_ragged_strings(check, *inputs[:5]), inputs[5:]
    number = len(vocabulary)
    expected = ([I32, I32, U8] * 4)[: number // 3 * 3] + [I32] * (number % 3)
    fits = number in (6, 9, 10, 13) and all(
        g.element_type in (e, None) for g, e in zip(vocabulary, expected, strict=True)
    )
    message = f"there are {5 + number} inputs, expected 11, 14, 15 or 18: string tensors, and numbers (i32) as the last"
    if check("C3", fits, message):
        for first in range(0, number - number % 3, 3):
            are_strings(check, *vocabulary[first : first + 3])
        if number % 3:
            same_shape(check, "C4", vocabulary[-4].shape, vocabulary[-1].shape, f"vocabulary[{number - 1}]")
    return ragged_types(shape, I32)


class _Pieces:
    """The entries of a WordpieceTokenizer: entries that begin a word, and entries that continue a word."""

    def __init__(self, entries: list[bytes], indicator: bytes, unknown: int, longest: int) -> None:
        numbered = list(enumerate(entries))
        self._first = Trie((text, number) for number, text in numbered if not text.startswith(indicator))
        self._next = Trie((text[len(indicator) :], number) for number, text in numbered if text.startswith(indicator))
        self._unknown, self._longest = [unknown], longest

    def encode(self, text: bytes) -> list[int]:
        found: list[int] = []
        at = 0
        while at < len(text) <= self._longest:
            number, at = (self._next if found else self._first).longest(text, at)
            if number < 0:
                return self._unknown
            found.append(number)
        return found or self._unknown


def _wordpiece(inputs: Sequence[Array], *, suffix_indicator: str, max_bytes_per_word: int) -> _Pieces:
    return _Pieces(_strings(inputs, 0), suffix_indicator.encode(), int(inputs[3].ravel()[0]), max_bytes_per_word)


@operator("WordpieceTokenizer", "extension")
def wordpiece_tokenizer(
    ragged_begins: Index,
    ragged_ends: Index,
    begins: Index,
    ends: Index,
    chars: Chars,
    vocabulary_begins: Index,
    vocabulary_ends: Index,
    vocabulary_chars: Chars,
    unknown: Annotated[Array, Elements(None, {I32, I64})],
    /,
    *,
    suffix_indicator: str = "##",
    max_bytes_per_word: int = 100,
) -> Tokens:
    """Cut each word into the longest entries, of which all but the first begin with `suffix_indicator`.

    A word that cannot be cut in this way, or has more than `max_bytes_per_word` bytes, becomes the token `unknown`.

    C1: begins and ends have the same shape, chars has rank 1. C2: each string lies within chars. C3: unknown has one
    element.
    """
    vocabulary = (vocabulary_begins, vocabulary_ends, vocabulary_chars, unknown)
    model = _wordpiece(vocabulary, suffix_indicator=suffix_indicator, max_bytes_per_word=max_bytes_per_word)
    return _tokens((ragged_begins, ragged_ends, begins, ends, chars), model.encode)


wordpiece_tokenizer.specialize(
    _once("WordpieceTokenizer", _wordpiece, lambda inputs, model: _tokens(inputs, model.encode))
)


@wordpiece_tokenizer.shapes
def _(check: Check, *inputs: TensorType) -> list[TensorType]:
    shape = are_ragged_strings(check, *inputs[:5])
    are_strings(check, *inputs[5:8])
    size = inputs[8].shape.rank
    one = size in (None, 0) or (size == 1 and inputs[8].shape[0].contains(1))
    check("C3", one, f"unknown has shape {inputs[8].shape}, expected one element", port="unknown")
    return ragged_types(shape, I32)


def _unigram(inputs: Sequence[Array], **attributes: Any) -> BestPath:
    return BestPath(_strings(inputs, 0), inputs[3].ravel(), attributes["unk_token_id"])


@operator("UnigramTokenizer", "extension")
def unigram_tokenizer(
    ragged_begins: Index,
    ragged_ends: Index,
    begins: Index,
    ends: Index,
    chars: Chars,
    vocabulary_begins: Index,
    vocabulary_ends: Index,
    vocabulary_chars: Chars,
    scores: Annotated[Array, Elements(None, {F32})],
    /,
    *,
    byte_fallback: bool = False,
    unk_token_id: int = 0,
    fuse_unk: bool = False,
    min_score: float = np.inf,
) -> Tokens:
    """Cut each string into the entries with the largest sum of scores.

    A character that is not an entry becomes `unk_token_id`, with a score 10 below the lowest; several in a row become
    one token. `byte_fallback`, `fuse_unk` and `min_score` have no effect.

    C1: begins and ends have the same shape, chars has rank 1. C2: each string lies within chars. C3: each entry has a
    score.
    """
    model = _unigram((vocabulary_begins, vocabulary_ends, vocabulary_chars, scores), unk_token_id=unk_token_id)
    return _tokens((ragged_begins, ragged_ends, begins, ends, chars), model.encode)


unigram_tokenizer.specialize(_once("UnigramTokenizer", _unigram, lambda inputs, model: _tokens(inputs, model.encode)))


def _trie(inputs: Sequence[Array]) -> Trie:
    return Trie(zip(_strings(inputs, 0), inputs[3].ravel().tolist(), strict=True))


@operator("TrieTokenizer", "extension")
def trie_tokenizer(
    ragged_begins: Index,
    ragged_ends: Index,
    begins: Index,
    ends: Index,
    chars: Chars,
    vocabulary_begins: Index,
    vocabulary_ends: Index,
    vocabulary_chars: Chars,
    numbers: Index,
    /,
) -> Tokens:
    """Cut each string into the longest entries, from the left.

    C1: begins and ends have the same shape, chars has rank 1. C2: each string lies within chars. C3: each entry has a
    number. C4: an entry begins at each position of a string.
    """
    model = _trie((vocabulary_begins, vocabulary_ends, vocabulary_chars, numbers))
    return _cut_by((ragged_begins, ragged_ends, begins, ends, chars), model)


def _cut_by(inputs: Sequence[Array], model: Trie) -> tuple[Array, Array, Array]:
    def encode(text: bytes) -> list[int]:
        found: list[int] = []
        at = 0
        while at < len(text):
            number, end = model.longest(text, at)
            require("C4", end > at, f"no entry of the vocabulary begins with {text[at : at + 20]!r}")
            found.append(number)
            at = end
        return found

    return _tokens(inputs, encode)


trie_tokenizer.specialize(_once("TrieTokenizer", _trie, _cut_by))


@unigram_tokenizer.shapes
def _(check: Check, *inputs: TensorType) -> list[TensorType]:
    return _with_numbers(check, "scores", *inputs)


@trie_tokenizer.shapes
def _(check: Check, *inputs: TensorType) -> list[TensorType]:
    return _with_numbers(check, "numbers", *inputs)


def _with_numbers(check: Check, port: str, *inputs: TensorType) -> list[TensorType]:
    shape = are_ragged_strings(check, *inputs[:5])
    entries = are_strings(check, *inputs[5:8])
    has_rank(check, "C3", inputs[8], 1, port)
    same_shape(check, "C3", entries, inputs[8].shape, port)
    return ragged_types(shape, I32)
