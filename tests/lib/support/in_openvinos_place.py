"""An import hook: `import openvino` imports irexec. Run as a program, it runs another program in this way: `FILE
[ARGUMENT ...]`.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.util
import runpy
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class InOpenvinosPlace(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds openvino as irexec.openvino, and its modules as the irexec modules of the same names."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return importlib.util.spec_from_loader(name, self, is_package=True) if _is_openvinos(name) else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return importlib.import_module("irexec" + (spec.name.removeprefix("openvino") or ".openvino"))

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: the module was executed under its own name."""


def _is_openvinos(name: str) -> bool:
    return name == "openvino" or name.startswith("openvino.")


if __name__ == "__main__":
    sys.meta_path.insert(0, InOpenvinosPlace())
    sys.argv = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")
