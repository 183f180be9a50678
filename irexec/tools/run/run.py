"""`irexec run` on a whole model: supplied or random inputs, one inference, results and timings."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

import numpy as np

from irexec.core.diagnostics import Diagnostic, IRError, Report
from irexec.core.diagnostics.findings import Findings
from irexec.core.types import Array, ElementType, PartialShape, TensorType
from irexec.model.arrays.brief import shown_shape
from irexec.model.arrays.draw import draw, draw_for, has_no_result_for_zeros, undrawable
from irexec.model.arrays.given import Given, Origin, check_names, convert
from irexec.model.arrays.plain import exact_array
from irexec.model.arrays.saving import archive_names
from irexec.model.graph.model import Model, Value
from irexec.model.graph.ports import find, port_name
from irexec.model.inference import Inference, infer
from irexec.model.inference.opened import opened
from irexec.ops.spec.contents import category_of
from irexec.runtime.engine import CompiledModel, Listener
from irexec.tools.run.typical import EXTENTS, batch_axis, grows, typical
from irexec.tools.status import LayerStatus

# Extents to try for dynamic dimensions, the smallest first: most models accept 1, pooling windows need more.
_EXTENTS = (1, 2, 4, 8, 16, 32, 64, 128, 224)
# Time limit for the search for other accepted sizes, in seconds.
_SEEKING = 10.0


@dataclass(slots=True)
class ModelInput:
    """One input of the model: its array and the array's source. `assumed`: dynamic extents were chosen."""

    port: Value
    array: Array | None = None
    origin: Origin | None = None
    assumed: bool = False

    @property
    def name(self) -> str:
        return port_name(self.port)

    @property
    def names(self) -> tuple[str, ...]:
        return (*sorted(self.port.names), self.port.node.given_name)


@dataclass(slots=True)
class ModelRun:
    """The run of a model, or the findings that prevented it.

    `seconds`: the time of each stage; for several runs the median, and the minimum as "fastest".
    """

    model: Model
    given: Given
    report: Report
    inputs: list[ModelInput] = field(default_factory=list)
    outputs: list[tuple[str, Array, ElementType]] = field(default_factory=list)
    layers: int = 0
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def executed(self) -> bool:
        return bool(self.outputs) or (self.report.ok and not self.model.results)

    def arrays(self) -> dict[str, Array]:
        """Return the results by name, as `irexec run -o` writes them."""
        names = archive_names([name for name, _, _ in self.outputs])
        return {n: exact_array(array, kind) for n, (_, array, kind) in zip(names, self.outputs, strict=True)}


def run_model(
    model: Model,
    given: Given,
    listeners: Sequence[Listener] = (),
    *,
    compiled: CompiledModel | None = None,
    repeat: int = 1,
) -> ModelRun:
    """Run a model once. Errors in the model or in the inputs never raise an exception; they are in the report.

    `compiled`: the compiled model, if this run is one of many; no progress is shown then. `repeat`: the number of runs,
    each from the same state.
    """
    findings = Findings(file=model.file)
    optional = model.optional_inputs
    if more := [optional[place] for name in given.inputs if (place := find(optional, name)) is not None]:
        model, compiled = opened(model, more), None
    run = ModelRun(model, given, findings.report)
    run.inputs = complete(model, given, findings)
    if not findings.report.ok:
        return run
    try:
        begin = time.perf_counter()
        alone = compiled is None
        compiled = compiled or CompiledModel(model)
        run.seconds["compile"] = time.perf_counter() - begin
        run.layers = compiled.layer_count
        with ExitStack() as stack:
            watchers = list(listeners)
            if alone and LayerStatus.can_show():
                watchers.append(stack.enter_context(LayerStatus(run.layers)))
            request = compiled.create_infer_request(watchers)
            times = []
            for _ in range(repeat):
                request.reset_state()
                begin = time.perf_counter()
                results = request.infer([entry.array for entry in run.inputs])
                times.append(time.perf_counter() - begin)
            run.seconds["run"] = median(times)
            if repeat > 1:
                run.seconds["fastest"] = min(times)
    except IRError as error:
        findings.report.extend(_with_hint(finding, run.inputs) for finding in error.report)
        return run
    for index, (port, array) in enumerate(results.to_dict().items()):
        kind = ElementType.of(array.dtype) if port.element_type.is_dynamic else port.element_type
        run.outputs.append((port_name(port) or f"output_{index}", array, kind))
    return run


