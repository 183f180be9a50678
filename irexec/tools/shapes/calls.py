"""Calls: layers whose inference cannot compute with numbers on a tape, as functions of the numbers that they read.

A tape calls such a function for each combination of sizes: plain inference of the layer, and of the layers before it
whose contents it reads. So tracing makes no assumptions about floating-point arithmetic or about rules that branch.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np

from irexec.core.records import record
from irexec.core.types import Array, Dimension, PartialShape, TensorType
from irexec.core.types.traced import Operand, Traced, is_traced
from irexec.model.graph.model import Node
from irexec.model.inference.propagate import propagate
from irexec.ops.spec.operator import Breach

Numbers = Mapping[Operand, int] | Sequence[int]
"""The numbers to put in place of the entries of a tape."""
MOST_CONTENTS = 16
"""The number of elements of a tensor up to which its contents become numbers on a tape."""
# The number of combinations whose results a layer keeps.
_MOST_KNOWN = 1 << 14
# Numbers at which a function is compared with a formula, and the largest divisor of a formula.
_SAMPLES = (*range(1, 42), 50, 63, 64, 65, 96, 100, 127, 128, 129, 224, 255, 256, 257, 511, 512, 1000, 4096)
_MOST_PARTS = 64
# The minimum number of samples that a formula must reproduce.
_ENOUGH = 12


def filled(type: TensorType, numbers: Numbers) -> TensorType | None:
    """Return a type with its numbers on a tape replaced by `numbers`; None if the layer that computes its contents
    refuses these.
    """
    if isinstance(type, Hidden):
        if type.layer is None:
            return type.shown
        types = type.layer.types(tuple(numbers[number.entry] for number in type.sources))
        return None if types is None else types[type.output]

    def plain(number: Any) -> Any:
        return numbers[number.entry] if is_traced(number) else number

    shape = type.shape
    if shape.rank is not None and any(is_traced(dim.min) or is_traced(dim.max) for dim in shape):
        shape = PartialShape([Dimension(plain(dim.min), plain(dim.max)) for dim in shape])
    if type.partial is None:
        return type if shape is type.shape else TensorType(type.element_type, shape, type.held)
    contents = np.empty(type.partial.size, object)
    contents[:] = [plain(each) for each in type.partial.ravel()]
    contents = contents.reshape(type.partial.shape)
    if any(isinstance(each, Dimension) for each in contents.ravel()):
        return TensorType(type.element_type, shape, partial=contents)
    return TensorType(type.element_type, shape, _wrapped(contents, np.dtype(type.element_type.dtype)))


def _wrapped(contents: Array, dtype: np.dtype[Any]) -> Array:
    """Return integers as an array of a type, in which they wrap around as in a run."""
    if dtype.kind in "iu":
        numbers = [int(number) & ((1 << 64) - 1) for number in contents.ravel()]
        contents = np.array(numbers, np.uint64).reshape(contents.shape)
    return contents.astype(dtype)


class Hidden(TensorType):
    """The type of a tensor whose contents no numbers on a tape represent, because they are floats or too many.

    If a rule reads them, later results hold for these contents only, and the tape counts the read. `shown`: the
    contents at the traced sizes. `layer` computes them as its output number `output`.
    """

    __slots__ = ("layer", "output", "shown", "sources")

    def __init__(
        self, shape: PartialShape, shown: TensorType, sources: Sequence[Traced], layer: Layer | None, output: int
    ) -> None:
        super().__init__(shown.element_type, shape)
        self.shown, self.sources, self.layer, self.output = shown, sources, layer, output

    def _read(self) -> TensorType:
        self.sources[0].tape.reads += 1
        if self.layer is None or not self.layer.hold_contents(self.output, self.sources):
            for number in self.sources:
                int(number)
        return self.shown

    @property
    def value(self) -> Array | None:
        return self._read().value

    @property
    def has_value(self) -> bool:
        return self.shown.has_value

    @property
    def held(self) -> Any:
        return self._read().held

    @property
    def known(self) -> list[int | Dimension] | None:
        return self._read().known

    @property
    def scalar(self) -> Any:
        return self._read().scalar


class Layer:
    """The inference of one layer as a function of the numbers that its inputs have on a tape."""

    def __init__(self, node: Node, inputs: Sequence[TensorType | None], sources: Sequence[Traced]) -> None:
        self._node, self._inputs, self._sources = node, inputs, [number.entry for number in sources]
        self._known: dict[tuple[int, ...], list[TensorType] | None] = {}
        self.kinds: dict[Hashable, int] = {}
        self._bits: dict[tuple[int, ...], list[int]] = {}

    def types(self, numbers: tuple[int, ...]) -> list[TensorType] | None:
        """Return the types of the outputs for these numbers; None if the layer refuses them."""
        if numbers not in self._known:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
                self._bits.clear()
            self._known[numbers] = self._types(numbers)
        return self._known[numbers]

    def _types(self, numbers: tuple[int, ...]) -> list[TensorType] | None:
        operator = self._node.operator
        known = dict(zip(self._sources, numbers, strict=True))
        inputs = [None if each is None else filled(each, known) for each in self._inputs]
        assert operator is not None
        if any(made is None and given is not None for made, given in zip(inputs, self._inputs, strict=True)):
            return None
        breaches: list[Breach] = []
        try:
            types = operator.infer(inputs, self._node.attributes, breaches)
            return None if breaches else propagate(operator, inputs, self._node.attributes, types)
        except Exception:  # A broken constraint of known values, or numbers that the layers before it refuse.
            return None

    def bits(self, numbers: tuple[int, ...], output: int) -> list[int]:
        """Return the contents of an output for these numbers as integers (floats as their bits); an empty result
        if they are unknown or too large.
        """
        found = self._bits.get((output, *numbers))
        if found is None:
            types = self.types(numbers)
            found = self._bits[output, *numbers] = [] if types is None else _bits(types[output])
        return found

    def hold(self, sources: Sequence[Traced]) -> bool:
        """Add a guard that the kind of the layer's outputs, or its refusal, stays the same; return whether it accepts
        its inputs.
        """
        return _held(Kind(self), sources) != 0

    def hold_contents(self, output: int, sources: Sequence[Traced]) -> bool:
        """Add a guard that the contents of an output stay the same; return False if they are too large."""
        contents = self.contents(output, sources)
        return bool(contents) and all(not is_traced(each) or each == each.number for each in contents)

    def dims(self, output: int, sources: Sequence[Traced]) -> list[Any]:
        """Return the extents of an output as numbers on the tape; None for an extent that is not known.

        An extent that equals a constant or a source is replaced by it, with a guard.
        """
        own = [number.number for number in sources]
        types = self.types(tuple(own))
        shape = types[output].shape if types is not None else PartialShape.dynamic()
        changed = [_with(own, place, number + step) for place, number in enumerate(own) for step in (1, 2, 64)]
        dims: list[Any] = []
        for axis, extent in enumerate(shape if shape.rank is not None else ()):
            function = Number(self, output, axis=axis)
            dims.append(_call(function, sources) if extent.is_static else None)
            found = [(numbers, function.value(numbers)) for numbers in changed] if extent.is_static else []
            for place, candidate in enumerate((extent.min, *sources)):
                agrees = all(value in (None, [extent.min, *numbers][place]) for numbers, value in found)
                if found and agrees and dims[-1] == candidate:
                    dims[-1] = candidate
                    break
        return dims

    def contents(self, output: int, sources: Sequence[Traced]) -> list[Any]:
        """Return the contents of an output as numbers on the tape (floats as their bits), and guard their count."""
        count = _held(Kind(self, output), sources)
        return [_call(Number(self, output, element=place), sources) for place in range(count)]


@record(frozen=True)
class Kind:
    """The kind of a layer's outputs as a number, 0 if the layer refuses its inputs; or, if `output` is given, the
    number of elements in the contents of that output.
    """

    layer: Layer
    output: int | None = None

    def __call__(self, *numbers: int) -> int:
        if self.output is not None:
            return len(self.layer.bits(numbers, self.output))
        types = self.layer.types(numbers)
        if types is None:
            return 0
        kinds = self.layer.kinds
        return kinds.setdefault(tuple(map(_kind_of, types)), 1 + len(kinds))


@record(frozen=True)
class Number:
    """An extent of a layer's output, or an element of its contents, as a function of the layer's numbers."""

    layer: Layer
    output: int
    axis: int | None = None
    element: int | None = None

    def __call__(self, *numbers: int) -> int:
        return self.value(numbers) or 0

    def value(self, numbers: Sequence[int]) -> int | None:
        """Return the number; None if the layer refuses its inputs, or its output is of another kind."""
        if self.element is not None:
            bits = self.layer.bits(tuple(numbers), self.output)
            return bits[self.element] if self.element < len(bits) else None
        types = self.layer.types(tuple(numbers))
        if types is None:
            return None
        shape, axis = types[self.output].shape, self.axis or 0
        return shape[axis].value if shape.rank is not None and axis < shape.rank and shape[axis].is_static else None


class Layers:
    """The layers that were called, each once, so that all tapes share their results."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Layer] = {}

    def of(self, node: Node, inputs: Sequence[TensorType | None], sources: Sequence[Traced]) -> Layer | None:
        """Return the layer for these inputs, whose numbers are `sources`; None if it has bodies or a state, or if it
        reads contents that no layer computes."""
        if node.bodies or node.has_state or node.operator is None or not all(map(_is_computed, inputs)):
            return None
        places = {number.entry: place for place, number in enumerate(sources)}
        key = (node, *(None if type is None else _key(type, places) for type in inputs))
        return self._known.setdefault(key, Layer(node, inputs, sources))


