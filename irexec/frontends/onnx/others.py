"""Findings of ONNX's own checks about a model, and the results of running it in other runtimes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import onnx

from irexec.core.diagnostics import Diagnostic, LayerRef, Place, Report
from irexec.core.diagnostics.deadline import OutOfTime, seconds_left
from irexec.core.diagnostics.findings import Mode
from irexec.core.types import TensorType
from irexec.frontends.onnx.convert import convert
from irexec.frontends.onnx.errors import Refused
from irexec.frontends.onnx.expansion import expansion_of, expansions
from irexec.frontends.onnx.file import read_file
from irexec.frontends.onnx.findings import OnnxFindings
from irexec.frontends.onnx.kinds import declared_type
from irexec.frontends.onnx.questions import CHECKS, LOADING, RUNTIMES, Answer, answer
from irexec.frontends.onnx.scope import opsets_of, ref_of
from irexec.model.graph.model import Model
from irexec.runtime.processes.child import Child
from irexec.runtime.processes.worker import Ended

# The time limit of a tool in seconds. Tools do not examine files that irexec refuses for their size.
_SECONDS = 10


class Question:
    """Tools that examine a file in a separate process, because a malicious file may crash them."""

    def __init__(self, path: str | os.PathLike[str], tools: Sequence[str]) -> None:
        self.path, self.tools = os.path.abspath(path), list(tools)
        self._child = self._asked(self.tools)

    def _asked(self, tools: Sequence[str]) -> Child:
        child = Child(quiet=True)
        for tool in tools:
            child.send(partial(answer, self.path, tool), _SECONDS)
        return child

    def answers(self) -> list[Answer]:
        """Wait for the tools and return their answers, one for each tool that is installed."""
        heard: list[Answer] = []
        for number, tool in enumerate(self.tools):
            try:
                found = self._child.receive(seconds_left(_SECONDS))
            except Ended as end:
                # A tool that needs longer to load a file says nothing about it.
                heard += [Answer(tool, [(None, str(end))])] if tool != LOADING else []
                if number + 1 < len(self.tools):
                    self._child = self._asked(self.tools[number + 1 :])
            else:
                heard += [found] if found is not None else []
        self._child.worker.close()
        return heard

    def abandon(self) -> None:
        """End the tools: their answers are no longer needed."""
        self._child.worker.kill()


def examined(path: str | os.PathLike[str], mode: Mode = "strict") -> tuple[Model | None, Report]:
    """Return the model of an ONNX file with irexec's findings, the findings of ONNX's own checks, and the results of
    runtimes for a file with findings; for a file without, whether ONNX Runtime rejects it. The model is None if one of
    the findings is an error."""
    findings = OnnxFindings(file=os.fspath(path), mode=mode)
    file = read_file(path, findings)
    if file is None:
        return None, findings.report
    checks = Question(path, list(CHECKS)) if _has_bounded_calls(file.proto) else None
    folder = Path(path).parent
    try:
        model = convert(file, findings, folder)
    except OutOfTime as stopped:
        stopped.add_to(findings)
        if checks is not None:
            checks.abandon()
        return None, findings.report
    answers = checks.answers() if checks is not None else []
    types = _types(answers)
    if types and not findings.report.ok:
        # The second conversion uses ONNX's own types for untranslated nodes, so that the nodes after them are checked
        # as well.
        findings = OnnxFindings(file=os.fspath(path), mode=mode)
        convert(file, findings, folder, types)
    findings.node = None
    if not findings.incomplete:
        _add(findings, answers, file.proto)
    if not _is_too_large(findings):
        asked = list(RUNTIMES) if len(findings.report) else [LOADING]
        _report_answers(findings, Question(path, asked).answers(), file.proto)
    model.file = os.fspath(path)
    return (model if findings.report.ok else None), findings.report


def _has_bounded_calls(proto: onnx.ModelProto) -> bool:
    """Return whether the calls of the model's functions expand to no more nodes than irexec translates."""
    functions = proto.functions
    return not functions or expansion_of(proto.graph.node, expansions(functions)).is_bounded


def _is_too_large(findings: OnnxFindings) -> bool:
    """Return whether a part of the file was refused for its size, or is missing."""
    return findings.too_large or findings.incomplete or any(finding.code == "O011" for finding in findings.report)


def _types(answers: Sequence[Answer]) -> Mapping[str, TensorType]:
    """Return the types that ONNX's shape inference found."""
    found: dict[str, TensorType] = {}
    for heard in answers:
        for value in onnx.GraphProto.FromString(heard.types).value_info:
            try:
                found[value.name] = declared_type(value.type)
            except (Refused, ValueError):
                continue
    return found


def _add(findings: OnnxFindings, answers: Sequence[Answer], proto: onnx.ModelProto) -> None:
    """Add the checks' messages to irexec's errors about the same nodes, or as findings of their own, in file order."""
    for heard in answers:
        for number, message in heard.messages:
            node = None if number is None else _layer(proto, number)
            note = (heard.tool, message)
            known = next((d for d in findings.report.errors if d.layer and d.layer.id == str(number)), None)
            if known is not None:
                extended = replace(known, notes=(*known.notes, note))
                findings.report.replace([extended if d is known else d for d in findings.report])
            else:
                about = f"{node.type}: " if node is not None else ""
                findings.add("F013", f"{about}{message}", place=_place(findings), layer=node, notes=(note,))
    findings.report.replace(sorted(findings.report, key=_in_file_order))


def _report_answers(findings: OnnxFindings, answers: Sequence[Answer], proto: onnx.ModelProto) -> None:
    for heard in answers:
        text = "; ".join(message for _, message in heard.messages)
        about = f"{_producer(proto)}; IR version {proto.ir_version}, opset {opsets_of(proto.opset_import).get('', '?')}"
        findings.add("F014", f"{heard.tool} {text}", place=_place(findings), notes=(("model", about),))


def _producer(proto: onnx.ModelProto) -> str:
    """Return the producer of the model."""
    return f"written by {proto.producer_name or 'an unnamed producer'} {proto.producer_version}".rstrip()


def _layer(proto: onnx.ModelProto, number: int) -> LayerRef:
    return ref_of(proto.graph.node[number], str(number), opsets_of(proto.opset_import))


def _place(findings: OnnxFindings) -> Place:
    return Place(file=findings.file)


def _in_file_order(finding: Diagnostic) -> list[int]:
    """Return the position of a finding's node, with the enclosing nodes; findings about the graph come first."""
    return [] if finding.layer is None else [int(part) for part in finding.layer.id.split("/")]