def _with_hint(finding: Diagnostic, inputs: list[ModelInput]) -> Diagnostic:
    """Add a hint to an error that random values or the sizes of inputs may have caused."""
    if finding.code == "O001" and any(entry.port.type.shape.is_dynamic for entry in inputs):
        return replace(finding, hint=finding.hint or "`irexec shapes` lists the sizes that the model accepts")
    drawn = ", ".join(entry.name for entry in inputs if entry.origin is Origin.DRAWN)
    if not drawn or finding.code != "O005" or finding.hint is not None:
        return finding
    return replace(finding, hint=f"{drawn}: random values were used; provide values with --input")


def completed(model: Model, given: Given, findings: Findings) -> list[ModelInput]:
    """Return an array for each input, as `complete` does. `findings`: those about what is given. Raises IRError."""
    entries = complete(model, given, findings) if findings.report.ok else []
    if not findings.report.ok:
        raise IRError(findings.report)
    return entries


def complete(model: Model, given: Given, findings: Findings) -> list[ModelInput]:
    """Return an array for each input: the caller's, or a random one of the declared shape."""
    inputs = [ModelInput(port) for port in model.inputs]
    names = _names(inputs)
    known = {entry.name: (str(index), *names[index]) for index, entry in enumerate(inputs)}
    check_names({name: given.asked("input", name) for name in given.inputs}, known, findings, given.archives)
    check_names({name: given.asked("shape", name) for name in given.shapes}, known, findings)
    types = []
    for index, entry in enumerate(inputs):
        value = next((given.inputs[key] for key in (*names[index], str(index)) if key in given.inputs), None)
        shape = next((given.shapes[key] for key in (*names[index], str(index)) if key in given.shapes), None)
        kind = entry.port.element_type
        if value is not None:
            _supply(entry, value, findings)
        declared = entry.port.type.shape
        if entry.array is not None:
            declared = PartialShape(entry.array.shape)
        elif shape is not None:
            if not declared.accepts(shape):
                report_wrong_shape(findings, entry.port, given.asked("shape", entry.name), entry.name, shape)
            declared = PartialShape(shape)
        types.append(TensorType(kind, declared))
    if findings.report.ok:
        _draw(model, inputs, types, given, findings)
    return inputs


def report_wrong_shape(findings: Findings, port: Value, asked: str, name: str, shape: tuple[int, ...]) -> None:
    """Report a shape that the model does not declare for an input. `asked`: the option that gives it."""
    declared, found = port.type.shape, shown_shape(shape)
    message = f"{asked}: {found} does not match the model's shape {declared}"
    hint = None
    if declared.rank == len(shape):
        dims = ",".join(
            str(given) if dim.compatible(given) else "?" for dim, given in zip(declared, shape, strict=True)
        )
        hint = f"`irexec shapes MODEL --shape {name}={dims}` lists the sizes that the layers would accept"
    findings.add("O008", message, layer=port.node.ref, found=found, allowed=str(declared), hint=hint)


def _names(inputs: list[ModelInput]) -> list[tuple[str, ...]]:
    """Return the names of each input. TensorFlow's `x:0` is also called `x`, unless another input has that name."""
    taken = Counter(name for entry in inputs for name in {n.removesuffix(":0") for n in entry.names} | set(entry.names))
    return [
        (*entry.names, *(name[:-2] for name in entry.names if name.endswith(":0") and taken[name[:-2]] == 1))
        for entry in inputs
    ]


def _supply(entry: ModelInput, value: Any, findings: Findings) -> None:
    kind, declared = entry.port.element_type, entry.port.type.shape
    layer = entry.port.node.ref
    array = convert(value, kind)
    if array is None:
        findings.add("U004", f"the values given for {entry.name} are not {kind} values", layer=layer)
        return
    if not isinstance(value, np.ndarray) and declared.is_static and array.ndim <= 1:
        extents = declared.to_shape()
        if array.size == int(np.prod(extents, dtype=object)):
            array = array.reshape(extents)
    entry.array, entry.origin = array, Origin.SUPPLIED
    if not declared.accepts(array.shape):
        found, allowed = shown_shape(array.shape), str(declared)
        message = (
            f"the array for input {entry.name} has shape {found}, which does not match the model's shape {allowed}"
        )
        findings.add("O008", message, layer=layer, found=found, allowed=allowed)


