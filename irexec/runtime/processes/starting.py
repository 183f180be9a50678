"""Starting processes, in a separate session and without imports from the current folder; no other module starts
processes.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any

from irexec.runtime.processes.messages import SIGNALS
from irexec.runtime.processes.path import absolute_path

Process = subprocess.Popen[bytes]
"""A process that was started here."""
# The child imports the same irexec as this process, even if the path contains another package of that name.
_IREXEC = os.path.join(
    os.path.abspath(__file__).rpartition(os.path.join("irexec", "runtime"))[0], "irexec", "__init__.py"
)
_FIRST = """\
import sys
sys.path[:] = {path!r}
from importlib.util import module_from_spec, spec_from_file_location
spec = spec_from_file_location("irexec", {file!r})
sys.modules["irexec"] = module_from_spec(spec)
spec.loader.exec_module(sys.modules["irexec"])
from irexec.runtime.processes.serve import serve
serve({program!r})
"""


def start_python(errors: IO[bytes] | None) -> subprocess.Popen[bytes]:
    """Start a Python process that serves calls (`irexec.runtime.processes.serve`) on its standard input and output.

    It imports the same modules as this process, except from the current folder, unless the path contains its absolute
    name. `errors`: the destination of its standard error, by default the standard error of this process.
    """
    first = _FIRST.format(path=absolute_path(), file=_IREXEC, program=_program())
    flags = sys.flags
    kept = [option for option, on in (("-E", flags.ignore_environment), ("-s", flags.no_user_site)) if on]
    found = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if os.path.isabs(entry)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(found), "PYTHONSAFEPATH": "1"}
    with _signals_held_back():
        return _start(
            [sys.executable, *kept, "-P", "-c", first],
            env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
        )  # fmt: skip


def start_script(
    python: str, file: str, arguments: Sequence[str], errors: IO[bytes], environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    """Start a script with a Python interpreter, isolated from the current folder and from the user's settings, with
    pipes for its input and output. `environment`: variables, unless the user has set them. Raises OSError.
    """
    words = [_executable(python), "-I", file, *arguments]
    with _signals_held_back():
        return _start(
            words,
            env={**environment, **os.environ}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
        )  # fmt: skip


def start_program(words: Sequence[str], output: IO[bytes] | None = None) -> subprocess.Popen[bytes]:
    """Start a program given by the user, without input, its output discarded or in `output`. Raises OSError."""
    quiet = subprocess.DEVNULL
    stream = quiet if output is None else output
    return _start([_executable(words[0]), *words[1:]], stdin=quiet, stdout=stream, stderr=stream)


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and the processes that it has started in its session, and wait for it."""
    if process.poll() is None:
        if os.name == "posix":
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        process.kill()
    process.wait()


def ending(process: subprocess.Popen[bytes], limit: float) -> int | None:
    """Return the exit code of a process that is about to end; None if it has not ended within `limit` seconds."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(limit)
    return process.poll()


def _start(words: Sequence[str], **details: Any) -> subprocess.Popen[bytes]:
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


def _program() -> tuple[str | None, str | None]:
    """Return the name, if any, and the file of the running program, whose classes may occur in calls."""
    main = sys.modules.get("__main__")
    spec, file = getattr(main, "__spec__", None), getattr(main, "__file__", None)
    return (None if spec is None else spec.name), (None if file is None else os.path.abspath(file))


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
