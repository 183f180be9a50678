"""Generated code: functions for the most expensive loops, written in LLVM's intermediate representation.

Importing llvmlite and compiling take a few tenths of a second, so both are deferred until a model is lowered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from irexec.ops.spec.prepared import LOCK

if TYPE_CHECKING:
    from irexec.runtime.lowering.llvm.host import Compiler

_compiler: Compiler | None = None


def compiler() -> Compiler:
    """Return the compiler of this process. Raises ImportError if llvmlite is not installed."""
    global _compiler
    with LOCK:
        if _compiler is None:
            from irexec.runtime.lowering.llvm.host import Compiler

            _compiler = Compiler(LOCK)
        return _compiler
