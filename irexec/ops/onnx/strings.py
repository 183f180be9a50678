"""Strings in ONNX: joined, split, normalized, matched, and counted as n-grams.

Source: ONNX operator pages StringConcat-20, StringSplit-20, StringNormalizer-10, TfIdfVectorizer-9.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Annotated, Literal

import numpy as np

from irexec.core.types import DYNAMIC, F32, I32, I64, STRING, Array, Dimension, PartialShape, TensorType
from irexec.ops.rules.shapes import has_rank
from irexec.ops.spec.attributes import NonNegative, NonNegativeInts
from irexec.ops.spec.operator import Check, Elements, operator, require
from irexec.ops.spec.tensors import StringTensor


@operator("StringConcat", "onnx20")
def string_concat_20(x: StringTensor, y: StringTensor, /) -> StringTensor:
    """Each string of `x` followed by the string of `y` at the same position; the shapes broadcast."""
    return np.asarray(x + y, STRING.dtype)


@string_concat_20.shapes
def _(check: Check, x: TensorType, y: TensorType) -> PartialShape:
    merged = x.shape.broadcast(y.shape)
    check("broadcast", merged is not None, f"{x.shape} and {y.shape} do not broadcast", port="y")
    return merged or PartialShape.dynamic()


@operator("StringSplit", "onnx20")
def string_split_20(
    x: StringTensor, /, *, delimiter: str = "", maxsplit: int = -1
) -> tuple[StringTensor, Annotated[Array, Elements(None, {I64})]]:
    """The parts of each string along a new last axis, padded with empty strings; and the number of parts.

    Without a delimiter, strings are split at white space.
    """
    texts = [str(text) for text in x.ravel()]
    parts = [text.split(delimiter or None, maxsplit) for text in texts]
    most = max(map(len, parts), default=0)
    result = np.array([part + [""] * (most - len(part)) for part in parts], STRING.dtype).reshape(*x.shape, most)
    return result, np.array(list(map(len, parts)), np.int64).reshape(x.shape)


@string_split_20.shapes
def _(check: Check, x: TensorType, *, delimiter: str, maxsplit: int) -> list[PartialShape]:
    return [PartialShape([*x.shape, -1]), x.shape]


@operator("StringNormalizer", "onnx10")
def string_normalizer_10(
    x: StringTensor,
    /,
    *,
    case_change_action: Literal["LOWER", "UPPER", "NONE"] = "NONE",
    is_case_sensitive: bool = False,
    stopwords: tuple[str, ...] = (),
) -> StringTensor:
    """The strings without the stop words, in lower or upper case. If no string remains, the result is one empty string.

    C1: x is [C] or [1, C].
    """
    stops = set(stopwords) if is_case_sensitive else {word.lower() for word in stopwords}
    texts = [str(text) for text in x.ravel()]
    kept = [text for text in texts if (text if is_case_sensitive else text.lower()) not in stops]
    changes: dict[str, Callable[[str], str]] = {"LOWER": str.lower, "UPPER": str.upper, "NONE": str}
    result = np.array([changes[case_change_action](text) for text in kept] or [""], STRING.dtype)
    return result[None] if x.ndim == 2 else result


@string_normalizer_10.shapes
def _(check: Check, x: TensorType, **attributes: object) -> PartialShape:
    fits = x.rank in (None, 1) or (x.rank == 2 and x.shape[0].contains(1))
    check("C1", fits, f"x has shape {x.shape}, expected [C] or [1, C]", port="x", allowed="[C] or [1, C]")
    return PartialShape.dynamic() if x.rank is None else PartialShape([1] * (x.rank - 1) + [Dimension(1, None)])


@operator("TfIdfVectorizer", "onnx9")
def tf_idf_vectorizer_9(
    x: Annotated[Array, Elements(None, {I32, I64, STRING})],
    /,
    *,
    mode: Literal["TF", "IDF", "TFIDF"],
    min_gram_length: NonNegative,
    max_gram_length: NonNegative,
    max_skip_count: NonNegative,
    ngram_counts: NonNegativeInts,
    ngram_indexes: NonNegativeInts,
    pool_int64s: tuple[int, ...] = (),
    pool_strings: tuple[str, ...] = (),
    weights: tuple[float, ...] = (),
) -> Annotated[Array, Elements(None, {F32})]:
    """Count each n-gram of the pool in each row of `x` [C] or [N, C], weighted according to `mode`.

    C1: x is [C] or [N, C]. C2: the pool contains whole n-grams, each with an index and a weight.
    """
    pool = pool_strings if x.dtype.kind == "T" else pool_int64s
    _check_pool(require, pool, ngram_counts, ngram_indexes, weights)
    grams = [
        tuple(part[i : i + length])
        for length, part in _collections(pool, ngram_counts)
        for i in range(0, len(part), length)
    ]
    numbers: dict[tuple[object, ...], list[int]] = {}
    for number, gram in enumerate(grams):
        numbers.setdefault(gram, []).append(number)
    rows = x.tolist() if x.ndim == 2 else [x.tolist()]
    result = np.zeros((len(rows), max(ngram_indexes, default=-1) + 1), np.float32)
    for row, items in zip(result, rows, strict=True):
        for gram in _grams(items, min_gram_length, max_gram_length, max_skip_count):
            for number in numbers.get(gram, ()):
                row[ngram_indexes[number]] += 1
    if mode == "IDF":
        result = np.minimum(result, 1)
    if mode != "TF" and weights:
        scale = np.ones(result.shape[1], np.float32)
        scale[list(ngram_indexes)] = weights
        result = result * scale
    return result if x.ndim == 2 else result[0]


def _collections(pool: Sequence[object], counts: Sequence[int]) -> Iterator[tuple[int, Sequence[object]]]:
    """Yield the length of the n-grams of each collection in the pool, and the items of the collection."""
    for length, (begin, end) in enumerate(pairwise([*counts, len(pool)]), 1):
        yield length, pool[begin:end]


def _check_pool(
    check: Callable[..., object],
    pool: Sequence[object],
    counts: Sequence[int],
    indexes: Sequence[int],
    weights: Sequence[float],
) -> None:
    """Check that the pool consists of whole n-grams, and that each has an index and, if there are any, a weight."""
    begins = [*counts, len(pool)]
    message = f"ngram_counts is {list(counts)}, expected rising positions in the pool of {len(pool)} items"
    if not check("C2", begins == sorted(begins), message, attribute="ngram_counts"):
        return
    grams = 0
    for length, part in _collections(pool, counts):
        grams += len(part) // length
        message = f"the pool contains {len(part)} items of {length}-grams, expected a multiple of {length}"
        check("C2", len(part) % length == 0, message, attribute="ngram_counts")
    for name, given in (("ngram_indexes", indexes), ("weights", weights)):
        if given or name != "weights":
            message = f"{name} has {len(given)} values, expected {grams}, one for each n-gram of the pool"
            check("C2", len(given) == grams, message, attribute=name)


def _grams(items: list[object], least: int, most: int, skips: int) -> list[tuple[object, ...]]:
    """Return all n-grams of a row, whose items lie 1 to `skips` + 1 apart."""
    found: list[tuple[object, ...]] = []
    # Longer n-grams, and n-grams of items further apart, do not fit into the row.
    for length in range(max(least, 1), min(most, len(items)) + 1):
        furthest = (len(items) - 1) // (length - 1) if length > 1 else 1  # Single items are counted once.
        for apart in range(1, min(skips + 1, furthest) + 1):
            last = len(items) - (length - 1) * apart
            found += [tuple(items[i : i + length * apart : apart]) for i in range(last)]
    return found


@tf_idf_vectorizer_9.shapes
def _(
    check: Check,
    x: TensorType,
    *,
    ngram_counts: tuple[int, ...],
    ngram_indexes: tuple[int, ...],
    pool_int64s: tuple[int, ...],
    pool_strings: tuple[str, ...],
    weights: tuple[float, ...],
    **attributes: object,
) -> PartialShape:
    has_rank(check, "C1", x, (1, 2), "x")
    if x.element_type is not DYNAMIC:
        pool = pool_strings if x.element_type is STRING else pool_int64s
        _check_pool(check, pool, ngram_counts, ngram_indexes, weights)
    return PartialShape([*x.shape[:-1], max(ngram_indexes, default=-1) + 1])
