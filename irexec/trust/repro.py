"""A reproducer on disk: the smallest case so far, from where to go on, a script and a report that can be sent."""

from __future__ import annotations

import json
import platform
import time
from dataclasses import asdict
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from irexec.arrays.brief import plural, shown
from irexec.arrays.saving import save_json, save_text
from irexec.diagnostics import IRError
from irexec.graph.model import Value
from irexec.ops.declare.attributes import attribute_text
from irexec.trust.case import Case
from irexec.trust.case_files import input_names, load_case, save_case
from irexec.trust.record import Reference
from irexec.trust.reduce import Reduction
from irexec.trust.runtimes import CannotRun, Runtime
from irexec.trust.stages import Stage
from irexec.trust.verdict import Fault
from irexec.types import Array
from irexec.watch.run import port_name

_INTERVAL = 5.0
"""Seconds between two writings of the smallest case, while there are ever smaller ones."""
_FEW, _BRIEF = 100, 40

_OPENVINO = '''\
"""What OpenVINO makes of {name}.xml, beside what irexec makes of it."""
import numpy as np
import openvino as ov
import irexec

other = ov.Core().compile_model("{name}.xml", "{device}", {config}).create_infer_request()
right = irexec.compile_model("{name}.xml").create_infer_request()
for archive in {archives}:
    inputs = [np.load(archive)[name] for name in {inputs}]
    print("OpenVINO", other.infer(inputs)[0], "irexec", right.infer(inputs)[0], sep="\\n")
'''
_ONNX_RUNTIME = '''\
"""What ONNX Runtime makes of {name}.onnx, beside what irexec makes of it."""
import numpy as np
import onnxruntime
import irexec

other = onnxruntime.InferenceSession("{name}.onnx", providers=["CPUExecutionProvider"])
right = irexec.compile_model("{name}.onnx").create_infer_request()
names = [port.name for port in other.get_inputs()]
for archive in {archives}:
    inputs = [np.load(archive)[name] for name in {inputs}]
    print("ONNX Runtime", other.run(None, dict(zip(names, inputs)))[0], "irexec", right.infer(inputs)[0], sep="\\n")
'''
_COMMAND = '''\
"""What fails on {name}.xml."""
import subprocess

try:
    print("exit code", subprocess.run({words}, timeout={limit:g}).returncode)
except subprocess.TimeoutExpired:
    print("no end within {limit:g} s")
'''


