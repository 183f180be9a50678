"""Locks that are held while a process forks."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from support.waiting import PATIENCE

pytestmark = [
    pytest.mark.any_python,
    pytest.mark.skipif(not hasattr(os, "register_at_fork"), reason="this system has no fork"),
]

# Without irexec's other modules, and in a separate process: hooks of a fork cannot be removed.
BEGIN = "import os, threading\nfrom irexec.core.threads.forking import held_while_forking\nlock = threading.Lock()\n"
# Each line is written by one call: both processes write at the same time, and `print` may split a line.
FORK = r"""
child = os.fork()
os.write(1, b"locked\n" if lock.locked() else b"free\n")
if child:
    os.waitpid(child, 0)
"""


def run(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", BEGIN + program + FORK], capture_output=True, text=True, timeout=PATIENCE
    )


def test_a_forked_process_does_not_inherit_a_lock_of_another_thread() -> None:
    held = """
held_while_forking(lock)
begun = threading.Event()
def hold():
    with lock:
        begun.set()
        threading.Event().wait(0.05)
threading.Thread(target=hold).start()
begun.wait()
"""
    done = run(held)
    assert (done.stdout, done.stderr, done.returncode) == ("free\nfree\n", "", 0)


def test_a_fork_that_has_begun_does_not_release_the_lock() -> None:
    """Another thread may import a module with a lock while this thread forks."""
    done = run("os.register_at_fork(before=lambda: held_while_forking(lock))\n")
    assert (done.stdout, done.stderr, done.returncode) == ("free\nfree\n", "", 0)