def _key(type: TensorType, places: dict[Operand, int]) -> Hashable:
    """Return a key of a type, in which numbers on a tape are replaced by the positions of their sources."""
    if isinstance(type, Hidden):
        return type.layer, type.output, tuple(places[number.entry] for number in type.sources)
    value = type.held
    numbers = [each for dim in type.shape for each in (dim.min, dim.max)] if type.shape.rank is not None else [None]
    contents = [] if type.partial is None else type.partial.ravel().tolist()
    held = value.tobytes() if isinstance(value, np.ndarray) else value
    own = ((None, places[each.entry]) if is_traced(each) else each for each in (*numbers, "", *contents))
    return type.element_type, held, *own


def _is_computed(type: TensorType | None) -> bool:
    """Return whether the type at other numbers can be derived; a type with an interval between numbers cannot."""
    if type is None or isinstance(type, Hidden):
        return type is None or type.layer is not None
    dims = [] if type.shape.rank is None else [*type.shape]
    contents = [] if type.partial is None else [each for each in type.partial.ravel() if isinstance(each, Dimension)]
    traced = [dim for dim in (*dims, *contents) if is_traced(dim.min) or is_traced(dim.max)]
    return all(dim.min is dim.max for dim in traced) and not (traced and type.has_value)


def _call(function: Callable[..., int], sources: Sequence[Traced]) -> Any:
    return sources[0].tape.call(function, [number.entry for number in sources])


