"""The folders in which Python looks for modules: never the current folder, unless the user gives its full path."""

from __future__ import annotations

import os
import sys


def leave_current_folder() -> None:
    """Remove the current folder from the import path of this process, the irexec command.

    An empty or relative entry of PYTHONPATH refers to the current folder, and Python adds its absolute path. Absolute
    entries are given intentionally by the user and are kept.
    """
    named = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    accidental = {os.path.abspath(entry) for entry in named if not os.path.isabs(entry)} - set(named)
    if named == [""]:  # For Python, an empty variable contains no entry.
        accidental.clear()
    sys.path[:] = [entry for entry in absolute_path() if entry not in accidental]


def absolute_path() -> list[str]:
    """Return the import path without entries that depend on the current folder, such as ""."""
    return [entry for entry in sys.path if os.path.isabs(entry)]
