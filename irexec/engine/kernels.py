"""The calls of a plan's layers: kernels with their attributes, specialised where that is faster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from irexec.graph.model import Node
from irexec.ops.declare.operator import HandsOn, NodeTypes, Operator
from irexec.types import Array, TensorType

Call = Callable[..., Any]


class Kernels:
    """Makes the calls of one plan; layers that say the same, as those of repeated blocks, share one."""

    def __init__(self) -> None:
        # By operator and the identity of the attributes, which live as long as their nodes.
        self._plain: dict[tuple[Operator, int], Call] = {}

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
        if operator.specializer is not None:
            types = NodeTypes(tuple(inputs), tuple(outputs), constants, node.all_attributes, used)
            special = operator.specializer(types)
            if isinstance(special, HandsOn):
                return special.call, False
            if special is not None:
                return special, operator.signature.takes_out
        return self._plain_call(node, operator), operator.signature.takes_out

    def _plain_call(self, node: Node, operator: Operator) -> Call:
        key = operator, id(node.attributes)
        call = self._plain.get(key)
        if call is None:
            bound = operator.bind(node.all_attributes)
            call = self._plain[key] = partial(operator.kernel, **bound) if bound else operator.kernel
        return call
