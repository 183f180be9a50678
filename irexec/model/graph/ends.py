"""Making constants and inputs of models, as nodes of any class."""

from __future__ import annotations

from typing import Any, TypeVar

from irexec.core.structure import CONST, PARAMETER
from irexec.core.types import Array, ElementType, TensorType
from irexec.model.graph.model import Node
from irexec.ops.spec.contents import load

N = TypeVar("N", bound=Node)


def constant_node(node_class: type[N], array: Array, kind: ElementType, name: str = "") -> N:
    """Return a Const that refers to the array itself, without a copy."""
    made = node_class(load(CONST, 1), (), {"element_type": kind, "shape": array.shape}, name=name)
    made.constant = array
    made.set_outputs([TensorType.of(array, kind)])
    return made


def parameter_node(node_class: type[N], type: TensorType, name: str = "", **more: Any) -> N:
    """Return an input of a model. `more`: further arguments of the node."""
    attributes = {"element_type": type.element_type, "shape": type.shape}
    made = node_class(load(PARAMETER, 1), (), attributes, name=name, **more)
    made.set_outputs([type])
    return made
