"""Constants whose value is computed on demand in OpenVINO, and immediately in irexec."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from irexec.api.openvino.op.kinds import Constant
from irexec.api.openvino.tensor import Tensor


def make_postponed_constant(element_type: Any, shape: Any, maker: Callable[[Any], Any], name: str | None = None) -> Any:
    """Return a Constant computed by `maker`, which is called with a tensor and fills it, or returns the value."""
    tensor = Tensor(element_type, shape)
    made = maker(tensor)
    node = Constant.make(made if isinstance(made, Tensor) else tensor)
    if name:
        node.friendly_name = name
    return node
