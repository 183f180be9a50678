"""Probing: inference of a model at given sizes of its dynamic dimensions, and the first layer that refuses them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from irexec.core.diagnostics import Diagnostic
from irexec.core.diagnostics.codes import CODES
from irexec.core.diagnostics.deadline import ask, watched
from irexec.core.diagnostics.findings import Findings
from irexec.core.records import record
from irexec.core.structure import PARAMETER, READ_VALUE
from irexec.core.types import PartialShape, TensorType
from irexec.model.graph.model import Model, Node
from irexec.model.inference.infer import Inferring
from irexec.model.inference.inference import Inference
from irexec.model.inference.repeats import Repeats
from irexec.model.inference.variables import check_variables
from irexec.ops.spec.traits import Selection
from irexec.tools.shapes.calls import Layers
from irexec.tools.shapes.declared import open_places

Sizes = tuple[int, ...]
"""One size for each dynamic dimension, in the order of `Prober.dims`."""

Extents = tuple[int | None, ...]
"""The extents of a shape; None where one depends on values."""

# The number of layer results that are kept between probes, in some 100 MB of memory.
_MAX_REPEATS = 200_000
# The number of layers that are inferred between two checks of the time.
_BETWEEN_LOOKS = 64


@record(frozen=True)
class OpenDim:
    """A dynamic dimension of an input, with its declared bounds.

    `also`: further dimensions, as (input, axis), which have the same size because the model gives them the same name.
    """

    input: int
    axis: int
    low: int
    high: int | None
    also: tuple[tuple[int, int], ...] = ()

    @property
    def id(self) -> str:
        return f"{self.input}.{self.axis}"

    @property
    def places(self) -> tuple[tuple[int, int], ...]:
        """The dimensions that have this size, as (input, axis)."""
        return ((self.input, self.axis), *self.also)

    @property
    def bits(self) -> int:
        """A bit for each input that has this size, as in `Prober.reached`."""
        return sum(1 << number for number in {number for number, _ in self.places})

    def axis_of(self, input: int) -> int | None:
        """Return the first axis of an input that has this size; None if there is none."""
        return next((axis for number, axis in self.places if number == input), None)

    def allows(self, size: int) -> bool:
        return self.low <= size and (self.high is None or size <= self.high)


@record(frozen=True)
class Refusal:
    """The first layer that refuses some sizes. `position` is its place in the order of the layers.

    `extents` are the static extents and small values of its inputs, from which fitting sizes can be derived.
    """

    position: int
    node: Node | None
    finding: Diagnostic
    extents: tuple[tuple[int, ...], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the layer and its finding as JSON values."""
        return {
            "layer": self.node.friendly_name if self.node is not None else None,
            "type": self.node.type if self.node is not None else None,
            "code": self.finding.code,
            "constraint": self.finding.constraint,
            "finding": self.finding.message,
        }


@record(frozen=True)
class Outcome:
    """The result of one probe: the shapes of the model's outputs, or the refusal.

    `beyond`: layers that read rows beyond the end of a table, with the number of rows. Such sizes are accepted: Gather
    returns zeros for these rows.
    """

    outputs: tuple[PartialShape, ...] = ()
    refusal: Refusal | None = None
    beyond: tuple[tuple[Node, int], ...] = ()

    @property
    def accepted(self) -> bool:
        return self.refusal is None


class OutOfProbes(Exception):
    """Raised when the time for probing has run out."""