def _held(function: Callable[..., int], sources: Sequence[Traced]) -> int:
    """Return the value of a function at the traced sizes, and add a guard that it has this value."""
    number = _call(function, sources)
    present = int(number.number)
    return present if number == present else 0


def _is_small(type: TensorType) -> bool:
    return type.shape.is_static and prod(extent.value for extent in type.shape) <= MOST_CONTENTS


def _bits(type: TensorType) -> list[int]:
    if not type.has_value or not _is_small(type):
        return []
    value = np.asarray(type.value)
    if value.dtype.kind not in "iub":
        value = value.view(f"i{value.itemsize}") if value.itemsize in (1, 2, 4, 8) else np.zeros(0, int)
    return [int(each) for each in value.ravel()]


def _kind_of(type: TensorType) -> Hashable:
    return type.element_type, None if type.shape.rank is None else tuple(extent.is_static for extent in type.shape)


@record(frozen=True)
class Straight:
    """`(factor*x + shift) // divisor`, or this number modulo `modulus`; x is the argument at `place`."""

    place: int
    factor: int
    shift: int
    divisor: int
    modulus: int = 0


def straight(function: Number, own: Sequence[int]) -> Straight | None:
    """Return the formula that a number has at all samples, if it depends on one argument only."""
    found = [
        place
        for place, number in enumerate(own)
        if len({function.value(_with(own, place, each)) for each in (number, number + 1, 2, 7, 40, 256)} - {None}) > 1
    ]
    if len(found) != 1:
        return None
    tried = [(each, function.value(_with(own, found[0], each))) for each in _SAMPLES]
    points = [(each, value) for each, value in tried if value is not None]
    if len(points) < _ENOUGH:
        return None
    (first, low), (last, high) = points[0], points[-1]
    slope = Fraction(high - low, last - first).limit_denominator(_MOST_PARTS)
    factor, divisor = slope.numerator, slope.denominator
    shift = max(divisor * value - factor * each for each, value in points)
    if all((factor * each + shift) // divisor == value for each, value in points):
        return Straight(found[0], factor, shift, divisor)
    for modulus in range(2, _MOST_PARTS + 1):
        for sign in (1, -1):
            shift = (low - sign * first) % modulus
            if all((sign * each + shift) % modulus == value for each, value in points):
                return Straight(found[0], sign, shift, 1, modulus)
    return None


def _with(numbers: Sequence[int], place: int, number: int) -> list[int]:
    return [number if each == place else own for each, own in enumerate(numbers)]
