"""A Python process that does calls, one after the other: a crash or a hang there ends nothing but itself."""

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

from irexec.processes.messages import GRACE, Answer, decoded, encoded, receive, send
from irexec.processes.starting import end, start_python

T = TypeVar("T")

_LAST_WORDS = 200


class Ended(Exception):
    """A process that ended before it answered (`how` is "crash"), or was ended as it took too long ("hang")."""

    def __init__(self, how: str, message: str) -> None:
        super().__init__(message)
        self.how = how


class Child:
    """Executes calls in a separate process, which imports the same modules as this one, except from the current folder.

    Functions, arguments and results must be picklable; the functions are those of modules. The output of calls goes to
    standard error. The process has its own session, so that Ctrl-C does not reach it, and it exits when this process
    ends. It is not a sandbox: it may do whatever this process may do.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        """`quiet`: its output is not shown; when it crashes, the last line is reported."""
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
        """Hand a call over, whose answer `receive` waits for. `limit`: seconds after which it gives itself up."""
        parts = encoded((call, limit))
        assert self._process.stdin is not None
        try:
            if not self._process.stdin.closed:
                send(self._process.stdin, parts)
        except OSError:
            pass  # The process has ended, which `receive` reports.
        except BaseException:
            self.kill()  # Half of a message may be on its way.
            raise

    def receive(self, limit: float | None = None) -> Any:
        """The result of the oldest unanswered call, or its exception. Raises Ended, also after `limit` seconds."""
        assert self._process.stdout is not None
        self._too_late = False
        timer = None if limit is None else threading.Timer(limit, self._give_up)
        if timer is not None:
            timer.daemon = True
            timer.start()
        try:
            parts = None if self._process.stdout.closed else receive(self._process.stdout)
        except BaseException:
            self.kill()  # Half of an answer may be on its way.
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
        """There are no more calls: wait until it has left, and end it when it does not."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self.end_by(time.monotonic() + GRACE)
        self._close_files()

    def stop(self) -> None:
        """Terminate the process, whatever it is doing."""
        self._process.terminate()

    def end_by(self, moment: float) -> None:
        """Wait until it has left; end it at that moment of the monotonic clock."""
        try:
            self._process.wait(max(moment - time.monotonic(), 0))
        except subprocess.TimeoutExpired:
            end(self._process)

    def kill(self) -> None:
        """End it at once."""
        end(self._process)
        self._close_files()

    def _give_up(self) -> None:
        self._too_late = True
        end(self._process)

    def _close_files(self) -> None:
        """For the thread that makes the calls: another one would wait for it."""
        for file in (self._process.stdin, self._process.stdout, self._words):
            if file is not None:
                with contextlib.suppress(OSError):  # A call may be left that the process did not receive.
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
    """The text of a traceback in a process: the cause of the exception here."""


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
