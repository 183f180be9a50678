"""The peak memory of this process since a chosen moment. Available on Linux; elsewhere it is 0."""

from __future__ import annotations

import contextlib
from pathlib import Path


def most_resident() -> int:
    """The largest resident size since the last reset, in bytes."""
    try:
        text = Path("/proc/self/status").read_text()
    except OSError:
        return 0
    return int(text.split("VmHWM:")[1].split()[0]) << 10


def reset_most_resident() -> None:
    """Reset the peak; without an effect on systems that do not support this."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
