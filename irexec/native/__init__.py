"""Compiled code for the hottest loops, where llvmlite is installed (the extra irexec[fast]).

The NumPy kernels are the specification, and what runs where there is no llvmlite. What is compiled computes the same to
the operator's tolerance, and tests compare the two. Importing llvmlite and compiling takes a few tenths of a second, so
both wait until a model has run a few times: see `pays`.
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

# Compiling pays for a kernel that was called this often, and did this many multiply-adds in all of its calls.
MANY_CALLS = 3
MANY_PRODUCTS = 1 << 28

# One thread compiles at a time.
_lock = threading.RLock()
_products = 0
_compiler: Compiler | None = None
_available: bool | None = None
_plain: ContextVar[bool] = ContextVar("plain", default=False)


def is_available() -> bool:
    """True where there is llvmlite, and IREXEC_FAST is not 0."""
    global _available
    if _available is None:
        _available = os.environ.get("IREXEC_FAST", "") != "0" and find_spec("llvmlite") is not None
    return _available


def pays(calls: int, products: int) -> bool:
    """Whether a kernel that is called for the `calls`th time, with so many multiply-adds, should now be compiled.

    A kernel that was called several times belongs to a model that will run many times more.
    """
    global _products
    if calls < MANY_CALLS or _plain.get() or not is_available():
        return False
    _products += products
    return _compiler is not None or _products >= MANY_PRODUCTS


def has_begun() -> bool:
    """Whether anything was compiled in this process."""
    return _compiler is not None


@contextmanager
def plainly() -> Iterator[None]:
    """Inside, no further kernel is compiled: compiled ones hold weights of their own, and are not what others are
    measured by."""
    token = _plain.set(True)
    try:
        yield
    finally:
        _plain.reset(token)


def compiler() -> Compiler:
    """The compiler of this process. Raises ImportError where there is no llvmlite."""
    global _compiler
    with _lock:
        if _compiler is None:
            from irexec.native.llvm import Compiler

            _compiler = Compiler(_lock)
        return _compiler


if hasattr(os, "register_at_fork"):
    # A process that is forked while another thread compiles would have a compiler that is never free again.
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)
