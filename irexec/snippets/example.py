"""An example of an operation page, evaluated: completed, validated, executed, compared with what the page documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from irexec.arrays.brief import plural, shown, shown_shape
from irexec.arrays.given import Given
from irexec.diagnostics import Diagnostic, IRError, LayerRef, Report, Severity
from irexec.diagnostics.findings import At, Findings
from irexec.engine import CompiledModel
from irexec.graph.bind import bind_attributes, bind_operator
from irexec.graph.bodies import build_bodies
from irexec.graph.build import build_net, check_arity, declared_type
from irexec.graph.model import Model, Node, Value
from irexec.inference import infer_node
from irexec.inference.breaches import place_of, report_breach
from irexec.ir.files import open_regular
from irexec.ir.weights.file import Weights
from irexec.ops.declare import contents
from irexec.ops.declare.checks import Checks, noted, running
from irexec.ops.declare.operator import REGISTRY, Breach, Open, Operator
from irexec.snippets.complete import ExampleInput, complete_inputs, draw_missing, listed_array
from irexec.snippets.documented import Difference, compare, open_result
from irexec.snippets.obstacle import Obstacle
from irexec.snippets.reader import Snippet, SnippetLayer, SnippetPort, read_snippet, version_from_name
from irexec.types import DYNAMIC, Array, ElementType, PartialShape, TensorType

# Which results a page leaves open is not looked for among more elements: no page documents so many values.
MAX_OPEN = 1 << 20


@dataclass(slots=True)
class ExampleOutput:
    """One output port: inferred, computed and documented. `agrees` is None without documented values."""

    port: SnippetPort | None
    type: TensorType
    array: Array | None = None
    documented: Array | None = None
    agrees: bool | None = None
    difference: Difference | None = None


@dataclass(slots=True)
class Example:
    """One layer of a snippet, evaluated. `not_executed` says why there is no result; None when there is one.

    `verified` says in words what was checked and holds.
    """

    layer: LayerRef
    snippet: SnippetLayer
    operator: Operator | None
    attributes: dict[str, Any] = field(default_factory=dict)
    inputs: list[ExampleInput] = field(default_factory=list)
    outputs: list[ExampleOutput] = field(default_factory=list)
    verified: list[str] = field(default_factory=list)
    not_executed: Obstacle | None = None

    @property
    def executed(self) -> bool:
        return self.not_executed is None


def read_examples(
    data: str | bytes, *, file: str | None = None, page: str | None = None, strict: bool = False, mode: Any = "strict"
) -> Snippet:
    """Read a text of loose layers; `page` is the name of the page it stands on, which may tell the version."""

    def choose_version(type: str) -> str | None:
        type = contents.canonical_type(type) or type
        number = next((n for name in (page, file) if name and (n := version_from_name(name, type))), None)
        return contents.versioned(type, int(number) if number else None)

    known = {*contents.CONTENTS, *(type for type, _ in REGISTRY)}
    return read_snippet(data, file=file, known_types=known, choose_version=choose_version, strict=strict, mode=mode)


def evaluate(snippet: Snippet, given: Given | None = None, *, execute: bool = True) -> list[Example]:
    """Evaluate every loose layer of a snippet; findings go to the snippet's. Never raises for its text."""
    return [evaluate_layer(layer, snippet.findings, given or Given(), execute=execute) for layer in snippet.layers]


def evaluate_layer(layer: SnippetLayer, findings: Findings, given: Given, *, execute: bool = True) -> Example:
    """Evaluate one layer."""
    before = len(findings.report.errors)
    operator = bind_operator(layer.layer, findings)
    example = Example(layer.layer.ref, layer, operator)
    if operator is None:
        errors = findings.report.errors[before:]
        example.not_executed = Obstacle(errors[0].message if errors else "the operator is not known")
        return example
    with noted(operator) as checks:
        _evaluate(example, operator, before, checks, findings, given, execute=execute)
    return example


def _evaluate(
    example: Example,
    operator: Operator,
    before: int,
    checks: Checks,
    findings: Findings,
    given: Given,
    *,
    execute: bool,
) -> None:
    layer, written = example.snippet, example.snippet.layer
    example.attributes = bind_attributes(written, operator, findings) if "data" not in layer.elided else {}
    example.inputs = complete_inputs(layer, operator, given, findings)
    node = _node(example, operator, findings)
    if not layer.elided & {"input", "output"}:
        check_arity(node, findings)
    unwritten = missing = _missing(example, operator, given, has_bodies=bool(node.bodies))
    if missing is None and execute:
        missing = draw_missing(example.inputs, operator, example.attributes, given)
    _set_types(node, example)
    repairable = len(findings.report.errors)
    if unwritten is None:
        _repair_shapes(node, example, operator, findings)
    repaired = len(findings.report.errors)
    if unwritten is None or not execute:
        node.set_outputs(infer_node(node, findings))
    found = findings.report.errors
    # What a repair has mended no longer stands in the way.
    broken = [d for d in found[before:repairable] + found[repaired:] if _forbids(d)]
    if node.bodies:  # What the grammar says about bodies was found when the text was read.
        broken += [d for d in found[:before] if _forbids(d)]
    if broken and missing is None:
        missing = Obstacle(f"{broken[0].code}: {broken[0].message}")
    example.outputs = [
        ExampleOutput(layer.outputs[i] if i < len(layer.outputs) else None, value.type)
        for i, value in enumerate(node.outputs)
    ]
    example.not_executed = missing or (None if execute else Obstacle("not asked for"))
    if example.executed:
        _execute(node, example, operator, checks, findings)


