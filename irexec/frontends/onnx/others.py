"""What ONNX's own checks say of a model, beside irexec's findings, and what other runtimes do with it."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import onnx

from irexec.diagnostics import Diagnostic, LayerRef, Place, Report
from irexec.diagnostics.findings import Mode
from irexec.frontends.onnx.convert import convert, ref_of
from irexec.frontends.onnx.file import read_file
from irexec.frontends.onnx.findings import OnnxFindings
from irexec.frontends.onnx.kinds import NotReadable, declared_type
from irexec.frontends.onnx.questions import CHECKS, RUNTIMES
from irexec.frontends.onnx.scope import opsets_of
from irexec.graph.model import Model
from irexec.types import TensorType

_SECONDS = 60


class Answer(NamedTuple):
    """What one tool says: of nodes by their number, or of the model; and what it inferred."""

    tool: str
    said: list[tuple[int | None, str]]
    types: bytes = b""


class Question:
    """Tools that are asked about a file, in a process of their own: a hostile file may crash them."""

    def __init__(self, path: str | os.PathLike[str], tools: Sequence[str]) -> None:
        self.path, self.tools = os.path.abspath(path), list(tools)
        self._process = self._started(self.tools)

    def _started(self, tools: Sequence[str]) -> subprocess.Popen[bytes]:
        # What this process can import, and nothing that lies in the current folder by chance.
        found = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONSAFEPATH": "1"}
        command = [sys.executable, "-m", "irexec.frontends.onnx.questions", self.path, *tools]
        quiet = subprocess.DEVNULL
        return subprocess.Popen(command, env=found, stdin=quiet, stdout=subprocess.PIPE, stderr=quiet)

    def answers(self) -> list[Answer]:
        """What the tools say, each asked but one that is not installed. Waits for them."""
        heard: list[Answer] = []
        left = self.tools
        while left:
            lines, end = self._finished()
            for line in lines:
                found = json.loads(line)
                left = left[left.index(found["tool"]) + 1 :]
                said = [(node, str(text)) for node, text in found.get("said", [])]
                name = f"{found['tool']} {found.get('version', '')}".rstrip()
                if not found.get("missing"):
                    heard.append(Answer(name, said, base64.b64decode(found.get("types", ""))))
            if end and left:
                heard.append(Answer(left.pop(0), [(None, end)]))
                if left:
                    self._process = self._started(left)
            elif not end:
                break
        return heard

    def _finished(self) -> tuple[list[bytes], str]:
        """The lines of the process, and how it ended, where that was not well."""
        try:
            written, _ = self._process.communicate(timeout=_SECONDS)
            code = self._process.returncode
            end = "" if code == 0 else f"crashes ({f'signal {-code}' if code < 0 else f'exit code {code}'})"
        except subprocess.TimeoutExpired:
            self._process.kill()
            written, _ = self._process.communicate()
            end = f"gives no answer within {_SECONDS} s"
        # The last line of a process that was ended may be half a line.
        return written.splitlines()[: written.count(b"\n")], end


def examined(path: str | os.PathLike[str], mode: Mode = "strict") -> tuple[Model | None, Report]:
    """The model of an ONNX file with irexec's findings, those of ONNX's own checks, and what runtimes do with a file
    that has errors. No model where one of them is an error.
    """
    findings = OnnxFindings(file=os.fspath(path), mode=mode)
    file = read_file(path, findings)
    if file is None:
        return None, findings.report
    checks = Question(path, list(CHECKS))
    folder = Path(path).parent
    model = convert(file, findings, folder)
    answers = checks.answers()
    types = _types(answers)
    if types and not findings.report.ok:
        # Once more, with ONNX's own types for what could not be translated, so that what follows is checked, too.
        findings = OnnxFindings(file=os.fspath(path), mode=mode)
        convert(file, findings, folder, types)
    findings.node = None
    _add(findings, answers, file.proto)
    if len(findings.report):
        _tell(findings, Question(path, list(RUNTIMES)).answers(), file.proto)
    model.file = os.fspath(path)
    return (model if findings.report.ok else None), findings.report


def _types(answers: Sequence[Answer]) -> Mapping[str, TensorType]:
    """The types that ONNX's shape inference found."""
    found: dict[str, TensorType] = {}
    for answer in answers:
        for value in onnx.GraphProto.FromString(answer.types).value_info:
            try:
                found[value.name] = declared_type(value.type)
            except (NotReadable, ValueError):
                continue
    return found


def _add(findings: OnnxFindings, answers: Sequence[Answer], proto: onnx.ModelProto) -> None:
    """What the checks say joins irexec's error about the same node, or becomes one of its own; in the file's order."""
    for answer in answers:
        for number, message in answer.said:
            node = None if number is None else _layer(proto, number)
            said = (answer.tool, message)
            known = next((d for d in findings.report.errors if d.layer and d.layer.id == str(number)), None)
            if known is not None:
                told = replace(known, notes=(*known.notes, said))
                findings.report.replace([told if d is known else d for d in findings.report])
            else:
                about = f"{node.type}: " if node is not None else ""
                findings.add("F013", f"{about}{message}", place=_place(findings), layer=node, notes=(said,))
    findings.report.replace(sorted(findings.report, key=_in_file_order))


def _tell(findings: OnnxFindings, answers: Sequence[Answer], proto: onnx.ModelProto) -> None:
    for answer in answers:
        text = "; ".join(message for _, message in answer.said)
        about = f"{_producer(proto)}; IR version {proto.ir_version}, opset {opsets_of(proto.opset_import).get('', '?')}"
        findings.add("F014", f"{answer.tool} {text}", place=_place(findings), notes=(("model", about),))


def _producer(proto: onnx.ModelProto) -> str:
    """Who wrote the model."""
    return f"written by {proto.producer_name or 'an unnamed producer'} {proto.producer_version}".rstrip()


def _layer(proto: onnx.ModelProto, number: int) -> LayerRef:
    return ref_of(proto.graph.node[number], str(number), opsets_of(proto.opset_import))


def _place(findings: OnnxFindings) -> Place:
    return Place(file=findings.file)


def _in_file_order(finding: Diagnostic) -> list[int]:
    """The number of the node that a finding is about, with those around it; what is about the graph comes first."""
    return [] if finding.layer is None else [int(part) for part in finding.layer.id.split("/")]
