"""An object in another process, whose methods are called in order: a crash or a hang ends only that process."""

from __future__ import annotations

import contextlib
import signal
import struct
import tempfile
import threading
import time
from collections import deque
from collections.abc import Mapping
from typing import IO, Any

import numpy as np

from irexec.core.types import Array, ElementType
from irexec.runtime.processes.serve import GRACE, Message, read, write
from irexec.runtime.processes.starting import Process, end, ending, start_python

_LAST_WORDS = 200


class Ended(Exception):
    """Raised if a process exits before it answers (`how` is "crash") or exceeds its time limit ("hang"). `cause`: the
    signal or exit code with the last line of its output; empty after a hang.
    """

    def __init__(self, how: str, message: str, cause: str = "") -> None:
        super().__init__(message)
        self.how, self.cause = how, cause


class Refused(Exception):
    """Raised for an exception in the other process: `kind` is its class, `code` the code of a finding, or empty."""

    def __init__(self, kind: str, message: str, code: str = "") -> None:
        super().__init__(message)
        self.kind, self.code = kind, code


class Worker:
    """Calls the methods of an object in another process, which is started when it is needed, and again after it ended.

    `host`: the object's class as FILE.py:Class or module:Class, with the method `describe`. `config`: its arguments.
    `python`: the interpreter, by default the one that runs irexec, in which the process imports the same modules as
    this one, except from the current folder. `environment`: variables of the process. `quiet`: the output of the
    process is hidden, and its last line is part of the message about a crash. `forks`: a process that has died may be
    replaced by a fork.

    Arguments and results consist of what JSON can express, and of arrays. The process has its own session, so that
    Ctrl-C does not reach it, and it exits when this process ends. It is not a sandbox.
    """

    def __init__(
        self,
        host: str,
        config: Mapping[str, Any] | None = None,
        *,
        python: str = "",
        environment: Mapping[str, str] | None = None,
        quiet: bool = True,
        forks: bool = False,
    ) -> None:
        self._process: Process | None = None
        self._settings = {"host": host, "config": dict(config or {}), "forks": forks}
        self._python, self._environment, self._quiet = python, dict(environment or {}), quiet
        self.life = 0
        """How many times the process was started."""
        self.methods: frozenset[str] = frozenset()
        """The methods that the object has."""
        self._words: IO[bytes] | None = None
        self._heard = self._number = 0
        self._waiting: deque[int] = deque()
        self._description: Any = None
        self._is_met = self._is_over = self._too_late = False

    @property
    def pid(self) -> int | None:
        """The number of the process, if it runs."""
        return None if self._process is None else self._process.pid

    def call(self, method: str, /, *arguments: Any, limit: float | None = None) -> Any:
        """Return the result of a method. `limit`: in seconds. Raises Refused, Ended, and OSError if the interpreter
        cannot be started.
        """
        self.send(method, *arguments, limit=limit)
        return self.receive(limit)

    def send(self, method: str, /, *arguments: Any, limit: float | None = None) -> None:
        """Send a call, whose answer `receive` waits for. `limit`: seconds after which the process ends itself."""
        process = self._started()
        self._number += 1
        self._waiting.append(self._number)
        assert process.stdin is not None
        message = {"number": self._number, "call": method, "arguments": arguments, "limit": limit}
        try:
            write(process.stdin, message)
        except (OSError, ValueError):
            pass  # The process has ended, which `receive` reports.
        except BaseException:
            self.kill()  # Part of a message may have been sent.
            raise

    def receive(self, limit: float | None = None) -> Any:
        """Return the result of the oldest unanswered call. Raises Refused, and Ended, also after `limit` seconds."""
        if not self._is_met:
            self.describe(limit)
        answer = self._read(self._waiting.popleft(), limit)
        if "error" in answer:
            raise Refused(answer["error"], answer["message"], answer["code"])
        return answer["result"]

    def describe(self, limit: float | None = None) -> Any:
        """Return the object's description of itself, for which the process is started. Raises Refused if the object
        cannot be created, Ended, and OSError.
        """
        self._started()
        if not self._is_met:
            answer = self._read(0, limit)
            if "error" in answer:
                self.kill()
                raise Refused(answer["error"], answer["message"], answer["code"])
            self._description, self._is_met = answer["result"], True
            self.methods = frozenset(answer["methods"])
        return self._description

    @property
    def printed(self) -> str:
        """All that the process has printed."""
        return self._words_from(0)

    def close(self) -> None:
        """Close the pipe, wait until the process exits, and kill it if it does not."""
        self._is_over = True
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
            self.end_by(time.monotonic() + GRACE)
        self.kill()

    def stop(self) -> None:
        """Terminate the process, even during a call; it is not started again."""
        self._is_over = True
        if self._process is not None:
            self._process.terminate()

    def end_by(self, moment: float) -> None:
        """Wait until the process exits, and kill it if it has not exited by `moment` (of the monotonic clock)."""
        if self._process is not None and ending(self._process, max(moment - time.monotonic(), 0)) is None:
            end(self._process)

    def kill(self) -> None:
        """Kill the process; the next call starts another one."""
        process, self._process = self._process, None
        self._is_met = False
        self._waiting.clear()
        if process is not None:
            end(process)
            # The pipes are closed in the thread that makes the calls: any other thread would wait for that thread.
            for file in (process.stdin, process.stdout):
                if file is not None:
                    with contextlib.suppress(OSError):  # A call that was not received may be left in the buffer.
                        file.close()

    __del__ = kill

    def start(self) -> None:
        """Start the process if it does not run. Raises OSError, and Ended after `stop` or `close`."""
        self._started()

    def _started(self) -> Process:
        if self._process is None:
            if self._is_over:
                raise Ended("crash", "was ended")
            self._words = tempfile.TemporaryFile() if self._quiet else None  # noqa: SIM115
            self._heard = 0
            self._process = start_python(self._python, self._settings, self._words, self._environment)
            self.life += 1
        return self._process

    def _read(self, number: int, limit: float | None) -> Message:
        """Return the answer with this number. A process that dies between two calls leaves the second one to its
        successor: an answer with a lower number is out of date.
        """
        process = self._process
        assert process is not None and process.stdout is not None
        self._too_late = False
        timer = None if limit is None else threading.Timer(float(limit), self._give_up, [process])
        if timer is not None:
            timer.daemon = True
            timer.start()
        try:
            while (found := read(process.stdout, _typed)) is not None:
                if "ended" in found:
                    raise self._crashed(found["ended"])
                if found["number"] >= number:
                    return found
            raise self._ended(process, limit)
        except (OSError, ValueError, struct.error):
            raise self._ended(process, limit) from None
        except Ended:
            raise
        except BaseException:
            self.kill()  # Part of an answer may have been received.
            raise
        finally:
            if timer is not None:
                timer.cancel()

    def _give_up(self, process: Process) -> None:
        self._too_late = True
        end(process)

    def _ended(self, process: Process, limit: float | None) -> Ended:
        self.end_by(time.monotonic() + GRACE)
        too_late, code = self._too_late, process.returncode
        words = self._crashed(code)
        self.kill()
        return Ended("hang", f"did not respond within {limit:g} s") if too_late else words

    def _crashed(self, code: int) -> Ended:
        """Return the error for an exit code. Another process may already have replaced the one that ended."""
        self._is_met = False
        self._waiting.clear()
        self.life += 1
        lines = [line.strip() for line in self._words_from(self._heard).splitlines() if line.strip()]
        words = lines[-1][:_LAST_WORDS] if lines else ""
        how = _signal_name(-code) if code < 0 else f"exit code {code}"
        return Ended("crash", f"crashed ({how})" + (f": {words}" if words else ""), f"{how} {words}".strip())

    def _words_from(self, place: int) -> str:
        if self._words is None:
            return ""
        self._words.seek(place)
        found = self._words.read()
        self._heard = self._words.tell()
        return found.decode(errors="replace")


def _typed(bits: Array, name: str) -> Array:
    """Return an array of the type that has this name, in NumPy, ml_dtypes or irexec."""
    if bits.dtype.kind == "U":
        # NumPy does not convert an empty array of strings.
        return np.array(bits.reshape(-1).tolist(), np.dtypes.StringDType()).reshape(bits.shape)
    if bits.dtype.name == name:
        return bits
    kind = ElementType.by_name.get(name)
    dtype = np.dtype(name) if kind is None else kind.dtype
    return bits if dtype is None or dtype.itemsize != bits.dtype.itemsize else bits.view(dtype)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
