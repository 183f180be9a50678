"""Compiled code for the most expensive loops, if llvmlite is installed (the extra irexec[fast]).

The NumPy kernels are the specification, and are used without llvmlite. Compiled code computes the same results up to
the operator's tolerance, and tests compare the two. Importing llvmlite and compiling takes a few tenths of a second, so
both are deferred until a model has run a few times: see `pays`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from irexec.native.llvm import Compiler

# A kernel is compiled after this many calls, if its calls took at least this many multiply-adds in total.
MANY_CALLS = 3
MANY_PRODUCTS = 1 << 28

# One thread compiles at a time.
_lock = threading.RLock()
_products = 0
_compiler: Compiler | None = None
_available: bool | None = None
_plain: ContextVar[bool] = ContextVar("plain", default=False)


def is_available() -> bool:
    """True if llvmlite is installed and IREXEC_FAST is not 0."""
    global _available
    if _available is None:
        _available = os.environ.get("IREXEC_FAST", "") != "0" and find_spec("llvmlite") is not None
    return _available


def pays(calls: int, products: int) -> bool:
    """Whether a kernel should be compiled at its `calls`th call, given its number of multiply-adds.

    A kernel that was called several times belongs to a model that will probably run many more times.
    """
    global _products
    if calls < MANY_CALLS or _plain.get() or not is_available():
        return False
    _products += products
    return _compiler is not None or _products >= MANY_PRODUCTS


def has_begun() -> bool:
    """Whether any kernel was compiled in this process."""
    return _compiler is not None


@contextmanager
def plainly() -> Iterator[None]:
    """A context in which no further kernel is compiled, because compiled kernels keep copies of weights and comparisons
    use the NumPy kernels.
    """
    token = _plain.set(True)
    try:
        yield
    finally:
        _plain.reset(token)


def compiler() -> Compiler:
    """Return the compiler of this process. Raises ImportError if llvmlite is not installed."""
    global _compiler
    with _lock:
        if _compiler is None:
            from irexec.native.llvm import Compiler

            _compiler = Compiler(_lock)
        return _compiler


if hasattr(os, "register_at_fork"):
    # A process forked while another thread compiles would inherit a lock that is never released.
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)
