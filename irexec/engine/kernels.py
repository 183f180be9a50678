"""The calls of a plan's layers: kernels with their attributes, specialised where that is faster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from irexec.graph.model import Node
from irexec.ops.declare.operator import HandsOn, NodeTypes, Operator, Special
from irexec.types import Array, TensorType

Call = Callable[..., Any]

# Attributes of these types are the same when they are equal. (0.0 and -0.0 are equal, too.)
_COMPARED = frozenset({bool, int, str})


class Kernels:
    """Makes the calls of one plan; layers that say the same, as those of repeated blocks, share one."""

    def __init__(self) -> None:
        self._plain: dict[tuple[Operator, object], Call] = {}
        # By the identities of types and constants, too, which live as long as the plan is being made.
        self._views: dict[tuple[Any, ...], Special] = {}

    def call(
        self,
        node: Node,
        inputs: Sequence[TensorType | None],
        outputs: Sequence[TensorType],
        constants: tuple[Array | None, ...],
        used: tuple[bool, ...] | None = None,
    ) -> tuple[Call, bool]:
        """The call of a node with these types and constants, and whether it takes `out`.

        `used` tells which outputs anything reads; None when that is not known.
        """
        operator = node.operator
        assert operator is not None
        takes_out = operator.signature.takes_out
        if operator.specializer is not None:
            key = None
            if operator.view and not takes_out:  # What makes views has no state, such as a count of its calls.
                key = operator, _said(node), used, *map(id, (*inputs, *outputs, *constants))
            special = None if key is None else self._views.get(key)
            if special is None:
                types = NodeTypes(tuple(inputs), tuple(outputs), constants, node.all_attributes, used)
                special = operator.specializer(types)
            if key is not None:
                self._views[key] = special
            if isinstance(special, HandsOn):
                return special.call, False
            if special is not None:
                return special, takes_out
        return self._plain_call(node, operator), takes_out

    def _plain_call(self, node: Node, operator: Operator) -> Call:
        key = operator, _said(node)
        call = self._plain.get(key)
        if call is None:
            bound = operator.bind(node.all_attributes)
            call = self._plain[key] = partial(operator.kernel, **bound) if bound else operator.kernel
        return call


def _said(node: Node) -> object:
    """Equal for nodes of one operator whose attributes are the same, where that is soon seen."""
    attributes = node.attributes
    is_compared = _COMPARED.issuperset(map(type, attributes.values()))
    return tuple(attributes.items()) if is_compared else id(attributes)