class Prober:
    """Infers one model repeatedly. Layers that depend on no dynamic dimension are inferred once."""

    def __init__(self, model: Model, shapes: Sequence[PartialShape], progress: Callable[[int], None] | None = None):
        """`shapes`: the shapes of the model's inputs, all of known rank. `progress` receives the number of probes."""
        self.model = model
        self._element_types = [value.element_type for value in model.inputs]
        self.shapes = list(shapes)
        self.dims = [_open_dim(self.shapes, places) for places in open_places(model, self.shapes)]
        self.probes = 0
        self._progress = progress
        self._known: dict[Sizes, Outcome] = {}
        self._deadlines: list[float] = []
        given = {n for n, value in enumerate(model.inputs) if self.shapes[n] != value.type.shape}
        self.reached = _reached(model, given.union(number for dim in self.dims for number, _ in dim.places))
        self._repeats = Repeats()
        self.layers = Layers()
        self.unsized: dict[str, Diagnostic] = {}
        self._fixed = Inference()
        self._changing: list[tuple[int, Node]] = []
        self._prepare()

    def _prepare(self) -> None:
        run = Inferring(Findings(), declared=False, repeats=self._repeats)
        for position, node in enumerate(watched(self.model.nodes, "inferring types")):
            if node.type == PARAMETER and node.held is None:
                continue
            if node in self.reached or node.has_state or node.bodies:
                self._changing.append((position, node))
            elif run.inference.inputs(node) or node.held is not None:
                run.node(node)
            else:
                self._changing.append((position, node))
        self._fixed = run.inference

    @contextmanager
    def limited(self, seconds: float) -> Iterator[None]:
        """Raise OutOfProbes if probing in the block takes longer than this, in time of the processor, so that
        other programs do not change what is found.
        """
        self._deadlines.append(time.thread_time() + seconds)
        try:
            yield
        finally:
            self._deadlines.pop()

    def at(self, sizes: Sizes) -> Outcome:
        """Return the outcome of inference at these sizes."""
        found = self._known.get(sizes)
        if found is None:
            self.look()
            found = self._known[sizes] = self._infer(sizes)
            self.probes += 1
            self.tell()
        return found

    def look(self) -> None:
        """Raise OutOfProbes if the time for probing has run out."""
        if self._deadlines and time.thread_time() > min(self._deadlines):
            raise OutOfProbes

    def tell(self) -> None:
        """Report the progress."""
        if self._progress is not None:
            self._progress(self.combinations)

    @property
    def combinations(self) -> int:
        """The number of combinations that were decided."""
        return self.probes

    def accepts(self, sizes: Sizes) -> bool:
        """Return whether inference at these sizes reports no error."""
        is_allowed = all(dim.allows(size) for dim, size in zip(self.dims, sizes, strict=True))
        return is_allowed and self.position(sizes) is None

    def position(self, sizes: Sizes) -> int | None:
        """Return the position of the layer that refuses these sizes; None if the model accepts them."""
        refusal = self.at(sizes).refusal
        return None if refusal is None else refusal.position

    def refusal(self, sizes: Sizes) -> Refusal | None:
        """Return the refusal of these sizes, with its finding; None if the model accepts them."""
        return self.at(sizes).refusal

    def outputs(self, sizes: Sizes) -> tuple[Extents | None, ...]:
        """Return the shapes of the outputs at accepted sizes; None for a rank or a dimension that is not known."""
        return tuple(map(_extents, self.at(sizes).outputs))

    def inputs_at(self, sizes: Sizes) -> list[PartialShape]:
        """Return the shapes of the inputs at these sizes."""
        shapes = [list(shape) for shape in self.shapes]
        for dim, size in zip(self.dims, sizes, strict=True):
            for number, axis in dim.places:
                shapes[number][axis] = type(shapes[number][axis])(size)
        return [PartialShape(shape) for shape in shapes]

    def after_reset(self, sizes: Sizes) -> Inference:
        """Return the types in the first run after a reset, in which variables have their initial values."""
        run = self._begun(sizes, Findings())
        for node in self.changing:
            run.node(node)
            if node.type == READ_VALUE and node.inputs and (start := run.inference.inputs(node)[0]) is not None:
                run.inference.note(node, (start.without_value(),))
        return run.inference

    def types_at(self, sizes: Sizes) -> Inference:
        """Return the types of all values at sizes that the model accepts."""
        run = self._begun(sizes, Findings())
        for _, node in self._changing:
            run.node(node)
        return run.inference

    @property
    def changing(self) -> list[Node]:
        """The layers that depend on sizes, in order."""
        return [node for _, node in self._changing]

    def followed(self, sizes: Sizes) -> tuple[Outcome, Inference, Node | None]:
        """Return the outcome at these sizes, the types that were inferred, and the layer that refuses the sizes."""
        run, outcome = self._run(sizes)
        if sizes not in self._known:
            self._known[sizes] = outcome
            self.probes += 1
        return outcome, run.inference, None if outcome.refusal is None else outcome.refusal.node

    def _begun(self, sizes: Sizes, findings: Findings) -> Inferring:
        """Return an inference that contains the types of the inputs, and of the layers that depend on no dynamic
        dimension.
        """
        if len(self._repeats) > _MAX_REPEATS:
            self._repeats = Repeats()
        run = Inferring(findings, declared=False, repeats=self._repeats)
        run.inference.take(self._fixed)
        for node, kind, shape in zip(self.model.parameters, self._element_types, self.inputs_at(sizes), strict=True):
            run.inference.note(node, (TensorType(kind, shape),))
        return run

    def _infer(self, sizes: Sizes) -> Outcome:
        return self._run(sizes)[1]

    def _run(self, sizes: Sizes) -> tuple[Inferring, Outcome]:
        findings = Findings()
        run = self._begun(sizes, findings)
        beyond: list[tuple[Node, int]] = []
        errors = 0
        for count, (position, node) in enumerate(self._changing):
            if count % _BETWEEN_LOOKS == 0:
                ask("probing sizes")
            run.node(node)
            if findings.error_count > errors:
                errors = findings.error_count
                if (refusal := self._refused(position, node, findings, run.inference)) is not None:
                    return run, Outcome(refusal=refusal, beyond=tuple(beyond))
            if Selection in node.traits and (rows := _rows_exceeded(node, run.inference)) is not None:
                beyond.append((node, rows))
        check_variables(self.model, run.inference, findings)
        if findings.error_count > errors:
            refusal = self._refused(len(self.model.nodes), None, findings, run.inference)
            return run, Outcome(refusal=refusal)
        return run, Outcome(tuple(run.inference[value].shape for value in self.model.outputs), beyond=tuple(beyond))

    def _refused(self, position: int, node: Node | None, findings: Findings, inference: Inference) -> Refusal | None:
        """Return the first refusal; None if there are only errors of element types, which `unsized` collects."""
        errors = [finding for finding in findings.report.errors if not CODES[finding.code].concerns_types]
        self.unsized |= {str(each): each for each in findings.report.errors if CODES[each.code].concerns_types}
        return _refusal(position, node, errors[0], inference) if errors else None


