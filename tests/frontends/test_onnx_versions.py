"""ONNX's node tests in older opsets: each version of an operator runs a test of a newer one that is legal in it."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

onnx = pytest.importorskip("onnx")

from support.amounts import amount
from support.onnx_cases import EXCEPTIONS, RANDOM, check, node_cases

# Softmax normalised over all axes from the given one on, Scan had batches.
OTHER_NUMBERS = {(type, version) for type in ("Softmax", "LogSoftmax", "Hardmax") for version in (1, 11)} | {
    ("Scan", 8)
}
PARTS = 4
MOST_TRIED = 6


def since_versions() -> dict[str, list[int]]:
    """The versions of each operator, oldest first."""
    found = defaultdict(list)
    for schema in onnx.defs.get_all_schemas_with_history():
        if not schema.domain and not schema.deprecated:
            found[schema.name].append(schema.since_version)
    return {type: sorted(versions) for type, versions in found.items()}


def in_opset(model: Any, opset: int) -> Any:
    """The model in an older opset, as it is or converted by onnx; None where ONNX does not take it."""
    older = onnx.ModelProto()
    older.CopyFrom(model)
    older.opset_import[0].version, older.ir_version = opset, min(model.ir_version, 10)
    for attempt in (lambda: older, lambda: onnx.version_converter.convert_version(model, opset)):
        try:
            onnx.checker.check_model(found := attempt(), full_check=True)
        except Exception:  # whatever kind of error says that this is none of that opset
            continue
        return found
    return None


@pytest.mark.parametrize("part", range(amount(PARTS, 1)))
def test_older_versions_make_the_same(part: int, tmp_path: Path) -> None:
    versions, ran, tried, failed = since_versions(), Counter(), Counter(), {}
    for case in node_cases():
        opsets = [entry.version for entry in case.model.opset_import if not entry.domain]
        nodes = case.model.graph.node
        if case.name.startswith((*EXCEPTIONS, RANDOM)) or len(nodes) != 1 or nodes[0].domain or len(opsets) != 1:
            continue
        type = nodes[0].op_type
        if sum(type.encode()) % PARTS != part or len(case.model.opset_import) != 1:
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
            except Exception as error:  # every kind of failure is collected, to be shown by what failed
                failed[f"{type}-{version}: {case.name}"] = str(error)[:300]
    assert failed == {}
    assert len(ran) > 40
