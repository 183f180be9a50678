"""Helpers of OpenVINO's Python API: replacing nodes, types, input validation, node factories."""

from __future__ import annotations

from typing import Any

import numpy as np

from irexec.api.openvino.editing import add_information, replace
from irexec.api.openvino.package_utils import classproperty, deprecated, deprecatedclassproperty, get_cmake_path
from irexec.api.openvino.tensor import Tensor
from irexec.api.openvino.utils import decorators, input_validation, node_factory, types
from irexec.api.openvino.utils.postponed import make_postponed_constant
from irexec.core.arguments import expected
from irexec.core.structure import PARAMETER, RESULT
from irexec.model.graph.model import Node, Value

__all__ = [
    "classproperty", "clone_model", "decorators", "deprecated", "deprecatedclassproperty", "get_cmake_path",
    "input_validation", "make_postponed_constant", "node_factory", "numpy_to_c", "replace_node",
    "replace_output_update_name", "types",
]  # fmt: skip


def replace_node(target: Node, replacement: Any, outputs_order: list[int] | None = None) -> None:
    """Connect all users of a node's outputs with those of another node, or with the given values, in this order.

    Raises RuntimeError if the numbers of outputs differ.
    """
    expected(target, Node, "replace_node()")
    values = (
        replacement if isinstance(replacement, list) else list(expected(replacement, Node, "replace_node()").outputs)
    )
    if len(values) != len(target.outputs):
        raise RuntimeError(f"{target!r} has {len(target.outputs)} outputs, its replacement {len(values)}")
    if outputs_order is not None:
        values = [values[index] for index in outputs_order]
    for old, new in zip(target.outputs, values, strict=True):
        replace(old, expected(new, Value, "replace_node()"))


def replace_output_update_name(output: Value, target_output: Value) -> bool:
    """Connect all users of `output` with `target_output`, whose node gets the runtime information of the old node, and
    its name if a Result is among the users.

    Returns False, and changes nothing, if the name of a Result would be lost: one of the nodes has several outputs, or
    `target_output` belongs to a Parameter or already has a Result.
    """
    expected(target_output, Value, "replace_output_update_name()")
    if _is_result(expected(output, Value, "replace_output_update_name()")):
        if len(output.node.outputs) != 1 or len(target_output.node.outputs) != 1:
            return False
        if target_output.node.type == PARAMETER or _is_result(target_output):
            return False
        target_output.node.friendly_name = output.node.friendly_name
    replace(output, target_output)
    add_information(target_output.node.rt_info, output.node.rt_info)
    return True


def _is_result(value: Value) -> bool:
    return any(user.type == RESULT for user in value.users)


def clone_model(model: Any) -> Any:
    """Return a copy of a model: `model.clone()`."""
    return model.clone()


def numpy_to_c(array: Any) -> int:
    """Return the address of an array's memory."""
    return int((array.data if isinstance(array, Tensor) else expected(array, np.ndarray, "numpy_to_c()")).ctypes.data)
