"""Tracing: inference of a model at some sizes whose shape rules compute with numbers on a tape.

Every layer's traced types are compared with the types from plain inference. If a rule fails on traced numbers, or
infers less from them, the numbers that it read are pinned: later results hold for these numbers only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from irexec.core.diagnostics.codes import CODES
from irexec.core.diagnostics.deadline import ask
from irexec.core.diagnostics.findings import Findings
from irexec.core.records import record
from irexec.core.structure import PARAMETER
from irexec.core.types import Dimension, PartialShape, TensorType
from irexec.core.types.tape_program import Program
from irexec.core.types.traced import Tape, Traced, is_traced, untraced
from irexec.model.graph.model import Body, Model, Node
from irexec.model.inference import bodies
from irexec.model.inference.infer import Inferring
from irexec.model.inference.inference import Inference, Types
from irexec.model.inference.propagate import propagate
from irexec.model.inference.variables import check_variables
from irexec.ops.spec.operator import Breach
from irexec.ops.spec.traits import Comparison
from irexec.tools.shapes.calls import Hidden, Layer, Layers, filled
from irexec.tools.shapes.probe import Extents, Outcome, Prober, Sizes

_BETWEEN_LOOKS = 64


@record(frozen=True)
class Trace:
    """One traced inference: the tape, the outcome at its sizes, and the numbers of the outputs' dimensions.

    Where all guards hold, the outcome is the same. `outputs`: for each output a traced or plain number for each
    dimension; None if the shape depends on values. `program` decides whether the trace holds, and computes the
    dimensions.
    """

    sizes: Sizes
    tape: Tape
    outcome: Outcome
    outputs: tuple[tuple[Any, ...] | None, ...]
    program: Program

    @property
    def position(self) -> int | None:
        """The position of the layer that refuses the sizes; None if the model accepts them."""
        return None if self.outcome.refusal is None else self.outcome.refusal.position

    def outputs_at(self, sizes: Sizes) -> tuple[Extents | None, ...] | None:
        """Return the shapes of the outputs at other sizes; None if the trace does not hold for them."""
        found = self.program.run(sizes)
        if found is None:
            return None
        numbers = iter(found)
        return tuple(
            None if shape is None else tuple(next(numbers) if is_traced(each) else each for each in shape)
            for shape in self.outputs
        )

    @property
    def is_pinned(self) -> bool:
        """True if a rule used a number as a plain int, so that the outcome is derived for this number only."""
        return bool(self.tape.pinned)


class _Refused(Exception):
    """Raised if the rule of a layer reports a breach of its constraints."""


def trace(prober: Prober, sizes: Sizes) -> Trace:
    """Infer the model at these sizes twice: without tracing, and with numbers on a tape."""
    tape = Tape()
    tracing = _Tracing(tape, prober.layers)
    outcome, plain, refusing = prober.followed(sizes)
    traced_sizes = {
        place: tape.size(number, size, max(dim.low, min(size, 1)), dim.high)
        for number, (dim, size) in enumerate(zip(prober.dims, sizes, strict=True))
        for place in dim.places
    }
    for number, (node, shape) in enumerate(zip(prober.model.parameters, prober.shapes, strict=True)):
        if shape.is_dynamic:
            dims = [
                Dimension(traced_sizes[number, axis]) if extent.is_dynamic else extent  # type: ignore[arg-type]
                for axis, extent in enumerate(shape)
            ]
            tracing.types[node] = (TensorType(plain.outputs(node)[0].element_type, PartialShape(dims)),)
    for count, node in enumerate(prober.changing):
        if count % _BETWEEN_LOOKS == 0:
            ask("tracing sizes")
        tracing.node(node, plain, node is refusing)
        if node is refusing:
            return Trace(sizes, tape, outcome, (), Program(tape, ()))
    tracing.check_variables(prober.model, plain)
    outputs = tuple(
        _numbers(tracing.types.get(value.node, plain.outputs(value.node))[value.index].shape)
        for value in prober.model.outputs
    )
    traced = [each.entry for shape in outputs for each in shape or () if is_traced(each)]
    return Trace(sizes, tape, outcome, outputs, Program(tape, traced))


def _numbers(shape: PartialShape) -> tuple[Any, ...] | None:
    return None if shape.rank is None else tuple(dim.min if _is_single(dim) else None for dim in shape)


def _is_single(dim: Dimension) -> bool:
    """Return whether a dimension is known, without a guard."""
    return dim.min is dim.max or untraced([dim.min]) == untraced([dim.max])


class _Tracing:
    """The traced types of the layers that depend on sizes, and the plain inference with which they must agree."""

    has_given_types = False

    def __init__(self, tape: Tape, layers: Layers) -> None:
        self.tape, self.layers = tape, layers
        self.types: dict[Node, Types] = {}
        self.findings = Findings()
        self.inference = Inference()
        self.broken = 0

    def body(self, body: Body, parameters: Types) -> _Tracing:
        """Return the tracing of a body, with the interface that operators with bodies need."""
        plain = Inferring(Findings(), declared=False)
        plain.model(body.model, [filled(type, self.tape.values) or TensorType() for type in parameters])
        inner = _Tracing(self.tape, self.layers)
        inner.inference.take(plain.inference)
        inner.broken, inner.findings = plain.broken, plain.findings
        inner.types.update({node: (type,) for node, type in zip(body.model.parameters, parameters, strict=True)})
        for node in body.model.nodes:
            inner.node(node, plain.inference, False)
        for node, types in inner.types.items():
            inner.inference.note(node, types)
        return inner

    def take(self, trial: bodies.Inferring) -> None:
        """Count the failures inside a body. The types of its values are not kept, because nothing outside reads
        them.
        """
        self.broken += trial.broken

    def check_variables(self, model: Model, plain: Inference) -> None:
        """Check that the traced types of the model's variables agree, as plain inference does."""
        if any(node.has_state for node in model.nodes):
            traced = Inference()
            traced.take(plain)
            for node, types in self.types.items():
                traced.note(node, types)
            check_variables(model, traced, Findings())

    def node(self, node: Node, plain: Inference, refused: bool) -> None:
        inputs = [
            None if value is None else self.types.get(value.node, plain.outputs(value.node))[value.index]
            for value in node.inputs
        ]
        if node.type == PARAMETER or not any(type is not None and _is_special(type) for type in inputs):
            return
        expected = plain.outputs(node)
        made: Types | None = None
        pins, guards, reads = len(self.tape.pinned), len(self.tape.guards), self.tape.reads
        faults = self.broken + self.findings.error_count
        try:
            made = self._inferred(node, inputs, expected)
            if self.broken + self.findings.error_count > faults and refused:
                raise _Refused
        except _Refused:
            if refused and (len(self.tape.pinned), self.tape.reads) == (pins, reads):
                return
        except Exception:  # A rule that cannot compute with traced numbers.
            made = None
        agrees = made is not None and all(_agree(own, other) for own, other in zip(made, expected, strict=False))
        sources = _sources(inputs)
        layer = self.layers.of(node, inputs, sources) if sources else None
        is_recorded = (len(self.tape.pinned), self.tape.reads) == (pins, reads)
        if made is not None and agrees and not refused and (is_recorded or layer is None):
            self.types[node] = tuple(
                self._with_contents(own, other, layer, number, sources)
                for number, (own, other) in enumerate(zip(made, expected, strict=False))
            )
        elif layer is None:
            _pin(inputs)
        else:
            self.tape.rewind(pins, guards)
            if layer.hold(sources):
                self.types[node] = tuple(
                    self._with_contents(self._called(own, layer, number, sources), own, layer, number, sources)
                    for number, own in enumerate(expected)
                )

    def _called(self, plain: TensorType, layer: Layer, output: int, sources: Sequence[Traced]) -> TensorType:
        """Return the type of an output whose extents a call of its layer computes."""
        if plain.shape.rank is None:
            return plain.without_value()
        dims = [
            own if number is None else Dimension(number)
            for own, number in zip(plain.shape, layer.dims(output, sources), strict=True)
        ]
        return TensorType(plain.element_type, PartialShape(dims))

    def _with_contents(
        self, own: TensorType, plain: TensorType, layer: Layer | None, output: int, sources: Sequence[Traced]
    ) -> TensorType:
        """Return a traced type with the contents that plain inference finds, as numbers on the tape or hidden."""
        if not plain.has_value or own.has_value or own.partial is not None:
            return own
        numbers: list[Any] = []
        if layer is not None and plain.element_type.is_integral_number and not _is_traced_shape(own.shape):
            numbers = layer.contents(output, sources)
        if not numbers:
            return Hidden(own.shape, plain, sources, layer, output)
        partial = np.empty(len(numbers), object)
        partial[:] = numbers
        return TensorType(own.element_type, own.shape, partial=partial.reshape(own.shape.to_shape()))

    def _inferred(self, node: Node, inputs: Sequence[TensorType | None], expected: Types) -> Types | None:
        """Return the types that the operator's rule infers; None if it fails.

        Raises _Refused if the rule reports a broken constraint.
        """
        operator = node.operator
        if operator is None:
            return None
        if node.bodies:
            infer = bodies.BODIES.get(node.type)
            return None if infer is None else infer(node, inputs, self)
        breaches: list[Breach] = []
        types = operator.infer(inputs, node.attributes, breaches)
        breaches = [breach for breach in breaches if not CODES[breach.code].concerns_types]
        if any(breach.code == "O007" for breach in breaches):
            return None
        if breaches:
            raise _Refused
        if any(type.__class__ is Hidden for type in inputs):
            return types
        if Comparison in node.traits and (compared := self._compared(node, inputs, types)) is not None:
            return compared
        pins, guards = len(self.tape.pinned), len(self.tape.guards)
        try:
            made = propagate(operator, inputs, node.attributes, types)
        except Exception:
            return None
        if len(self.tape.pinned) == pins:
            return made
        # Contents that would have to be pinned are hidden: they matter only if a layer reads them. If plain inference
        # finds no contents of a small tensor, there are none at other sizes either.
        has_contents = any(type.has_value or type.partial is not None for type in expected)
        self.tape.rewind(pins, None if has_contents else guards)
        return types

    def _compared(self, node: Node, inputs: Sequence[TensorType | None], types: list[TensorType]) -> Types | None:
        """Return the type of the result of a comparison of traced numbers, with its contents; None if an operand is
        unknown. Each comparison adds a guard.
        """
        known = [None if type is None else type.known for type in inputs]
        if node.operator is None or any(each is None or any(isinstance(v, Dimension) for v in each) for each in known):
            return None
        arrays = []
        for type, each in zip(inputs, known, strict=True):
            assert type is not None and each is not None
            array = np.empty(len(each), object)
            array[:] = each
            arrays.append(array.reshape(type.shape.to_shape()))
        made = np.asarray(node.operator.kernel(*arrays, **node.operator.bind(node.attributes))).astype(bool)
        return [TensorType(types[0].element_type, types[0].shape, made)]


