"""`version` of a layer is the name of an opset; every other text is a finding with its location."""

from __future__ import annotations

import pytest
from support.nets import PASSING

import irexec

MODEL = PASSING.replace('type="Result" version="opset1"', 'type="Result" version="VERSION"')


@pytest.mark.parametrize(
    "version", ["opset0", "opset18", "opset01", "opset²", "opset" + "9" * 5000, "OPSET1", "opset", "onnx13", "mine"]
)
def test_a_version_that_names_no_opset(version: str) -> None:
    report = irexec.validate(MODEL.replace("VERSION", version).encode())
    assert [(d.code, d.line, d.column) for d in report] == [("L005", 7, 55)]


def test_a_later_opset_still_has_the_operator() -> None:
    report = irexec.validate(MODEL.replace("VERSION", "opset8").encode())
    assert report.ok
    assert [(d.code, d.line) for d in report] == [("L007", 7)]
