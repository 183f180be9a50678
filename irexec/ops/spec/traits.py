"""Traits: facts about an operator that other packages ask, such as whether it is random.

A trait is a class, declared with the operator: `@operator("Loop", "opset5", HasBodies)`. Of a trait with details, an
object is declared, and `operator.traits[Class]` returns it. A package that needs another fact adds a class.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias, TypeVar, cast


class Trait:
    """A fact about an operator."""


# What a call does beside its results.


class Pure(Trait):
    """Equal inputs give equal results, and a call has no other effect. Every operator without an `Effect` is pure."""


class Effect(Trait):
    """A reason why a call cannot be replaced by its earlier results."""


class Random(Effect):
    """The results are random numbers."""


class Stateful(Effect):
    """The operator reads or assigns a variable, which the engine keeps."""


class HasBodies(Effect):
    """A layer contains models, which the engine runs, and which may have any effect."""


# What an operator computes.


class Arithmetic(Trait):
    """The operator computes `a` · `b` for one of the four operations. `neutral`: the second operand that returns the
    first one.
    """

    neutral: int


class Sum(Arithmetic):
    """a + b."""

    neutral = 0


class Difference(Arithmetic):
    """a - b."""

    neutral = 0


class Product(Arithmetic):
    """a · b."""

    neutral = 1


class Quotient(Arithmetic):
    """a / b."""

    neutral = 1


class Division(Trait):
    """The operator divides by its second input, which therefore must not be an integer 0."""


class MatrixProduct(Trait):
    """The operator multiplies the matrices in its two inputs."""


class Convolution(Trait):
    """The operator correlates its first input with the kernel in its second. `grouped`: the kernel's first axis counts
    groups.
    """

    def __init__(self, *, grouped: bool) -> None:
        self.grouped = grouped


class TransposedConvolution(Trait):
    """The operator spreads its first input by the kernel in its second. `grouped`: as in Convolution."""

    def __init__(self, *, grouped: bool) -> None:
        self.grouped = grouped


class SquareRoot(Trait):
    """The square root of each element."""


class Exponentiation(Trait):
    """Each element of the first input to the power of the second."""


class Rounding(Trait):
    """Each element rounded to an integer."""


class Clamping(Trait):
    """Each element limited to a range, such as the numbers from 0 on."""


class ClampingTo(Clamping):
    """The attributes `min` and `max` state the range."""


class Comparison(Trait):
    """The operator compares two inputs, element by element."""


class Conversion(Trait):
    """The operator changes the element type alone."""


class ConversionTo(Conversion):
    """The attribute `destination_type` gives the element type."""


class Quantizer(Trait):
    """The operator rounds values to levels, which a scale or limits among its inputs determine."""


class Dequantization(Trait):
    """The operator computes the values of levels that a Quantizer made."""


class Quantization(Quantizer):
    """The operator rounds values to levels, between the limits that are its inputs."""


class Float8Rounding(Trait):
    """The operator rounds values to an 8-bit float."""


class Concatenation(Trait):
    """The operator joins its inputs along an axis."""


class Selection(Trait):
    """The operator selects slices of its first input by the indices in its second."""


class Transposition(Trait):
    """The operator reorders the axes of its first input."""


class KeepsElements(Trait):
    """The result is the first input with all of its elements in the same order."""


class Reshaping(KeepsElements):
    """The operator gives its first input the shape in its second."""


class ShapeReading(Trait):
    """The result is the shape of the input."""


class Unchanged(KeepsElements):
    """The result is the input."""


class CarriesSizes(Trait):
    """Inference runs the kernel, which moves the elements of its first input, on object arrays of int and Dimension."""


class ComputesSizes(CarriesSizes):
    """Inference runs the kernel, which computes element by element, on object arrays of int and Dimension."""


class Moving(Trait):
    """The elements of the result are elements of an input, or zeros."""


# What an operator does with values.


class Commutative(Trait):
    """The order of the two inputs does not change the result."""


class CommutativeInPatterns(Commutative):
    """OpenVINO's patterns match the inputs in either order as well."""


class Homogeneous(Trait):
    """Division of the first input by a positive number divides the result by it."""


class HomogeneousTogether(Trait):
    """Division of all inputs by the same positive number divides the result by it."""


class Bilinear(Trait):
    """Division of either input by a number divides the result by it."""


class MayOverflow(Trait):
    """Integer results may exceed their type, and wrap."""


class Steps(Trait):
    """A small change of an input may change the result by a whole step, as the result is rounded or chosen."""


class AlongAxes(Trait):
    """Each result depends on the elements along some axes, given by an attribute or by the second input."""


class SizesIn(Trait):
    """The inputs at some positions contain sizes, which determine the shape of the result."""

    def __init__(self, *positions: int) -> None:
        self.positions = positions


class Indexing(Trait):
    """The input `indices` contains positions, which may be negative; they are then counted from the end."""


class Scattering(Indexing):
    """The operator replaces the elements at the positions in `indices`."""


class Slicing(Trait):
    """The inputs `start` and `stop` are limited to the extent of their axis."""


class StridedSlicing(Trait):
    """The inputs `begin` and `end` are limited to the extent of their axis, unless masks replace them."""


class Encoding(Trait):
    """The input `indices` contains classes; a number that is no class gives a row of one value."""


class Ranking(Trait):
    """The operator returns the largest or smallest elements, and their positions."""


class BoxSelection(Trait):
    """The operator selects boxes in the order of their scores."""


class Detection(Trait):
    """The result is a list of detected boxes with their scores."""


class Positions(Trait):
    """The second output contains the positions of the first output's elements in the input."""


class KeepsGrid(Trait):
    """The elements of the result are elements of the first input, so that multiples of a step remain such multiples."""


class IgnoresUnconnected(Trait):
    """Optional inputs at the end that have a port, but no edge, count as absent."""


class NeedsOptional(Trait):
    """OpenVINO rejects the operator without the inputs that are optional on its page."""


class Unpacking(Trait):
    """The operator is a step in the expansion of compressed weights."""


DeclaredTrait: TypeAlias = Trait | type[Trait]
T = TypeVar("T", bound=Trait)


class Traits(dict[type[Trait], DeclaredTrait]):
    """The traits of an operator by class and base class."""

    def find(self, kind: type[T]) -> T | None:
        """Return the trait of a class with its details."""
        return cast("T | None", self.get(kind))


def traits_of(declared: Iterable[DeclaredTrait]) -> Traits:
    """Return the declared traits by class and base class; an operator without an effect is pure."""
    found = Traits()
    for trait in declared:
        for kind in (trait if isinstance(trait, type) else type(trait)).__mro__[:-2]:
            found[kind] = trait
    if Effect not in found:
        found[Pure] = Pure
    return found
