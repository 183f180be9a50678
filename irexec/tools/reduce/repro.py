"""A reproducer on disk: the smallest case so far, a state to resume from, a script and a report that can be sent."""

from __future__ import annotations

import os
import platform
import shlex
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from irexec.core.diagnostics import IRError
from irexec.core.diagnostics.render.markdown import code, fenced, prose
from irexec.core.types import Array
from irexec.frontends.text.printer import print_text
from irexec.ir.beside import json_of, shaped
from irexec.ir.io.files import read_file
from irexec.ir.io.guard import own_files
from irexec.ir.io.writing import together
from irexec.model.arrays.brief import plural, shown
from irexec.model.arrays.saving import save_arrays, save_json, save_text
from irexec.model.graph.ports import port_name
from irexec.tools.compare.runtimes.runtime import CannotRun, Runtime
from irexec.tools.reduce.case import Case
from irexec.tools.reduce.case_files import load_case, save_case
from irexec.tools.reduce.reduce import Reduction
from irexec.tools.reduce.repro_script import command_script, known_results, onnx_runtime_script, openvino_script
from irexec.tools.reduce.stages import Stage
from irexec.tools.reduce.verdict import Fault
from irexec.tools.run.dump import input_names
from irexec.tools.run.record import Reference
from irexec.version import __version__

_INTERVAL = 5.0
"""The minimum time in seconds between two writes of the smallest case."""
_FEW = 100


_PROGRESS = ("fault", "message", "stage", "changed", "tried", "done", "history")


@dataclass
class State:
    """The contents of NAME.json: the key of a reduction, and the reduction without its case."""

    of: str
    fault: Fault
    message: str
    stage: int
    changed: bool
    tried: int
    done: bool
    history: list[tuple[str, int, int]]

    @property
    def progress(self) -> dict[str, Any]:
        """The values that a Reduction has, too."""
        return {name: getattr(self, name) for name in _PROGRESS}


