"""irexec: run, check and explain OpenVINO IR in plain Python.

The public names are imported when first used, so that `import irexec` stays cheap: it imports nothing of the standard
library that the interpreter has not imported. `import irexec as ov` also provides the names of OpenVINO's Python API,
including `import irexec.opset13` and `from irexec.preprocess import ...`.
"""

from __future__ import annotations

import sys

from irexec.api.aliases import ModuleAliases, is_opset, opset_module, real_module
from irexec.version import __version__ as __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# The modules of OpenVINO's API that programs reach as attributes.
_MODULES = [
    "exceptions", "experimental", "frontend", "helpers", "layout_helpers", "op", "passes", "preprocess", "properties",
    "tools", "utils",
]  # fmt: skip

# The modules that are functions as well, and where the functions are.
_CALLABLE = {"passes": "irexec.tools.functions.passes"}


def __getattr__(name: str) -> Any:
    if name in ("__all__", "_HOME_OF"):
        globals().update(_HOME_OF=_homes(), __all__=sorted(_homes()))
        return globals()[name]
    if "numpy" in sys.modules:
        value = _named(name)
    else:
        from irexec.core.environment import set_while_loading

        with set_while_loading(*_BLAS_PATIENCE):
            value = _named(name)
    if is_opset(name) or not _is_registered(name):
        globals()[name] = value
    return value


def _homes() -> dict[str, str]:
    """Return the module of each public name: the stub `__init__.pyi`, which type checkers read, is their only list."""
    with open(__file__.rpartition("__init__")[0] + "__init__.pyi", encoding="utf-8") as stub:
        words = [line.split() for line in stub if line.startswith("from irexec.")]
    return {name: module for _, module, _, name, *_ in words}


# The threads of NumPy's OpenBLAS spin for 2 ** 26 rounds after they are started: some 40 ms, on cores that the first
# result needs. 2 ** 22 rounds, or 2.5 ms, still last from one matrix product to the next.
_BLAS_PATIENCE = "OPENBLAS_THREAD_TIMEOUT", "22"


def _named(name: str) -> Any:
    import importlib

    homes: dict[str, str] = sys.modules[__name__]._HOME_OF
    if name in homes:
        from irexec.core.collector import no_collection

        with no_collection(to_stay=True):
            return getattr(importlib.import_module(homes[name]), name)
    if is_opset(name) or _is_registered(name):
        return opset_module(name)
    if name == "tools" or real_module(f"irexec.{name}") is not None:
        module = importlib.import_module(f"irexec.{name}")
        if name in _CALLABLE:
            module.__class__ = _CallableModule
        return module
    raise AttributeError(f"module 'irexec' has no attribute {name!r}")


class _CallableModule(type(sys)):  # type: ignore[misc]
    """A module of OpenVINO's API whose name is also that of a function."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        import importlib

        name = self.__name__.rpartition(".")[2]
        return getattr(importlib.import_module(_CALLABLE[name]), name)(*arguments, **options)


def _is_registered(opset: str) -> bool:
    """Return True for the opset name of a user's own operators."""
    declared = sys.modules.get("irexec.ops.spec.operator")
    return declared is not None and any(own == opset for _, own in declared.REGISTRY)


def __dir__() -> list[str]:
    from irexec.ops.spec.contents import OPSETS

    return sorted({*_homes(), *_MODULES, *OPSETS, "__version__"})


ModuleAliases.install()