def _forbids(finding: Diagnostic) -> bool:
    """Whether an example with this error cannot be run."""
    return finding.code[0] in "BDELOV" or finding.code == "P007"


def _node(example: Example, operator: Operator, findings: Findings) -> Node:
    """The layer as a node on Parameters of its own."""
    layer = example.snippet.layer
    parameter = contents.load("Parameter", 1)
    inputs = []
    for entry in example.inputs:
        source = Node(parameter, (), {}, name=entry.name)
        source.set_outputs([entry.type])
        inputs.append(source.outputs[0])
    attributes = {a.name: a.default for a in operator.attributes if not a.required} | example.attributes
    node = Node(operator, inputs, attributes, name=layer.name or "", id=layer.id or "", layer=layer)
    declared = [declared_type(port) for port in layer.outputs]
    node.set_outputs(TensorType() for _ in declared)
    for value, type in zip(node.outputs, declared, strict=True):
        value.declared = type
    if operator.type in ("If", "Loop", "TensorIterator"):
        node.bodies = build_bodies(node, layer, lambda net: build_net(net, findings, Weights()), findings)
    return node


def _set_types(node: Node, example: Example) -> None:
    for value, entry in zip(node.inputs, example.inputs, strict=True):
        assert value is not None
        # Values that were drawn say nothing about the page: its declared shapes must not be held against them.
        if entry.array is not None and not entry.is_drawn:
            value.type = TensorType.of(entry.array, entry.type.element_type)
        else:
            value.type = TensorType(entry.type.element_type, entry.type.shape)
        parameter = value.node
        parameter.attributes = {"shape": value.type.shape, "element_type": value.type.element_type}


def _repair_shapes(node: Node, example: Example, operator: Operator, findings: Findings) -> None:
    """Where a constraint names the shape that would mend it, report it and go on with that shape."""
    most = operator.signature.max_inputs
    if most is not None and len(node.inputs) > most:
        return
    for _ in example.inputs:
        breaches: list[Breach] = []
        operator.infer([v.type if v else None for v in node.inputs], node.attributes, breaches)
        mendable = next((b for b in breaches if b.repair), None)
        if mendable is None or mendable.repair is None:
            return
        report_breach(node, mendable, findings)
        for entry in example.inputs:
            shape = mendable.repair.get(entry.name)
            if shape is None or entry.array is None:
                continue
            entry.array = entry.array.reshape(shape)
            entry.type = TensorType(entry.type.element_type, PartialShape(shape))
            entry.repaired = True
            message = f"{entry.name} is read as {shown_shape(shape)} to go on"
            findings.add("Q033", message, at=At(entry.port.port.at), layer=example.layer, port=entry.port.port.id)
        _set_types(node, example)


def _missing(example: Example, operator: Operator, given: Given, *, has_bodies: bool) -> Obstacle | None:
    """Why the layer cannot be run, whatever the values."""
    if "data" in example.snippet.elided and any(a.required for a in operator.attributes):
        return Obstacle("its attributes are not written")
    lacking = [a.file_name for a in operator.attributes if a.required and a.name not in example.attributes]
    if lacking:
        return Obstacle(f"it lacks the attribute {lacking[0]}")
    if operator.type in ("If", "Loop", "TensorIterator") and not has_bodies:
        return Obstacle("its bodies are not written")
    if "input" in example.snippet.elided or len(example.inputs) < operator.signature.min_inputs:
        return Obstacle("its inputs are not written")
    if operator.type in ("Parameter", "Const"):
        return Obstacle(f"a {operator.type} by itself computes nothing")
    for index, entry in enumerate(example.inputs):
        has_values = entry.port.listed is not None or {entry.name, str(index), *entry.keys} & given.inputs.keys()
        if entry.array is None and has_values and not entry.type.element_type.is_dynamic:
            return Obstacle(f"the values of {entry.name} cannot be read")
    return None


def _execute(node: Node, example: Example, operator: Operator, checks: Checks, findings: Findings) -> None:
    declared = [value.declared for value in node.outputs]
    for value in node.outputs:
        value.declared = None  # An example's own dims are judged here: a page may show those of its own values.
    model = Model(list(node.outputs), [v.node for v in node.inputs if v is not None])
    arrays = [e.array for e in example.inputs]
    try:
        # What the layers of a body check is nothing that this operator checks.
        with running(None if node.bodies else operator):
            results = CompiledModel(model).infer_new_request(arrays)
    except IRError as error:
        _report_failure(error.report, node, example, findings)
        return
    small = sum(array.size for array in arrays if array is not None) <= MAX_OPEN
    left_open = open_result(operator, [*arrays], node.attributes) if small else None
    if left_open is not None:
        findings.add("O009", left_open.note, at=At(example.snippet.layer.at), layer=example.layer)
    for index, output in enumerate(example.outputs):
        output.array = results[index]
        node.outputs[index].declared = declared[index]
        _check_shape(index, node.outputs[index], output.array, example, findings)
        _compare(index, output, example, findings, left_open if index == 0 else None)
    _say_verified(node, example, checks)


