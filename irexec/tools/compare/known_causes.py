"""What runtimes are known to do differently, each with an experiment on a wrong layer: irexec computes the layer in the
same way, for the other side's inputs, and the cause is told if its values are then those of the other side.

A cause explains a verdict. It is found after the verdict, and never changes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import permutations
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from irexec.core.types import BF16, F16, Array, ElementType
from irexec.model.arrays.units import widened
from irexec.model.graph.cut import constant_nodes
from irexec.model.graph.model import Node, Value
from irexec.ops.spec.traits import MatrixProduct, Quantizer, Random
from irexec.tools.compare.culprit import Culprit
from irexec.tools.compare.errors import Error, measure, shown_part, worst
from irexec.tools.compare.layers import Comparing
from irexec.tools.compare.numbers import FUSED, SAME
from irexec.tools.compare.result import Row
from irexec.tools.compare.runtimes.runtime import CannotRun
from irexec.tools.run.record import Reference, known_value, same

Arrays = Sequence[Array]
Change = Callable[[Array], Array]

# Values in a type with fewer bits may be rounded to the neighbouring value.
_NEIGHBOUR = 1.0
# The part of the largest value by which values are moved, so that halves are no halves any more.
_PUSH = 2.0**-20
_HALVES = {"half_away_from_zero": "away from zero", "half_to_even": "to even"}
# The largest number of products that are added in pairs.
_PRODUCTS = 1 << 24


@dataclass(frozen=True)
class Layer:
    """A layer with the inputs that it had on the other side."""

    node: Node
    inputs: Sequence[Array | None]

    def run(self, change: Change | None = None, attributes: Mapping[str, Any] = MappingProxyType({})) -> list[Array]:
        """Return irexec's results, with changed inputs or other attributes."""
        given = [a if a is None or change is None or a.dtype.kind in "TUOb" else change(a) for a in self.inputs]
        operator = self.node.operator
        assert operator is not None
        made = operator.kernel(*given, **operator.bind({**self.node.all_attributes, **attributes}))
        return [np.asarray(array) for array in (made if isinstance(made, (tuple, list)) else [made])]

    def is_about(self, kinds: str) -> bool:
        """Return whether an input has a type of one of these kinds."""
        return any(array is not None and _kind(array) in kinds for array in self.inputs)


class Made(NamedTuple):
    """Results in a way that runtimes are known to compute. `kind`: the type with fewer bits in which they are."""

    results: Arrays
    what: str = ""
    kind: ElementType | None = None


Experiment = Callable[[Layer], Iterator[Made]]


def _kind(array: Array) -> str:
    """Return i for integers of 64 bits, s for smaller integers, f for real numbers."""
    if array.dtype.kind in "iu":
        return "i" if array.dtype.itemsize == 8 else "s"
    return "f" if array.dtype.kind in "fV" and ElementType.of(array.dtype).is_real else ""


def _only(kinds: str, change: Change) -> Change:
    return lambda array: change(array) if _kind(array) in kinds else array


def _computed_in(kinds: str, change: Change) -> Experiment:
    """Return the experiment that changes the inputs of some kinds, and the results."""

    def experiment(layer: Layer) -> Iterator[Made]:
        if layer.is_about(kinds):
            yield Made([*map(_only(kinds, change), layer.run(_only(kinds, change)))])

    return experiment


# 64-bit integers


def _low_bits(array: Array) -> Array:
    return array.astype(np.int32).astype(array.dtype)


def _limited(array: Array) -> Array:
    return np.clip(array.astype(np.int64), -(2**31), 2**31 - 1).astype(array.dtype)


def _out_of_range(array: Array) -> Array:
    """Return what processors return for a float that is not an integer of 32 bits: the smallest one."""
    return np.where(_limited(array) == array, array, np.array(-(2**31)).astype(array.dtype))


