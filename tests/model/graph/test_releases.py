"""Constructs that an older release of OpenVINO cannot read."""

from __future__ import annotations

import pytest
from support.nets import two_inputs

from irexec.core.diagnostics.findings import Findings
from irexec.ir.reader import read_document
from irexec.ir.xml.source import Source
from irexec.model.graph.releases import FIRST_RELEASE, check_release, release_of
from irexec.ops.spec.contents import NEWEST


def said(text: str, release: str) -> list[tuple[str, str | None]]:
    source = Source(text)
    document = read_document(source, Findings())
    assert document is not None
    findings = Findings(source.locate)
    check_release(document, release_of(release), findings)
    return [(finding.message, finding.hint) for finding in findings.report]


def test_the_versions_of_layers() -> None:
    text = two_inputs().text.replace('type="ReLU" version="opset1"', 'type="ReLU" version="opset15"')
    assert said(text, "2024.5") == []
    assert said(text, "2024.2") == [("OpenVINO 2024.2 has no opset15", 'version="opset1" selects the same operator')]
    text = text.replace('type="ReLU" version="opset15"', 'type="Mish" version="opset4"')
    assert said(text, "2021.1.0") == [
        ("OpenVINO 2021.1 does not support IR version 11, which was introduced with 2022.1", None)
    ]
    _, (message, _) = said(text, "2020.4")
    assert message == "OpenVINO 2020.4 has no opset4; Mish-4 was introduced with 2021.1"


def test_another_version_that_is_there() -> None:
    text = two_inputs().text.replace('type="ReLU" version="opset1"', 'type="TopK" version="opset11"')
    assert said(text, "2022.3") == [
        (
            "OpenVINO 2022.3 has no opset11; TopK-11 was introduced with 2023.0",
            "this release has another version of the operator, TopK-3",
        )
    ]


@pytest.mark.parametrize("text", ["2024", "2019.4", "x", "2024.2 "])
def test_what_is_not_a_release(text: str) -> None:
    with pytest.raises(ValueError, match="release"):
        release_of(text)


def test_releases_ascend_with_the_operation_sets() -> None:
    assert list(FIRST_RELEASE) == list(range(1, len(FIRST_RELEASE) + 1))
    assert sorted(FIRST_RELEASE.values()) == list(FIRST_RELEASE.values())
    assert max(FIRST_RELEASE) == NEWEST, (
        f"FIRST_RELEASE of irexec/model/graph/releases.py lacks the release of OpenVINO that introduced opset{NEWEST}"
    )


def test_recent_releases_have_the_newest_operation_sets() -> None:
    text = two_inputs().text.replace('type="ReLU" version="opset1"', 'type="ErfInv" version="opset17"')
    assert said(text, "2026.1") == [("OpenVINO 2026.1 has no opset17; ErfInv-17 was introduced with 2026.2", None)]
    assert said(text, "2026.4") == said(text, "2031.0") == []
    text = text.replace('type="ErfInv" version="opset17"', 'type="Identity" version="opset16"')
    assert said(text, "2024.6") == [("OpenVINO 2024.6 has no opset16; Identity-16 was introduced with 2025.0", None)]
    assert said(text, "2025.0") == []
