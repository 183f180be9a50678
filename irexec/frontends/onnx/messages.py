"""ONNX's message classes, imported without the rest of the package onnx, which takes three times as long."""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import TYPE_CHECKING, Any

__all__ = ["onnx"]


def _messages() -> Any:
    """Return the package if it is imported already, otherwise its module of messages. Raises ImportError.

    The protobuf library registers each class once: if the package is imported later, it uses the classes from here.
    """
    package = None if "onnx" in sys.modules else find_spec("onnx")
    if package is not None and package.submodule_search_locations is not None:
        module = PathFinder.find_spec("onnx.onnx_ml_pb2", package.submodule_search_locations)
        if module is not None and module.loader is not None:
            made = module_from_spec(module)
            module.loader.exec_module(made)
            return made
    import onnx

    return onnx


if TYPE_CHECKING:
    import onnx
else:
    onnx = _messages()
