"""ONNX's own tests, live from the package: its node tests, its simple models, and those converted from PyTorch."""

from __future__ import annotations

import zlib
from collections import Counter
from pathlib import Path

import pytest
from support.amounts import amount
from support.generated import assert_generated

import irexec

onnx = pytest.importorskip("onnx")

from support.onnx_cases import EXCEPTIONS, Case, check, node_cases, stored_cases

PARTS = 12


def failures(cases: list[Case], folder: Path) -> dict[str, str]:
    failed = {}
    for case in cases:
        try:
            check(case, folder)
        except Exception as error:  # every kind of failure is collected, to be shown by the case's name
            failed[case.name] = f"{error.__class__.__name__}: {error}"[:300]
    return failed


def unexpected(failed: dict[str, str]) -> dict[str, str]:
    return {name: why for name, why in failed.items() if not name.startswith(tuple(EXCEPTIONS))}


@pytest.mark.parametrize("part", range(amount(PARTS, 3)))
def test_every_node_test_passes(part: int, tmp_path: Path) -> None:
    cases = [case for case in node_cases() if zlib.crc32(case.name.encode()) % PARTS == part]
    assert len(cases) > 50
    failed = failures(cases, tmp_path)
    assert unexpected(failed) == {}


def test_no_exception_has_lost_its_reason(tmp_path: Path) -> None:
    if not onnx.__version__.startswith("1.23"):
        pytest.skip(f"the table is of the node tests of onnx 1.23, this is {onnx.__version__}")
    named = [case for case in node_cases() if case.name.startswith(tuple(EXCEPTIONS))]
    failed = failures(named, tmp_path)
    assert failed.keys() == {case.name for case in named} and len(named) <= 10


@pytest.mark.parametrize("kind", ["simple", "pytorch-converted", "pytorch-operator"])
def test_every_stored_test_passes(kind: str, tmp_path: Path) -> None:
    cases = list(stored_cases(kind))
    assert len(cases) > 10
    assert unexpected(failures(cases, tmp_path)) == {}


def test_the_page_of_operators_is_in_step() -> None:
    from irexec.frontends.onnx import status

    if not onnx.__version__.startswith("1.23"):
        pytest.skip(f"the page is of onnx 1.23, this is {onnx.__version__}")
    page = Path(__file__).parents[2] / "docs" / "onnx.md"
    assert_generated(page, status.page(), "python -m irexec.frontends.onnx.status > docs/onnx.md")


def test_every_version_of_every_operator_from_opset_7_on_is_translated(tmp_path: Path) -> None:
    """But one, which ONNX took away; it is refused by name."""
    from irexec.frontends.onnx.status import ways

    newer: dict[str, list[tuple[int, str]]] = {}
    for name, versions in ways("").items():
        # The version that opset 7 has, and those that came later.
        first = max((since for since, _ in versions if since <= 7), default=0)
        newer[name] = [(since, how) for since, how in versions if since >= first]
    counts = Counter(how for versions in newer.values() for _, how in versions)
    refused = [(name, since) for name, versions in newer.items() for since, how in versions if how == "no"]
    print(f"onnx {onnx.__version__}: {len(newer)} operators from opset 7 on, versions: {dict(counts)}")
    assert len(newer) >= 203 and counts.total() > 500
    assert refused == [("Upsample", 10)]
    model = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["" : 10]> g (float[1] x) => (float[1] y) { [up] y = Upsample(x, x) }'
    )
    onnx.save(model, tmp_path / "model.onnx")
    (finding,) = irexec.validate(tmp_path / "model.onnx").errors
    assert (finding.code, finding.layer.name) == ("F003", "up") and "Upsample-10" in finding.message
