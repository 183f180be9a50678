"""The process of a worker: it creates one object and calls its methods.

    python serve.py SETTINGS

This file is complete in itself, for any Python from 3.8 on with NumPy. SETTINGS is a JSON object: `host` names the
class (FILE.py:Class or module:Class), `config` contains its arguments, `path` the folders in which modules are
searched, and `packages` the file of each package that is imported from a certain place. A message is eight bytes with
the length of a JSON text, this text, and the bytes of its arrays. With `forks`, and if the attribute `forks` of the
class is True, the process forks after it has imported the class: one that has died is replaced faster.
"""

from __future__ import annotations

import json
import sys

SETTINGS = json.loads(sys.argv[1]) if __name__ == "__main__" else {}
sys.path[:] = SETTINGS.get("path") or sys.path

import difflib  # noqa: E402
import faulthandler  # noqa: E402
import importlib  # noqa: E402
import importlib.util  # noqa: E402
import os  # noqa: E402
import signal  # noqa: E402
import struct  # noqa: E402
import threading  # noqa: E402
import time  # noqa: E402
import warnings  # noqa: E402
from queue import SimpleQueue  # noqa: E402
from typing import IO, Any, Callable, Dict, List, NoReturn, Optional  # noqa: E402, UP035

import numpy as np  # noqa: E402

SIGNALS = {signal.SIGINT, signal.SIGTERM}
"""The signals that are blocked while a process starts: until it handles them, they would print a traceback."""
GRACE = 5.0
"""Seconds that a process may take to exit after SIGTERM or the end of its input: it removes its temporary files."""
_A_MOMENT = 0.1
_MOST_TEXT = 20000
_OF_OTHERS = 256
"""The number from which on types are not NumPy's own."""
_PLACE = "\0array"
"""The key of an array's place in a message."""

Message = Dict[str, Any]  # noqa: UP006
Typed = Callable[[Any, str], Any]


def write(stream: IO[bytes], message: Message) -> None:
    """Send a message, whose lists and dictionaries may contain arrays. Raises OSError if the reader is gone."""
    arrays: List[Any] = []  # noqa: UP006
    heads: List[Message] = []  # noqa: UP006

    def placed(array: Any) -> Message:
        array = np.asarray(array)
        head = {"type": (array.dtype.metadata or {}).get("type", array.dtype.name), "shape": list(array.shape)}
        if array.dtype.kind in "UOTS":
            head["texts"] = [str(text) for text in array.reshape(-1)]
        else:
            head["bits"] = array.dtype.str if array.dtype.num < _OF_OTHERS else f"<u{array.dtype.itemsize}"
            arrays.append(np.ascontiguousarray(array).reshape(-1).view(np.uint8))
        heads.append(head)
        return {_PLACE: len(heads) - 1}

    text = json.dumps(message, default=placed)
    data = f"[{text}, {json.dumps(heads)}]".encode()
    stream.write(struct.pack("<q", len(data)) + data)
    for array in arrays:
        stream.write(array.data)
    stream.flush()


def tagged(bits: Any, name: str) -> Any:
    """Return bits that remember the name of their type, which NumPy lacks."""
    if bits.dtype.kind == "U" or bits.dtype.name == name:
        return bits
    return bits.view(np.dtype(bits.dtype, metadata={"type": name}))


def read(stream: IO[bytes], typed: Typed = tagged) -> Optional[Message]:  # noqa: UP045
    """Return the next message; None at the end, even in the middle of a message. `typed`: returns an array of a type,
    given its bits and the name of the type in NumPy, ml_dtypes or irexec.
    """
    head = stream.read(8)
    if len(head) < 8:
        return None
    message, heads = json.loads(stream.read(struct.unpack("<q", head)[0]))
    arrays = []
    for head in heads:
        if "texts" in head:
            bits: Any = np.array(head["texts"], np.str_)
        else:
            bits = np.empty(int(np.prod(head["shape"], dtype=np.int64)), head["bits"])
            if stream.readinto(bits.view(np.uint8)) != bits.nbytes:  # type: ignore[attr-defined]
                return None
        arrays.append(typed(bits.reshape(head["shape"]), head["type"]))

    def filled(part: Any) -> Any:
        if isinstance(part, list):
            return [filled(entry) for entry in part]
        if isinstance(part, dict):
            if _PLACE in part:
                return arrays[part[_PLACE]]
            return {key: filled(entry) for key, entry in part.items()}
        return part

    found: Message = filled(message) if arrays else message
    return found


class MissingClass(Exception):
    """Raised for a class that the file does not define."""


def class_of(name: str) -> Any:
    """Return the class FILE.py:Class or module:Class. Raises MissingClass."""
    place, _, attribute = name.rpartition(":")
    if place.endswith(".py"):
        spec: Any = importlib.util.spec_from_file_location("hosted_" + os.path.basename(place)[:-3], place)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    else:
        module = importlib.import_module(place)
    if not hasattr(module, attribute):
        names = [key for key, value in vars(module).items() if isinstance(value, type)]
        near = difflib.get_close_matches(attribute, names, 1)
        hint = f": did you mean {near[0]!r}?" if near else ""
        raise MissingClass(f"{os.path.basename(place)} has no class {attribute!r}{hint}")
    return getattr(module, attribute)