class Repro:
    """Keeps the smallest case of a reduction in NAME.xml and .bin, or in NAME.onnx, with its inputs in NAME.npz, and in
    NAME.json the state for continuing it.

    `of`: the key of the reduction, see `identity`.
    """

    def __init__(self, path: str | Path, of: str) -> None:
        self.file, self.of = Path(path), of
        self._written = 0.0

    def resumed(self) -> Reduction | None:
        """Return the interrupted reduction whose state is in this folder; None if the folder has no such state, or if
        its identity differs.
        """
        try:
            with own_files():
                known: State = shaped(State, json_of(self.file.with_suffix(".json")))
                return Reduction(load_case(self.file), **known.progress) if known.of == self.of else None
        except (OSError, ValueError, IRError):
            return None

    def tried(self, reduction: Reduction, stage: Stage, smaller: bool) -> None:
        """Write a smaller case, at most once every _INTERVAL seconds."""
        if smaller and time.monotonic() - self._written > _INTERVAL:
            self.write(reduction)

    def write(self, reduction: Reduction) -> list[Path]:
        """Write the case, and the state for continuing the reduction. Raises IRError and OSError."""
        state = State(self.of, **{name: getattr(reduction, name) for name in _PROGRESS})
        with together() as files:
            save_json(self.file.with_suffix(".json"), asdict(state), files)
            saved = save_case(reduction.case, self.file, files)
        self._written = time.monotonic()
        return saved

    def write_openvino_script(
        self, reduction: Reduction, device: str, config: dict[str, str], runtime: Runtime | None, limit: float | None
    ) -> list[Path]:
        """Write NAME.py, which tests whether OpenVINO still fails, and NAME.expected.npz, the expected results.
        `limit`: in seconds."""
        return self._write_judging(reduction, partial(openvino_script, device, config), runtime, limit)

    def write_onnx_runtime_script(
        self, reduction: Reduction, runtime: Runtime | None, limit: float | None
    ) -> list[Path]:
        """Write NAME.py, which tests whether ONNX Runtime still fails, and NAME.expected.npz."""
        return self._write_judging(reduction, onnx_runtime_script, runtime, limit)

    def _write_judging(
        self, reduction: Reduction, script: Callable[..., str], runtime: Runtime | None, limit: float | None
    ) -> list[Path]:
        name, case = self.file.stem, reduction.case
        expected = self.file.with_name(f"{name}.expected.npz")
        archives = [f"{name}.npz", *(f"{name}.{number}.npz" for number in range(1, len(case.steps)))]
        text = script(
            model=self.file.name,
            archives=archives,
            inputs=input_names(case.model),
            expected=expected.name,
            kind=reduction.fault.kind,
            message=reduction.message,
            words=reduction.fault.detail.split() if reduction.fault.kind == "refusal" else [],
            limit=limit,
        )
        path = self.file.with_suffix(".py")
        with together() as files:
            save_arrays(expected, known_results(case.results, _found(case, runtime)), files)
            save_text(path, text, files)
        return [expected, path]

    def write_command_script(self, reduction: Reduction, words: list[str], same: str, limit: float | None) -> Path:
        """Write NAME.py, which tests whether a command still fails; {} in its words stands for the model's file.
        `same`: the expression that its output matches. `limit`: in seconds."""
        path, fault = self.file.with_suffix(".py"), reduction.fault
        words = [word.replace("{}", self.file.name) for word in words]
        text = command_script(command=words, limit=limit, kind=fault.kind, code=fault.detail, same=same)
        save_text(path, text)
        return path

    def write_report(self, reduction: Reduction, layers: int, asked: str, runtime: Runtime | None = None) -> Path:
        """Write NAME.md, a description of the failure for a bug report. `layers`: the number of layers of the whole
        model. `asked`: the command line. `runtime`: the runtime whose results are wrong, if one is judged.
        """
        path, case = self.file.with_suffix(".md"), reduction.case
        script = shlex.join(["python", f"{self.file.stem}.py"])
        values = [
            *(f"input {name}: {shown(a, _FEW)}" for name, a in _inputs(case)),
            *(f"result {port_name(p)} by irexec: {shown(a, _FEW)}" for p, a in _results(case)),
            *(f"result {name} by {other}: {shown(a, _FEW)}" for name, other, a in _others(case, runtime)),
        ]
        lines = [
            f"# {prose(reduction.message)}",
            "",
            f"{plural(case.size, 'layer')}, reduced from {layers} by {code(asked)}. {code(script)} reproduces "
            "the failure.",
            "",
            *_text(case),
            *(f"- {prose(line)}" for line in values),
            f"- irexec {__version__}, NumPy {np.__version__}, Python {platform.python_version()}, "
            f"{platform.system()} {platform.machine()}",
        ]
        save_text(path, "\n".join(lines) + "\n")
        return path


def _inputs(case: Case) -> list[Any]:
    return list(zip(input_names(case.model), case.steps[-1], strict=True))


def _results(case: Case) -> list[Any]:
    return list(zip(case.model.outputs, case.results[-1], strict=True))


def _others(case: Case, runtime: Runtime | None) -> list[tuple[str, str, Array]]:
    """Return the results of the runtime with their names, and the runtime's name; empty if it returns no results."""
    steps = _found(case, runtime)
    if runtime is None or not steps:
        return []
    found = steps[-1]
    return [(port_name(port), runtime.name, array) for port, array in zip(case.model.outputs, found, strict=True)]


def _found(case: Case, runtime: Runtime | None) -> list[list[Array]]:
    """Return the results of the runtime, per step; empty if it returns none."""
    try:
        return [] if runtime is None else [list(step) for step in runtime.load(case.model).results(case.steps)]
    except CannotRun:
        return []


def _text(case: Case) -> list[str]:
    """Return the model in the text form, as a block of Markdown; nothing for a model that IR cannot represent."""
    try:
        text = print_text(case.model)
    except IRError:
        return []
    return [*fenced(text), ""]


def identity(reference: Reference, asked: str) -> str:
    """Return the key that distinguishes reductions: the model's file, the inputs, and the failure to reproduce."""
    found = sha256(os.fsencode(asked))
    if (source := reference.model.source) is not None:
        found.update(source.text.encode("utf-8", "surrogatepass"))
    elif reference.model.file is not None:
        found.update(read_file(reference.model.file, "the model"))
    for step in reference.steps:
        for array in step:
            found.update(f"{array.dtype}{array.shape}{array.tolist() if array.dtype.kind in 'TUO' else ''}".encode())
            found.update(b"" if array.dtype.kind in "TUO" else array.tobytes())
    return found.hexdigest()
