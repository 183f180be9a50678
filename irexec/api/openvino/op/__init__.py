"""Kinds of nodes by name: Constant, Parameter, Result, and those with bodies or variables."""

from __future__ import annotations

from irexec.api.openvino.op import util
from irexec.api.openvino.op.kinds import (
    Constant,
    Parameter,
    Result,
    assign,
    if_op,
    loop,
    read_value,
    tensor_iterator,
)

__all__ = ["Constant", "Parameter", "Result", "assign", "if_op", "loop", "read_value", "tensor_iterator", "util"]
