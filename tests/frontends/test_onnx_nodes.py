"""ONNX's own tests: node tests, in older opsets and with one change each; simple models, and models of PyTorch."""

from __future__ import annotations

import zlib
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from support.amounts import amount

import irexec

onnx = pytest.importorskip("onnx")

from support.onnx_cases import EXCEPTIONS, RANDOM, Case, check, node_cases, stored_cases
from support.onnx_mutants import judged, mutants, seeds

PARTS = 12
# Softmax normalized over all axes from the given one on, and Scan had batches.
OTHER_NUMBERS = {(type, version) for type in ("Softmax", "LogSoftmax", "Hardmax") for version in (1, 11)} | {
    ("Scan", 8)
}
VERSION_PARTS = 4
MOST_TRIED = 6


def failures(cases: list[Case], folder: Path) -> dict[str, str]:
    failed = {}
    for case in cases:
        try:
            check(case, folder)
        except Exception as error:  # every kind of failure is collected and shown with the name of the case
            failed[case.name] = f"{error.__class__.__name__}: {error}"[:300]
    return failed


def unexpected(failed: dict[str, str]) -> dict[str, str]:
    return {name: why for name, why in failed.items() if not name.startswith(tuple(EXCEPTIONS))}


@pytest.mark.parametrize("part", range(amount(PARTS, 1)))
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


def test_every_version_of_every_operator_from_opset_7_on_is_translated(tmp_path: Path) -> None:
    """All versions except one that ONNX removed; that version is rejected by name."""
    from irexec.frontends.onnx.status import ways

    newer: dict[str, list[tuple[int, str]]] = {}
    for name, versions in ways("").items():
        # The version in opset 7, and later versions.
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


def since_versions() -> dict[str, list[int]]:
    """Return the versions of each operator, oldest first."""
    found = defaultdict(list)
    for schema in onnx.defs.get_all_schemas_with_history():
        if not schema.domain and not schema.deprecated:
            found[schema.name].append(schema.since_version)
    return {type: sorted(versions) for type, versions in found.items()}


def in_opset(model: Any, opset: int) -> Any:
    """Return the model in an older opset, unchanged or converted by onnx; None if ONNX does not accept it."""
    older = onnx.ModelProto()
    older.CopyFrom(model)
    older.opset_import[0].version, older.ir_version = opset, min(model.ir_version, 10)
    for attempt in (lambda: older, lambda: onnx.version_converter.convert_version(model, opset)):
        try:
            onnx.checker.check_model(found := attempt(), full_check=True)
        except Exception:  # any kind of error means that the node does not exist in that opset
            continue
        return found
    return None


@pytest.mark.parametrize("part", range(amount(VERSION_PARTS, 1)))
def test_older_versions_make_the_same(part: int, tmp_path: Path) -> None:
    versions, ran, tried, failed = since_versions(), Counter(), Counter(), {}
    for case in node_cases():
        opsets = [entry.version for entry in case.model.opset_import if not entry.domain]
        nodes = case.model.graph.node
        if case.name.startswith((*EXCEPTIONS, RANDOM)) or len(nodes) != 1 or nodes[0].domain or len(opsets) != 1:
            continue
        type = nodes[0].op_type
        if sum(type.encode()) % VERSION_PARTS != part or len(case.model.opset_import) != 1:
            continue
        known = [version for version in versions[type] if version <= opsets[0]]
        for version, newer in pairwise(known):
            key = type, version
            if newer <= 7 or key in OTHER_NUMBERS or ran[key] or tried[key] >= MOST_TRIED:
                continue
            tried[key] += 1
            older = in_opset(case.model, newer - 1)
            if older is None:
                continue
            ran[key] += 1
            try:
                check(case._replace(model=older), tmp_path)
            except Exception as error:  # every kind of failure is collected and shown with its cause
                failed[f"{type}-{version}: {case.name}"] = str(error)[:300]
    assert failed == {}
    assert len(ran) > 40


@pytest.mark.by_hand(2)
@pytest.mark.any_python
@pytest.mark.parametrize("part", range(4))
def test_one_change_is_a_finding_that_names_its_node_or_none(part: int, tmp_path: Path) -> None:
    outcomes = set()
    for data in mutants(seeds(60, part), amount(150, 60), part):
        outcome = judged(data, tmp_path / "model.onnx")
        assert outcome.nameless == []
        outcomes |= outcome.codes
    assert "ran" in outcomes and len(outcomes & {"F003", "F004", "F005"}) >= amount(3, 2)
