"""Modules that are imported when one of their attributes is first used.

A valid file is usually checked without NumPy, which takes longer to import than everything else. Therefore `import
numpy` returns a lazy module here.
"""

from __future__ import annotations

import sys
import threading
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any

from irexec.core.environment import set_while_loading

# The number of threads that OpenBLAS starts. irexec divides the work itself; OpenBLAS's threads would only spin.
_ONE_BLAS_THREAD = "OPENBLAS_NUM_THREADS", "1"


def wait_with(name: str) -> None:
    """Import a module lazily, unless it is already imported or does not exist."""
    spec = None if name in sys.modules else find_spec(name)
    if spec is not None and spec.loader is not None:
        module = module_from_spec(spec)
        module.__class__ = _Later
        # Importing a submodule uses the path of the module and therefore loads it.
        del module.__path__
        sys.modules[name] = module
        sys.meta_path.insert(0, _Imported())


class _Imported:
    """Finds modules that exist: an import of `numpy._core` that loads NumPy, and with it `numpy._core`, would otherwise
    execute that module a second time.
    """

    def find_spec(self, name: str, path: Any, target: ModuleType | None = None) -> ModuleSpec | None:
        module = None if target is not None else sys.modules.get(name)
        return None if module is None else ModuleSpec(name, self, loader_state=module.__spec__)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return sys.modules[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state


_lock = threading.RLock()
_loading: set[str] = set()


class _Later(ModuleType):
    """A module that is loaded when it is first used. (A module of importlib.util.LazyLoader is loaded by the second
    import statement.)
    """

    def __getattr__(self, name: str) -> Any:
        with _lock:
            if type(self) is _Later and self.__name__ not in _loading:
                _load(self)
            elif type(self) is _Later:  # The module accesses its own missing attributes while it is loaded.
                raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(self, name)


def _load(module: ModuleType) -> None:
    spec = module.__spec__
    assert spec is not None and spec.loader is not None
    module.__path__ = spec.submodule_search_locations or []
    _loading.add(module.__name__)
    try:
        with set_while_loading(*_ONE_BLAS_THREAD):
            spec.loader.exec_module(module)
    finally:
        _loading.discard(module.__name__)
    module.__class__ = ModuleType
