"""Aliases of modules: the names that OpenVINO's programs import (`irexec.opset13`, `irexec.op.util`), and old names."""

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
    "package_utils", "passes", "preprocess", "properties", "tools", "utils",
)  # fmt: skip
_MODULES = {f"irexec.{name}": f"irexec.api.openvino.{name}" for name in (*_PARTS, "_pyopenvino")}
# The compiled module contains most of the others.
_MODULES |= {f"irexec._pyopenvino.{name}": f"irexec.api.openvino.{name}" for name in _PARTS if name != "utils"}
_MODULES |= {
    "irexec._op_base": "irexec.api.openvino.custom",
    "irexec._ov_api": "irexec.api.openvino._pyopenvino",
    "irexec.passes.graph_rewrite": "irexec.api.openvino.passes.rewrite",
    "irexec.tools.ovc.convert": "irexec.api.openvino.tools.ovc",
    "irexec.utils.postponed_constant": "irexec.api.openvino.utils.postponed",
}
# The names of modules in version 0.1; they are removed in version 0.3.
_RENAMED = {
    "irexec.model.arrays.options": "irexec.tools.run.values",
    "irexec.farm": "irexec.tools.parallel",
    "irexec.mend": "irexec.tools.fixes",
    "irexec.ops.compute.blas": "irexec.core.threads.blas",
    "irexec.ops.compute.parallel": "irexec.core.threads.parallel",
    "irexec.show": "irexec.tools.render",
    "irexec.survey": "irexec.tools.inspect",
    "irexec.trust": "irexec.tools.compare",
    "irexec.trust.compare": "irexec.tools.compare.compare",
    "irexec.trust.culprit": "irexec.tools.compare.culprit",
    "irexec.trust.reduce": "irexec.tools.reduce.reduce",
    "irexec.trust.runtimes": "irexec.tools.compare.runtimes.runtime",
    "irexec.watch": "irexec.tools.run",
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
        if present := _MODULES.get(head) or _RENAMED.get(head):
            return present + name[len(head) :]
    return None


def _warn_if_renamed(name: str, present: str) -> None:
    """Issue a DeprecationWarning, attributed to the line that imports a module under its old name."""
    if not any(name == old or name.startswith(f"{old}.") for old in _RENAMED):
        return
    import warnings

    package = __file__.removesuffix("aliases.py")
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and (
        frame.f_code.co_filename.startswith(package) or "importlib" in frame.f_code.co_filename
    ):
        frame = frame.f_back
        level += "importlib._bootstrap" not in frame.f_code.co_filename
    warnings.warn(f"{name} was renamed to {present}; irexec 0.3 removes the old name", DeprecationWarning, level)


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
            _warn_if_renamed(name, real)
            sys.modules[name] = _imported(real)
            return
        try:
            sys.modules[name] = opset_module(name[len("irexec.") :])
        except AttributeError as error:
            raise ModuleNotFoundError(str(error), name=name) from None
