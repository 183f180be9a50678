"""`irexec.validate`: the same findings as the command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.nets import two_inputs

import irexec
from irexec.cli.main import main

WRONG = two_inputs().text.replace('type="ReLU"', 'type="relu"').replace("FP32", "FP16", 1)
SNIPPET = '<layer type="ReLU"><input><port id="0", precision="F32"><dim>2</dim></port></input></layer>'


@pytest.mark.parametrize("text", [WRONG, SNIPPET, f"<!-- irexec: ignore P,Q -->\n{WRONG}", "<net", "text"])
def test_the_same_findings_as_the_command(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.xml"
    path.write_text(text)
    main(["validate", "--format", "json", str(path)])
    said = json.loads(capsys.readouterr().out)["diagnostics"]
    assert json.loads(irexec.validate(path).to_json())["diagnostics"] == said
    assert [finding.code for finding in irexec.validate(text.encode())] == [finding["code"] for finding in said]


def test_fixes_and_comments() -> None:
    report = irexec.validate(WRONG.encode())
    assert {"L009", "P004"} <= {finding.code for finding in report if finding.fixes}
    assert "P004" not in {f.code for f in irexec.validate(f"<!-- irexec: ignore P004 -->{WRONG}".encode())}


def test_a_model_in_memory() -> None:
    assert irexec.validate(irexec.read_model(two_inputs().text.encode())).ok