class Repro:
    """Keeps the smallest case of a reduction in NAME.xml and .bin, or in NAME.onnx, with its inputs in NAME.npz, and in
    NAME.json from where to go on.

    `of` tells reductions apart: see `identity`.
    """

    def __init__(self, path: str | Path, of: str) -> None:
        self.file, self.of = Path(path), of
        self._written = 0.0

    def resumed(self) -> Reduction | None:
        """The reduction that was begun here; None where there was none, or one of something else."""
        try:
            known: Any = json.loads(self.file.with_suffix(".json").read_text("utf-8"))
            if known.pop("of") != self.of:
                return None
            known["history"] = [(str(name), int(tried), int(fewer)) for name, tried, fewer in known["history"]]
            return Reduction(load_case(self.file), Fault(**known.pop("fault")), **known)
        except (OSError, ValueError, KeyError, TypeError, IRError):
            return None

    def tried(self, reduction: Reduction, stage: Stage, smaller: bool) -> None:
        """Keep a smaller case, now and then."""
        if smaller and time.monotonic() - self._written > _INTERVAL:
            self.write(reduction)

    def write(self, reduction: Reduction) -> list[Path]:
        """Write the case, and from where to go on. Raises IRError and OSError."""
        files = save_case(reduction.case, self.file)
        names = ("said", "stage", "changed", "tried", "done", "history")
        state = {name: getattr(reduction, name) for name in names}
        save_json(self.file.with_suffix(".json"), {"of": self.of, "fault": asdict(reduction.fault)} | state)
        self._written = time.monotonic()
        return files

    def write_openvino_script(self, case: Case, device: str, config: dict[str, str]) -> Path:
        """Write NAME.py, which prints what OpenVINO and irexec make of the model."""
        return self._script(_OPENVINO.format(device=device, config=config, **self._known(case)))

    def write_onnx_runtime_script(self, case: Case) -> Path:
        """Write NAME.py, which prints what ONNX Runtime and irexec make of the model."""
        return self._script(_ONNX_RUNTIME.format(**self._known(case)))

    def _known(self, case: Case) -> dict[str, Any]:
        name = self.file.stem
        archives = [f"{name}.npz", *(f"{name}.{number}.npz" for number in range(1, len(case.steps)))]
        return {"name": name, "archives": archives, "inputs": input_names(case.model)}

    def write_command_script(self, words: list[str], limit: float) -> Path:
        """Write NAME.py, which runs a command; {} in its words stands for the model's file. `limit`: in seconds."""
        words = [word.replace("{}", self.file.name) for word in words]
        return self._script(_COMMAND.format(name=self.file.stem, words=words, limit=limit))

    def _script(self, text: str) -> Path:
        path = self.file.with_suffix(".py")
        save_text(path, text)
        return path

    def write_report(self, reduction: Reduction, layers: int, asked: str, runtime: Runtime | None = None) -> Path:
        """Write NAME.md: what fails on what, to be pasted. `layers`: of the whole model. `asked`: the command line.
        `runtime`: the one whose results are wrong, where it is one."""
        path, case = self.file.with_suffix(".md"), reduction.case
        lines = [
            f"# {reduction.said}",
            "",
            f"{plural(case.size, 'layer')}, reduced from {layers} by `{asked}`. `python {self.file.stem}.py` shows it.",
            "",
            *_table(case),
            "",
            *(
                f"- input {name}: {shown(a, _FEW)}"
                for name, a in zip(input_names(case.model), case.steps[-1], strict=True)
            ),
            *(f"- result {port_name(p)} by irexec: {shown(a, _FEW)}" for p, a in _results(case)),
            *(f"- result {name} by {other}: {shown(a, _FEW)}" for name, other, a in _others(case, runtime)),
            f"- irexec {version('irexec')}, NumPy {np.__version__}, Python {platform.python_version()}, "
            f"{platform.system()} {platform.machine()}",
        ]
        save_text(path, "\n".join(lines) + "\n")
        return path


def _inputs(case: Case) -> list[Any]:
    return list(zip(input_names(case.model), case.steps[-1], strict=True))


def _results(case: Case) -> list[Any]:
    return list(zip(case.model.outputs, case.results[-1], strict=True))


def _others(case: Case, runtime: Runtime | None) -> list[tuple[str, str, Array]]:
    """The results of the runtime with their names and its own; none where it gives none."""
    if runtime is None:
        return []
    try:
        found = runtime.load(case.model).results(case.steps)[-1]
    except CannotRun:
        return []
    return [(port_name(port), runtime.name, array) for port, array in zip(case.model.outputs, found, strict=True)]


def _table(case: Case) -> list[str]:
    """The layers with their types, as a table of Markdown."""
    rows = ["| layer | inputs | outputs | attributes |", "|---|---|---|---|"]
    for node in case.model.walk():
        if node.type in ("Const", "Result"):
            continue
        attributes = (
            {a.file_name: node.attributes.get(a.name) for a in node.operator.attributes} if node.operator else {}
        )
        texts = (f"{name}={attribute_text(value)}" for name, value in attributes.items() if value not in (None, ""))
        cells = (
            f"{node.type}-{node.version.removeprefix('opset')}",
            ", ".join(_port(v) for v in node.inputs if v),
            ", ".join(f"{v.element_type}{v.type.shape}" for v in node.outputs),
            ", ".join(texts),
        )
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return rows


def _port(value: Value) -> str:
    known = value.node.constant
    return f"{value.element_type}{value.type.shape}" + ("" if known is None else f" = {shown(known, _BRIEF)}")


def identity(reference: Reference, asked: str) -> str:
    """What tells one reduction from another: the model's file, the inputs, and what is asked of them."""
    found = sha256(asked.encode())
    if reference.model.file is not None:
        found.update(Path(reference.model.file).read_bytes())
    for step in reference.steps:
        for array in step:
            found.update(f"{array.dtype}{array.shape}{array.tolist() if array.dtype.kind in 'TUO' else ''}".encode())
            found.update(b"" if array.dtype.kind in "TUO" else array.tobytes())
    return found.hexdigest()
