"""The command from its first moment: what can wait waits, and what is made once is not looked through again.

A file that is right is mostly checked without NumPy, which takes longer to import than all else. So `import numpy`
gives a module here that is loaded when something of it is first asked for.
"""

from __future__ import annotations

import gc
import sys
import threading
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any

from irexec.environment import set_while_loading

# How many threads OpenBLAS starts when it is loaded. irexec divides the work itself; BLAS's threads would only spin.
_ONE_BLAS_THREAD = "OPENBLAS_NUM_THREADS", "1"
# So many new objects are worth a search for those that nobody needs: modules make a tenth of it, and no garbage.
_MANY_OBJECTS = 1 << 17


def start() -> int:
    """Run the command line of this process; the exit code."""
    gc.set_threshold(_MANY_OBJECTS)
    wait_with("numpy")
    from irexec.cli.main import main

    code = main()
    # The process ends: nobody needs to look for what is left.
    gc.freeze()
    return code


def wait_with(name: str) -> None:
    """Let a module be loaded when something of it is first asked for, unless it is there already or not at all."""
    spec = None if name in sys.modules else find_spec(name)
    if spec is not None and spec.loader is not None:
        module = module_from_spec(spec)
        module.__class__ = _Later
        # Modules below it are looked for in its path: whoever imports one asks for something of it.
        del module.__path__
        sys.modules[name] = module


_lock = threading.RLock()
_loading: set[str] = set()


class _Later(ModuleType):
    """A module before it is loaded. (That of importlib.util.LazyLoader is loaded by the second import statement.)"""

    def __getattr__(self, name: str) -> Any:
        with _lock:
            if type(self) is _Later and self.__name__ not in _loading:
                _load(self)
            elif type(self) is _Later:  # It asks itself for what it does not have yet.
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
