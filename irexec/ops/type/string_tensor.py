"""StringTensorUnpack and StringTensorPack: strings as begins, ends and UTF-8 bytes, and back.

Source: operation pages StringTensorUnpack-15, StringTensorPack-15.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Annotated, TypeAlias

import numpy as np

from irexec.core.types import I32, STRING, U8, Array, Dimension, PartialShape, TensorType
from irexec.ops.rules.axes import filled
from irexec.ops.rules.shapes import has_rank, same_shape
from irexec.ops.spec.checks import holds
from irexec.ops.spec.operator import Check, ConstraintError, Elements, operator
from irexec.ops.spec.oracle import Allowed
from irexec.ops.spec.tensors import SparseIndices, StringTensor

Index: TypeAlias = Annotated[Array, Elements("T_INDEX", {I32})]
Symbols: TypeAlias = Annotated[Array, Elements("T_SYMBOLS", {U8})]


@operator("StringTensorUnpack", "opset15")
def string_tensor_unpack_15(data: StringTensor, /) -> tuple[Index, Index, Symbols]:
    """Return the begin and end of each string of `data` (shape of data, i32) in the joined bytes (1D, u8), and these
    bytes.
    """
    encoded = [text.encode() for text in data.ravel().tolist()]
    borders = np.fromiter(accumulate(map(len, encoded), initial=0), np.int32, len(encoded) + 1)
    symbols = np.frombuffer(b"".join(encoded), np.uint8)
    return borders[:-1].reshape(data.shape), borders[1:].reshape(data.shape), symbols


@string_tensor_unpack_15.shapes
def _(check: Check, data: TensorType) -> tuple[PartialShape, PartialShape, PartialShape]:
    count = Dimension(-1)
    if data.value is not None:
        count = Dimension(sum(len(text.encode()) for text in data.value.ravel().tolist()))
    return data.shape, data.shape, PartialShape([count])


@operator("StringTensorPack", "opset15")
def string_tensor_pack_15(begins: SparseIndices, ends: SparseIndices, symbols: Symbols, /) -> StringTensor:
    """Return the strings in `symbols` (1D, UTF-8) from `begins` to `ends`, which have the shape of the result.

    C1: begins and ends have the same shape. C2: symbols has rank 1. C3: 0 <= begin <= end <= number of symbols. C4: the
    bytes are valid UTF-8.
    """
    return np.array(_texts(begins, ends, symbols), STRING.dtype).reshape(begins.shape)


def _texts(begins: Array, ends: Array, symbols: Array) -> list[str]:
    """Return the strings, in order. Raises ConstraintError C3 or C4."""
    raw = symbols.tobytes()
    texts = []
    for begin, end in zip(begins.ravel().tolist(), ends.ravel().tolist(), strict=True):
        if not 0 <= begin <= end <= len(raw):
            message = (
                f"a string goes from {begin} to {end}, expected 0 <= begin <= end <= {len(raw)}, the number of symbols"
            )
            raise ConstraintError("C3", message, port="begins" if begin < 0 or begin > len(raw) else "ends")
        try:
            texts.append(raw[begin:end].decode())
        except UnicodeDecodeError as error:
            message = f"the symbols from {begin} to {end} are not UTF-8: {error.reason}"
            raise ConstraintError("C4", message, port="symbols") from error
    holds("C3")
    holds("C4")
    return texts


@string_tensor_pack_15.shapes
def _(check: Check, begins: TensorType, ends: TensorType, symbols: TensorType) -> PartialShape:
    has_rank(check, "C2", symbols, 1, "symbols")
    shape = same_shape(check, "C1", begins.shape, ends.shape, "ends")
    first, last, raw = begins.value, ends.value, symbols.value
    if first is not None and last is not None and raw is not None and first.shape == last.shape:
        try:
            _texts(first, last, raw)
        except ConstraintError as error:
            check(error.constraint, False, error.message, port=error.port)
        return shape
    most = symbols.shape[0].max if symbols.rank == 1 else None
    for name, places in (("begins", begins.ints), ("ends", ends.ints)):
        outside = [place for place in places or () if place < 0 or (most is not None and place > most)]
        allowed = "at least 0" if most is None else f"0 to {most}, the number of symbols"
        message = f"{name} contains {outside[0] if outside else ''}, expected {allowed}"
        check("C3", not outside, message, port=name)
    if first is not None and last is not None and first.shape == last.shape:
        check("C3", bool((first <= last).all()), "a string ends before it begins", port="ends")
    return shape


@string_tensor_pack_15.oracle.draw("begins", "ends")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    # All strings are empty, since begins and ends of 0 are valid for any number of symbols.
    return filled(types, port, 0)


string_tensor_unpack_15.oracle.allowed = string_tensor_pack_15.oracle.allowed = Allowed(composes=False)
