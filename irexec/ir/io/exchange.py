"""Linux functions missing from Python's `os`: exchanging two files atomically, and testing whether a file is open."""

from __future__ import annotations

import errno
import os
import sys
from functools import cache
from typing import Any

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2
# Error numbers of a file system or an operating system that does not support the call.
_UNKNOWN = {errno.EINVAL, errno.ENOSYS, errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP}


def exchanged(one: str, other: str) -> bool:
    """Exchange the names of two files in one file system atomically; return False, with nothing done, if that is
    impossible.

    Raises OSError, including FileNotFoundError.
    """
    call = _renameat2()
    if call is None:
        return False
    if call(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0:
        return True
    import ctypes

    if (number := ctypes.get_errno()) in _UNKNOWN:
        return False
    raise OSError(number, os.strerror(number), other)


@cache
def _renameat2() -> Any:
    """Return the C library's function `renameat2`; None if the library does not have it."""
    if sys.platform != "linux":
        return None
    import ctypes

    function = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if function is not None:
        function.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    return function


def is_open_for_writing(descriptor: int) -> bool:
    """Return whether the system reports that a process has the file of a read-only descriptor open for writing.

    Linux grants a lease for reading on one's own file only if no process has it open for writing.
    """
    if sys.platform != "linux":
        return False
    import fcntl
    import signal

    try:
        # If another process opens the file during the lease, the signal must be one that is ignored by default.
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError as error:
        return error.errno == errno.EAGAIN
    return False