def _in_32_bits(given: Change, constant: Change, result: Change) -> Experiment:
    """Return the experiment that changes 64-bit inputs, those that are constants, and results."""

    def experiment(layer: Layer) -> Iterator[Made]:
        if layer.is_about("i"):
            pairs = zip(layer.node.inputs, layer.inputs, strict=True)
            kept = [(a, constant if v is not None and v.node.constant is not None else given) for v, a in pairs]
            inputs = [None if array is None else _only("i", change)(array) for array, change in kept]
            yield Made([*map(_only("i", result), replace(layer, inputs=inputs).run())])

    return experiment


def _in_floats(array: Array) -> Array:
    return array.astype(np.float32).astype(array.dtype)


def _low_bits_in_floats(array: Array) -> Array:
    return _in_floats(_low_bits(array))


# Other types


def _saturated(layer: Layer) -> Iterator[Made]:
    """Yield the results in 64 bits, limited to the range of their type."""
    kinds = [np.dtype(value.element_type.dtype) for value in layer.node.outputs]
    if not all(kind.kind in "iu" and kind.itemsize < 8 for kind in kinds):
        return
    wide = np.int64 if layer.is_about("s") else np.float64
    ranges = [np.iinfo(kind) for kind in kinds]
    if wide is np.int64:
        made = layer.run(lambda array: array.astype(wide))
        yield Made([np.clip(a, r.min, r.max).astype(k) for a, r, k in zip(made, ranges, kinds, strict=True)])
    else:
        yield Made(layer.run(_only("f", lambda array: np.clip(widened(array), ranges[0].min, ranges[0].max))))


def _fewer_bits(kind: ElementType) -> Experiment:
    """Return the experiment that rounds inputs, results or both to a type with fewer bits."""

    def rounded(array: Array) -> Array:
        wide = array.dtype.kind == "f" and array.dtype.itemsize > 2
        return array.astype(kind.dtype).astype(array.dtype) if wide else array

    def experiment(layer: Layer) -> Iterator[Made]:
        if layer.is_about("f"):
            made = layer.run(rounded)
            yield Made(made)
            yield Made([*map(rounded, made)], kind=kind)
            yield Made([*map(rounded, layer.run())], kind=kind)

    return experiment


def _flushed(array: Array) -> Array:
    if array.dtype.kind != "f":
        return array
    return np.where(np.abs(array) < np.finfo(array.dtype).tiny, np.zeros_like(array), array)


# Rounding


def _halves_otherwise(layer: Layer) -> Iterator[Made]:
    """Yield the results with halves rounded in another direction."""
    for one, other in permutations(_HALVES):
        changed = {name: other for name, value in layer.node.all_attributes.items() if value == one}
        if changed:
            yield Made(layer.run(attributes=changed), _HALVES[other])
    if Quantizer in layer.node.traits and (data := layer.inputs[0]) is not None and data.size:
        wide = widened(data)
        push = np.max(np.abs(wide)) * _PUSH
        for what, direction in ((_HALVES["half_away_from_zero"], np.sign(wide)), ("up", 1.0)):
            moved = (wide + push * direction).astype(data.dtype)
            yield Made(replace(layer, inputs=[moved, *layer.inputs[1:]]).run(), what)


def _nan_order(layer: Layer) -> Iterator[Made]:
    """Yield the results with NaN as the smallest or the largest value, or replaced by the other operand."""
    arrays = [array for array in layer.inputs if array is not None and _kind(array) == "f"]
    if not any(np.isnan(widened(array)).any() for array in arrays) or any(
        np.isinf(widened(array)).any() for array in arrays
    ):
        return
    for what, limit in (("as the smallest value", -np.inf), ("as the largest value", np.inf)):
        made = layer.run(_only("f", partial(_without_nan, limit)))
        yield Made(made, what)
        yield Made([np.where(a == limit, np.nan, a).astype(a.dtype) if _kind(a) == "f" else a for a in made], what)


def _without_nan(limit: float, array: Array) -> Array:
    return np.where(np.isnan(array), array.dtype.type(limit), array)


