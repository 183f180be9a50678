"""Running a program given by the user: its exit code and its output, within a time limit."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence

from irexec.processes.starting import end, start_program

# The number of characters kept from the end of a program's output.
_MOST_OUTPUT = 1 << 20


def outcome(words: Sequence[str], limit: float) -> tuple[int | None, str]:
    """Return the exit code of a program and the end of its output; the code is None if it did not exit within `limit`
    seconds and was terminated with its children.

    A name without a folder is searched in the absolute folders of PATH. Raises OSError if the program cannot be
    started.
    """
    with tempfile.TemporaryFile() as output:
        process = start_program(words, output)
        try:
            code: int | None = process.wait(limit)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            if process.returncode is None:
                end(process)
        output.seek(max(0, output.seek(0, 2) - _MOST_OUTPUT))
        return code, output.read(_MOST_OUTPUT).decode("utf-8", "replace")
