"""Suspicious values of each operator, checked before and after the layer runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from irexec.core.types import Array, ElementType
from irexec.model.arrays.brief import plural
from irexec.model.graph.model import Node
from irexec.ops.movement.strided_slice import STRIDED_SLICE_MASKS, steps_of
from irexec.ops.spec.oracle import Inputs
from irexec.ops.spec.traits import (
    BoxSelection,
    Conversion,
    Division,
    Encoding,
    Indexing,
    MayOverflow,
    Ranking,
    Scattering,
    Selection,
    Slicing,
    StridedSlicing,
    Trait,
)

# An end of a slice that is as large as this means "to the end".
_TO_THE_END = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Suspicion:
    """A check for one kind of suspicious value. `before` checks the inputs and returns the data that `after` needs, or
    None; `after` returns a message or None. `port` is the input that a finding refers to, `output` an output that must
    have a reader.
    """

    code: str
    before: Callable[[Node, Inputs], Any]
    after: Callable[[Node, Any, Sequence[Array]], str | None]
    port: str | None = None
    output: int | None = None


def _at_once(
    code: str, look: Callable[[Node, Inputs], str | None], port: str | None = None, output: int | None = None
) -> Suspicion:
    """Return a check of the inputs alone."""
    return Suspicion(code, look, lambda node, message, outputs: str(message), port, output)


def _input(node: Node, inputs: Inputs, name: str) -> Array | None:
    """Return the input of that name."""
    assert node.operator is not None
    names = (node.operator.signature.port_name(index) for index in range(len(inputs)))
    return next((array for port, array in zip(names, inputs, strict=True) if port == name), None)


# Ties


def _tied(node: Node, inputs: Inputs) -> str | None:
    assert node.operator is not None
    return node.operator.oracle.ambiguity(*inputs, **node.all_attributes)


# Indices


def _wrapped(name: str) -> Suspicion:
    """Return the check for negative indices, which count from the end."""

    def look(node: Node, inputs: Inputs) -> str | None:
        indices = _input(node, inputs, name)
        if indices is None or indices.dtype.kind != "i":
            return None
        return _counted(indices, indices < 0, "negative (counted from the end)")

    return _at_once("A004", look, name)


def _gathered(node: Node, inputs: Inputs) -> str | None:
    """Return the message for Gather: negative indices, or in opset 8 indices outside the data, which give zeros."""
    data, indices, axis = inputs[:3]
    if data is None or indices is None or axis is None:
        return None
    extent = data.shape[int(axis.reshape(-1)[0])]
    outside = (indices >= extent) | (indices < -extent)
    found = (
        _counted(indices, (indices < 0) & ~outside, "negative (counted from the end)"),
        _counted(indices, outside, f"outside [{-extent}, {extent - 1}] and select zeros"),
    )
    return "; ".join(filter(None, found)) or None


def _counted(indices: Array, chosen: Array, what: str) -> str | None:
    count = int(np.count_nonzero(chosen))
    return f"{count} of {indices.size} indices {'is' if count == 1 else 'are'} {what}" if count else None


def _clamped(start: str, stop: str) -> Callable[[Node, Inputs], str | None]:
    """Return the check for Slice and SliceScatter: starts and stops outside the data."""

    def look(node: Node, inputs: Inputs) -> str | None:
        data, begins, ends = inputs[0], _input(node, inputs, start), _input(node, inputs, stop)
        if data is None or begins is None or ends is None:
            return None
        axes = _input(node, inputs, "axes")
        places = range(begins.size) if axes is None else axes.ravel().tolist()
        bounds = zip(places, begins.ravel().tolist(), ends.ravel().tolist(), strict=False)
        return _outside((data.shape[axis], bound) for axis, *both in bounds for bound in both)

    return look


def _strided(node: Node, inputs: Inputs) -> str | None:
    """Return the message for StridedSlice: begins and ends outside the data, unless a mask disables them."""
    data, begin, end = inputs[:3]
    if data is None or begin is None or end is None:
        return None
    masks = node.all_attributes
    steps = steps_of(
        data.ndim, begin.tolist(), end.tolist(), [1] * begin.size, *(masks[name] for name in STRIDED_SLICE_MASKS)
    )
    sliced = zip((step for step in steps if step.kind != "new"), data.shape, strict=True)
    bounds = ((extent, bound) for step, extent in sliced if step.kind == "slice" for bound in (step.begin, step.end))
    return _outside((extent, int(bound)) for extent, bound in bounds if bound is not None)


def _outside(bounds: Iterable[tuple[int, int]]) -> str | None:
    """Return the message about bounds of slices, each with the extent of its axis."""
    found = [str(bound) for extent, bound in bounds if not -extent - 1 <= bound <= extent and abs(bound) < _TO_THE_END]
    return f"{', '.join(found)} {'is' if len(found) == 1 else 'are'} outside the data and clamped" if found else None


def _no_class(node: Node, inputs: Inputs) -> str | None:
    """Return the message for OneHot: indices that are not classes, which give a row of off_value only."""
    indices, depth = inputs[:2]
    if indices is None or depth is None:
        return None
    outside = (indices < 0) | (indices >= int(depth.reshape(-1)[0]))
    return _counted(indices, outside, "out of range for the depth")


# Integers


def _in_float(node: Node, inputs: Inputs) -> list[Array] | None:
    """Return the result of the operator for the inputs as f64; a result that differs much from it has overflowed."""
    first = inputs[0]
    if node.operator is None or first is None or first.dtype.kind not in "iu":
        return None
    kind = first.dtype
    wide = [
        a.astype(np.float64) if a is not None and a.dtype == kind and not _is_place(node, i) else a
        for i, a in enumerate(inputs)
    ]
    try:
        return [np.asarray(node.operator.compute(*wide, **node.all_attributes))]
    except Exception:  # The operator does not support f64, so overflow cannot be checked.
        return None


def _is_place(node: Node, index: int) -> bool:
    """Return whether an input contains positions rather than data."""
    assert node.operator is not None
    return node.operator.signature.port_name(index) in ("axes", "axis", "reduction_axes", "indices")


def _overflowed(node: Node, expected: list[Array], outputs: Sequence[Array]) -> str | None:
    right, found = expected[0], outputs[0]
    if found.dtype.kind not in "iu" or right.shape != found.shape:
        return None
    count = int(np.count_nonzero(np.abs(right - found.astype(np.float64)) >= 2.0 ** (8 * found.dtype.itemsize - 1)))
    return f"{count} of {found.size} values overflow {found.dtype}" if count else None


def _by_zero(node: Node, inputs: Inputs) -> str | None:
    divisor = inputs[1]
    if divisor is None:
        return None
    count = int(np.count_nonzero(divisor == 0))
    return (
        f"{plural(count, 'divisor')} of {divisor.size} is zero"
        if count == 1
        else f"{count} of {divisor.size} divisors are zero"
        if count
        else None
    )


# Conversions


def _before_convert(node: Node, inputs: Inputs) -> Array | None:
    array = inputs[0]
    return None if array is None or array.dtype.kind in "TUOb" else array.copy()


def _lost(node: Node, given: Array, outputs: Sequence[Array]) -> str | None:
    made = outputs[0]
    source, kind = ElementType.of(given.dtype), ElementType.of(made.dtype)
    if made.dtype.kind in "TUOb" or given.size == 0:
        return None
    with np.errstate(all="ignore"):
        one, two = given.astype(np.float64), made.astype(np.float64)
        if kind.is_real:
            lost = np.isfinite(one) & ~np.isfinite(two) | (one != 0) & (two == 0)
            what = "become infinite or zero"
            if not source.is_real:
                lost, what = one != two, f"cannot be represented in {kind}"
        else:
            # Truncating fractions is intended.
            lost, what = ~(np.abs(one - two) < 1), f"are out of range for {kind}"
    count = int(np.count_nonzero(lost))
    return f"{count} of {given.size} values {what}" if count else None


_OPEN = _at_once("A003", _tied)
_OVERFLOW = Suspicion("A005", _in_float, _overflowed)
_DIVISION = _at_once("A007", _by_zero)
_CONVERSION = Suspicion("A006", _before_convert, _lost)
SUSPICIONS: dict[type[Trait], tuple[Suspicion, ...]] = {
    MayOverflow: (_OVERFLOW,),
    Division: (_DIVISION,),
    Selection: (_at_once("A004", _gathered, "indices"),),
    Indexing: (_wrapped("indices"),),
    Scattering: (_OPEN, _OVERFLOW),
    # Only the second output depends on the order of equal values.
    Ranking: (_at_once("A003", _tied, output=1),),
    BoxSelection: (_at_once("A003", _tied, "scores"),),
    Slicing: (_at_once("A004", _clamped("start", "stop")),),
    StridedSlicing: (_at_once("A004", _strided),),
    Encoding: (_at_once("A004", _no_class, "indices"),),
    Conversion: (_CONVERSION,),
}
"""The checks of layers by the traits of their operators."""
