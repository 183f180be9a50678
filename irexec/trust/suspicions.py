"""What is suspicious about which operator's values, in irexec's words; each asks before and after the layer runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from irexec.arrays.brief import plural
from irexec.graph.model import Node
from irexec.types import Array, ElementType

Inputs = Sequence[Array | None]
# An end of a slice that is as large as this means "to the end".
_TO_THE_END = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Suspicion:
    """`before` looks at the inputs and returns what `after` needs to know, or None where nothing is suspicious; `after`
    returns a message or None. `port` is the input that a finding is about."""

    code: str
    before: Callable[[Node, Inputs], Any]
    after: Callable[[Node, Any, Sequence[Array]], str | None]
    port: str | None = None


def _at_once(code: str, look: Callable[[Node, Inputs], str | None], port: str | None = None) -> Suspicion:
    """A suspicion that the inputs alone tell."""
    return Suspicion(code, look, lambda node, message, outputs: str(message), port)


def _input(node: Node, inputs: Inputs, name: str) -> Array | None:
    """The input of that name."""
    assert node.operator is not None
    names = (node.operator.signature.port_name(index) for index in range(len(inputs)))
    return next((array for port, array in zip(names, inputs, strict=True) if port == name), None)


# Open orders


def _open_order(node: Node, inputs: Inputs) -> str | None:
    operator = node.operator
    if operator is None or operator.opener is None:
        return None
    padded = [*inputs, *[None] * (len(operator.inputs) - len(inputs))]
    values = {a.name: node.attributes.get(a.name, a.default) for a in operator.attributes}
    found = operator.opener(*padded, **values)
    if found is None:
        return None
    return f"{plural(len(found.candidates), 'place')} of the result with more than one right value: {found.note}"


def _ties(node: Node, inputs: Inputs) -> str | None:
    """TopK: equal values of which some are chosen, or whose order among the chosen is open."""
    data, k = inputs[0], inputs[1]
    if data is None or k is None or not data.size or node.attributes.get("stable"):
        return None
    axis, count = int(node.attributes.get("axis", -1)), int(np.asarray(k).reshape(-1)[0])
    wide = np.sort(data.astype(np.float64) if data.dtype.kind not in "iu" else data, axis)
    wide = np.moveaxis(wide, axis, -1)
    if node.attributes.get("mode") == "max":
        wide = wide[..., ::-1]
    chosen = wide[..., : count + 1]
    tied = int(np.count_nonzero((chosen[..., 1:] == chosen[..., :-1]).any(axis=-1))) if chosen.shape[-1] > 1 else 0
    return f"{plural(tied, 'row')} with equal values among the first {count}: their order is open" if tied else None


# Indices


def _wrapped(name: str, data: str = "data") -> Suspicion:
    """Negative indices, which count from the end."""

    def look(node: Node, inputs: Inputs) -> str | None:
        indices = _input(node, inputs, name)
        if indices is None or indices.dtype.kind != "i":
            return None
        count = int(np.count_nonzero(indices < 0))
        return f"{count} of {indices.size} indices are negative: counted from the end" if count else None

    return _at_once("A004", look, name)


def _clamped(node: Node, inputs: Inputs) -> str | None:
    """Slice: starts and stops outside of the data."""
    data, start, stop = inputs[:3]
    if data is None or start is None or stop is None:
        return None
    axes = inputs[4] if len(inputs) > 4 and inputs[4] is not None else np.arange(start.size)
    outside = []
    for axis, first, last in zip(axes.ravel().tolist(), start.ravel().tolist(), stop.ravel().tolist(), strict=False):
        extent = data.shape[axis]
        outside += [int(v) for v in (first, last) if not -extent - 1 <= v <= extent and abs(v) < _TO_THE_END]
    return f"{', '.join(map(str, outside))} lies outside of the data: clamped" if outside else None


def _no_class(node: Node, inputs: Inputs) -> str | None:
    """OneHot: indices that are no class give a row without any."""
    indices, depth = inputs[:2]
    if indices is None or depth is None:
        return None
    count = int(np.count_nonzero((indices < 0) | (indices >= int(depth.reshape(-1)[0]))))
    return f"{count} of {indices.size} indices lie outside of the depth: no class" if count else None


# Whole numbers


def _in_float(node: Node, inputs: Inputs) -> list[Array] | None:
    """What the operator makes of the inputs as f64: a result that is far from it has overflowed."""
    first = inputs[0]
    if node.operator is None or first is None or first.dtype.kind not in "iu":
        return None
    kind = first.dtype
    wide = [
        a.astype(np.float64) if a is not None and a.dtype == kind and not _is_axes(node, i) else a
        for i, a in enumerate(inputs)
    ]
    try:
        with np.errstate(all="ignore"):
            return [np.asarray(node.operator(*wide, **_attributes(node)))]
    except Exception:  # An operator that does not do this sum in f64: nothing is said of it.
        return None


def _is_axes(node: Node, index: int) -> bool:
    assert node.operator is not None
    return node.operator.signature.port_name(index) in ("axes", "axis", "reduction_axes")


def _attributes(node: Node) -> dict[str, Any]:
    assert node.operator is not None
    return {a.name: node.attributes.get(a.name, a.default) for a in node.operator.attributes}


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
                lost, what = one != two, f"are no {kind} numbers"
        else:
            # Parts after the point are meant to go.
            lost, what = ~(np.abs(one - two) < 1), f"are outside of {kind}"
    count = int(np.count_nonzero(lost))
    return f"{count} of {given.size} values {what}" if count else None


_OPEN = _at_once("A003", _open_order)
_OVERFLOW = Suspicion("A005", _in_float, _overflowed)
_DIVISION = _at_once("A007", _by_zero)
_SUMS = (
    "Add",
    "Subtract",
    "Multiply",
    "ReduceSum",
    "ReduceProd",
    "CumSum",
    "MatMul",
    "SquaredDifference",
    "Negative",
    "Power",
)
SUSPICIONS: dict[str, tuple[Suspicion, ...]] = {
    **dict.fromkeys(_SUMS, (_OVERFLOW,)),
    **dict.fromkeys(("Divide", "Mod", "FloorMod"), (_DIVISION,)),
    **{type: (_wrapped("indices"),) for type in ("Gather", "GatherElements", "GatherND")},
    **{
        type: (_OPEN, _wrapped("indices"))
        for type in ("ScatterUpdate", "ScatterElementsUpdate", "ScatterNDUpdate", "ScatterND")
    },
    "TopK": (_at_once("A003", _ties),),
    "Slice": (_at_once("A004", _clamped),),
    "OneHot": (_at_once("A004", _no_class, "indices"),),
    "Convert": (Suspicion("A006", _before_convert, _lost),),
    "ConvertLike": (Suspicion("A006", _before_convert, _lost),),
}
"""What is asked of the layers of a type."""