def _draw(model: Model, inputs: list[ModelInput], types: list[TensorType], given: Given, findings: Findings) -> None:
    missing = [index for index, entry in enumerate(inputs) if entry.array is None]
    if not missing:
        return
    shapes = _static_shapes(model, types, given)
    known = [
        t if s is None else TensorType(t.element_type, PartialShape(s)) for t, s in zip(types, shapes, strict=True)
    ]
    inference = infer(model, known)
    rng = np.random.default_rng(given.seed)
    total = 0
    for index in missing:
        entry, kind, shape = inputs[index], types[index].element_type, shapes[index]
        if shape is None or kind.dtype is None:
            what = "rank" if shape is None else "element type"
            shaped, valued = given.asked("shape", entry.name), given.asked("input", entry.name)
            hint = f"{shaped} = (1, 2, 3)" if given.python else f"{shaped}=1,2,3, or {valued}=FILE.npy"
            findings.add("U006", f"the {what} of input {entry.name} is unknown", layer=entry.port.node.ref, hint=hint)
            continue
        if (reason := undrawable(kind, shape, total)) is not None:
            findings.add("U006", f"input {entry.name} {reason}", layer=entry.port.node.ref)
            continue
        total += math.prod(shape) * kind.dtype.itemsize
        array = typical(model, entry.port, kind, shape, given.past, rng) if given.typical else None
        array = _by_consumer(model, inference, entry.port, rng) if array is None else array
        entry.array = np.asarray(draw(rng, kind, shape) if array is None else array, kind.dtype)
        if kind.is_integral_number and _divides(entry.port):
            entry.array = np.where(entry.array == 0, entry.array.dtype.type(1), entry.array)
        entry.origin, entry.assumed = Origin.DRAWN, not types[index].shape.is_static
        # Values of later inputs may depend on this one, as indices depend on an axis.
        inference.note(entry.port.node, [TensorType.of(entry.array, kind)])


def _divides(port: Value) -> bool:
    """Return whether integers are divided by the values of an input, directly or after they are moved or converted."""
    stack = [port]
    for value in stack:
        for node in value.users:
            if node.operator is None:
                continue
            if value in node.inputs[1:2] and has_no_result_for_zeros(node.operator, value.element_type):
                return True
            if category_of(node.type) in ("movement", "shape", "type"):
                stack += [output for output in node.outputs if output not in stack]
    return False


def _by_consumer(model: Model, inference: Inference, port: Value, rng: np.random.Generator) -> Array | None:
    """Return random values from an operator that reads the input directly: indices in range, lengths, axes."""
    for node in model.nodes:
        for index, value in enumerate(node.inputs):
            if value is not port or node.operator is None:
                continue
            name = node.operator.signature.port_name(index)
            if name not in node.operator.oracle.generators:
                continue
            names = [node.operator.signature.port_name(i) for i in range(len(node.inputs))]
            types = {n: inference[v] for n, v in zip(names, node.inputs, strict=True) if v is not None}
            array = draw_for(rng, node.operator, name, types, node.all_attributes)
            if array is not None:
                return array
    return None


def _static_shapes(model: Model, types: list[TensorType], choice: Given) -> list[tuple[int, ...] | None]:
    """Return the input shapes with dynamic extents filled in: the first choice that all shape rules accept."""
    if all(t.shape.is_static for t in types):
        return [t.shape.to_shape() for t in types]
    if any(t.rank is None for t in types):
        return [_filled(t.shape, 1) if t.rank is not None else None for t in types]
    for extent in EXTENTS if choice.typical else _EXTENTS:
        extents = [extent] * len(types)
        if choice.past:
            extents = [choice.past + 1 if grows(port) else 1 for port in model.inputs]
        axes = map(batch_axis, model.inputs)
        shapes = [_filled(t.shape, size, axis) for t, size, axis in zip(types, extents, axes, strict=True)]
        if _fits(model, types, shapes):
            return list(shapes)
    return _sought(model, types) or [_filled(t.shape, 1) for t in types]


def _sought(model: Model, types: list[TensorType]) -> list[tuple[int, ...] | None] | None:
    """Return input shapes that inference accepts, searched dimension by dimension; None if none were found in time."""
    from irexec.tools.shapes.base import find_base
    from irexec.tools.shapes.tracer import Tracer

    prober = Tracer(model, [t.shape for t in types])
    with prober.limited(_SEEKING):
        sizes, _ = find_base(prober)
    return None if sizes is None else [shape.to_shape() for shape in prober.inputs_at(sizes)]


def _filled(shape: PartialShape, extent: int, batch: int | None = None) -> tuple[int, ...]:
    """Return the shape with dynamic extents set to `extent` within their bounds; that of the axis `batch` to 1."""
    dims = []
    for axis, dim in enumerate(shape):
        wanted = 1 if axis == batch else extent
        most = dim.max if dim.max is not None else wanted
        dims.append(dim.value if dim.is_static else max(dim.min, min(wanted, most)))
    return tuple(dims)


def _fits(model: Model, types: list[TensorType], shapes: list[tuple[int, ...]]) -> bool:
    """Return True if inference reports no error for these input shapes."""
    given = [TensorType(t.element_type, PartialShape(s)) for t, s in zip(types, shapes, strict=True)]
    return infer(model, given).report.ok
