"""The Operator of one node whose class is defined by a caller: calls to the operator are delegated to the node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Protocol

from irexec.api.openvino.custom.visitor import annotation_of
from irexec.core.types import ANY, Array, TensorType
from irexec.ops.spec.attributes import Attribute
from irexec.ops.spec.operator import Breach, Operator
from irexec.ops.spec.signature import Elements, Input, Output, Signature

_ANY = Elements(None, ANY)


class PythonNode(Protocol):
    """The part of a node's interface that its Operator uses."""

    type: str
    version: str

    def get_attributes(self) -> dict[str, Any]: ...

    def inferred(self, inputs: Sequence[TensorType | None]) -> list[TensorType]: ...

    def computed(self, arrays: Sequence[Array]) -> tuple[Array, ...]: ...


class PythonOperator(Operator):
    """The Operator of one node. The default values of its attributes are the node's values."""

    def __init__(self, node: PythonNode, make: Callable[..., Any]) -> None:
        self._node = node

        def kernel(*inputs: Array) -> tuple[Array, ...]:
            return node.computed(inputs)

        kernel.__name__ = node.type
        super().__init__(node.type, node.version, kernel)
        self.make_node = make

    @cached_property
    def signature(self) -> Signature:
        """The signature: any number of inputs and outputs of any type."""
        return Signature((Input("inputs", _ANY, variadic=True),), (Output(_ANY, variadic=True),), (), False)

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        given = self._node.get_attributes()
        return tuple(
            Attribute.declare(name, annotation_of(value, name), _plain(value)) for name, value in given.items()
        )

    def bind(self, attributes: dict[str, Any]) -> dict[str, Any]:
        """Return an empty dict: the node itself stores its attributes."""
        return {}

    def infer(
        self, inputs: Sequence[TensorType | None], attributes: dict[str, Any], breaches: list[Breach] | None = None
    ) -> list[TensorType]:
        """Return the types that the node infers. An exception is added to `breaches`, or raised without them."""
        try:
            return self._node.inferred(inputs)
        except Exception as error:
            if breaches is None:
                raise
            breaches.append(Breach("O001", f"{self.type} refuses its inputs: {type(error).__name__}: {error}"))
            return [TensorType()]


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
