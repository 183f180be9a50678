"""Operators defined as Python classes, as in OpenVINO's API. (irexec's own are functions: irexec.operator.)"""

from __future__ import annotations

from irexec.openvino.custom.op import Op, register
from irexec.openvino.custom.visitor import AttributeVisitor

__all__ = ["AttributeVisitor", "Op", "register"]
