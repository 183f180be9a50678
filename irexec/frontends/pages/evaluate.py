"""Evaluation of examples: they are completed, built, inferred, run, and compared with the documented values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from math import inf

from irexec.core.collector import no_collection
from irexec.core.diagnostics import Diagnostic, IRError, Report, Severity
from irexec.core.diagnostics.codes import CODES, Area
from irexec.core.diagnostics.deadline import OutOfTime, watched
from irexec.core.diagnostics.findings import At, Findings, Mode
from irexec.core.structure import SOURCES
from irexec.core.types import PartialShape, TensorType
from irexec.frontends.pages.complete import Obstacle, complete_inputs, draw_missing
from irexec.frontends.pages.example import Example, ExampleOutput
from irexec.frontends.pages.judge import judge, verified
from irexec.frontends.pages.net import complete_net
from irexec.frontends.pages.reader import Snippet, SnippetLayer, read_snippet, version_from_name
from irexec.ir.weights.file import Weights
from irexec.ir.xml.source import Source
from irexec.model.arrays.brief import shown_shape
from irexec.model.arrays.given import Given
from irexec.model.graph.bind import bind_operator
from irexec.model.graph.build import build_net, declared_type
from irexec.model.inference import Inference, infer, infer_types
from irexec.model.inference.breaches import place_of
from irexec.ops.spec import contents
from irexec.ops.spec.checks import noted, running
from irexec.ops.spec.operator import REGISTRY, Operator
from irexec.ops.spec.traits import HasBodies
from irexec.runtime.engine import CompiledModel

_MULTIPLYING = frozenset({"convolution", "matrix"})
_SAMPLING = frozenset({"detection"})
_SAMPLES = 20


def estimated_work(example: Example) -> float:
    """Return an estimate of the operations of an execution: its output elements, or its multiplications."""
    sizes = [_size(entry.type) for entry in example.inputs]
    results = [_size(output.type) for output in example.outputs]
    work = float(sum(sizes) + sum(results))
    operator = example.operator
    family = operator.kernel.__module__.split(".")[-2] if operator is not None else ""
    if family in _SAMPLING:
        work *= _SAMPLES
    if family in _MULTIPLYING and len(sizes) > 1:
        # A matrix product: the root of the product of the sizes of its inputs and result. A convolution needs more.
        first, second = sorted(sizes)[-2:]
        work = max(work, math.sqrt(first * second * max(results, default=1)))
    return work


def _size(type: TensorType) -> float:
    if type.rank is None:
        return 1.0
    return math.prod(float(d.value) if d.is_static else 2.0 for d in type.shape)


# Maximum number of elements for which undefined results are determined; no page documents as many values.
MAX_OPEN = 1 << 20


def read_examples(
    given: str | bytes | Source,
    *,
    file: str | None = None,
    page: str | None = None,
    strict: bool = False,
    mode: Mode = "strict",
) -> Snippet:
    """Read a snippet; `page` is the name of the page that contains it, which may determine the version."""

    names = (page, file or (given.file if isinstance(given, Source) else None))

    def choose_version(type: str) -> str | None:
        type = contents.canonical_type(type) or type
        number = next((n for name in names if name and (n := version_from_name(name, type))), None)
        return contents.versioned(type, int(number) if number else None)

    known = {*contents.CONTENTS, *(type for type, _ in REGISTRY)}
    return read_snippet(given, file=file, known_types=known, choose_version=choose_version, strict=strict, mode=mode)


def evaluate(snippet: Snippet, given: Given | None = None, *, execute: bool = True) -> list[Example]:
    """Evaluate every loose layer of a snippet; findings are added to the snippet's. Never raises for its text."""
    layers = watched(snippet.layers, "checking examples", of=lambda _, found: found.layer)
    return [evaluate_layer(layer, snippet.findings, given or Given(), execute=execute) for layer in layers]


def checked(snippet: Snippet) -> Report:
    """Return every finding about the layers of a snippet, evaluated but not run. Never raises for its text."""
    with no_collection():
        try:
            evaluate(snippet, execute=False)
        except OutOfTime as stopped:
            stopped.add_to(snippet.findings)
    return evaluated_report(snippet)


