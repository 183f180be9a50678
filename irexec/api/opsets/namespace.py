"""The opset modules: `irexec.opset15.scatter_nd_update(...)` evaluates arrays, and creates nodes from nodes."""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import Any

from irexec.api.opsets import nodes
from irexec.api.opsets.calls import Call, bind, signature
from irexec.api.opsets.computed import Computed, ComputedTuple, computed, is_graph
from irexec.api.opsets.names import types_of
from irexec.api.opsets.special import SPECIAL, NodeClass
from irexec.core.diagnostics import IRError
from irexec.core.diagnostics.findings import Findings
from irexec.core.diagnostics.nearest import did_you_mean
from irexec.model.graph.evaluate import evaluate as evaluate_arrays
from irexec.model.graph.evaluate import input_arrays
from irexec.model.graph.model import Node
from irexec.ops.spec import contents
from irexec.ops.spec.operator import Operator

# Functions that have two names in OpenVINO.
_CALLED = {"abs": "absolute", "ceil": "ceiling", "cumsum": "cum_sum"}


# Codes of findings about a call that does not fit the function: unknown and missing names, a wrong number of arguments,
# objects of a wrong kind.
_OF_CALLS = frozenset({"D001", "D002", "P007", "O008"})


class WrongCall(IRError, TypeError):
    """Raised for a call whose arguments do not fit the function, as Python raises TypeError."""


class Namespace(types.ModuleType):
    """All operators of one opset, as functions that are created when first used; `node_class`: see `namespace`."""

    def __init__(self, opset: str, node_class: NodeClass) -> None:
        super().__init__(f"irexec.{opset}", f"The operators of {opset}, as functions of arrays or nodes.")
        # OpenVINO's opsets are packages, whose module `ops` has the same functions.
        self.__path__: list[str] = []
        self._opset, self._node_class = opset, node_class
        self._made: dict[str, tuple[Operator, Callable[..., Any]]] = {}

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name == "__all__":
            return sorted(types_of(self._opset))  # type: ignore[return-value]
        if name.startswith("_") or name not in types_of(self._opset):
            meant = did_you_mean(name, types_of(self._opset))
            raise AttributeError(f"{self._opset} has no operator {name!r}" + (f": {meant}" if meant else ""))
        type = types_of(self._opset)[name]
        operator = contents.find(type, self._opset)
        if operator is None:
            raise AttributeError(f"{type} of {self._opset} is not implemented yet")
        # A user's own operator may have replaced the operator for which the function was created.
        made, function = self._made.get(name, (None, None))
        if function is not None and made is operator:
            return function
        special = SPECIAL.get(type)
        function = (
            special(operator, self._node_class) if special else _function(operator, self._node_class, self._opset)
        )
        function.__name__ = function.__qualname__ = _CALLED.get(name, name)
        function.__module__ = self.__name__
        self._made[name] = operator, function
        return function

    def __dir__(self) -> list[str]:
        return sorted(types_of(self._opset))

    def __repr__(self) -> str:
        return f"<opset {self._opset!r}>"


def namespace(opset: str, node_class: NodeClass) -> Namespace:
    """Return the module of an opset by its name, such as `opset13` or `onnx11`. Raises AttributeError.

    `node_class` returns the class of the nodes that its functions create; it is called when the first node is created.
    """
    number = opset.removeprefix("opset")
    if number != opset and number.isdigit():
        if not 1 <= int(number) <= contents.NEWEST:
            raise AttributeError(f"{opset} does not exist; the opsets are opset1 to opset{contents.NEWEST}")
    else:
        contents.find("", opset)
        if not types_of(opset):
            raise AttributeError(f"{opset} contains no operators")
    return Namespace(opset, node_class)


def _older(operator: Operator, opset: str) -> tuple[Operator | None, Callable[..., bool]]:
    """Return the earlier version of an operator that OpenVINO's function of this opset creates, and for which arguments
    it does so.
    """
    if operator.versioned_name == "Interpolate-4":
        # The function of Interpolate-4 has a parameter for each attribute, the function of Interpolate-1 one dict of
        # all attributes.
        return contents.load(operator.type, 1), lambda *given, **named: any(
            isinstance(each, dict) for each in (*given, *named.values())
        )
    if operator.versioned_name == "Range-4" and int(opset.removeprefix("opset")) < 12:
        return contents.load(operator.type, 1), lambda *given, **named: "output_type" not in named
    return None, lambda *given, **named: False


def _function(operator: Operator, node_class: NodeClass, opset: str) -> Callable[..., Any]:
    older, makes_older = _older(operator, opset)

    def call(*positional: Any, **keywords: Any) -> Any:
        made = older if older is not None and makes_older(*positional, **keywords) else operator
        try:
            given = _bound(made, positional, keywords)
            if any(map(is_graph, given.inputs)) or not given.inputs:
                return nodes.make_node(node_class(), made, given.inputs, given.attributes, given.name)
            return evaluate(node_class, made, given.inputs, given.attributes, given.name)
        except IRError as error:
            if _OF_CALLS & {found.code for found in error.report.errors}:
                raise WrongCall(error.report) from error
            raise

    call.__doc__ = operator.__doc__
    call.__signature__ = signature(operator)  # type: ignore[attr-defined]
    return call


def _bound(operator: Operator, positional: tuple[Any, ...], keywords: dict[str, Any]) -> Call:
    try:
        return bind(operator, positional, keywords)
    except (TypeError, ValueError, OverflowError) as error:
        # Callers may pass any object; the conversion of an unsuitable object raises such an error.
        raise WrongCall(Findings().add("O008", f"{operator} cannot be called with these arguments: {error}")) from error


def evaluate(
    node_class: NodeClass, operator: Operator, inputs: Sequence[Any], attributes: dict[str, Any], name: str = ""
) -> Computed | ComputedTuple:
    """Run an operator on arrays, with every check; return an array, or a tuple if there are several outputs.

    Python numbers and lists become arrays: of the type of another array in the port's group, else i64 or f32.
    Raises IRError with every finding.
    """
    arrays = input_arrays(operator, [nodes.as_list(given) for given in inputs])
    results = evaluate_arrays(operator, arrays, attributes)
    # The inputs of the node are the converted arrays; a computed array is represented by the node that computed it.
    graph = [given if isinstance(given, Node) else array for given, array in zip(inputs, arrays, strict=True)]
    return computed(
        results,
        lambda: nodes.make_node(node_class(), operator, graph, attributes, name),
        node_class,
        single=len(operator.outputs) == 1 and not operator.outputs[0].variadic,
    )
