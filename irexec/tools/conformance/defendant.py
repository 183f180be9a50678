"""The runtime that is judged, in a separate process: its answers, refusals, crashes and hangs."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import struct
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from irexec.core.records import field, record
from irexec.core.types import Array, ElementType
from irexec.ir.io.writing import remove
from irexec.model.graph.write import write_model
from irexec.runtime.processes.path import absolute_path
from irexec.runtime.processes.starting import Process, end, ending, start_script
from irexec.tools.conformance import serve
from irexec.tools.conformance.case import Case

_HOME = Path(__file__).parent
KNOWN = {
    "openvino": f"{_HOME / 'runtimes' / 'openvino.py'}:OpenVINO",
    "onnxruntime": f"{_HOME / 'runtimes' / 'onnx_runtime.py'}:OnnxRuntime",
    "reference": f"{_HOME / 'runtimes' / 'onnx_reference.py'}:OnnxReference",
    "irexec": f"{_HOME / 'runtimes' / 'lowered.py'}:Irexec",
}
"""The runtimes that have a name; any other runtime is given as FILE.py:Class."""
_PACKAGES = {"openvino": "OpenVINO", "onnxruntime": "ONNX Runtime", "numpy": "NumPy", "onnx": "The package onnx"}
OUT_OF_MEMORY = "not judged (not enough memory)"
_MISSING = re.compile(r"No module named '(\w+)")
STARTING = 600.0
"""The time in seconds for a process to start: on a busy machine, imports may take longer than any case."""
_ENDING = 5.0
"""The time in seconds for a process to end after it has closed its pipe: it may be writing a core dump."""
_ALLOCATION = {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=2000:glibc.malloc.trim_threshold=268435456"}
"""Compiling a model allocates and frees many small objects: glibc keeps their memory for the next model."""
_LIFE = 400
"""The number of models that one process runs, which bounds the memory that a runtime fails to free."""


class Unusable(Exception):
    """Raised if the runtime cannot be started. `code`: the code of the finding that a command reports."""

    def __init__(self, message: str, code: str = "U010") -> None:
        super().__init__(message)
        self.code = code


@record
class Answer:
    """The outcome of a case in a runtime. `how`: results, refused, crash, hang, or memory (irexec ran out of memory).
    `results`: for each request of each call, its arrays.
    """

    how: str
    results: list[list[Array]] = field(default_factory=list)
    message: str = ""
    stage: str = ""
    about: dict[str, Any] = field(default_factory=dict)


class Defendant:
    """Runs cases in another process, which is started when it is needed, and again after it died. Threads take turns.

    `config` is passed to the runtime's class; for cases with the device's own settings, `defaults` is passed instead.
    `python`: the interpreter in which the runtime is installed. `limit`: seconds for a case; None: no limit.
    `environment`: variables of the process. `about`: answers describe the loaded model.
    """

    def __init__(
        self,
        runtime: str = "openvino",
        config: Mapping[str, Any] | None = None,
        *,
        python: str = "",
        limit: float | None = 60.0,
        environment: Mapping[str, str] | None = None,
        about: bool = False,
    ) -> None:
        self._file = KNOWN.get(runtime, runtime)
        self.is_class = runtime not in KNOWN
        self._config, self._python, self._limit = dict(config or {}), python, limit
        self._environment, self._about = {**_ALLOCATION, **(environment or {})}, about
        self._process: Process | None = None
        self._errors: IO[bytes] | None = None
        self._done = self._number = self._heard = 0
        self._is_new = True
        self._lock = threading.RLock()
        self._folder = tempfile.TemporaryDirectory(prefix="irexec-conformance-")
        self.described: dict[str, str] = {}
        file, _, name = self._file.rpartition(":")
        if file.endswith(".py") and not Path(file).is_file():
            raise Unusable(f"{file} does not exist", "U005")
        if not file.endswith(".py") or not name:
            raise Unusable(f"{runtime!r} is neither {', '.join(KNOWN)} nor FILE.py:Class", "U005")

    @property
    def name(self) -> str:
        """The runtime's own name, with its version."""
        return self.description().get("name", "the runtime")

    def description(self) -> dict[str, str]:
        """Return the runtime's description of itself. Raises Unusable."""
        with self._lock:
            if not self.described:
                self._started()
            return self.described

    def run(self, case: Case, file: Path | None = None) -> Answer:
        """Run a case, after those of other threads. `file`: the model's own file, which the runtime reads itself.

        Raises IRError if the model cannot be written.
        """
        with self._lock:
            self._number += 1
            # Each file has a new name: replacing a file would force a write to the disk.
            path = Path(self._folder.name) / f"model{self._number}{'.xml' if case.source is None else '.onnx'}"
            try:
                if file is None:
                    _write(case, path)
                self._send(case, path if file is None else file)
                return self._answer(case)
            except MemoryError:
                self.close()  # Its pipe may contain half a message.
                return Answer("memory", message=OUT_OF_MEMORY)
            finally:
                _remove(path)

    @property
    def printed(self) -> str:
        """All that the process has printed."""
        if self._errors is None:
            return ""
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace")

    def _send(self, case: Case, path: Path) -> None:
        arrays = [plain(array) for call in case.inputs for array in call]
        message: dict[str, Any] = {
            "path": str(path),
            "number": self._number,
            "inputs": len(case.inputs[0]),
            "calls": list(case.calls),
            "cache": "cache" in case.flags,
            "requests": 3 if "requests" in case.flags else 1,
            "reset": "reset" in case.flags,
            "about": self._about,
        }
        process = self._started()
        self._done += 1
        assert process.stdin is not None
        with contextlib.suppress(OSError):  # It has ended, which `_receive` reports.
            serve.write(process.stdin, message, arrays)

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            end(process)
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    stream.close()

    __del__ = close

    def _started(self) -> Process:
        if self._process is not None and self._done >= _LIFE:
            self.close()
        if self._process is None:
            self._process = self._start()
        if self._is_new:
            self._meet()
        return self._process

    def _start(self) -> Process:
        self._is_new, self._done, self._heard, self._errors = True, 0, 0, tempfile.TemporaryFile()  # noqa: SIM115
        own = not self._python or self._python == sys.executable
        arguments = [self._file, json.dumps(self._config), json.dumps(absolute_path() if own else [])]
        try:
            python = self._python or sys.executable
            return start_script(python, serve.__file__, arguments, self._errors, self._environment)
        except OSError as error:
            raise Unusable(f"{self._python or sys.executable}: {error.strerror or error}", "U005") from None

    def _meet(self) -> None:
        """Receive the runtime's description, which is the first message. Raises Unusable."""
        patience, late = None if self._limit is None else max(self._limit, STARTING), list[bool]()
        found = self._receive(patience, late)
        if found is None or "described" not in found[0]:
            reason = self._last_words() if found is None else found[0].get("unusable", "")
            reason = f"it does not start within {patience:g} s" if late else reason
            self.close()
            raise self._unusable(reason)
        self.described, self._is_new = found[0]["described"], False

    def _answer(self, case: Case) -> Answer:
        process = self._process
        assert process is not None
        late: list[bool] = []
        found = self._receive(self._limit, late)
        # A process that dies between two cases leaves the second one to its successor: that answer is out of date.
        while found is not None and found[0].get("number", self._number) != self._number:
            found = self._receive(self._limit, late)
        if found is None:
            code = ending(process, _ENDING)  # The pipe closes before the process ends.
            self.close()
            if late:
                return Answer("hang", message=f"no answer within {self._limit:g} s")
            return Answer("crash", message=f"{_ended(code)} {self._last_words()}".strip())
        reply, results = found
        if "ended" in reply:
            self._is_new, self._done = True, 0
            return Answer("crash", message=f"{_ended(reply['ended'])} {self._last_words()}".strip())
        if "refused" in reply:
            return Answer("refused", message=f"{reply['kind']}: {reply['message']}", stage=reply["refused"])
        kinds = [value.element_type for value in case.model.outputs]
        steps, at = [], 0
        for count in reply["outputs"]:
            steps.append([typed(a, k) for a, k in zip(results[at : at + count], kinds, strict=False)])
            at += count
        return Answer("results", steps, about=reply.get("about", {}))

    def _receive(
        self, limit: float | None, late: list[bool] | None = None
    ) -> tuple[dict[str, Any], list[Array]] | None:
        process = self._process
        assert process is not None and process.stdout is not None

        def give_up() -> None:
            if late is not None:
                late.append(True)
            end(process)

        timer = None if limit is None else threading.Timer(limit, give_up)
        if timer is not None:
            timer.daemon = True
            timer.start()
        try:
            return serve.read(process.stdout)
        except (OSError, ValueError, struct.error):
            return None
        finally:
            if timer is not None:
                timer.cancel()
            if late is None or not late:
                process.poll()

    def _unusable(self, reason: str) -> Unusable:
        """Return the error of a runtime that cannot be started, with a suggestion."""
        missing = _MISSING.search(reason)
        if missing is not None and missing[1] in _PACKAGES:
            python = "" if not self._python or self._python == sys.executable else f" for {self._python}"
            return Unusable(f"{_PACKAGES[missing[1]]} is not installed{python}: pip install {missing[1]}", "F001")
        return Unusable(f"the runtime cannot be used: {reason}")

    def _last_words(self) -> str:
        if self._errors is None:
            return ""
        self._errors.seek(self._heard)
        text = self._errors.read().decode(errors="replace")
        self._heard = self._errors.tell()
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return lines[-1][:200] if lines else ""


