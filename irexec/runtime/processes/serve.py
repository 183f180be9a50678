"""The process side of a Child: executes calls read from standard input, and writes answers to standard output."""

from __future__ import annotations

import faulthandler
import os
import pickle
import runpy
import signal
import sys
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from traceback import format_exception
from types import FrameType, ModuleType
from typing import IO, Any, NoReturn

from irexec.runtime.processes.messages import (
    GRACE,
    ITS_COPY,
    PROGRAM,
    SIGNALS,
    Answer,
    Parts,
    decoded,
    encoded,
    receive,
    send,
)

_A_MOMENT = 0.1


def serve(program: tuple[str | None, str | None]) -> None:
    """Execute calls until the input ends or SIGTERM arrives. The parent process handles Ctrl-C and sends SIGTERM.

    `program`: the name and the file of the parent's program.
    """
    calls, answers = _own_streams()
    server = _Server(program)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, server.leave)
    # Signals are blocked when the process starts, and stay blocked in this thread: the main thread receives them.
    threading.Thread(target=server.listen, args=(calls,), name="irexec-calls", daemon=True).start()
    try:
        if hasattr(signal, "pthread_sigmask"):
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        while (answer := server.next_answer()) is not None:
            send(answers, answer)
    except OSError:  # The parent no longer reads answers.
        pass
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _own_streams() -> tuple[IO[bytes], IO[bytes]]:
    """Return the pipes of this process, without the standard streams, so that prints are not read as a response."""
    calls, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # Standard error is closed.
        os.dup2(nothing, 1)
    sys.stdout = sys.stderr
    return calls, answers


class _Server:
    def __init__(self, program: tuple[str | None, str | None]) -> None:
        self._program = program
        self._calls: SimpleQueue[Parts | None] = SimpleQueue()
        self._had_all = threading.Event()
        self._terminated: int | None = None

    def listen(self, stream: IO[bytes]) -> None:
        """Receive messages, in a thread. Exit if the parent process is gone, also during a call."""
        while (message := receive(stream)) is not None:
            self._calls.put(message)
        self._calls.put(None)
        if not self._had_all.wait(_A_MOMENT):
            os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(GRACE)
        os._exit(1)

    def leave(self, number: int, frame: FrameType | None) -> NoReturn:
        """Exit on the first SIGTERM. A second signal could interrupt the removal of temporary files."""
        signal.signal(number, signal.SIG_IGN)
        self._terminated = 128 + number
        raise _Terminated(self._terminated)

    def next_answer(self) -> Parts | None:
        """Return the answer to the next call; None after the last call."""
        message = self._calls.get()
        if message is None:
            self._had_all.set()
            return None
        answer = self._answer(message)
        if self._terminated is not None:
            # The exception was dropped, as destructors and callbacks from compiled code may do.
            raise _Terminated(self._terminated)
        return answer

    def _answer(self, message: Parts) -> Parts:
        try:
            call, limit = decoded(message, self._load_program)
            return encoded(Answer(_done(call, limit)))
        except _Terminated:
            raise
        except BaseException as error:
            return _failure(error)

    def _load_program(self) -> None:
        """Import the parent's program once, under a name that prevents it from running as the main program."""
        if ITS_COPY in sys.modules:
            return
        name, file = self._program
        program = sys.modules[PROGRAM] = sys.modules[ITS_COPY] = ModuleType(ITS_COPY)
        if name is not None:
            program.__dict__.update(runpy.run_module(name, run_name=ITS_COPY, alter_sys=True))
        elif file is not None and os.path.isfile(file):
            program.__dict__.update(runpy.run_path(file, run_name=ITS_COPY))


def _done(call: Callable[[], Any], limit: float | None) -> Any:
    """Return the result of a call. If it hangs in compiled code and the parent is gone, the process ends itself."""
    if limit is None:
        return call()
    with open(os.devnull, "wb") as nowhere:
        faulthandler.dump_traceback_later(limit + GRACE, exit=True, file=nowhere)
        try:
            return call()
        finally:
            faulthandler.cancel_dump_traceback_later()


def _failure(error: BaseException) -> Parts:
    """Return the exception of a call, or its text if the exception cannot be pickled."""
    trace = "".join(format_exception(error))
    try:
        pickle.loads(pickle.dumps(error))
        return encoded(Answer(None, error, trace))
    except Exception:
        return encoded(Answer(None, RuntimeError(f"{type(error).__name__}: {error}"), trace))


class _Terminated(SystemExit):
    """Raised to exit the process, so that temporary files are removed."""
