"""Operators inside of OpenVINO's compiler: dumps of its passes contain them, files for OpenVINO must not."""

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
