"""Limits: unwanted effects of accepted sizes, and cases that the answer does not cover."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from irexec.core.structure import PARAMETER
from irexec.core.types import MAX_LENGTH, TensorType
from irexec.model.graph.model import Node, Value
from irexec.model.graph.ports import port_name
from irexec.model.inference.inference import Inference
from irexec.tools.shapes.differences import differences, refusals
from irexec.tools.shapes.formulas import Expression, Extreme, Formula
from irexec.tools.shapes.names import assignment
from irexec.tools.shapes.probe import OpenDim, Prober, Refusal, Sizes
from irexec.tools.shapes.study import Study

# The sizes of each dimension at which tables are examined, and the number of combinations.
_TRIED, _MOST_TRIED = (1000, 160, 40, 9), 40
# The number of elements up to which an integer tensor may contain sizes.
_MOST_NUMBERS = 16
NO_BOUND = 2**31 - 1
"""Declared upper bounds from this size on mean "no bound"."""

Expressions = Sequence[Sequence[Expression | None] | None]
"""An expression for each dimension of each output; None if none is known."""


def limits(
    found: Study,
    symbols: Sequence[str],
    outputs: Expressions,
    accepted: Sequence[Sizes],
    reasons: Sequence[tuple[Sizes, Refusal]],
    gaps: Sequence[Sizes],
) -> list[str]:
    """Return the limits of the answer as sentences. `accepted`: accepted combinations, the smallest first; `reasons`:
    refused combinations; `gaps`: combinations that contradict the conditions.
    """
    prober = found.prober
    return [
        *(f"at all sizes, {each.layer} is invalid: {each.message}" for each in prober.unsized.values()),
        *_tables(prober, symbols, accepted),
        *_mixed_batches(prober, symbols, outputs),
        *_unknown_outputs(found, outputs),
        *_declarations(found, accepted),
        *_states(prober),
        *differences(prober, accepted),
        *refusals(prober, reasons),
        *_gaps(found, symbols, gaps),
    ]


def _tables(prober: Prober, symbols: Sequence[str], samples: Sequence[Sizes]) -> list[str]:
    """Return sentences about layers that read beyond the end of a table at some accepted sizes, with an example."""
    found: dict[Node, str] = {}
    count = range(len(prober.dims))
    tried = (next((each for each in samples if each[dim] >= size), None) for size in _TRIED for dim in count)
    for sizes in list(dict.fromkeys(each for each in tried if each is not None))[:_MOST_TRIED]:
        for node, rows in prober.at(sizes).beyond:
            if node not in found:
                least = _smaller(prober, sizes, node, rows)
                found[node] = (
                    f"{node.type} {node.friendly_name!r} reads beyond the end of a table of {rows} rows for some "
                    f"accepted sizes, such as {_listed(prober, symbols, least)}: it gives zeros there"
                )
    return list(found.values())


def _smaller(prober: Prober, sizes: Sizes, node: Node, rows: int) -> Sizes:
    """Return sizes that are 1 or just large enough for a layer to read beyond the end of its table."""
    for number, size in enumerate(sizes):
        for smaller in (1, rows + 1):
            tried = (*sizes[:number], smaller, *sizes[number + 1 :])
            is_small = smaller < size and prober.accepts(tried)
            if is_small and any(each is node for each, _ in prober.at(tried).beyond):
                sizes = tried
                break
    return sizes


def _mixed_batches(prober: Prober, symbols: Sequence[str], outputs: Expressions) -> list[str]:
    """Return sentences about outputs with an axis, other than the first, that depends on the batch."""
    named = {
        name
        for name, dim in zip(symbols, prober.dims, strict=True)
        if dim.axis == 0 and len(prober.shapes[dim.input]) > 1
    }
    batches = {number for number, name in enumerate(symbols) if name in named}

    def first(dims: Sequence[Expression | None] | None) -> frozenset[int]:
        return dims[0].dims & batches if dims and dims[0] is not None else frozenset()

    return [
        f"dimension {axis} of the output {_named(prober, value)} is {expression.text(symbols)}: "
        f"the elements of a batch are mixed"
        for value, dims in zip(prober.model.outputs, outputs, strict=False)
        for axis, expression in enumerate(dims or ())
        if axis
        and expression is not None
        and expression.dims & (batches if _is_computed(expression, symbols) else first(dims))
    ]


def _is_computed(expression: Expression, symbols: Sequence[str]) -> bool:
    """Return whether a size is computed from input sizes: it is neither equal to one of them nor (after broadcasting)
    to the maximum of several.
    """
    alone = expression.only if isinstance(expression, Formula) else None
    parts = alone.parts if isinstance(alone, Extreme) and alone.operator == "max" else (expression,)
    return not all(part.text(symbols).isidentifier() for part in parts)


def _unknown_outputs(found: Study, outputs: Expressions) -> list[str]:
    """Return sentences about outputs whose sizes depend on values, with the layer that causes this, or are not an
    expression of the sizes of the inputs.
    """
    prober = found.prober
    unknown = [
        (value, dims)
        for value, dims in zip(prober.model.outputs, outputs, strict=False)
        if dims is None or None in dims
    ]
    if not unknown:
        return []
    types = prober.types_at(found.base or ())
    remarks: list[str] = []
    for value, dims in unknown:
        name, shape = _named(prober, value), types[value].shape
        if dims is None:
            origin = _origin(types, value) if shape.rank is None else "the sizes of the inputs"
            remarks.append(f"the rank of the output {name} depends on {origin}")
            continue
        by_values = [axis for axis, each in enumerate(dims) if each is None and shape[axis].is_dynamic]
        others = [axis for axis, each in enumerate(dims) if each is None and axis not in by_values]
        if by_values:
            verb = "depends" if len(by_values) == 1 else "depend"
            remarks.append(f"{_axes(by_values)} of the output {name} {verb} on {_origin(types, value)}")
        if others:
            remarks.append(f"no single expression of the inputs' sizes gives {_axes(others)} of the output {name}")
    return remarks


def _axes(axes: Sequence[int]) -> str:
    return (
        f"the size of dimension {axes[0]}" if len(axes) == 1 else f"the sizes of dimensions {', '.join(map(str, axes))}"
    )


def _origin(types: Inference, value: Value) -> str:
    """Return the name of the first layer before an output whose output sizes depend on values, not on input sizes.

    The size may also reach the output as a number in a tensor.
    """
    waiting, seen = [value.node], set[Node]()
    while waiting:
        node = waiting.pop(0)
        if node in seen:
            continue
        seen.add(node)
        before = [each.node for each in node.inputs if each is not None and _is_open(types[each])]
        before = [each for each in before if each.type != PARAMETER]
        if not before:
            return f"the values that {node.type} {node.friendly_name!r} reads"
        waiting += before
    return "values"


def _is_open(type: TensorType) -> bool:
    """Return whether a tensor has an unknown shape, or unknown contents that may be sizes (a few integers)."""
    if type.shape.is_dynamic:
        return True
    is_small = type.element_type.is_integral_number and prod(type.shape.to_shape()) <= _MOST_NUMBERS
    return bool(is_small) and type.ints is None


def _named(prober: Prober, value: Value) -> str:
    """Return the name of an output, or its number if it has no name."""
    return repr(port_name(value)) if port_name(value) else str(prober.model.outputs.index(value))


def _declarations(found: Study, accepted: Sequence[Sizes]) -> list[str]:
    """Return sentences about dimensions that need not be dynamic, and about bounds without an effect."""
    remarks: list[str] = []
    for number, dim in enumerate(found.prober.dims):
        name = port_name(found.prober.model.inputs[dim.input])
        where = f"dimension {dim.axis} of the input {name!r}"
        sizes = {each[number] for each in accepted}
        if found.is_complete and len(sizes) == 1 and dim.low != dim.high:
            remarks.append(f"{where} is dynamic but accepts {sizes.pop()} only; it can be declared static")
        if (bound := _written_bound(found.prober, dim)) is not None and bound >= NO_BOUND:
            remarks.append(f"{where} declares the bound {bound}, which NPU compilers reject; use ? instead")
    return remarks


def _written_bound(prober: Prober, dim: OpenDim) -> int | None:
    """Return the declared upper bound. A file may contain 2^63-1, which is read as no bound."""
    layer = prober.model.parameters[dim.input].layer
    written = [] if layer is None else layer.data.get("shape", "").split(",")
    is_largest = dim.high is None and dim.axis < len(written) and str(MAX_LENGTH) in written[dim.axis]
    return MAX_LENGTH if is_largest else dim.high


def _states(prober: Prober) -> list[str]:
    if any(node.has_state for node in prober.model.walk()):
        return ["the sizes of the variables are those after a reset; later steps may accept other sizes"]
    return []


def _gaps(found: Study, symbols: Sequence[str], gaps: Sequence[Sizes]) -> list[str]:
    remarks: list[str] = []
    for sizes in gaps:
        listed, refusal = _listed(found.prober, symbols, sizes), found.prober.at(sizes).refusal
        if refusal is None:
            remarks.append(f"accepted although no list of conditions holds: {listed}")
        else:
            reason = f"{refusal.finding.layer or 'the model'}: {refusal.finding.message}"
            remarks.append(f"refused although all conditions hold: {listed} ({reason})")
    if not found.is_complete and not gaps:
        remarks.append("the answer is incomplete: the model may accept other sizes, or have further conditions")
    return remarks


def _listed(prober: Prober, symbols: Sequence[str], sizes: Sizes) -> str:
    return ", ".join(f"{name} = {size}" for name, size in assignment(prober, symbols, sizes).items())
