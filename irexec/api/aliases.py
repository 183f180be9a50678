"""Aliases of modules: names that OpenVINO's programs import (`irexec.opset13`, `irexec.op.util`), and former names."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

# Modules of OpenVINO's API and the irexec modules that they are aliases of; submodules are found the same way.
_PARTS = (
    "_offline_transformations", "exceptions", "experimental", "frontend", "helpers", "layout_helpers", "op",
    "package_utils", "passes", "preprocess", "properties", "utils",
)  # fmt: skip
_MODULES = {f"irexec.{name}": f"irexec.api.openvino.{name}" for name in (*_PARTS, "_pyopenvino")}
# The compiled module contains most of the others.
_MODULES |= {f"irexec._pyopenvino.{name}": f"irexec.api.openvino.{name}" for name in _PARTS if name != "utils"}
_MODULES |= {
    "irexec._op_base": "irexec.api.openvino.custom",
    "irexec._ov_api": "irexec.api.openvino._pyopenvino",
    "irexec.passes.graph_rewrite": "irexec.api.openvino.passes.rewrite",
    "irexec.tools.ovc": "irexec.api.openvino.tools.ovc",
    "irexec.tools.ovc.convert": "irexec.api.openvino.tools.ovc",
    "irexec._pyopenvino.tools": "irexec.api.openvino.tools",
    "irexec.utils.postponed_constant": "irexec.api.openvino.utils.postponed",
}
# Former names of packages, which programs and extensions import.
_FORMER = {
    "core": "collector diagnostics display environment records threads types",
    "model": "arrays graph inference",
    "runtime": "engine lowering processes",
    "frontends": "pages reading",
    "api": "openvino opsets",
    "tools": "catalog fixes functions inspect parallel render settings status",
}
_MODULES |= {f"irexec.{name}": f"irexec.{layer}.{name}" for layer, names in _FORMER.items() for name in names.split()}
_MODULES |= {
    "irexec.debug": "irexec.tools.compare",
    "irexec.debug.comparison": "irexec.tools.compare",
    "irexec.debug.diff": "irexec.tools.diff.diff",
    "irexec.debug.extract": "irexec.tools.cut.extract",
    "irexec.debug.record": "irexec.tools.run.record",
    "irexec.debug.reduction": "irexec.tools.reduce",
    "irexec.debug.sanitize": "irexec.tools.run.sanitize",
    "irexec.debug.sensitivity": "irexec.tools.sensitivity",
    "irexec.ops.declare": "irexec.ops.spec",
    "irexec.pages.doctest": "irexec.tools.doctest.doctest",
    "irexec.pages.pytest_plugin": "irexec.tools.doctest.pytest_plugin",
    "irexec.runs": "irexec.tools.run",
    "irexec.sizes": "irexec.tools.shapes",
    "irexec.snippets": "irexec.frontends.pages",
}


def is_opset(name: str) -> bool:
    """Return True for the name of an opset module, such as `opset13` or `onnx18`."""
    name = name.removesuffix(".ops")  # OpenVINO defines the functions of an opset in its submodule `ops`.
    number = name.removeprefix("opset").removeprefix("onnx")
    return number != name and number.isascii() and number.isdigit()


def real_module(name: str) -> str | None:
    """Return the present name of the module that `name` is an alias of, or None if `name` is not an alias."""
    parts = name.split(".")
    for length in (4, 3, 2):
        head = ".".join(parts[:length])
        if present := _MODULES.get(head):
            return present + name[len(head) :]
    return None


def opset_module(name: str) -> ModuleType:
    """Return the module that contains the functions of an opset. Raises AttributeError if the opset does not exist."""
    from irexec.api.openvino.opsets import opset

    return opset(name.removesuffix(".ops"))


def _imported(name: str) -> ModuleType:
    from importlib import import_module

    return import_module(name)


class ModuleAliases:
    """Import finder for aliases: the import statement then returns the module itself instead of a copy."""

    @classmethod
    def install(cls) -> None:
        """Register the finder of aliases with Python's import system."""
        if not any(finder is cls for finder in sys.meta_path):
            sys.meta_path.insert(0, cls)

    @classmethod
    def find_spec(
        cls, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return a module spec if `name` is an alias; None for all other names."""
        if not name.startswith("irexec.") or (real_module(name) is None and not is_opset(name[len("irexec.") :])):
            return None
        from importlib.machinery import ModuleSpec

        return ModuleSpec(name, cls, is_package=True)  # type: ignore[arg-type]

    @staticmethod
    def create_module(spec: ModuleSpec) -> ModuleType | None:
        """Return None: Python creates an empty module, which `exec_module` then replaces."""
        return None

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Replace the empty module with the aliased module. Raises ModuleNotFoundError."""
        name = module.__name__
        real = real_module(name)
        if real is not None:
            sys.modules[name] = _imported(real)
            return
        try:
            sys.modules[name] = opset_module(name[len("irexec.") :])
        except AttributeError as error:
            raise ModuleNotFoundError(str(error), name=name) from None