def _is_special(type: TensorType) -> bool:
    if type.__class__ is Hidden or _is_traced_shape(type.shape):
        return True
    return type.partial is not None and any(map(is_traced, type.partial.ravel()))


def _is_traced_shape(shape: PartialShape) -> bool:
    return shape.rank is not None and any(is_traced(dim.min) for dim in shape)


def _sources(inputs: Iterable[TensorType | None]) -> list[Traced]:
    """Return the traced numbers in the shapes and contents of some types."""
    found: dict[int, Traced] = {}
    for type in inputs:
        if type is None:
            continue
        # The shape of a Hidden type follows from its sources, as its contents do.
        numbers: list[Any] = [*type.sources] if isinstance(type, Hidden) else []
        if not numbers and type.shape.rank is not None:
            numbers += [each for dim in type.shape for each in (dim.min, dim.max)]
        if type.partial is not None:
            numbers += type.partial.ravel().tolist()
        found.update({number.entry: number for number in numbers if is_traced(number)})
    return list(found.values())


def _pin(inputs: Iterable[TensorType | None]) -> None:
    for number in _sources(inputs):
        int(number)


def _is_number(element: int | Dimension) -> bool:
    return not isinstance(element, Dimension)


def _agree(own: TensorType, plain: TensorType) -> bool:
    """Return whether a traced type equals the type from plain inference; unknown contents need not be equal."""
    if own.element_type != plain.element_type or own.shape.rank != plain.shape.rank:
        return False
    if own.shape.rank is not None:
        for one, other in zip(own.shape, plain.shape, strict=True):
            if untraced([one.min, one.max]) != [other.min, other.max]:
                return False
    if own.partial is not None:
        known, found = plain.known, untraced(own.partial.ravel().tolist())
        # An unknown number equals -1 (see Dimension), but must not match a known -1.
        return known == found and list(map(_is_number, known)) == list(map(_is_number, found))
    if own.has_value:
        return plain.has_value and np.array_equal(np.asarray(own.value), np.asarray(plain.value), equal_nan=False)
    return True
