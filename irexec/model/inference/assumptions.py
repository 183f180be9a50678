"""Assumptions about layers with errors, with which these layers and their readers are checked nevertheless.

An error makes the type of a layer's outputs uncertain. The check continues with the corrections that the findings
suggest or, where none is suggested, with the types that the file declares. Findings that depend on an assumption state
it, and assumptions that contradict nothing are tried first, so that one cause has one finding.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import cycle, islice, product
from typing import Any, Literal, NamedTuple, get_args, get_origin

from irexec.core.diagnostics.findings import Findings
from irexec.core.types import DYNAMIC, ElementType, PartialShape, TensorType
from irexec.model.graph.build import declared_type
from irexec.model.graph.model import Node
from irexec.model.inference.inference import Inference, Types
from irexec.ops.spec.attributes import Attribute, base_type
from irexec.ops.spec.operator import Breach, Operator

Inputs = Sequence[TensorType | None]

# The number of values, or combinations of values, that are tried for attributes whose values are not allowed.
_MOST_VALUES = 32
# The number of times that a layer is inferred again to find further constraints that it breaks.
_MOST_ROUNDS = 3
# Texts that are tried for such attributes, if they are not enumerations: those that the attribute accepts.
_NUMBERS = ("1", "2", "3", "5", "0", "-1", "0.5", "1000", "1000000")
_TEXTS: dict[Any, Sequence[str]] = {
    int: _NUMBERS,
    float: _NUMBERS,
    ElementType: tuple(ElementType.by_name),
    PartialShape: ("...",),
}
_RANGE = re.compile(r"\[(-?\d+), (-?\d+)\]")


class Attempt(NamedTuple):
    """Inputs and attributes with which a layer may be inferred. `text`: the assumption; None without an assumption.

    `is_likely`: if every attempt contradicts the file, the contradictions of this attempt may be reported; without a
    likely attempt, those that all attempts have in common.
    """

    inputs: Inputs
    attributes: dict[str, Any]
    text: str | None
    is_likely: bool


class Assumptions:
    """The assumptions of one inference, bodies included.

    `of`: the assumption behind the types of a node's outputs. `declared`: the nodes whose types are only declared.
    """

    def __init__(self) -> None:
        self.of: dict[Node, str] = {}
        self.declared: set[Node] = set()

    def needed(self, node: Node, findings: Findings) -> bool:
        """Return True if a node of a file can be inferred only with assumptions about its attributes or inputs."""
        if node.operator is None or node.layer is None:
            return False
        return (
            (None in node.inputs and not node.bodies)
            or node.layer.at in findings.corrections
            or (bool(self.of) and any(value is not None and value.node in self.of for value in node.inputs))
        )

    def declare(self, node: Node, findings: Findings) -> Types:
        """Return the declared types of a node whose types cannot be inferred; its outputs are not checked."""
        types = [value.declared or TensorType() for value in node.outputs]
        if any(type.rank is not None or type.element_type is not DYNAMIC for type in types):
            shapes = ", ".join(str(type.shape) for type in types)
            self.of[node] = f"{node.ref} produces {shapes}, as it declares"
            self.declared.add(node)
            findings.report.unchecked.append(node.ref)
        return types

    @staticmethod
    def unresolved(node: Node, findings: Findings) -> list[Attribute]:
        """Return the attributes of a node for whose values the findings suggest no correction."""
        correction = None if node.layer is None else findings.corrections.get(node.layer.at)
        if correction is None or node.operator is None:
            return []
        return [attribute for attribute in node.operator.attributes if attribute.name in correction.unresolved]

    def attempts(self, node: Node, inference: Inference, findings: Findings) -> Iterator[Attempt]:
        """Yield the possible inputs and attributes of a node, the most likely first."""
        assert node.layer is not None and node.operator is not None
        correction = findings.corrections.get(node.layer.at)
        inputs, texts = self._inputs(node, inference)
        if correction is None:
            variants = [node.attributes]
        else:
            unresolved = self.unresolved(node, findings)
            values = {each.name: _values(node.operator, each, correction.attributes) for each in unresolved}
            variants = [correction.attributes | chosen for chosen in _combined(values)]
        for given in inputs:
            assumed = list(dict.fromkeys(texts))
            is_likely = len(variants) == 1 and (correction is None or not correction.unresolved)
            if correction is not None and correction.text:
                # Without the correction the attributes have defaults, with which the outputs may be the same.
                both = [(given, node.attributes), (given, variants[0])] if is_likely else []
                if not both or not _make_no_difference(node.operator, both):
                    assumed.append(f"{correction.text} in {node.ref}")
            text = "; ".join(assumed) or None
            yield from [Attempt(given, each, text, is_likely) for each in variants]
            if correction is not None and node.operator.is_complete(given, node.attributes):
                yield Attempt(given, node.attributes, text, False)

    def _inputs(self, node: Node, inference: Inference) -> tuple[list[Inputs], list[str]]:
        """Return the types that a node's inputs may have, and the assumptions behind them.

        An input with an uncertain type may have its producer's inferred type, or the type that the producer's port or
        the input port declares.
        """
        assert node.layer is not None
        inferred, own, given = inference.inputs(node), inference.inputs(node), inference.inputs(node)
        texts: list[str] = []
        for index, (value, port) in enumerate(zip(node.inputs, node.layer.inputs, strict=False)):
            taken = declared_type(port)
            if value is None:
                if not node.bodies:
                    inferred[index] = own[index] = given[index] = taken
                    texts.append(f"input port {port.id} of {node.ref} receives {taken.shape}, as it declares")
            elif (text := self.of.get(value.node)) is not None:
                texts.append(text)
                own[index] = _preferring(taken, inferred[index])
                given[index] = _preferring(value.declared, inferred[index])
        variants: list[Inputs] = [inferred]
        for other in (own, given):
            if other not in variants:
                variants.append(other)
        return variants, texts


def _preferring(declared: TensorType | None, inferred: TensorType | None) -> TensorType | None:
    """Return the declared type if it contradicts the inferred type or is known alone, otherwise the inferred type."""
    if declared is None or inferred is None:
        return inferred
    kind, shape = inferred.element_type, inferred.shape
    if declared.element_type is not DYNAMIC and kind is not declared.element_type:
        kind = declared.element_type
    if declared.rank is not None and (inferred.rank is None or not declared.shape.compatible(shape)):
        shape = declared.shape
    same = kind is inferred.element_type and shape is inferred.shape
    return inferred if same else TensorType(kind, shape)


class Known(NamedTuple):
    """The known types of the outputs of a layer with broken constraints, whether they are complete, and the further
    constraints that the layer breaks.
    """

    types: Types
    is_certain: bool
    further: list[Breach]


def despite(
    operator: Operator, inputs: Inputs, attributes: dict[str, Any], breaches: Sequence[Breach], types: Types
) -> Known:
    """Return what is known of the outputs of a layer with broken constraints (`breaches`).

    Known is what is the same for every value that the attribute may have, for every element type of the input (O003,
    or O002 of a single input), or for every input (O001, O002). The element types in `types` are known as well, unless
    those of inputs are wrong.
    """
    further: list[Breach] = []
    for _ in range(_MOST_ROUNDS):
        found = [*breaches, *further]
        given, values, is_certain, least = _without(operator, inputs, found)
        variants = [(given, attributes | chosen) for chosen in _combined(values)] if least else []
        outcomes = [_outcome(operator, *variant) for variant in variants]
        tried = {each.file_name for each in operator.attributes if each.name in values} | values.keys()
        # Values that are refused were not meant; without types, a rule may fail.
        outcomes = [o for o in outcomes if not any(b.attribute in tried or b.code == "O007" for b in o[0])]
        fewest = min((len(broken) for broken, _ in outcomes), default=0)
        possible = [outcome for outcome in outcomes if len(outcome[0]) == fewest]
        if not least or len(possible) < least:
            break
        if not fewest:
            known = possible[0][1]
            if not all(are_equal(known, other) for _, other in possible):
                break
            is_static = all(type.shape.is_static and type.element_type is not DYNAMIC for type in known)
            return Known(known, is_certain or is_static, further)
        messages = {breach.message for breach in found}
        new = [b for b in possible[0][0] if b.message not in messages and all(b in others for others, _ in possible)]
        if not new:
            break
        further += new
    are_right = all(breach.code == "O001" for breach in (*breaches, *further))
    return Known([TensorType(type.element_type if are_right else DYNAMIC) for type in types], False, further)


def _without(
    operator: Operator, inputs: Inputs, breaches: Sequence[Breach]
) -> tuple[Inputs, dict[str, Sequence[Any]], bool, int]:
    """Return the inputs without the types that break constraints, the values that may be meant for attributes that do,
    whether these inputs and values are all that are possible, and the least number of values that must agree. The
    number is 0 if it is unknown which input or attribute breaks a constraint.
    """
    given, values, is_certain, least = list(inputs), dict[str, Sequence[Any]](), True, 1
    names = [operator.signature.port_name(index) for index in range(len(given))]
    kinds = {"O003"} | ({"O002"} if [breach.code for breach in breaches].count("O002") == 1 else set())
    for breach in breaches:
        limits = _RANGE.fullmatch(breach.allowed or "")
        attribute = next((a for a in operator.attributes if breach.attribute in (a.name, a.file_name)), None)
        if limits is not None and attribute is not None and base_type(attribute.annotation) is int:
            values[attribute.name] = range(int(limits[1]), int(limits[2]) + 1)
        elif attribute is not None:
            values[attribute.name], least = _values(operator, attribute, {}), 2
        elif breach.port in names:
            index = names.index(breach.port)
            if (tensor := given[index]) is not None:
                # A wrong element type does not make the shape uncertain, unless inputs may have been exchanged.
                given[index] = TensorType(DYNAMIC, tensor.shape) if breach.code in kinds else TensorType()
                is_certain &= breach.code == "O003"
        else:
            return given, {}, False, 0
    return given, values, is_certain, least


def _outcome(operator: Operator, inputs: Inputs, attributes: dict[str, Any]) -> tuple[list[Breach], Types]:
    """Return the constraints that a layer breaks with these inputs and attributes, and its output types."""
    breaches: list[Breach] = []
    return breaches, operator.infer(inputs, attributes, breaches)


def are_equal(types: Types, others: Types) -> bool:
    """Return whether the element types and shapes are equal; known values may differ."""
    return [(t.element_type, t.shape) for t in types] == [(t.element_type, t.shape) for t in others]


def _make_no_difference(operator: Operator, variants: Iterable[tuple[Inputs, dict[str, Any]]]) -> bool:
    """Return whether all variants give the same output types and break the same constraints."""
    outcomes = []
    for inputs, attributes in variants:
        if not operator.is_complete(inputs, attributes):
            return False
        breaches, types = _outcome(operator, inputs, attributes)
        outcomes.append(([(t.element_type, t.shape) for t in types], breaches))
    return all(outcome == outcomes[0] for outcome in outcomes)


def _combined(values: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return the attributes with each combination of their values, or, if these are too many, so that each value
    occurs.
    """
    if math.prod(map(len, values.values())) <= _MOST_VALUES:
        combinations: Iterable[tuple[Any, ...]] = product(*values.values())
    else:
        longest = max(map(len, values.values()))
        combinations = islice(zip(*map(cycle, values.values()), strict=False), min(longest, _MOST_VALUES))
    return [dict(zip(values, chosen, strict=True)) for chosen in combinations]