def _extents(shape: PartialShape) -> Extents | None:
    return None if shape.rank is None else tuple(each.value if each.is_static else None for each in shape)


def _open_dim(shapes: Sequence[PartialShape], places: Sequence[tuple[int, int]]) -> OpenDim:
    extents = [shapes[number][axis] for number, axis in places]
    highs = [extent.max for extent in extents if extent.max is not None]
    low, high = max(extent.min for extent in extents), min(highs) if highs else None
    return OpenDim(*places[0], low, high, tuple(places[1:]))


def _refusal(position: int, node: Node | None, finding: Diagnostic, inference: Inference) -> Refusal:
    extents: list[tuple[int, ...]] = []
    for type in inference.inputs(node) if node is not None else ():
        if type is None:
            continue
        if type.rank is not None:
            extents.append(tuple(extent.value for extent in type.shape if extent.is_static))
        if type.has_value and type.element_type.is_integral_number and len(known := type.ints or ()) <= 8:
            extents.append(tuple(known))
    return Refusal(position, node, finding, tuple(extents))


def _rows_exceeded(node: Node, inference: Inference) -> int | None:
    """Return the number of rows of a table beyond whose end a Gather reads with known indices."""
    inputs = inference.inputs(node)
    table, indices, axis = inputs[:3] if len(inputs) >= 3 else (None, None, None)
    if table is None or indices is None or axis is None or not indices.has_value or table.rank is None:
        return None
    known, at = indices.ints, axis.scalar
    if not known or at is None or not -table.rank <= at < table.rank:
        return None
    rows = table.shape[int(at)]
    return rows.value if rows.is_static and max(known) >= rows.value else None


def _reached(model: Model, inputs: Iterable[int]) -> dict[Node, int]:
    """Return the nodes that depend on these inputs, with a bit for each input."""
    reached: dict[Node, int] = {model.parameters[number]: 1 << number for number in inputs}
    for node in model.nodes:
        bits = 0
        for value in node.inputs:
            if value is not None:
                bits |= reached.get(value.node, 0)
        if bits:
            reached[node] = reached.get(node, 0) | bits
    return reached
