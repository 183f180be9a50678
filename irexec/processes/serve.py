"""The other side of a Child: does the calls that come on standard input, and answers on standard output."""

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

from irexec.processes.messages import (
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
    """Do calls until there are no more, or SIGTERM comes. Ctrl-C is the parent's, which sends SIGTERM.

    `program`: the name and the file of the parent's.
    """
    calls, answers = _own_streams()
    server = _Server(program)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, server.leave)
    # It is started with signals held back, and stays so: they come to this thread.
    threading.Thread(target=server.listen, args=(calls,), name="irexec-calls", daemon=True).start()
    try:
        if hasattr(signal, "pthread_sigmask"):
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        while (answer := server.next_answer()) is not None:
            send(answers, answer)
    except OSError:  # Nobody reads the answers.
        pass
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _own_streams() -> tuple[IO[bytes], IO[bytes]]:
    """The pipes of this process, separate from the standard streams, so that printed text is not read as a response."""
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
        self._told_to_leave: int | None = None

    def listen(self, stream: IO[bytes]) -> None:
        """Thread: receive messages. Exit if the parent process is gone, also during a call."""
        while (message := receive(stream)) is not None:
            self._calls.put(message)
        self._calls.put(None)
        if not self._had_all.wait(_A_MOMENT):
            os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(GRACE)
        os._exit(1)

    def leave(self, number: int, frame: FrameType | None) -> NoReturn:
        """On SIGTERM: leave, once. A second signal would come while temporary files are being removed."""
        signal.signal(number, signal.SIG_IGN)
        self._told_to_leave = 128 + number
        raise _ToldToLeave(self._told_to_leave)

    def next_answer(self) -> Parts | None:
        """The answer to the next call; None when there are no more."""
        message = self._calls.get()
        if message is None:
            self._had_all.set()
            return None
        answer = self._answer(message)
        if self._told_to_leave is not None:
            # What raised it was lost: code that calls back, as destructors and compiled code do, may drop exceptions.
            raise _ToldToLeave(self._told_to_leave)
        return answer

    def _answer(self, message: Parts) -> Parts:
        try:
            call, limit = decoded(message, self._load_program)
            return encoded(Answer(_done(call, limit)))
        except _ToldToLeave:
            raise
        except BaseException as error:
            return _failure(error)

    def _load_program(self) -> None:
        """Import the parent's program, once, below the name that keeps it from running again."""
        if ITS_COPY in sys.modules:
            return
        name, file = self._program
        program = sys.modules[PROGRAM] = sys.modules[ITS_COPY] = ModuleType(ITS_COPY)
        if name is not None:
            program.__dict__.update(runpy.run_module(name, run_name=ITS_COPY, alter_sys=True))
        elif file is not None and os.path.isfile(file):
            program.__dict__.update(runpy.run_path(file, run_name=ITS_COPY))


def _done(call: Callable[[], Any], limit: float | None) -> Any:
    """The result of a call. Nobody may be left to end a process that hangs in compiled code: then it ends itself."""
    if limit is None:
        return call()
    with open(os.devnull, "wb") as nowhere:
        faulthandler.dump_traceback_later(limit + GRACE, exit=True, file=nowhere)
        try:
            return call()
        finally:
            faulthandler.cancel_dump_traceback_later()


def _failure(error: BaseException) -> Parts:
    """The exception of a call, or its text if the exception cannot be sent."""
    trace = "".join(format_exception(error))
    try:
        pickle.loads(pickle.dumps(error))
        return encoded(Answer(None, error, trace))
    except Exception:
        return encoded(Answer(None, RuntimeError(f"{type(error).__name__}: {error}"), trace))


class _ToldToLeave(SystemExit):
    """Leaves as an exception does, so that temporary files are removed."""