# Attributes


def _ignored(layer: Layer) -> Iterator[Made]:
    """Yield the results with the default of one attribute."""
    operator, node = layer.node.operator, layer.node
    for attribute in operator.attributes if operator is not None else ():
        value = node.all_attributes[attribute.name]
        if not attribute.required and value != attribute.default:
            yield Made(
                layer.run(attributes={attribute.name: attribute.default}), f"{attribute.file_name}={_shown(value)}"
            )


def _shown(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)


# Products of 8 bits


def _pairs_in_16_bits(layer: Layer) -> Iterator[Made]:
    """Yield the products of levels of 8 bits, of which each two are added in 16 bits."""
    if MatrixProduct not in layer.node.traits:
        return
    known, scales = [], 1.0
    turned = layer.node.all_attributes
    for array, turns in zip(layer.inputs, (turned["transpose_a"], turned["transpose_b"]), strict=True):
        levels = None if array is None else _levels(array)
        if levels is None or levels[0].ndim < 2:
            return
        known.append(np.swapaxes(levels[0], -1, -2) if turns else levels[0])
        scales *= levels[1]
    a, b = known
    if {a.min() < 0, b.min() < 0} != {True, False} or a.size * b.shape[-1] > _PRODUCTS:
        return
    products = a[..., :, :, None] * b[..., None, :, :]
    extra = [(0, 0)] * (products.ndim - 2) + [(0, products.shape[-2] % 2), (0, 0)]
    products = np.pad(products, extra)
    added = np.clip(products[..., ::2, :] + products[..., 1::2, :], -(2**15), 2**15 - 1)
    yield Made([(added.sum(-2) * scales).astype(layer.node.outputs[0].element_type.dtype)])


def _levels(array: Array) -> tuple[Array, float] | None:
    """Return values as integers of 8 bits and their step; None if they are other numbers."""
    wide = np.asarray(widened(array), np.float64)
    values = np.unique(np.append(np.abs(wide), 0.0))
    if not np.isfinite(values).all() or not 1 < values.size <= 257:
        return None
    step = values[-1] / max(1, round(values[-1] / np.diff(values).min()))
    levels = np.round(wide / step).astype(np.int64)
    fits = levels.max() - levels.min() < 256 and levels.max() < 256 and levels.min() >= -128
    return (levels, float(step)) if fits and np.allclose(levels * step, wide, rtol=SAME, atol=0) else None


class Known(NamedTuple):
    """What runtimes are known to do, in words that follow the name of the layer, and the experiment that shows it."""

    text: str
    experiment: Experiment


KNOWN = (
    Known("computes integers of 64 bits in 32 bits: the low 32 bits", _in_32_bits(_low_bits, _low_bits, _low_bits)),
    Known(
        "computes integers of 64 bits in 32 bits: the low 32 bits, and constants limited to their range",
        _in_32_bits(_low_bits, _limited, _low_bits),
    ),
    Known("computes integers of 64 bits in 32 bits: limited to their range", _in_32_bits(_limited, _limited, _limited)),
    Known(
        "computes integers of 64 bits in 32 bits: the smallest one for all others",
        _in_32_bits(_out_of_range, _out_of_range, _out_of_range),
    ),
    Known("computes integers in f32", _computed_in("is", _in_floats)),
    Known("computes the low 32 bits of integers in f32", _computed_in("i", _low_bits_in_floats)),
    Known("limits integers to the range of their type instead of wrapping around", _saturated),
    Known("adds each two products of 8 bits in 16 bits, as processors without VNNI do", _pairs_in_16_bits),
    Known("rounds halves", _halves_otherwise),
    Known("orders NaN", _nan_order),
    Known("ignores", _ignored),
    Known("flushes denormal numbers to zero", _computed_in("f", _flushed)),
    Known("computes in f16", _fewer_bits(F16)),
    Known("computes in bf16", _fewer_bits(BF16)),
)
"""What is tried, in this order; the first that makes irexec's values those of the other side is the cause."""


