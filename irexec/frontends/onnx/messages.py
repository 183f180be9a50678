"""ONNX's messages: the module of the package onnx that has them, without the rest, which takes three times as long."""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import TYPE_CHECKING, Any

__all__ = ["onnx"]


def _messages() -> Any:
    """The package where it is imported already, else its module of messages. Raises ImportError.

    Protocol buffers make each class once: whoever imports the package later gets the classes that are here.
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
