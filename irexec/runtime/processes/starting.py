"""Starting processes, in a separate session and without imports from the current folder; no other module starts
processes.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any

from irexec.runtime.processes.path import absolute_path
from irexec.runtime.processes.serve import SIGNALS

Process = subprocess.Popen[bytes]
"""A process that was started here."""
# The process imports the same irexec as this process, even if the path contains another package of that name.
_IREXEC = os.path.join(
    os.path.abspath(__file__).rpartition(os.path.join("irexec", "runtime"))[0], "irexec", "__init__.py"
)
_SERVE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "serve.py")


def is_own(python: str) -> bool:
    """Return whether an interpreter is the one that runs irexec; an empty name is."""
    return not python or python == sys.executable


def start_python(
    python: str, settings: Mapping[str, Any], errors: IO[bytes] | None, environment: Mapping[str, str]
) -> Process:
    """Start a process with an interpreter that serves the methods of an object (`irexec.runtime.processes.serve`) on
    its standard input and output. Raises OSError.

    irexec's own interpreter imports the same modules as this process, except from the current folder, unless the path
    contains its absolute name; any other is isolated from the current folder and from the user's settings. `errors`:
    the destination of standard error, by default that of this process. `environment`: variables, unless the user has
    set them.
    """
    own = is_own(python)
    places = {"path": absolute_path() if own else [], "packages": {"irexec": _IREXEC} if own else {}}
    flags, kept, variables = sys.flags, ["-I"], {**environment, **os.environ}
    if own:
        kept = [option for option, on in (("-E", flags.ignore_environment), ("-s", flags.no_user_site)) if on] + ["-P"]
        found = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if os.path.isabs(entry)]
        variables |= {"PYTHONPATH": os.pathsep.join(found), "PYTHONSAFEPATH": "1"}
    words = [_executable(python or sys.executable), *kept, _SERVE, json.dumps({**settings, **places})]
    with _signals_held_back():
        return _start(words, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)


def start_program(words: Sequence[str], output: IO[bytes] | None = None) -> Process:
    """Start a program given by the user, without input, its output discarded or in `output`. Raises OSError."""
    quiet = subprocess.DEVNULL
    stream = quiet if output is None else output
    return _start([_executable(words[0]), *words[1:]], stdin=quiet, stdout=stream, stderr=stream)


def end(process: Process) -> None:
    """Kill a process and the processes that it has started in its session, and wait for it."""
    if process.poll() is None:
        if os.name == "posix":
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        process.kill()
    process.wait()


def ending(process: Process, limit: float) -> int | None:
    """Return the exit code of a process that is about to end; None if it has not ended within `limit` seconds."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(limit)
    return process.poll()


def _start(words: Sequence[str], **details: Any) -> Process:
    # irexec handles Ctrl-C and ends the processes that it has started.
    return subprocess.Popen(words, start_new_session=True, **details)


def _executable(name: str) -> str:
    """Return the file of a program: a bare name is searched in the absolute folders of PATH. Raises OSError."""
    if os.path.dirname(name):
        return name
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    found = shutil.which(name, path=os.pathsep.join(filter(os.path.isabs, folders)))
    if found is None:
        raise FileNotFoundError(2, "the program was not found in PATH", name)
    return found


@contextlib.contextmanager
def _signals_held_back() -> Iterator[None]:
    """Block signals in processes that are started in this context."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# The number of characters kept from the end of a program's output.
_MOST_OUTPUT = 1 << 20


def outcome(words: Sequence[str], limit: float | None) -> tuple[int | None, str]:
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