def plain(array: Array) -> Array:
    """Return an array in the form in which it is sent: types that NumPy lacks are replaced by their bits."""
    if array.dtype.kind == "T":
        # NumPy does not convert an empty array of strings.
        return np.array(array.tolist(), np.str_).reshape(array.shape)
    if array.dtype.isbuiltin != 1 and array.dtype.kind != "U":
        return array.view(f"u{array.dtype.itemsize}")
    return array


def typed(array: Array, kind: ElementType) -> Array:
    """Return a received array in the element type that the model declares, if the bits have its width."""
    dtype = kind.dtype
    if dtype is None or array.dtype == dtype or array.dtype.kind == "U":
        return array
    if dtype.isbuiltin != 1 and array.dtype.kind == "u" and array.dtype.itemsize == dtype.itemsize:
        return array.view(dtype)
    if kind.name == "boolean" and array.dtype.itemsize == 1:
        return array.astype(np.bool_)
    return array


def _write(case: Case, path: Path) -> None:
    if case.source is None:
        write_model(case.model, path)
    else:
        path.write_bytes(case.source)


def _remove(path: Path) -> None:
    remove(path)
    remove(path.with_suffix(".bin"))


def _ended(code: int | None) -> str:
    if code is not None and code < 0:
        try:
            return signal.Signals(-code).name
        except ValueError:
            return f"signal {-code}"
    return f"exit code {code}"