class Server:
    """Calls the methods of one object, in the order of the messages."""

    def __init__(self, host: Any) -> None:
        self._host = host
        self._kept: List[List[Any]] = []  # noqa: UP006
        self._calls: Any = SimpleQueue()
        self._had_all = threading.Event()
        self._terminated: Optional[int] = None  # noqa: UP045
        self._nowhere = open(os.devnull, "wb")  # noqa: SIM115

    def listen(self, stream: IO[bytes]) -> None:
        """Receive messages, in a thread. Exit if the parent process is gone, also during a call."""
        while True:
            try:
                message = read(stream)
            except (OSError, ValueError, MemoryError, struct.error):
                message = None
            self._calls.put(message)
            if message is None:
                break
        if not self._had_all.wait(_A_MOMENT):
            os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(GRACE)
        os._exit(1)

    def leave(self, number: int, frame: Any) -> NoReturn:
        """Exit on the first SIGTERM. A second signal could interrupt the removal of temporary files."""
        signal.signal(number, signal.SIG_IGN)
        self._terminated = 128 + number
        raise SystemExit(self._terminated)

    def next_answer(self) -> Optional[Message]:  # noqa: UP045
        """Return the answer to the next call; None after the last call."""
        message = self._calls.get()
        if message is None:
            self._had_all.set()
            return None
        # If a call hangs in compiled code and the parent is gone, the process ends itself.
        if message["limit"] is not None:
            faulthandler.dump_traceback_later(message["limit"] + GRACE, exit=True, file=self._nowhere)
        try:
            answer: Message = {"result": self._called(message["call"], message["arguments"])}
        except Exception as error:
            answer = failure(error)
        finally:
            if message["limit"] is not None:
                faulthandler.cancel_dump_traceback_later()
        if self._terminated is not None:
            # The exception was dropped, as destructors and callbacks from compiled code may do.
            raise SystemExit(self._terminated)
        return dict(answer, number=message["number"])

    def _called(self, method: str, arguments: List[Any]) -> Any:  # noqa: UP006
        """Call a method. Observed values stay here: `keep` returns which are available, `kept` returns some of them."""
        if method == "kept":
            step, places = arguments
            return [self._kept[step][place] for place in places]
        if method != "keep":
            return getattr(self._host, method)(*arguments)
        self._kept = []
        self._kept = self._host.observe(*arguments)
        return [[place for place, value in enumerate(step) if value is not None] for step in self._kept]


def failure(error: BaseException) -> Message:
    """Return the message about an exception: its class, its text, and the code of a finding if it has one."""
    kind = "" if isinstance(error, MissingClass) else type(error).__name__
    return {"error": kind, "message": str(error)[-_MOST_TEXT:], "code": getattr(error, "code", "")}


def fork(sink: IO[bytes]) -> None:
    """Return in a forked process. This process waits for it, reports its death, and forks another one."""
    while True:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python warns about other threads: NumPy's do not matter here.
            child = os.fork()
        if not child:
            return
        status = os.waitpid(child, 0)[1]
        code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        if code == 0:
            os._exit(0)
        write(sink, {"ended": code})


def own_streams() -> List[IO[bytes]]:  # noqa: UP006
    """Return the pipes of this process, without the standard streams: what a call prints must not be read as an
    answer.
    """
    calls, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # Standard error is closed.
        os.dup2(nothing, 1)
    sys.stdout = sys.stderr
    return [calls, answers]


def main() -> None:
    """Answer messages until there are no more or SIGTERM arrives. The parent handles Ctrl-C and sends SIGTERM."""
    source, sink = own_streams()
    for name, file in SETTINGS["packages"].items():
        spec: Any = importlib.util.spec_from_file_location(name, file)
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        host_class = class_of(SETTINGS["host"])
        if SETTINGS["forks"] and getattr(host_class, "forks", False) and hasattr(os, "fork"):
            fork(sink)
        host = host_class(**SETTINGS["config"])
        methods = [name for name in dir(host_class) if not name.startswith("_")]
        write(sink, {"number": 0, "result": host.describe(), "methods": methods})
    except Exception as error:
        write(sink, dict(failure(error), number=0))
        return
    server = Server(host)
    signal.signal(signal.SIGTERM, server.leave)
    # Signals are blocked when the process starts, and stay blocked in this thread: the main thread receives them.
    threading.Thread(target=server.listen, args=(source,), name="irexec-calls", daemon=True).start()
    try:
        if hasattr(signal, "pthread_sigmask"):
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        while True:
            answer = server.next_answer()
            if answer is None:
                return
            write(sink, answer)
    except OSError:  # The parent no longer reads answers.
        pass
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)


if __name__ == "__main__":
    main()
