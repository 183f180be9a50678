"""Assumptions about layers with errors, with which these layers and their readers are checked nevertheless.

An error makes the types of a layer's inputs or outputs uncertain. The check continues with the correction that a
finding suggests or, where none is suggested, with the types that the file declares. Findings that depend on an
assumption state it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import combinations, islice
from typing import Any, NamedTuple

from irexec.core.diagnostics.findings import Findings
from irexec.core.types import DYNAMIC, TensorType
from irexec.model.graph.build import declared_type
from irexec.model.graph.model import Node
from irexec.model.inference.inference import Inference, Types
from irexec.model.inference.unknown import Inputs, make_a_difference
from irexec.ops.spec.signature import Signature

# The number of ways to complete inputs of which some are missing.
_MOST_PLACES = 32


class Assumed(NamedTuple):
    """The inputs and attributes with which a layer is inferred.

    `variants`: the inputs, or all that the layer may have if it lacks some. `unknown`: the Python names of attributes
    whose values are unknown. `text`: the assumption; None without an assumption.
    """

    variants: list[Inputs]
    attributes: dict[str, Any]
    unknown: Sequence[str] = ()
    text: str | None = None


class Assumptions:
    """The assumptions of one inference, bodies included.

    `of`: the assumption behind the types of a node's outputs. `declared`: the nodes whose types are only declared.
    """

    def __init__(self) -> None:
        self.of: dict[Node, str] = {}
        self.declared: set[Node] = set()

    def needed(self, node: Node, findings: Findings) -> bool:
        """Return True if a node of a file can be inferred only with assumptions about its attributes or inputs."""
        operator, inputs = node.operator, node.inputs
        if operator is None or node.layer is None:
            return False
        return (
            (None in inputs and not node.bodies)
            or not _has_count(node)
            or node.layer.at in findings.corrections
            or (bool(self.of) and any(value is not None and value.node in self.of for value in inputs))
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

    def about(self, node: Node, inference: Inference, findings: Findings) -> Assumed:
        """Return the inputs and attributes that are assumed of a node."""
        assert node.layer is not None and node.operator is not None
        inputs, texts = self._inputs(node, inference)
        attributes, unknown = node.attributes, tuple[str, ...]()
        variants = [inputs]
        if not _has_count(node):
            variants = _completed(node.operator.signature, inputs)
            texts.append(f"the inputs of {node.ref} belong to the ports that they fit best")
        if (correction := findings.corrections.get(node.layer.at)) is not None:
            attributes, unknown = correction.attributes, correction.unresolved
            # Without the correction the attributes have defaults, with which the outputs may be the same.
            if correction.text and make_a_difference(node.operator, variants[0], node.attributes, attributes):
                texts.append(f"{correction.text} in {node.ref}")
        return Assumed(variants, attributes, unknown, "; ".join(dict.fromkeys(texts)) or None)

    def _inputs(self, node: Node, inference: Inference) -> tuple[Inputs, list[str]]:
        """Return the types of a node's inputs, and the assumptions behind them."""
        assert node.layer is not None
        inputs, texts = inference.inputs(node), list[str]()
        for index, (value, port) in enumerate(zip(node.inputs, node.layer.inputs, strict=False)):
            taken = declared_type(port)
            if value is None:
                if not node.bodies:
                    inputs[index] = taken
                    texts.append(f"input port {port.id} of {node.ref} receives {taken.shape}, as it declares")
            elif (text := self.of.get(value.node)) is not None:
                texts.append(text)
                inputs[index] = _unless_contradicted(inputs[index], [taken, value.declared or TensorType()])
        return inputs, texts


def _unless_contradicted(inferred: TensorType | None, declared: Sequence[TensorType]) -> TensorType | None:
    """Return an inferred type, with the first declared element type or shape instead if all declarations contradict it.

    An error in one of the declarations therefore does not make the inferred type uncertain.
    """
    if inferred is None:
        return None
    kind, shape = inferred.element_type, inferred.shape
    kinds = [type.element_type for type in declared if type.element_type is not DYNAMIC]
    shapes = [type.shape for type in declared if type.rank is not None]
    if kinds and kind not in kinds:
        kind = kinds[0]
    if shapes and (inferred.rank is None or not any(other.compatible(shape) for other in shapes)):
        shape = shapes[0]
    same = kind is inferred.element_type and shape is inferred.shape
    return inferred if same else TensorType(kind, shape)


def _has_count(node: Node) -> bool:
    """Return whether a node has as many input ports as its operator allows, or a number that its bodies determine."""
    assert node.operator is not None
    least, most = node.operator.signature.min_inputs, node.operator.signature.max_inputs
    return bool(node.bodies) or (len(node.inputs) >= least and (most is None or len(node.inputs) <= most))


def _completed(signature: Signature, inputs: Inputs) -> list[Inputs]:
    """Return the inputs, without surplus ones, completed by unknown types at any places, at the end first."""
    given = inputs[: signature.max_inputs]
    count = max(signature.min_inputs, len(given))
    places = islice(combinations(reversed(range(count)), count - len(given)), _MOST_PLACES)
    return [_inserted(given, unknown) for unknown in places]


def _inserted(inputs: Inputs, places: Collection[int]) -> Inputs:
    rest = iter(inputs)
    return [TensorType() if n in places else next(rest) for n in range(len(inputs) + len(places))]
