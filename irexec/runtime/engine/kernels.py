"""The calls of a plan's layers: kernels with their attributes, specialized where that is faster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from irexec.core.types import Array, TensorType
from irexec.model.graph.model import Node
from irexec.ops.spec.operator import NodeTypes, Operator, PassThrough, Special
from irexec.ops.spec.prepared import Prepared

Call = Callable[..., Any]

# Types of attributes whose equal values are interchangeable; floats are excluded because 0.0 equals -0.0.
_COMPARED = frozenset({bool, int, str})


class Kernels:
    """Creates the calls of one plan; equal layers, as in repeated blocks, share one call.

    `prepared` contains the forms of constants that all plans of the model share.
    """

    def __init__(self, prepared: Prepared) -> None:
        self._prepared = prepared
        self._plain: dict[tuple[Operator, object], Call] = {}
        # The key includes the identities of types and constants, which live as long as the plan is being made.
        self._views: dict[tuple[Any, ...], Special] = {}

    def call(
        self,
        node: Node,
        inputs: Sequence[TensorType | None],
        outputs: Sequence[TensorType],
        constants: tuple[Array | None, ...],
        used: tuple[bool, ...] | None = None,
    ) -> tuple[Call, bool]:
        """Return the call of a node with these types and constants, and whether the call takes `out`.

        `used` flags the outputs that are read by another layer or a result; None if they are not known.
        """
        operator = node.operator
        assert operator is not None
        takes_out = operator.signature.takes_out
        if operator.specializer is not None:
            key = None
            if operator.view and not takes_out:  # Kernels that return views are stateless.
                key = operator, attributes_key(node), used, *map(id, (*inputs, *outputs, *constants))
            special = None if key is None else self._views.get(key)
            if special is None:
                types = NodeTypes(tuple(inputs), tuple(outputs), constants, node.all_attributes, used, self._prepared)
                special = operator.specializer(types)
            if key is not None:
                self._views[key] = special
            if isinstance(special, PassThrough):
                return special.call, False
            if special is not None:
                return special, takes_out
        return self._plain_call(node, operator), takes_out

    def _plain_call(self, node: Node, operator: Operator) -> Call:
        key = operator, attributes_key(node)
        call = self._plain.get(key)
        if call is None:
            bound = operator.bind(node.all_attributes)
            call = self._plain[key] = partial(operator.kernel, **bound) if bound else operator.kernel
        return call


def attributes_key(node: Node) -> object:
    """Return a key that is equal for nodes of one operator with the same attributes; None if that is costly."""
    attributes = node.attributes
    is_compared = _COMPARED.issuperset(map(type, attributes.values()))
    return tuple(attributes.items()) if is_compared else id(attributes)
