"""What the rule of a layer states for every value of its unknown attributes, and every type of its wrong inputs."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import cycle, islice, product
from typing import Any, Literal, NamedTuple, get_args, get_origin

from irexec.core.types import DYNAMIC, ElementType, PartialShape, TensorType
from irexec.model.inference.inference import Types
from irexec.ops.spec.attributes import Attribute, base_type
from irexec.ops.spec.constraints import Limits
from irexec.ops.spec.operator import Breach, Operator

Inputs = Sequence[TensorType | None]

# The number of times that a layer is inferred to find further constraints that it breaks.
_MOST_ROUNDS = 4
# The number of values, or combinations of values, of unknown attributes.
_MOST_VALUES = 32
# Numbers for attributes with many values; the first 5 also for the items of lists.
_NUMBERS = ("1", "2", "3", "5", "0", "-1", "0.5", "1000", "1000000")


class Known(NamedTuple):
    """The known types of the outputs of a layer, whether they are complete, and the constraints that the layer breaks.

    Unknown element types and extents are dynamic.
    """

    types: Types
    is_certain: bool
    breaches: list[Breach]


def known_of(
    operator: Operator, variants: Sequence[Inputs], attributes: dict[str, Any], unknown: Sequence[str] = ()
) -> Known:
    """Return what is known of a layer with errors. `variants`: the inputs that it may have, the likeliest first.
    `unknown`: the attributes with unknown values, by Python name.

    Known is what is the same for every value that the unknown attributes, and those that break a constraint, may have;
    for every element type of an input with O003, or O002 of a single input; and for every input with other breaches.
    """
    reported, seen = list[Breach](), dict[str, Breach]()
    kinds: list[TensorType] | None = None
    for _ in range(_MOST_ROUNDS):
        values, sampled = _values_of(operator, unknown, seen.values())
        weakened = [_without(operator, inputs, seen.values()) for inputs in variants]
        outcomes = [
            _outcome(operator, given, attributes | chosen) for given in weakened for chosen in _combined(values)
        ]
        if kinds is None:
            kinds = [TensorType(type.element_type) for type in _shared_types(outcomes)]
        # Values that are refused were not meant; without types, a rule may fail.
        names = {name for each in operator.attributes if each.name in values for name in (each.name, each.file_name)}
        codes = {"O007"} if values or seen else set()
        possible = [o for o in outcomes if not any(b.attribute in names or b.code in codes for b in o.breaches)]
        fewest = min((len(outcome.breaches) for outcome in possible), default=0)
        possible = [outcome for outcome in possible if len(outcome.breaches) == fewest]
        if fewest:
            possible = [outcome for outcome in possible if outcome.inputs is possible[0].inputs]
        if not possible or any(len({o.attributes[name] for o in possible}) <= len(sampled) for name in sampled):
            break
        if not fewest:
            types = _shared_types(possible)
            are_equal = all(_described(each.types) == _described(types) for each in possible)
            is_static = all(type.shape.is_static and type.element_type is not DYNAMIC for type in types)
            is_certain = is_static or all(b.code == "O003" or _attribute(operator, b) for b in seen.values())
            return Known(types, are_equal and is_certain, reported)
        new = {b.message: b for each in possible for b in each.breaches if b.message not in seen}
        reported += [breach for breach in new.values() if all(breach in each.breaches for each in possible)]
        seen |= new
        if not new or not all(_is_located(operator, variants[0], breach) for breach in new.values()):
            break
    if kinds is None or any(breach.code != "O001" for breach in seen.values()):
        kinds = [TensorType()] * len(kinds or ())
    return Known(kinds, False, reported)


def make_a_difference(operator: Operator, inputs: Inputs, some: dict[str, Any], other: dict[str, Any]) -> bool:
    """Return whether attributes give other output types or break other constraints than other attributes."""
    if not all(operator.is_complete(inputs, attributes) for attributes in (some, other)):
        return True
    one, two = (_outcome(operator, inputs, attributes) for attributes in (some, other))
    return (one.breaches, _described(one.types)) != (two.breaches, _described(two.types))


class _Outcome(NamedTuple):
    """The constraints that a layer breaks with certain inputs and attributes, and its output types."""

    inputs: Inputs
    attributes: dict[str, Any]
    breaches: list[Breach]
    types: Types


def _outcome(operator: Operator, inputs: Inputs, attributes: dict[str, Any]) -> _Outcome:
    breaches: list[Breach] = []
    return _Outcome(inputs, attributes, breaches, operator.infer(inputs, attributes, breaches))


def _without(operator: Operator, inputs: Inputs, breaches: Collection[Breach]) -> Inputs:
    """Return the inputs without the types that break constraints."""
    given, names = list(inputs), _ports(operator, inputs)
    kinds = {"O003"} | ({"O002"} if [breach.code for breach in breaches].count("O002") == 1 else set())
    for breach in breaches:
        if _attribute(operator, breach) is None and (tensor := given[index := names.index(breach.port)]) is not None:
            # A wrong element type does not make the shape uncertain, unless inputs may have been exchanged.
            given[index] = TensorType(DYNAMIC, tensor.shape) if breach.code in kinds else TensorType()
    return given


def _values_of(
    operator: Operator, unknown: Sequence[str], breaches: Collection[Breach]
) -> tuple[dict[str, Sequence[Any]], list[str]]:
    """Return values of the unknown attributes and of those that break constraints, and the names of those that may have
    other values too.
    """
    limits = dict.fromkeys(unknown) | {
        attribute.name: breach.allowed for breach in breaches if (attribute := _attribute(operator, breach)) is not None
    }
    values, sampled = dict[str, Sequence[Any]](), list[str]()
    for attribute in operator.attributes:
        if attribute.name not in limits:
            continue
        allowed, kind = limits[attribute.name], base_type(attribute.annotation)
        if isinstance(allowed, Limits) and kind is int:
            values[attribute.name] = range(allowed.low, allowed.high + 1)
        else:
            values[attribute.name] = _values(operator, attribute)
            if not attribute.members and kind not in (bool, ElementType):
                sampled.append(attribute.name)
    return values, sampled


def _is_located(operator: Operator, inputs: Inputs, breach: Breach) -> bool:
    """Return whether it is known which attribute or input breaks a constraint."""
    return _attribute(operator, breach) is not None or breach.port in _ports(operator, inputs)


def _attribute(operator: Operator, breach: Breach) -> Attribute | None:
    return next((each for each in operator.attributes if breach.attribute in (each.name, each.file_name)), None)


def _ports(operator: Operator, inputs: Inputs) -> list[str | None]:
    return [operator.signature.port_name(index) for index in range(len(inputs))]


def _described(types: Types) -> list[tuple[ElementType, PartialShape]]:
    """Return the element types and shapes, without known values."""
    return [(type.element_type, type.shape) for type in types]


def _shared_types(outcomes: Sequence[_Outcome]) -> list[TensorType]:
    """Return what is the same in all types; an unknown type if the numbers of outputs differ."""
    if len({len(outcome.types) for outcome in outcomes}) > 1:
        return [TensorType()]
    return [_shared(column) for column in zip(*(outcome.types for outcome in outcomes), strict=True)]


def _shared(types: Sequence[TensorType]) -> TensorType:
    """Return what is the same in all types; dims and element types that differ are unknown."""
    kinds, shapes = {type.element_type for type in types}, {type.shape for type in types}
    kind = kinds.pop() if len(kinds) == 1 else DYNAMIC
    if len(types) == 1:
        return types[0]
    if len(shapes) == 1:
        return TensorType(kind, shapes.pop())
    if len({shape.rank for shape in shapes}) > 1 or types[0].rank is None:
        return TensorType(kind)
    extents = map(set, zip(*shapes, strict=True))
    return TensorType(kind, PartialShape(each.pop() if len(each) == 1 else -1 for each in extents))


def _combined(values: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return the attributes with each combination of their values, or, if these are too many, so that each value
    occurs.
    """
    combinations: Iterable[tuple[Any, ...]] = product(*values.values())
    if math.prod(map(len, values.values())) > _MOST_VALUES:
        longest = max(map(len, values.values()))
        combinations = islice(zip(*map(cycle, values.values()), strict=False), min(longest, _MOST_VALUES))
    return [dict(zip(values, chosen, strict=True)) for chosen in combinations]


