"""Patterns: nodes that match nodes of a model. An operator with a pattern as an input is also a pattern."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from irexec.api.openvino.node import Node
from irexec.api.openvino.passes.predicates import as_predicate
from irexec.api.opsets.computed import value_of
from irexec.core.arguments import expected
from irexec.core.types import TensorType
from irexec.model.graph import model as graph
from irexec.model.graph.model import Value
from irexec.ops.spec import contents
from irexec.ops.spec.contents import file_type, type_name
from irexec.ops.spec.operator import Operator


class Pattern(Node):
    """A node of a pattern: of any type and shape, with one output."""

    kind = ""

    def __init__(self, inputs: Any = None, predicate: Any = None) -> None:
        super().__init__(None, _values(inputs), type=self.kind, version="pattern")
        self.predicate = as_predicate(predicate)
        self.set_outputs([TensorType()])

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class AnyInput(Pattern):
    """Any value: `AnyInput()`, or one that a predicate accepts."""

    kind = "patternLabel"

    def __init__(self, predicate: Any = None) -> None:
        if predicate is not None and not callable(predicate) and not isinstance(predicate, dict):
            raise TypeError(f"AnyInput(): incompatible constructor arguments: {predicate!r} is not a predicate")
        super().__init__(None, predicate)


class Or(Pattern):
    """A value that one of several patterns matches; the first match is used."""

    kind = "patternOr"

    def __init__(self, inputs: Iterable[Any]) -> None:
        super().__init__(list(inputs))


class WrapType(Pattern):
    """A node of one of several types: `WrapType("opset13.Relu")`, its inputs, a predicate on its output.

    Raises RuntimeError for a type that no opset contains.
    """

    kind = "WrapType"

    def __init__(
        self,
        type_name: str | Iterable[str] = (),
        *given: Any,
        type_names: Iterable[str] = (),
        inputs: Any = None,
        input: Any = None,
        pred: Any = None,
        predicate: Any = None,
    ) -> None:
        names = list(type_names) or ([type_name] if isinstance(type_name, str) else list(type_name))
        if not names:
            raise TypeError(f"{type(self).__name__}(): incompatible constructor arguments: no type is named")
        self.operators = [_operator(name) for name in names]
        by_position, condition = _split(given)
        inputs = next((values for values in (inputs, input, by_position) if values is not None), None)
        super().__init__(inputs, next((p for p in (pred, predicate, condition) if p is not None), None))

    def stands_for(self, node: graph.Node) -> bool:
        """Return whether a node is of one of the types."""
        return node.operator in self.operators


class Optional(WrapType):
    """A node of one of several types, or its input if the node is absent."""

    kind = "patternOptional"


def _values(inputs: Any) -> list[Value | None]:
    given = [] if inputs is None else inputs if isinstance(inputs, (list, tuple)) else [inputs]
    values = [value_of(item) for item in given]
    if None in values:
        raise TypeError(f"an input of a pattern is a node or an output, not {given[values.index(None)]!r}")
    return values


def _split(given: tuple[Any, ...]) -> tuple[Any, Callable[..., bool] | None]:
    """Return the inputs and the predicate among positional arguments: both, one of them or neither."""
    if not given:
        return None, None
    if len(given) > 2:
        raise TypeError(f"a pattern takes types, inputs and a predicate, not {len(given) + 1} arguments")
    is_input = isinstance(given[0], (list, tuple, graph.Node, graph.Value))
    return (given[0] if is_input else None), (given[-1] if len(given) == 2 or not is_input else None)


def _operator(name: str) -> Operator | None:
    """Return the operator of a name such as `opset13.Relu`. Raises RuntimeError."""
    opset, _, said = expected(name, str, "a pattern").replace("::", ".").partition(".")
    if opset not in contents.OPSETS:
        raise RuntimeError(f"Unsupported opset type: {opset}")
    type = file_type(said)
    if type_name(type) != said or contents.introduced(type, contents.OPSETS[opset]) is None:
        raise RuntimeError(f"Unrecognized operation type: {said}")
    return contents.find(type, opset)
