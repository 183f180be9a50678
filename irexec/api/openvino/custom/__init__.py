"""Operators defined as Python classes, as in OpenVINO's API. (irexec's own are functions: irexec.operator.)"""

from __future__ import annotations

from irexec.api.openvino.custom.op import Op, register
from irexec.api.openvino.custom.visitor import AttributeVisitor

__all__ = ["AttributeVisitor", "Op", "register"]