@lru_cache(maxsize=256)
def _values(operator: Operator, attribute: Attribute) -> Sequence[Any]:
    """Return values that an attribute accepts: all of them, if there are few."""
    kind = base_type(attribute.annotation)
    if attribute.members or kind is bool:
        return attribute.members or (False, True)
    # Attributes that count from different numbers do not cancel each other.
    place = operator.attributes.index(attribute) % 5
    numbers = _NUMBERS[place:5] + _NUMBERS[:place] + _NUMBERS[5:]
    texts: dict[Any, Iterable[str]] = {
        int: numbers,
        float: numbers,
        ElementType: ElementType.by_name,
        PartialShape: ("...",),
    }
    accepted = [] if attribute.required else [attribute.default]
    for text in texts.get(kind, _lists(get_args(kind), numbers[:5]) if get_origin(kind) is tuple else ()):
        values, faults = operator.parse_attributes({attribute.file_name: text})
        if not any(fault.attribute == attribute.file_name for fault in faults):
            accepted.append(values[attribute.name])
    return list(dict.fromkeys(accepted))


def _lists(items: tuple[Any, ...], numbers: Sequence[str]) -> tuple[str, ...]:
    """Return texts of lists of these items: of no item, and of up to 4 equal items."""
    words = get_args(items[0])[:5] if items and get_origin(items[0]) is Literal else numbers
    return "", *(",".join([word] * count) for count in range(1, 5) for word in words)
