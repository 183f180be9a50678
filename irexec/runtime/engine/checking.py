"""Run-time checks: constraints that inference could not check are checked on the shapes of the actual arrays.

A shape rule that accepts some extents is run once more with numbers on a tape, which records all comparisons with them:
where these have the same results, the rule accepts other extents too, and need not run again. The cache of a language
model has another length at each token.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irexec.core.diagnostics import IRError
from irexec.core.types import DYNAMIC, Array, Dimension, ElementType, PartialShape, Stored, TensorType
from irexec.core.types.traced import Tape, Traced, is_traced, untraced
from irexec.model.graph.model import Model, Node
from irexec.ops.spec.capacity import beyond_memory
from irexec.ops.spec.operator import Breach, Operator
from irexec.runtime.engine.errors import broken_constraints, too_large, wrong_result

if TYPE_CHECKING:
    from irexec.core.types.tape_program import Program

# The maximum number of combinations of shapes that are remembered as checked.
_MAX_REMEMBERED = 256
# The number of proofs for arrays of one kind: the rule distinguishes few cases, or depends on each extent.
_MAX_PROOFS = 3
# Integer inputs of up to this size describe shapes and axes: the shape rule also receives their values.
_MAX_COMPARED = 32


def checked(
    call: Callable[..., Any], node: Node, given: Sequence[TensorType | None], model: Model
) -> Callable[..., Any]:
    """Return the call of a layer with unknown shapes: runs the shape rule when a combination of shapes first occurs,
    unless a proof for other extents covers it.

    The callable raises IRError with the findings that a model with these static shapes would get.
    """
    operator = node.operator
    assert operator is not None
    kinds = [type.element_type if type is not None else DYNAMIC for type in given]
    attributes = node.all_attributes
    known: set[Any] = set()
    # By what the rule receives besides extents: element types, ranks, and values with their shapes.
    proofs: dict[Any, list[_Proof | None]] = {}
    # The inputs whose values the rule has read: for any other values of the other inputs, it does the same.
    read: set[int] = set()

    def run(*inputs: Any) -> Any:
        values = [_small_content(inputs[place]) if place in read else None for place in range(len(inputs))]
        kept = tuple(
            [
                None if a is None else (a.dtype, a.ndim) if value is None else (a.dtype, a.shape, value)
                for a, value in zip(inputs, values, strict=True)
            ]
        )
        sizes = [n for a, value in zip(inputs, values, strict=True) if a is not None and value is None for n in a.shape]
        found = proofs.get(kept, ())
        for proof in found:
            if proof is not None and (extents := proof.program.run(sizes)) is not None:
                result = call(*inputs)
                if not proof.describes(result, extents):
                    _compare(result, operator.infer(types_of(inputs), attributes), node, model)
                return result
        if (key := (kept, tuple(sizes))) in known:
            return call(*inputs)
        given = types_of(inputs)
        breaches: list[Breach] = []
        types = operator.infer(given, attributes, breaches)
        further = {place for place, type in enumerate(given) if type is not None and type.was_read} - read
        if breaches:
            raise IRError(broken_constraints(node, breaches, model))
        if (reason := beyond_memory(types)) is not None:
            raise IRError(too_large(node, reason, model))
        result = call(*inputs)
        _compare(result, types, node, model)
        if further:
            read.update(further)
            known.clear()
            proofs.clear()
            return result
        if len(known) >= _MAX_REMEMBERED:
            known.clear()
            proofs.clear()
        known.add(key)
        if kept not in proofs:
            proofs[kept] = []
        elif len(found) < _MAX_PROOFS:
            proofs[kept].append(_proved(operator, given, read, attributes, types))
        return result

    def types_of(inputs: Sequence[Any]) -> list[_Given | None]:
        return [_type_of(array, kind) for array, kind in zip(inputs, kinds, strict=True)]

    return run


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

    def describes(self, result: Any, extents: list[int]) -> bool:
        """Return whether results have these extents, one result after the other."""
        results = result if isinstance(result, (tuple, list)) else (result,)
        shapes = [array.shape for array in results if isinstance(array, np.ndarray)]
        return list(map(len, shapes)) == self.ranks and [extent for shape in shapes for extent in shape] == extents


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


def _compare(result: Any, types: list[TensorType], node: Node, model: Model) -> None:
    """Raise IRError if a result contradicts the types that the operator's shape rule returned."""
    results = result if isinstance(result, (tuple, list)) else (result,)
    for index, (array, type) in enumerate(zip(results, types, strict=False)):
        if array is not None and not type.shape.accepts(array.shape):
            raise IRError(wrong_result(node, index, type, array, model))
