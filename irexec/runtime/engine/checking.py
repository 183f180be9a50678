"""Run-time checks: constraints that inference could not check are checked on the shapes of the actual arrays.

A shape rule that accepts some extents is run once more with numbers on a tape, which records all comparisons with them:
where these have the same results, the rule accepts other extents too, and need not run again. The cache of a language
model has another length at each token.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from itertools import accumulate, count
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irexec.core.diagnostics import IRError
from irexec.core.types import DYNAMIC, Array, Dimension, ElementType, PartialShape, Stored, TensorType
from irexec.core.types.traced import Tape, Traced, is_traced, untraced
from irexec.model.graph.model import Model, Node
from irexec.ops.spec.capacity import beyond_memory
from irexec.ops.spec.operator import Breach, Operator
from irexec.runtime.engine.errors import broken_constraints, too_large, wrong_result
from irexec.runtime.engine.kernels import attributes_key

if TYPE_CHECKING:
    from irexec.core.types.tape_program import Program

# The maximum number of combinations of shapes that are remembered as checked.
_MAX_REMEMBERED = 256
# The number of proofs for arrays of one kind: the rule distinguishes few cases, or depends on each extent.
_MAX_PROOFS = 3
# Integer inputs of up to this size describe shapes and axes: the shape rule also receives their values.
_MAX_COMPARED = 32


class Rules:
    """The shape rules of layers with unknown shapes; equal layers share what is known of their rule."""

    def __init__(self) -> None:
        self._known: dict[object, _Rule] = {}

    def checked(
        self, call: Callable[..., Any], node: Node, given: Sequence[TensorType | None], model: Model
    ) -> Callable[..., Any]:
        """Return the call of a layer: runs the shape rule when a combination of shapes first occurs, unless a proof for
        other extents covers it.

        The callable raises IRError with the findings that a model with these static shapes would get.
        """
        kinds = tuple([type.element_type if type is not None else DYNAMIC for type in given])
        key = node.operator, attributes_key(node), kinds
        if (rule := self._known.get(key)) is None:
            assert node.operator is not None
            rule = self._known[key] = _Rule(node.operator, node.all_attributes, kinds)
        known = rule

        def run(*inputs: Any) -> Any:
            kept, sizes = known.described(inputs)
            if (extents := known.proven(kept, sizes)) is not None:
                result = call(*inputs)
                if not _has_extents(result, extents):
                    _compare(result, known.infer(inputs, [])[1], node, model)
                return result
            if (kept, tuple(sizes)) in known.accepted:
                return call(*inputs)
            breaches: list[Breach] = []
            types_given, types = known.infer(inputs, breaches)
            if breaches:
                raise IRError(broken_constraints(node, breaches, model))
            if (reason := beyond_memory(types)) is not None:
                raise IRError(too_large(node, reason, model))
            result = call(*inputs)
            _compare(result, types, node, model)
            known.keep(kept, sizes, types_given, types)
            return result

        return run


class _Rule:
    """What is known of the shape rule of an operator with these attributes and element types.

    `accepted`: combinations of extents, each with what the rule receives besides them.
    """

    def __init__(self, operator: Operator, attributes: dict[str, Any], kinds: Sequence[ElementType]) -> None:
        self._operator, self._attributes, self._kinds = operator, attributes, kinds
        self.accepted: set[Any] = set()
        # By what the rule receives besides extents: element types, ranks, and values with their shapes.
        self._proofs: dict[Any, list[_Proof | None]] = {}
        # The inputs whose values the rule has read: for any other values of the other inputs, it does the same.
        self._read: set[int] = set()

    def described(self, inputs: Sequence[Any]) -> tuple[Any, list[int]]:
        """Return what the rule receives besides extents, and the extents."""
        kept: list[Any] = []
        sizes: list[int] = []
        for place, array in enumerate(inputs):
            if array is None:
                kept.append(None)
            elif place in self._read and (value := _small_content(array)) is not None:
                kept += array.dtype, array.shape, value
            else:
                shape = array.shape
                kept += array.dtype, len(shape)
                sizes += shape
        return tuple(kept), sizes

    def proven(self, kept: Any, sizes: Sequence[int]) -> list[list[int]] | None:
        """Return the shapes of the results if a proof covers these extents."""
        for proof in self._proofs.get(kept, ()):
            if proof is not None and (extents := proof.program.run(sizes)) is not None:
                return proof.shapes(extents)
        return None

    def infer(
        self, inputs: Sequence[Any], breaches: list[Breach]
    ) -> tuple[Sequence[_Given | None], Sequence[TensorType]]:
        """Return the types of these arrays and those of the results; `breaches` receives what the rule reports."""
        given = [_type_of(array, kind) for array, kind in zip(inputs, self._kinds, strict=True)]
        return given, self._operator.infer(given, self._attributes, breaches)

    def keep(
        self, kept: Any, sizes: Sequence[int], given: Sequence[_Given | None], types: Sequence[TensorType]
    ) -> None:
        """Store that the rule gives these types; prove it for other extents when it has been asked a second time."""
        further = {place for place, type in enumerate(given) if type is not None and type.was_read} - self._read
        if further or len(self.accepted) >= _MAX_REMEMBERED:
            self._read |= further
            self.accepted.clear()
            self._proofs.clear()
        if further:
            return
        self.accepted.add((kept, tuple(sizes)))
        if (proofs := self._proofs.get(kept)) is None:
            self._proofs[kept] = []
        elif len(proofs) < _MAX_PROOFS:
            proofs.append(_proved(self._operator, given, self._read, self._attributes, types))


class _Given(TensorType):
    """The type of an input; `was_read`: the shape rule has asked for its value."""

    __slots__ = ("_held", "was_read")

    @property
    def _value(self) -> Array | Stored | None:
        self.was_read = True
        return self._held

    @_value.setter
    def _value(self, value: Array | Stored | None) -> None:
        self._held, self.was_read = value, False


class _Proof(NamedTuple):
    """Decides whether extents of inputs are accepted, and computes the extents of the results, which have `ranks`."""

    program: Program
    ranks: list[int]

    def shapes(self, extents: list[int]) -> list[list[int]]:
        """Return the shapes of the results, given their extents one after the other."""
        if len(self.ranks) == 1:
            return [extents]
        ends = list(accumulate(self.ranks))
        return [extents[end - rank : end] for end, rank in zip(ends, self.ranks, strict=True)]


def _has_extents(result: Any, shapes: list[list[int]]) -> bool:
    """Return whether results have these shapes."""
    if result.__class__ is np.ndarray:
        return len(shapes) == 1 and [*result.shape] == shapes[0]
    results = result if isinstance(result, (tuple, list)) else (result,)
    return [[*array.shape] for array in results if isinstance(array, np.ndarray)] == shapes


def _proved(
    operator: Operator,
    given: Sequence[TensorType | None],
    read: Collection[int],
    attributes: dict[str, Any],
    types: Sequence[TensorType],
) -> _Proof | None:
    """Return the proof that the rule accepts these types, and all other extents for which its comparisons have the
    same results; None if the rule does not give these types for numbers on a tape.
    """
    from irexec.core.types.tape_program import Program

    tape, number = Tape(), count()

    def traced(place: int, type: TensorType | None) -> TensorType | None:
        if type is None or (type.has_value and place in read):
            return type
        sizes: list[Any] = [tape.size(next(number), extent, 0, None) for extent in type.shape.to_shape()]
        return TensorType(type.element_type, PartialShape([Dimension(size) for size in sizes]))

    breaches: list[Breach] = []
    # A rule may need a plain number in a way that a tape does not support.
    with suppress(Exception):
        made = operator.infer([*map(traced, count(), given)], attributes, breaches)
        wanted = [_single(extent) for found in made for extent in found.shape]
        ranks = [len(found.shape) for found in made]
        plain = [extent.value for found in types for extent in found.shape]
        if not breaches and beyond_memory(made) is None and untraced(wanted) == plain:
            entries = [each.entry if type(each) is Traced else tape.constant(each) for each in wanted]
            return _Proof(Program(tape, entries), ranks)
    return None


def _single(extent: Dimension) -> Any:
    """Return the number of a static extent, traced or plain, without a comparison on the tape."""
    low: Any = extent.min
    high: Any = extent.max
    same = low.entry == high.entry if is_traced(low) and is_traced(high) else not is_traced(low) and low == high
    if not same:
        raise ValueError("the rule gives a range")
    return low


def _small_content(array: Array) -> bytes | None:
    return array.tobytes() if array.dtype.kind in "iu" and array.size <= _MAX_COMPARED else None


def _type_of(array: Array | None, kind: ElementType) -> _Given | None:
    if array is None:
        return None
    known = kind if kind is not DYNAMIC else ElementType.of(array.dtype)
    return _Given(known, PartialShape(array.shape), None if _small_content(array) is None else array)


def _compare(result: Any, types: Sequence[TensorType], node: Node, model: Model) -> None:
    """Raise IRError if a result contradicts the types that the operator's shape rule returned."""
    results = result if isinstance(result, (tuple, list)) else (result,)
    for index, (array, type) in enumerate(zip(results, types, strict=False)):
        if array is not None and not type.shape.accepts(array.shape):
            raise IRError(wrong_result(node, index, type, array, model))
