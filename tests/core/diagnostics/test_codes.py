"""The properties of a code: its area, and whether the model can be run nevertheless."""

from __future__ import annotations

import pytest

from irexec.core.diagnostics import LayerRef
from irexec.core.diagnostics.codes import CODES, Area
from irexec.core.diagnostics.findings import Findings


def test_every_code_has_an_area() -> None:
    assert {code.area for code in CODES.values()} <= set(Area)
    assert CODES["Q022"].area is Area.REPAIR


@pytest.mark.parametrize(("code", "stops"), [("D001", True), ("O001", True), ("P007", True), ("P005", False)])
def test_what_stops_a_layer(code: str, stops: bool) -> None:
    assert CODES[code].stops_layer is stops


@pytest.mark.parametrize(("code", "stops"), [("X001", True), ("U004", True), ("Q029", True), ("O001", False)])
def test_what_leaves_nothing_to_run(code: str, stops: bool) -> None:
    assert CODES[code].stops_all is stops


@pytest.mark.parametrize("code", CODES)
def test_titles_have_one_form(code: str) -> None:
    """A title is a part of a sentence without a full stop, in the same form for lists, SARIF and pages."""
    title = CODES[code].title
    assert title[0].islower() or title.split()[0] in ("OpenVINO", "ONNX")
    assert title[-1] not in ".?!" and "'t" not in title and len(title) <= 80


def test_openvino_s_behaviour_for_an_operator_that_it_does_not_have() -> None:
    def openvino(version: str) -> str | None:
        return Findings().add("D001", "m", layer=LayerRef("0", "s", "MyScale", version)).openvino

    assert openvino("opset8") == "silently ignores it"
    assert openvino("extension") == "rejects the file, unless an extension of OpenVINO defines the operator"
