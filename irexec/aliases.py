"""Modules under the names that OpenVINO's programs import: `irexec.opset13`, `irexec.op.util`, `irexec.preprocess`."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

# Modules of OpenVINO's API and where irexec has them; what is below them is below there.
_MODULES = {
    f"irexec.{name}": f"irexec.openvino.{name}"
    for name in (
        "_offline_transformations", "_pyopenvino", "exceptions", "experimental", "frontend", "helpers",
        "layout_helpers", "op", "package_utils", "passes", "preprocess", "properties", "utils",
    )
}  # fmt: skip


def is_opset(name: str) -> bool:
    """True for `opset13`, `onnx18` and the like."""
    number = name.removeprefix("opset").removeprefix("onnx")
    return number != name and number.isascii() and number.isdigit()


def real_module(name: str) -> str | None:
    """Where the module of a name is; None when it is no other name of one."""
    head = ".".join(name.split(".")[:2])
    return _MODULES[head] + name[len(head) :] if head in _MODULES else None


def opset_module(name: str) -> ModuleType:
    """The functions of an opset. What they make has OpenVINO's words. Raises AttributeError where there is none."""
    from irexec.opsets import namespace, nodes

    found = namespace.namespace(name)
    if "irexec.openvino.extended" not in sys.modules:
        # Whoever calls them with arrays alone does without.
        nodes.before_nodes(lambda: importlib.import_module("irexec.openvino.extended"))
    return found


class ModuleAliases:
    """Finds a module under its other name: the import statement then gives the module itself, not a copy."""

    @classmethod
    def install(cls) -> None:
        """Be asked for imports from now on."""
        if not any(finder is cls for finder in sys.meta_path):
            sys.meta_path.insert(0, cls)

    @classmethod
    def find_spec(
        cls, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """A spec for another name of a module; None for all others."""
        if not name.startswith("irexec.") or (real_module(name) is None and not is_opset(name[len("irexec.") :])):
            return None
        return ModuleSpec(name, cls, is_package=True)  # type: ignore[arg-type]

    @staticmethod
    def create_module(spec: ModuleSpec) -> ModuleType | None:
        """The usual empty module; the real one takes its place."""
        return None

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Put the real module in the place of the empty one. Raises ModuleNotFoundError."""
        name = module.__name__
        real = real_module(name)
        if real is not None:
            sys.modules[name] = importlib.import_module(real)
            return
        try:
            sys.modules[name] = opset_module(name[len("irexec.") :])
        except AttributeError as error:
            raise ModuleNotFoundError(str(error), name=name) from None
