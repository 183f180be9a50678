"""Ctrl-C and SIGTERM: the command exits with its own exit code and without a traceback, at any time.

This module is imported first, so it imports nothing that takes time: `signal` alone would take longer than the rest.
"""

from __future__ import annotations

import _signal as signals  # type: ignore[import-not-found]
import atexit
import os
import sys
from _frozen_importlib_external import ExtensionFileLoader
from _thread import get_ident

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

INTERRUPTED = 130
# Seconds after which an interrupt that Python discarded is raised again.
_SOON = 0.01

_working = False
_received = 0
# The depth of extension modules that are being loaded in the main thread, and the signal that waits for their end.
_loading = 0
_waiting = 0
_main = get_ident()


def install() -> None:
    """Make signals terminate the process immediately, unless `run` does work that must be completed or undone first.

    A signal that the parent process has set to be ignored, as `nohup` and shell scripts do, stays ignored.
    """
    usual = ((signals.SIGINT, signals.default_int_handler), (signals.SIGTERM, signals.SIG_DFL))
    for number, handler in usual:
        if signals.getsignal(number) == handler:
            signals.signal(number, _handle)
    atexit.register(_ignore)
    sys.unraisablehook = _raise_again
    for step in ("create_module", "exec_module"):
        setattr(ExtensionFileLoader, step, _whole(getattr(ExtensionFileLoader, step)))


def run(work: Callable[[], int]) -> int:
    """Return the exit code of `work`, in which the first signal raises KeyboardInterrupt; a second signal ends
    the process.
    """
    global _working
    try:
        # Python runs signal handlers only at calls and jumps, so none can run between `try` and the assignment.
        try:
            _working = True
            code = work()
        finally:
            _working = False
    except KeyboardInterrupt:
        return INTERRUPTED
    return INTERRUPTED if _received else code


def received() -> bool:
    """Return whether a signal was received; failures after the signal are its consequences."""
    return bool(_received)


def _handle(number: int, frame: FrameType | None) -> None:
    global _working, _received, _waiting
    if _loading and not _waiting:
        _waiting = number
        return
    _waiting = 0
    if not _working:
        os._exit(INTERRUPTED)
    _working, _received = False, number
    raise KeyboardInterrupt


def _whole(step: Callable[..., object]) -> Callable[..., object]:
    """Return a step of loading an extension module during which signals wait: an extension that imports others, as
    those that need NumPy do, would continue with half of a module, and crash.
    """

    def done(*arguments: object) -> object:
        global _loading
        if get_ident() != _main:  # Python runs handlers in the main thread.
            return step(*arguments)
        _loading += 1
        try:
            return step(*arguments)
        finally:
            _loading -= 1
            if _waiting and not _loading:
                _handle(_waiting, None)

    return done


def _raise_again(unraisable: sys.UnraisableHookArgs) -> None:
    """Raise an interrupt again that Python discarded because it was raised in a destructor or a callback."""
    global _working
    if not (_received and issubclass(unraisable.exc_type, KeyboardInterrupt)):
        sys.__unraisablehook__(unraisable)
        return
    import threading

    _working = True
    again = threading.Timer(_SOON, os.kill, (os.getpid(), _received))
    again.daemon = True
    again.start()


def _ignore() -> None:
    """Ignore signals from here on: this runs last at exit, when nothing is left to interrupt."""
    for number in (signals.SIGINT, signals.SIGTERM):
        if signals.getsignal(number) == _handle:
            signals.signal(number, signals.SIG_IGN)
