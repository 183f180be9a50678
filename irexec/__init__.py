"""irexec: run, check and explain OpenVINO IR in plain Python.

The public names are imported when first used, so that `import irexec` stays cheap.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from irexec.api import Core, compile_model, read_model, save_model, validate
    from irexec.diagnostics import Diagnostic, IRError, Report, Severity
    from irexec.engine import CompiledModel, InferRequest
    from irexec.graph import Model, Node, Value
    from irexec.ops.declare.operator import operator
    from irexec.types import Dimension, ElementType, PartialShape

__version__ = "0.2.0.dev0"

_HOMES = {
    "Core": "irexec.api",
    "compile_model": "irexec.api",
    "read_model": "irexec.api",
    "save_model": "irexec.api",
    "validate": "irexec.api",
    "Diagnostic": "irexec.diagnostics",
    "IRError": "irexec.diagnostics",
    "Report": "irexec.diagnostics",
    "Severity": "irexec.diagnostics",
    "CompiledModel": "irexec.engine",
    "InferRequest": "irexec.engine",
    "Model": "irexec.graph",
    "Node": "irexec.graph",
    "Value": "irexec.graph",
    "operator": "irexec.ops.declare.operator",
    "Dimension": "irexec.types",
    "ElementType": "irexec.types",
    "PartialShape": "irexec.types",
}

__all__ = [
    "CompiledModel",
    "Core",
    "Diagnostic",
    "Dimension",
    "ElementType",
    "IRError",
    "InferRequest",
    "Model",
    "Node",
    "PartialShape",
    "Report",
    "Severity",
    "Value",
    "compile_model",
    "operator",
    "read_model",
    "save_model",
    "validate",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    elif (number := name.removeprefix("opset").removeprefix("onnx")) != name and number.isascii() and number.isdigit():
        value = importlib.import_module("irexec.graph.namespace").namespace(name)
    elif _is_registered(name):
        return importlib.import_module("irexec.graph.namespace").namespace(name)
    else:
        raise AttributeError(f"module 'irexec' has no attribute {name!r}")
    globals()[name] = value
    return value


def _is_registered(opset: str) -> bool:
    """True for the opset name of a user's own operators."""
    declared = sys.modules.get("irexec.ops.declare.operator")
    return declared is not None and any(own == opset for _, own in declared.REGISTRY)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
