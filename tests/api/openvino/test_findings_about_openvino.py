"""What findings say of OpenVINO is true: files with one anomaly each, judged by OpenVINO in a child process."""

from __future__ import annotations

import random
import re
import sys
from pathlib import Path

import pytest
from support.amounts import amount

pytest.importorskip("openvino")
sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))

from openvino_statements import Anomaly, Treatment, in_children, judged, known, truth
from support.meanings import of_operators, origins


@pytest.mark.by_hand(0)
def test_what_findings_say_of_openvino_is_true() -> None:
    """Anomalies of every kind, of models and places that a seed chooses; the benchmark judges all."""
    by_kind: dict[str, list[int]] = {}
    for number, anomaly in enumerate(known(())):
        by_kind.setdefault(anomaly.kind, []).append(number)
    rng = random.Random(2026)
    chosen = [number for kind in sorted(by_kind) for number in rng.sample(by_kind[kind], min(2, len(by_kind[kind])))]
    rng.shuffle(chosen)
    numbers = sorted(chosen[: amount(300, 60)])
    judgements = [judgement for found in in_children(numbers) for judgement in found]
    assert sum(judgement.true is True for judgement in judgements) > len(numbers) // 3
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


SHAPES = [
    "-",
    "--",
    "-5",
    "-0",
    "- 1",
    "1-2",
    "1,-",
    "-?",
    "-..2",
    "-1..2",
    "1..-",
    "1..-5",
    "3..2",
    "1 2",
    "1..x",
    "1..2-",
    "?..2",
]


@pytest.mark.parametrize("text", SHAPES)
def test_what_is_said_of_the_text_of_a_shape_is_true(text: str) -> None:
    origin = origins()[0]
    changed = re.sub(r'shape="[^"]*"', f'shape="{text}"', origin.text, count=1)
    found = judged(Anomaly(origin.name, "", changed, "", origin.weights))
    assert not [judgement for judgement in found if judgement.true is False]


OMITTED = ["CumSum-3", "Col2Im-15", "GRUCell-3", "LSTMCell-4", "PriorBoxClustered-1"]


@pytest.mark.parametrize("name", [*OMITTED, "LSTMCell-1", "Slice-8", "Pad-12"])
def test_an_input_that_only_the_page_makes_optional_is_named(name: str) -> None:
    """OpenVINO rejects these operators without the inputs that the models omit, and reads the others."""
    origin = next(origin for origin in of_operators() if origin.name == name)
    found = judged(Anomaly(origin.name, "", origin.text, "", origin.weights))
    said = [judgement for judgement in found if judgement.code == "D011" and judgement.statement == "rejects the file"]
    assert [judgement.true for judgement in said] == [True] * (name in OMITTED)


@pytest.mark.parametrize("names", ["elu, tanh, tanh", "sigmoid, tanh, elu", "sigmoid, tanh, tanh, elu"])
def test_only_as_many_activations_as_gates_are_read(names: str) -> None:
    origin = next(origin for origin in of_operators() if origin.name == "LSTMSequence-5")
    changed = re.sub(r'activations="[^"]*"', f'activations="{names}"', origin.text)
    (said,) = judged(Anomaly(origin.name, "", changed, "", origin.weights))
    assert said.true is not False and (said.treatment.compiled == "") == (names.count(",") > 2)
