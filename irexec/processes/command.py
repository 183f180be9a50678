"""A program of the user's: its exit code, within a time limit."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from irexec.processes.starting import end, start_program


def exit_code(words: Sequence[str], limit: float) -> int | None:
    """The exit code of a program; None if it did not exit within `limit` seconds and was terminated with its children.

    A name without a folder is searched in the absolute folders of PATH. Raises OSError if the program cannot be
    started.
    """
    process = start_program(words)
    try:
        return process.wait(limit)
    except subprocess.TimeoutExpired:
        return None
    finally:
        if process.returncode is None:
            end(process)
