"""The runtime that is judged, in a separate process: its answers, refusals, crashes and hangs."""

from __future__ import annotations

import platform
import re
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from irexec.core.records import field, record
from irexec.core.types import Array, ElementType
from irexec.ir.io.writing import remove
from irexec.model.graph.write import write_model
from irexec.runtime.processes.worker import Ended, Refused, Worker
from irexec.tools.compare.runtimes.hosted import KNOWN, Unusable, described
from irexec.tools.conformance.case import Case
from irexec.tools.conformance.onnx_graph import NoCounterpart, OnnxGraph

OUT_OF_MEMORY = "not judged (not enough memory)"
_ALLOCATION = {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=2000:glibc.malloc.trim_threshold=268435456"}
"""Compiling a model allocates and frees many small objects: glibc keeps their memory for the next model."""
_LIFE = 400
"""The number of models that one process runs, which bounds the memory that a runtime fails to free."""
_MOST_WORDS = 600
_READ_ONNX = ("onnxruntime", "reference")
_REQUESTS = 3
"""The number of requests that run at the same time."""


@record
class Answer:
    """The outcome of a case in a runtime. `how`: results, refused, crash, hang, or memory (irexec ran out of memory).
    `results`: for each request of each call, its arrays.
    """

    how: str
    results: list[list[Array]] = field(default_factory=list)
    message: str = ""
    stage: str = ""


class Defendant:
    """Runs cases in a Worker, one at a time: threads take turns.

    `runtime`: one of KNOWN or FILE.py:Class. `config`: the arguments of its class. `python`: the interpreter in which
    the runtime is installed. `limit`: seconds for a case; None: no limit. `environment`: variables of its process.
    """

    def __init__(
        self,
        runtime: str = "openvino",
        config: Mapping[str, Any] | None = None,
        *,
        python: str = "",
        limit: float | None = 60.0,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        host = KNOWN.get(runtime, runtime)
        self.is_class, self._reads_onnx = runtime not in KNOWN, runtime in _READ_ONNX
        self._python, self._limit = python, limit
        self._done = self._number = 0
        self._lock = threading.RLock()
        self._folder = tempfile.TemporaryDirectory(prefix="irexec-conformance-")
        self._worker = Worker(
            host, config, python=python, environment={**_ALLOCATION, **(environment or {})}, forks=True
        )
        self.described: dict[str, str] = {}
        file, _, name = host.rpartition(":")
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
            try:
                found = described(self._worker, self._python, self._limit)
            except Ended as error:
                raise Unusable(f"the runtime cannot be used: it {error}") from None
            self.described = self.described or {"processor": processor(), **found}
            return self.described

    def run(self, case: Case, file: Path | None = None) -> Answer:
        """Run a case, after those of other threads. `file`: the model's own file, which the runtime reads itself.

        Raises IRError if the model cannot be written, and Unusable.
        """
        with self._lock:
            if self._done >= _LIFE:
                self.close()
            self._number += 1
            self._done += 1
            # Each file has a new name: replacing a file would force a write to the disk.
            path = Path(self._folder.name) / f"model{self._number}.{'onnx' if self._writes_onnx(case) else 'xml'}"
            stage = ["load"]
            try:
                self.description()
                if file is None:
                    self._write(case, path)
                return Answer("results", self._results(case, path if file is None else file, stage))
            except Refused as error:
                words = " ".join(str(error).split())[-_MOST_WORDS:]
                return Answer("refused", message=f"{error.kind}: {words}", stage=stage[0])
            except NoCounterpart as error:
                return Answer("refused", message=f"NoCounterpart: {error}", stage="load")
            except Ended as error:
                return Answer(error.how, message=error.cause or str(error))
            except MemoryError:
                self.close()  # Its pipe may contain half a message.
                return Answer("memory", message=OUT_OF_MEMORY)
            finally:
                remove(path)
                remove(path.with_suffix(".bin"))

    def close(self) -> None:
        """End the process; the next case starts another one."""
        self._done = 0
        self._worker.kill()

    def _results(self, case: Case, path: Path, stage: list[str]) -> list[list[Array]]:
        """Load a model and run its calls, all within the limit. `stage`: is set to what the runtime does."""
        end = None if self._limit is None else time.monotonic() + self._limit
        kinds = [value.element_type for value in case.model.outputs]

        def asked(method: str, *arguments: Any) -> Any:
            try:
                return self._worker.call(method, *arguments, limit=None if end is None else end - time.monotonic())
            except Ended as error:
                if error.how == "hang":
                    raise Ended("hang", f"no answer within {self._limit:g} s") from None
                raise

        asked("load", str(path), "cache" in case.flags)
        stage[0] = "infer"
        found: list[list[Array]] = []
        calls: list[int | None] = [*case.calls]
        if "reset" in case.flags and "reset" in self._worker.methods:
            calls += [None, *calls]
        for call in calls:
            if call is None:
                asked("reset")
            elif "requests" in case.flags and "infer_at_once" in self._worker.methods:
                found += asked("infer_at_once", case.inputs[call], _REQUESTS)
            else:
                found.append(asked("infer", case.inputs[call]))
        return [[typed(array, kind) for array, kind in zip(step, kinds, strict=False)] for step in found]

    def _writes_onnx(self, case: Case) -> bool:
        return case.source is not None or self._reads_onnx

    def _write(self, case: Case, path: Path) -> None:
        if case.source is not None:
            path.write_bytes(case.source)
        elif self._reads_onnx:
            import onnx

            path.write_bytes(OnnxGraph(case.model, onnx).proto.SerializeToString())
        else:
            write_model(case.model, path)


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


def processor() -> str:
    """Return the name of this machine's processor; on systems that do not state it, the name of its architecture."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as stream:
            found = re.search(r"^model name\s*+:\s*+(.*)", stream.read(), re.MULTILINE)
    except OSError:
        found = None
    return found[1].rstrip() if found else platform.processor() or platform.machine()
