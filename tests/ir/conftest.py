"""Fixtures for reading a text, and a valid IR to start from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pytest

from irexec.core.diagnostics.diagnostic import Diagnostic
from irexec.core.diagnostics.findings import Findings, Mode
from irexec.ir.document import Document
from irexec.ir.reader import read_document
from irexec.ir.xml.source import Limits, Source

MODEL = """<?xml version="1.0"?>
<net name="m" version="11">
    <layers>
        <layer id="0" name="x" type="Parameter" version="opset1">
            <data shape="2,3" element_type="f32"/>
            <output><port id="0" precision="FP32" names="x"><dim>2</dim><dim>3</dim></port></output>
        </layer>
        <layer id="1" name="a" type="Add" version="opset1">
            <data auto_broadcast="numpy"/>
            <input>
                <port id="0" precision="FP32"><dim>2</dim><dim>3</dim></port>
                <port id="1" precision="FP32"><dim>2</dim><dim>3</dim></port>
            </input>
            <output><port id="2" precision="FP32" names="y"><dim>2</dim><dim>3</dim></port></output>
        </layer>
        <layer id="2" name="r" type="Result" version="opset1">
            <input><port id="0" precision="FP32"><dim>2</dim><dim>3</dim></port></input>
        </layer>
    </layers>
    <edges>
        <edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>
        <edge from-layer="0" from-port="0" to-layer="1" to-port="1"/>
        <edge from-layer="1" from-port="2" to-layer="2" to-port="0"/>
    </edges>
    <rt_info/>
</net>
"""

LOOP = """<net name="m" version="11">
    <layers>
        <layer id="0" name="trip" type="Parameter" version="opset1">
            <data shape="" element_type="i64"/>
            <output><port id="0" precision="I64"/></output>
        </layer>
        <layer id="1" name="go" type="Parameter" version="opset1">
            <data shape="" element_type="boolean"/>
            <output><port id="0" precision="BOOL"/></output>
        </layer>
        <layer id="2" name="x" type="Parameter" version="opset1">
            <data shape="4,3" element_type="f32"/>
            <output><port id="0" precision="FP32"><dim>4</dim><dim>3</dim></port></output>
        </layer>
        <layer id="3" name="l" type="Loop" version="opset5">
            <port_map>
                <input axis="0" external_port_id="2" internal_layer_id="0" start="0" end="-1" stride="1" part_size="1"/>
                <output external_port_id="3" internal_layer_id="3"/>
                <output external_port_id="-1" internal_layer_id="2" purpose="execution_condition"/>
            </port_map>
            <back_edges></back_edges>
            <input>
                <port id="0" precision="I64"/>
                <port id="1" precision="BOOL"/>
                <port id="2" precision="FP32"><dim>4</dim><dim>3</dim></port>
            </input>
            <output><port id="3" precision="FP32"><dim>1</dim><dim>3</dim></port></output>
            <body>
                <layers>
                    <layer id="0" name="p" type="Parameter" version="opset1">
                        <data shape="1,3" element_type="f32"/>
                        <output><port id="0" precision="FP32"><dim>1</dim><dim>3</dim></port></output>
                    </layer>
                    <layer id="1" name="c" type="Const" version="opset1">
                        <data element_type="boolean" shape="" offset="0" size="1"/>
                        <output><port id="0" precision="BOOL"/></output>
                    </layer>
                    <layer id="2" name="q" type="Result" version="opset1">
                        <input><port id="0" precision="BOOL"/></input>
                    </layer>
                    <layer id="3" name="s" type="Result" version="opset1">
                        <input><port id="0" precision="FP32"><dim>1</dim><dim>3</dim></port></input>
                    </layer>
                </layers>
                <edges>
                    <edge from-layer="1" from-port="0" to-layer="2" to-port="0"/>
                    <edge from-layer="0" from-port="0" to-layer="3" to-port="0"/>
                </edges>
                <rt_info/>
            </body>
        </layer>
        <layer id="4" name="r" type="Result" version="opset1">
            <input><port id="0" precision="FP32"><dim>1</dim><dim>3</dim></port></input>
        </layer>
    </layers>
    <edges>
        <edge from-layer="0" from-port="0" to-layer="3" to-port="0"/>
        <edge from-layer="1" from-port="0" to-layer="3" to-port="1"/>
        <edge from-layer="2" from-port="0" to-layer="3" to-port="2"/>
        <edge from-layer="3" from-port="3" to-layer="4" to-port="0"/>
    </edges>
    <rt_info/>