def known_cause(culprit: Culprit) -> str:
    """Return a sentence about the cause of a wrong layer; empty if none is known."""
    layer = _layer(culprit)
    if layer is None or not culprit.outputs:
        return ""
    theirs = {value.index: array for value, array in culprit.outputs.items()}
    allowed = max(culprit.limit, FUSED)
    try:
        right = layer.run()
        with np.errstate(all="ignore"):
            for text, experiment in KNOWN:
                for made in _tried(experiment, layer):
                    error = _remaining(made, right, theirs, allowed)
                    if error is not None:
                        name, what = layer.node.friendly_name, f" {made.what}" if made.what else ""
                        left = f"differ by {shown_part(error)}" if error else "are equal"
                        return f"{name} {text}{what}; if irexec does so as well, its values {left}"
    except Exception:  # A kernel that does not run by itself, on values of the other side, has no known cause.
        return ""
    return ""


def beginning(rows: Sequence[Row], comparing: Comparing) -> Culprit | None:
    """Return the layer at which an unexplained difference begins, as if it were wrong; None if its inputs differ, or
    are unknown. Its operator amplifies rounding, so that another rule for halves or NaN looks like rounding.
    """
    for row in rows:
        if not row.total or row.behind:
            continue
        node, constant = row.node, constant_nodes(comparing.reference.model)
        read = [value for value in node.inputs if value is not None and value.node not in constant]
        steps: Sequence[Mapping[Value, Array]] = []
        with suppress(CannotRun):
            steps = comparing.loaded.observe(comparing.reference.steps, [*read, *node.outputs])
        known = {**_given(comparing.reference, row.step), **(steps[row.step] if row.step < len(steps) else {})}
        if any(value not in known for value in read):
            return None
        inputs, outputs = ({v: known[v] for v in some if v in known} for some in (read, node.outputs))
        return Culprit(comparing.reference.model, [node], (), row.total, row.tolerance, row.step, None, inputs, outputs)
    return None


def _given(reference: Reference, step: int) -> dict[Value, Array]:
    return dict(zip(reference.model.inputs, reference.steps[step], strict=True))


def _layer(culprit: Culprit) -> Layer | None:
    """Return the one wrong layer with its inputs, if the kernel of its operator computes it."""
    if len(culprit.nodes) != 1 or culprit.together:
        return None
    (node,) = culprit.nodes
    if node.operator is None or node.operator.is_run_by_engine or Random in node.traits:
        return None
    inputs: list[Array | None] = []
    for value in node.inputs:
        array = None if value is None else culprit.inputs.get(value, value.node.constant)
        array = known_value(value) if array is None and value is not None else array
        if value is not None and array is None:
            return None
        inputs.append(array)
    return Layer(node, inputs)


def _tried(experiment: Experiment, layer: Layer) -> Iterator[Made]:
    """Yield the results of an experiment, as far as the kernel accepts what it changes."""
    try:
        yield from experiment(layer)
    except Exception:  # A changed value, such as an index, may be invalid.
        return


def _remaining(made: Made, right: Arrays, theirs: Mapping[int, Array], allowed: float) -> Error | None:
    """Return how much the results of an experiment differ from the other side's; None if it does not explain them."""
    errors = []
    explains = False
    for index, array in theirs.items():
        result, before = made.results[index], right[index]
        if result.shape != array.shape or result.dtype != array.dtype:
            return None
        explains |= not same(before, array)
        if same(result, array):
            continue
        error, units = measure(result, array), allowed
        if made.kind is not None:
            if not same(array.astype(made.kind.dtype).astype(array.dtype), array):
                return None
            error, units = measure(result, array, made.kind), _NEIGHBOUR
        if not error.is_rounding(units) or measure(before, array).is_rounding(allowed):
            return None
        errors.append(error)
    return worst(errors) if explains else None