def evaluate_layer(
    layer: SnippetLayer, findings: Findings, given: Given, *, execute: bool = True, most_work: float = inf
) -> Example:
    """Evaluate one layer. If it takes more than `most_work` steps and has no values to compare, it is not run."""
    before, trial = len(findings.report), findings.trial()
    operator = bind_operator(layer.layer, trial) if layer.layer.type else None
    example = Example(layer.layer.ref, layer, operator)
    if operator is None:
        bind_operator(layer.layer, findings)
        findings.report.unchecked.append(layer.layer.ref)
        errors = Report(findings.report.diagnostics[before:]).errors
        example.not_executed = Obstacle(errors[0].message if errors else "the operator is unknown")
        return example
    with noted(operator) as checks:
        evaluation = _Evaluation(example, operator, findings, given)
        example.not_executed = evaluation.obstacle(execute=execute, most_work=most_work)
        if trial.report.errors:
            example.not_executed = Obstacle(trial.report.errors[0].message)
        elif example.not_executed is None:
            evaluation.run()
        if example.executed:
            example.verified = verified(example, checks)
    return example


class _Evaluation:
    """The evaluation of one example: `model` is the net that completes its layer, `node` the layer in it."""

    def __init__(self, example: Example, operator: Operator, findings: Findings, given: Given) -> None:
        self.example, self.operator, self.findings, self.given = example, operator, findings, given
        self.layer = example.snippet.layer
        self.earlier = findings.report.errors
        example.inputs = complete_inputs(example.snippet, operator, given, findings)
        self._build()
        self._note_outputs([TensorType()] * len(self.node.outputs))
        if "data" not in example.snippet.elided:
            example.attributes = dict(self.node.attributes)

    def _build(self) -> None:
        """Build a net around the layer with the inputs known so far; `built` are the findings."""
        made = self.operator.outputs
        outputs = 1 if made and made[0].variadic else len(made)
        inputs = [(entry.name, entry.type) for entry in self.example.inputs]
        net, self.added = complete_net(self.layer, inputs, outputs)
        trial = self.findings.trial()
        self.model = build_net(net, trial, Weights())
        self.node = next(n for n in (*self.model.nodes, *self.model.unreachable) if n.ref not in self.added)
        self.built = [finding for finding in trial.report if self._is_of_the_page(finding)]

    def _is_of_the_page(self, finding: Diagnostic) -> bool:
        """Return whether a finding is about text on the page, not about additions or an ellipsis."""
        elided, area = self.example.snippet.elided, CODES[finding.code].area
        if finding.layer in self.added:
            return False
        if finding.layer != self.example.layer:
            return True
        if area is Area.CONSTANT or finding.code == "D012":
            return False  # A page has no weights, and may omit parts that OpenVINO's reader requires.
        if area is Area.ATTRIBUTE:
            return "data" not in elided
        return area is not Area.PORT or not elided & {"input", "output"}

    def obstacle(self, *, execute: bool, most_work: float) -> Obstacle | None:
        """Infer the types of the example, as far as it is written, and repair it.

        Returns the obstacle to running it; None if it can be run.
        """
        unwritten = missing = self._unwritten()
        if unwritten is None and execute:
            missing = self._too_long(most_work) or self._draw()
        found = self._infer()
        for finding in found:
            self.findings.keep(finding)
        # Grammar errors in bodies were reported when the text was read.
        known = [*(self.earlier if self.node.bodies else ()), *found]
        errors = [finding for finding in known if finding.severity is Severity.ERROR]
        if missing is None:
            broken = next((finding for finding in errors if CODES[finding.code].stops_layer), None)
            missing = Obstacle(f"{broken.code}: {broken.message}") if broken is not None else None
        return missing or (None if execute else Obstacle("not asked for"))

    def _unwritten(self) -> Obstacle | None:
        """Return the missing part of the text without which the layer cannot be run for any input values."""
        example, operator = self.example, self.operator
        if "data" in example.snippet.elided and any(a.required for a in operator.attributes):
            return Obstacle("its attributes are missing")
        required = [a.file_name for a in operator.attributes if a.required and a.name not in example.attributes]
        if lacking := [name for name in required if name not in self.layer.data]:
            return Obstacle(f"the attribute {lacking[0]} is missing")
        if HasBodies in operator.traits and not self.node.bodies:
            return Obstacle("its bodies are missing")
        if "input" in example.snippet.elided or len(example.inputs) < operator.signature.min_inputs:
            return Obstacle("its inputs are missing")
        if operator.type in SOURCES:
            return Obstacle(f"a single {operator.type} layer computes nothing")
        for index, entry in enumerate(example.inputs):
            names = {entry.name, str(index), *entry.keys}
            has_values = entry.port.listed is not None or names & self.given.inputs.keys()
            if entry.array is None and has_values and not entry.type.element_type.is_dynamic:
                return Obstacle(f"the values of {entry.name} cannot be read")
        return None

    def _too_long(self, most_work: float) -> Obstacle | None:
        """Return the reason why an example takes too long to run, if it documents no values."""
        if most_work == inf or any(port.listed is not None for port in self.example.snippet.outputs):
            return None
        self._note_outputs(self._types_inferred(self.findings.trial()).outputs(self.node))
        work = estimated_work(self.example)
        if work <= most_work:
            return None
        return Obstacle(f"running it would take long (about {work:.0e} steps), and the page documents no values")

    def _draw(self) -> Obstacle | None:
        return draw_missing(self.example.inputs, self.operator, self.example.attributes, self.given)

    def _types_inferred(self, findings: Findings) -> Inference:
        # Only values from the page count; random values do not affect the verdict on the page.
        types = [
            TensorType.of(entry.array, entry.type.element_type)
            if entry.array is not None and not entry.is_drawn
            else TensorType(entry.type.element_type, entry.type.shape)
            for entry in self.example.inputs
        ]
        return infer(self.model, types or None, findings, declared=True)

    def _infer(self) -> list[Diagnostic]:
        """Return findings about the layer. If a broken constraint proposes a shape that fixes it, use this shape."""
        while True:
            trial = self.findings.trial()
            inference = self._types_inferred(trial)
            found = [finding for finding in trial.report if finding.layer not in self.added]
            fixable = next((finding for finding in found if self._fixes(finding)), None)
            if fixable is None:
                self._note_outputs(inference.outputs(self.node))
                self.findings.report.unchecked += [ref for ref in trial.report.unchecked if ref not in self.added]
                return [*self.built, *found]
            self.findings.keep(fixable)
            self._fix(fixable.repair or {})

    def _fixes(self, finding: Diagnostic) -> bool:
        """Return whether a broken constraint proposes a shape in which the input's values satisfy it."""
        if CODES[finding.code].area is not Area.OPERATOR or finding.layer != self.example.layer:
            return False
        inputs = {entry.name: entry for entry in self.example.inputs if entry.array is not None and not entry.repaired}
        return finding.repair is not None and bool(finding.repair) and finding.repair.keys() <= inputs.keys()

    def _fix(self, repair: Mapping[str, tuple[int, ...]]) -> None:
        for entry in self.example.inputs:
            shape = repair.get(entry.name)
            if shape is None or entry.array is None:
                continue
            entry.array = entry.array.reshape(shape)
            entry.type = TensorType(entry.type.element_type, PartialShape(shape))
            entry.repaired = True
            message = f"{entry.name} is read as {shown_shape(shape)} to continue"
            port = entry.port.port
            self.findings.add("Q033", message, at=At(port.at), layer=self.example.layer, port=port.id)

    def _note_outputs(self, types: Sequence[TensorType]) -> None:
        ports = self.example.snippet.outputs
        self.example.outputs = [
            ExampleOutput(port, declared_type(port.port) if port is not None else TensorType(), type)
            for port, type in zip_longest(ports, types)
            if type is not None
        ]

    def run(self) -> None:
        """Execute the layer and compare its results."""
        example, operator = self.example, self.operator
        self._build()
        model = self.model
        infer_types(model, self.findings.trial())
        # Declared shapes are compared here: a page may show dims that hold for its own values only.
        model.keeps_declared = False
        arrays = [entry.array for entry in example.inputs]
        try:
            # Checks of layers in a body are not checks of this operator.
            with running(None if self.node.bodies else operator):
                results = CompiledModel(model).infer_new_request([array for array in arrays if array is not None])
        except IRError as error:
            self._report_failure(error.report)
            return
        for output, result in zip(example.outputs, results.to_tuple(), strict=False):
            output.array = result
        small = sum(array.size for array in arrays if array is not None) <= MAX_OPEN
        left_open = operator.oracle.open(*arrays, **self.node.attributes) if small else None
        if left_open is not None:
            self.findings.add("O009", left_open.note, at=At(self.layer.at), layer=example.layer)
        judge(example, left_open, self.findings)

    def _report_failure(self, report: Report) -> None:
        """Report a failure at its place in the example. If drawn values caused it, the page is not at fault."""
        drawn = {entry.name for entry in self.example.inputs if entry.is_drawn}
        by_chance = []
        for finding in report:
            blamed = finding.port in drawn or (bool(drawn) and finding.port is None and finding.code == "O005")
            self.findings.keep(
                replace(
                    finding,
                    place=self.findings.place(place_of(self.node, finding.port, None)),
                    severity=Severity.NOTE if blamed else finding.severity,
                    layer=self.example.layer,
                    hint="provide its values with --input" if blamed else finding.hint,
                )
            )
            by_chance.append(blamed)
        self.example.not_executed = Obstacle(report.diagnostics[0].message, by_chance=by_chance[0])


def evaluated_report(snippet: Snippet) -> Report:
    """Return all findings about a snippet, in the order of its text."""
    return snippet.findings.finished()