</net>
"""

MARK = "¦"


class Outcome(NamedTuple):
    """The outcome of reading a text; findings in file order."""

    document: Document | None
    found: list[Diagnostic]

    @property
    def codes(self) -> list[str]:
        return [finding.code for finding in self.found]

    @property
    def places(self) -> list[tuple[str, int | None, int | None]]:
        return [(finding.code, finding.line, finding.column) for finding in self.found]


Read = Callable[..., Outcome]


@pytest.fixture
def read_ir() -> Read:
    def run(text: str | bytes, mode: Mode = "strict", limits: Limits | None = None) -> Outcome:
        data = text.encode() if isinstance(text, str) else text
        source = Source.from_bytes(data, "m.xml", limits=limits)
        findings = Findings(source.locate, file="m.xml", mode=mode)
        document = read_document(source, findings)
        return Outcome(document, findings.report.sorted().diagnostics)

    return run


@pytest.fixture
def model() -> str:
    return MODEL


@pytest.fixture
def loop() -> str:
    return LOOP


class Change(NamedTuple):
    """A valid text with one change: the expected findings, the first of `codes` at the mark in `new`.

    `where`: the text at the finding's place, if that is not in the change.
    """

    codes: str
    old: str
    new: str
    base: Literal["model", "loop"] = "model"
    nth: int = 0
    where: str | None = None

    def _split(self) -> tuple[str, str]:
        text = {"model": MODEL, "loop": LOOP}[self.base]
        parts = text.split(self.old)
        assert len(parts) > self.nth + 1, f"not in the text: {self.old}"
        return self.old.join(parts[: self.nth + 1]), self.old.join(parts[self.nth + 1 :])

    @property
    def text(self) -> str:
        before, after = self._split()
        return before + self.new.replace(MARK, "") + after

    @property
    def place(self) -> tuple[str, int, int]:
        if self.where is None:
            before = self._split()[0] + self.new[: self.new.index(MARK)]
        else:
            before = self.text[: self.text.index(self.where)]
        return self.codes.split()[0], before.count("\n") + 1, len(before) - before.rfind("\n")


@pytest.fixture
def change() -> type[Change]:
    return Change


@pytest.fixture
def openvino_agrees(read_ir: Read, tmp_path: Path) -> Callable[[str], bool]:
    """Return True if OpenVINO reads a text exactly when "openvino" mode finds no error in it."""
    openvino = pytest.importorskip("openvino")

    def run(text: str) -> bool:
        (tmp_path / "m.bin").write_bytes(b"\1")
        (tmp_path / "m.xml").write_text(text, "utf-8")
        try:
            openvino.Core().read_model(tmp_path / "m.xml")
            accepted = True
        except RuntimeError:
            accepted = False
        errors = [finding for finding in read_ir(text, "openvino").found if finding.severity == "error"]
        return accepted is not bool(errors)

    return run


@pytest.fixture
def finds(read_ir: Read) -> Callable[..., Outcome]:
    """Read a changed text; check that exactly the codes are found, the first of them at the mark."""

    def run(*fields: Any) -> Outcome:
        changed = Change(*fields)
        outcome = read_ir(changed.text)
        assert sorted(outcome.codes) == sorted(changed.codes.split()), outcome.found
        assert changed.place in outcome.places, outcome.places
        return outcome

    return run
