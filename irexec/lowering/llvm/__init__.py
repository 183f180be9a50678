"""Generated code: functions for the most expensive loops, written in LLVM's intermediate representation.

Importing llvmlite and compiling take a few tenths of a second, so both are deferred until a model is lowered.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from irexec.lowering.llvm.host import Compiler

# One thread compiles at a time.
_lock = threading.RLock()
_compiler: Compiler | None = None


def compiler() -> Compiler:
    """Return the compiler of this process. Raises ImportError if llvmlite is not installed."""
    global _compiler
    with _lock:
        if _compiler is None:
            from irexec.lowering.llvm.host import Compiler

            _compiler = Compiler(_lock)
        return _compiler


if hasattr(os, "register_at_fork"):
    # A process forked while another thread compiles would inherit a lock that is never released.
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)