def is_listed(attribute: Attribute) -> bool:
    """Return whether an attribute has few possible values, all of which are tried."""
    return bool(attribute.members) or base_type(attribute.annotation) in (bool, ElementType)


def _values(operator: Operator, attribute: Attribute, attributes: dict[str, Any]) -> Sequence[Any]:
    if attribute.name not in attributes:
        return _samples(operator, attribute.name)
    return list(dict.fromkeys((attributes[attribute.name], *_samples(operator, attribute.name))))


@lru_cache(maxsize=256)
def _samples(operator: Operator, name: str) -> Sequence[Any]:
    """Return values that an attribute accepts: all of them, if there are few."""
    attribute = next(attribute for attribute in operator.attributes if attribute.name == name)
    if attribute.members:
        return attribute.members
    kind = base_type(attribute.annotation)
    if kind is bool:
        return (False, True)
    known = [] if attribute.required else [attribute.default]
    for text in _TEXTS.get(kind, _lists(get_args(kind)) if get_origin(kind) is tuple else ()):
        values, faults = operator.parse_attributes({attribute.file_name: text})
        if not any(fault.attribute == attribute.file_name for fault in faults):
            known.append(values[attribute.name])
    return list(dict.fromkeys(known))


def _lists(items: tuple[Any, ...]) -> tuple[str, ...]:
    """Return texts of lists of these items: of no item, and of up to 4 equal items."""
    words = get_args(items[0]) if items and get_origin(items[0]) is Literal else _NUMBERS[:5]
    return "", *(",".join([word] * count) for count in range(1, 5) for word in words[:5])
