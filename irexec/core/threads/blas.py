"""BLAS limited to one thread: kernels divide their work themselves, and BLAS's idle threads would occupy the cores."""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import import_module
from itertools import product
from typing import Protocol

# How OpenBLAS describes threads that the whole process shares; with OpenMP each calling thread has its own.
_PROCESS_WIDE = 1

_lock = threading.Lock()
_local = threading.local()
_users = 0
_before: list[int] = []


class Library(Protocol):
    """A BLAS whose number of threads can be read and set."""

    def get_num_threads(self) -> int: ...

    def set_num_threads(self, count: int) -> None: ...


@contextlib.contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Limit BLAS to one thread in the whole process, while any thread is in this context.

    The first thread to enter sets the limit and the last to leave removes it. The context of threadpoolctl searches for
    the libraries each time, and would remove the limit while another thread still needs it.
    """
    if getattr(_local, "holds", False):
        yield
        return
    _hold()
    _local.holds = True
    try:
        yield
    finally:
        _local.holds = False
        _release()


def users() -> int:
    """Return the number of threads inside `single_threaded_blas`."""
    return _users


def _hold() -> None:
    global _users, _before
    libraries = _libraries()
    with _lock:
        if _users == 0:
            _before = [library.get_num_threads() for library in libraries]
            _set_threads([1] * len(libraries))
        _users += 1


def _release() -> None:
    global _users
    with _lock:
        _users -= 1
        if _users == 0:
            _set_threads(_before)


def _set_threads(counts: list[int]) -> None:
    for library, before, count in zip(_libraries(), _before, counts, strict=True):
        if before != 1:
            library.set_num_threads(count)


def _forget_threads() -> None:
    """Forget the threads after a fork: the new process has only the thread that forked."""
    global _users, _lock
    _lock = threading.Lock()
    if _users:
        _users = 1
        if not getattr(_local, "holds", False):
            _release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)


@cache
def _libraries() -> Sequence[Library]:
    """Return NumPy's own OpenBLAS; if NumPy uses another BLAS (MKL, BLIS, ...), all BLAS libraries of the process."""
    own = _OpenBlas.of_numpy()
    return _found_by_threadpoolctl() if own is None else [own]


class _OpenBlas:
    """An OpenBLAS library, controlled by two of its functions."""

    def __init__(self, get: Callable[[], int], set: Callable[[int], None]) -> None:
        self.get_num_threads, self.set_num_threads = get, set

    @classmethod
    def of_numpy(cls) -> _OpenBlas | None:
        """Return the OpenBLAS that NumPy's extension module is linked with, as in NumPy's wheels; None for another
        BLAS.

        This takes 0.1 ms; threadpoolctl, which examines every library of the process, takes 7 ms with its import.
        """
        try:
            linked = ctypes.CDLL(import_module("numpy._core._multiarray_umath").__file__)
        except OSError:
            return None
        for prefix, suffix in product(("scipy_", ""), ("64_", "", "_64")):
            name = f"{prefix}openblas_%s{suffix}"
            if not hasattr(linked, name % "get_parallel"):
                continue
            if linked[name % "get_parallel"]() == _PROCESS_WIDE:
                return cls(linked[name % "get_num_threads"], linked[name % "set_num_threads"])
        return None


def _found_by_threadpoolctl() -> list[Library]:
    from threadpoolctl import ThreadpoolController

    return [_ForAnyThread(library) for library in ThreadpoolController().select(user_api="blas").lib_controllers]


class _ForAnyThread:
    """A library whose limit any thread may set and another thread may remove.

    The first thread that enters the context sets the limit, and the last thread that leaves it removes the limit.
    """

    def __init__(self, library: Library) -> None:
        self._library = library

    def get_num_threads(self) -> int:
        return self._library.get_num_threads()

    def set_num_threads(self, count: int) -> None:
        clear = getattr(self._library, "clear_controlling_thread", lambda force: None)
        clear(force=True)
        self._library.set_num_threads(count)
        clear(force=True)
