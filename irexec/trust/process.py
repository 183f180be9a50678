"""A process of its own for a runtime: one that crashes or hangs there ends nothing but itself."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
from typing import IO, Any

from irexec.trust.runtimes import CannotRun, Died

LIMIT = 600.0
"""Seconds that a runtime may take for one answer."""
_LAST_WORDS = 200


class Process:
    """Calls the methods of an object that lives in another process; started when needed, again after it died.

    `server` names its class (`module:Class`), `arguments` are what it is made with: things that can be pickled, as are
    the arguments and results of its methods. `limit`: seconds for one answer.
    """

    def __init__(self, server: str, arguments: tuple[Any, ...], limit: float = LIMIT) -> None:
        self.server, self.arguments, self.limit = server, arguments, limit
        self.life = 0
        self._running: subprocess.Popen[bytes] | None = None
        self._complaints: IO[bytes] | None = None
        self._too_late = False

    def call(self, method: str, *arguments: Any) -> Any:
        """What the method returns. Raises CannotRun where the object does, and Died when its process ends or hangs."""
        running = self._running if self._running is not None else self._start()
        return self._ask(running, (method, arguments))

    def close(self) -> None:
        """End the process."""
        running, self._running = self._running, None
        if running is not None:
            running.kill()
            running.communicate()
        if self._complaints is not None:
            self._complaints.close()
            self._complaints = None

    __del__ = close

    def _start(self) -> subprocess.Popen[bytes]:
        self.life += 1
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115
        self._running = subprocess.Popen(
            [sys.executable, "-m", "irexec.trust.serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            # Ctrl-C in the terminal is handled by the process that asks, which then ends this one.
            start_new_session=True,
        )
        self._ask(self._running, (self.server, self.arguments))
        return self._running

    def _ask(self, running: subprocess.Popen[bytes], question: Any) -> Any:
        assert running.stdin is not None and running.stdout is not None
        self._too_late = False
        timer = threading.Timer(self.limit, self._give_up, [running])
        timer.daemon = True
        timer.start()
        try:
            pickle.dump(question, running.stdin, protocol=pickle.HIGHEST_PROTOCOL)
            running.stdin.flush()
            done, answer = pickle.load(running.stdout)
        except (EOFError, OSError, pickle.UnpicklingError):
            raise self._died(running) from None
        except BaseException:
            # Half of an answer may be on its way.
            self.close()
            raise
        finally:
            timer.cancel()
        if not done:
            raise CannotRun(answer)
        return answer

    def _give_up(self, running: subprocess.Popen[bytes]) -> None:
        self._too_late = True
        running.kill()

    def _died(self, running: subprocess.Popen[bytes]) -> Died:
        running.wait()
        words = ""
        if self._complaints is not None:
            self._complaints.seek(0)
            lines = [line.strip() for line in self._complaints.read().decode(errors="replace").splitlines()]
            words = next((line for line in reversed(lines) if line), "")[:_LAST_WORDS]
        too_late, code = self._too_late, running.returncode
        self.close()
        if too_late:
            return Died("hang", f"gave no answer within {self.limit:g} s")
        end = _signal_name(-code) if code < 0 else f"exit code {code}"
        return Died("crash", f"crashed ({end})" + (f": {words}" if words else ""))


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
