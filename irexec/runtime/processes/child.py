"""A Python process that executes calls in order: a crash or a hang ends only that process."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import IO, Any, TypeVar

from irexec.runtime.processes.messages import GRACE, Answer, decoded, encoded, receive, send
from irexec.runtime.processes.starting import end, start_python

T = TypeVar("T")

_LAST_WORDS = 200


class Ended(Exception):
    """Raised if a process exits before it answers (`how` is "crash") or exceeds its time limit ("hang")."""

    def __init__(self, how: str, message: str) -> None:
        super().__init__(message)
        self.how = how


class Child:
    """Executes calls in a separate process, which imports the same modules as this process, except from the current
    folder.

    Functions, arguments and results must be picklable; functions must be defined in modules. The output of calls goes
    to standard error. The process has its own session, so that Ctrl-C does not reach it, and it exits when this process
    ends. It is not a sandbox: it has the permissions of this process.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        """`quiet`: the output of the process is hidden; if it crashes, its last line is reported."""
        self._words: IO[bytes] | None = tempfile.TemporaryFile() if quiet else None  # noqa: SIM115
        self._process: subprocess.Popen[bytes] = start_python(self._words)
        self._too_late = False

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def call(self, function: Callable[..., T], /, *arguments: Any, limit: float | None = None) -> T:
        """Return the result of the function, or raise its exception. `limit`: in seconds. Raises Ended."""
        self.send(partial(function, *arguments), limit)
        return self.receive(limit)  # type: ignore[no-any-return]

    def send(self, call: Callable[[], object], limit: float | None = None) -> None:
        """Send a call, whose answer `receive` waits for. `limit`: seconds after which the process ends itself."""
        parts = encoded((call, limit))
        assert self._process.stdin is not None
        try:
            if not self._process.stdin.closed:
                send(self._process.stdin, parts)
        except OSError:
            pass  # The process has ended, which `receive` reports.
        except BaseException:
            self.kill()  # Part of a message may have been sent.
            raise

    def receive(self, limit: float | None = None) -> Any:
        """Return the result of the oldest unanswered call, or its exception. Raises Ended, also after `limit`
        seconds.
        """
        assert self._process.stdout is not None
        self._too_late = False
        timer = None if limit is None else threading.Timer(limit, self._give_up)
        if timer is not None:
            timer.daemon = True
            timer.start()
        try:
            parts = None if self._process.stdout.closed else receive(self._process.stdout)
        except BaseException:
            self.kill()  # Part of an answer may have been received.
            raise
        finally:
            if timer is not None:
                timer.cancel()
        if parts is None:
            raise self._ended(limit)
        answer: Answer = decoded(parts)
        if answer.error is not None:
            raise answer.error from _Elsewhere(answer.trace)
        return answer.result

    def close(self) -> None:
        """Close the pipe, wait until the process exits, and kill it if it does not."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self.end_by(time.monotonic() + GRACE)
        self._close_files()

    def stop(self) -> None:
        """Terminate the process, even during a call."""
        self._process.terminate()

    def end_by(self, moment: float) -> None:
        """Wait until the process exits, and kill it if it has not exited by `moment` (of the monotonic clock)."""
        try:
            self._process.wait(max(moment - time.monotonic(), 0))
        except subprocess.TimeoutExpired:
            end(self._process)

    def kill(self) -> None:
        """Kill the process."""
        end(self._process)
        self._close_files()

    def _give_up(self) -> None:
        self._too_late = True
        end(self._process)

    def _close_files(self) -> None:
        """Close the pipes in the thread that makes the calls: any other thread would wait for that thread."""
        for file in (self._process.stdin, self._process.stdout, self._words):
            if file is not None:
                with contextlib.suppress(OSError):  # A call that the process did not receive may be left in the buffer.
                    file.close()

    def _ended(self, limit: float | None) -> Ended:
        self.end_by(time.monotonic() + GRACE)
        words = self._last_words()
        self._close_files()
        if self._too_late:
            return Ended("hang", f"did not respond within {limit:g} s")
        code = self._process.returncode
        how = _signal_name(-code) if code < 0 else f"exit code {code}"
        return Ended("crash", f"crashed ({how})" + (f": {words}" if words else ""))

    def _last_words(self) -> str:
        if self._words is None or self._words.closed:
            return ""
        self._words.seek(0)
        lines = [line.strip() for line in self._words.read().decode(errors="replace").splitlines()]
        return next((line for line in reversed(lines) if line), "")[:_LAST_WORDS]


class _Elsewhere(Exception):
    """The traceback in the child process as text, used as the cause of the exception in this process."""


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
