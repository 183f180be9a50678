"""What findings say of OpenVINO is true: files with one anomaly each, judged by OpenVINO in a child process."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support.amounts import amount

pytest.importorskip("openvino")
sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))

from openvino_statements import Treatment, in_children, known, truth

# An edge, an id, a name or a version; the values of attributes are judged by the benchmark.
PLACES = ("<edge", "<layer", "<port", "dim")


def test_statements_about_layers_ports_and_edges_are_true() -> None:
    numbers = [n for n, anomaly in enumerate(known(())) if anomaly.what.startswith(PLACES)]
    judgements = [j for found in in_children(numbers[:: len(numbers) // amount(300, 40)]) for j in found]
    assert sum(judgement.true is True for judgement in judgements) > 20
    assert not [judgement for judgement in judgements if judgement.true is False]


@pytest.mark.parametrize(
    ("statement", "treatment", "expected"),
    [
        ("rejects the file", Treatment("Cannot parse", "", None), True),
        ("rejects the file", Treatment("", "", None), False),
        ("silently ignores it", Treatment("", "", True), True),
        ("silently ignores it", Treatment("", "", False), False),
        ("rejects most such files", Treatment("", "", None), None),
        ("reads the number at the start of the text", Treatment("Cannot parse '2x'", "", None), False),
        ("reads the number at the start of the text", Treatment("shapes are inconsistent", "", None), None),
    ],
)
def test_a_statement_is_judged_by_what_it_promises(statement: str, treatment: Treatment, expected: bool | None) -> None:
    assert truth(statement, treatment) is expected
