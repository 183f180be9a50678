"""Locks that can be used in a forked process, whatever other threads were doing."""

from __future__ import annotations

import os
import threading


def held_while_forking(lock: threading.Lock | threading.RLock) -> None:
    """Acquire a lock before every fork of this process, and release it afterwards in both processes.

    A process forked while another thread holds the lock would inherit a lock that is never released. A fork that
    another thread has already begun when this function is called neither acquires nor releases the lock.
    """
    forking = threading.local()

    def acquire() -> None:
        lock.acquire()
        forking.holds = True

    def release() -> None:
        if getattr(forking, "holds", False):
            forking.holds = False
            lock.release()

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=acquire, after_in_parent=release, after_in_child=release)
