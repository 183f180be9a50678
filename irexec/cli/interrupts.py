"""Ctrl-C and SIGTERM: the command exits with its own exit code and without a traceback, at any time.

This module is imported first, so it imports nothing that takes time: `signal` alone would take longer than the rest.
"""

from __future__ import annotations

import _signal as signals  # type: ignore[import-not-found]
import atexit
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

INTERRUPTED = 130
# Seconds after which an interrupt that Python discarded is raised again.
_SOON = 0.01

_working = False
_received = 0


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
    global _working, _received
    if not _working:
        os._exit(INTERRUPTED)
    _working, _received = False, number
    raise KeyboardInterrupt


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