def _report_failure(report: Report, node: Node, example: Example, findings: Findings) -> None:
    """What broke while running, at its place in the example. Values that were drawn at random are not the page's."""
    drawn = {entry.name for entry in example.inputs if entry.is_drawn}
    by_chance = []
    for finding in report:
        blamed = finding.port in drawn or (bool(drawn) and finding.port is None and finding.code == "O005")
        findings.add(
            finding.code,
            finding.message,
            at=place_of(node, finding.port, None),
            severity=Severity.NOTE if blamed else None,
            layer=example.layer,
            port=finding.port,
            constraint=finding.constraint,
            found=finding.found,
            allowed=finding.allowed,
            hint="give its values with --input" if blamed else finding.hint,
        )
        by_chance.append(blamed)
    example.not_executed = Obstacle(report.diagnostics[0].message, by_chance=by_chance[0])


def _check_shape(index: int, value: Value, result: Array, example: Example, findings: Findings) -> None:
    """Report a result of another shape than the port declares, where only running could tell."""
    declared = value.declared
    if declared is None or declared.shape.accepts(result.shape) or not declared.shape.compatible(value.type.shape):
        return
    found, allowed = shown_shape(result.shape), str(declared.shape)
    message = f"{output_name(example, index)} has shape {found}; the port declares {allowed}"
    port = example.snippet.layer.outputs[index]
    severity = Severity.NOTE if any(entry.is_drawn for entry in example.inputs) else None
    where: dict[str, Any] = {"at": At(port.at), "layer": example.layer, "port": port.id}
    findings.add("O006", message, severity=severity, found=found, allowed=allowed, **where)


def _compare(index: int, output: ExampleOutput, example: Example, findings: Findings, left_open: Open | None) -> None:
    port = output.port
    if port is None or port.listed is None or output.array is None:
        return
    kind: ElementType = output.type.element_type
    shape = declared_type(port.port).shape if port.port.dims else PartialShape.dynamic()
    name = output_name(example, index)
    where: dict[str, Any] = {"place": port.place, "layer": example.layer, "port": port.port.id}
    # What comes of inputs that were drawn at random says nothing against the page.
    chance = any(entry.is_drawn for entry in example.inputs)
    documented = listed_array(port, kind, shape, name, example.snippet, findings)
    if documented is None:
        return
    computed = output.array
    if documented.size != computed.size:
        if chance:
            return
        message = f"{name} documents {plural(documented.size, 'value')}; the operator makes {computed.size}"
        output.documented, output.agrees = documented, False
        findings.add("T001", message, found=shown(documented), allowed=shown(computed), **where)
        return
    difference = compare(documented.reshape(computed.shape), computed, kind, left_open)
    if difference is not None and chance:
        return
    output.documented, output.difference = documented.reshape(computed.shape), difference
    output.agrees = difference is None
    if difference is not None:
        why = "no order of updates gives" if difference.impossible else "the operator does not make"
        message = f"{name}: {why} the documented values: {difference.words}"
        findings.add("T001", message, found=shown(output.documented), allowed=shown(computed), **where)


def output_name(example: Example, index: int) -> str:
    """How an output is spoken of: by its position, where there are several."""
    return f"output {index}" if len(example.outputs) > 1 else "output"


def _say_verified(node: Node, example: Example, checks: Checks) -> None:
    for index, (value, output) in enumerate(zip(node.outputs, example.outputs, strict=True)):
        declared, name = value.declared, output_name(example, index)
        if declared is not None and declared.shape.rank is not None and _has(output.array, declared.shape):
            example.verified.append(f"{name} has the declared shape {declared.shape}")
        kind = value.type.element_type
        if declared is not None and declared.element_type is kind and kind is not DYNAMIC:
            example.verified.append(f"{name} has the declared precision {kind}")
        if output.agrees:
            example.verified.append(f"{name} has the documented values")
    if held := checks.held:
        example.verified.append(f"constraint{'s' * (len(held) > 1)} {', '.join(held)} of {node.operator}")


def _has(array: Array | None, shape: PartialShape) -> bool:
    return array is not None and shape.accepts(array.shape)


def evaluated_report(snippet: Snippet) -> Report:
    """Everything found about a snippet, in the order of its text."""
    return snippet.findings.report.sorted()


def examples_of(path: str, given: Given | None = None, **options: Any) -> tuple[Snippet, Sequence[Example]]:
    """Read and evaluate the file at `path`."""
    with open_regular(path) as stream:
        snippet = read_examples(stream.read(), file=path, **options)
    return snippet, evaluate(snippet, given)
