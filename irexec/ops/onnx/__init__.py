"""Operators of ONNX, each under the opset name of the ONNX version that introduced it: `onnx11`, `onnx18`, ..."""

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
