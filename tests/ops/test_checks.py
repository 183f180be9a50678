"""The constraints that were checked: recorded by rules and kernels of the operator in question, in its own thread."""

from __future__ import annotations

from threading import Thread

import numpy as np
import pytest
from support.waiting import PATIENCE

from irexec.core.types import TensorType
from irexec.frontends.pages.evaluate import evaluate, read_examples
from irexec.model.arrays.given import Given
from irexec.ops.movement.transpose import transpose_1
from irexec.ops.spec.checks import noted, running
from irexec.ops.spec.operator import ConstraintError, require


def check(constraint: str, condition: bool) -> None:
    require(constraint, condition, "broken")


def test_what_held_each_time_is_noted() -> None:
    with noted("op") as checks, running("op"):
        check("C10", True)
        check("C2", True)
        with pytest.raises(ConstraintError):
            check("C2", False)
        check("broadcast", True)
        check("C1", True)
    assert checks.held == ["C1", "C10"]


def test_only_the_operator_that_is_meant_is_noted() -> None:
    check("C1", True)
    with noted("op") as checks:
        check("C1", True)
        with running("another"):
            check("C2", True)
        with running("op"):
            with running(None):
                check("C3", True)
            check("C4", True)
            thread = Thread(target=check, args=("C5", True))
            thread.start()
            thread.join(PATIENCE)
    assert checks.held == ["C4"]


def test_a_rule_notes_what_it_can_detect() -> None:
    data, order = TensorType.of(np.zeros((2, 3), np.float32)), np.array([1, 0])
    with noted(transpose_1) as checks:
        transpose_1.infer([data, TensorType.of(order)], {})
    assert checks.held == ["C1", "C2"]
    with noted(transpose_1) as checks:
        transpose_1.infer([data, TensorType.of(order).without_value()], {})
        with running(transpose_1):
            transpose_1.kernel(np.zeros((2, 3), np.float32), order)
    assert checks.held == ["C1", "C2"]


def layer(type: str, version: str, ports: str, data: str = "") -> str:
    inputs = "".join(
        f'<port id="{n}" precision="{kind}">{"".join(f"<dim>{d}</dim>" for d in dims.split(",") if d)}'
        f"{f'<!-- values: {values} -->' if values else ''}</port>"
        for n, (kind, dims, values) in enumerate(part.split("|") for part in ports.split(";"))
    )
    return f'<layer id="0" name="n" type="{type}" version="{version}">{data}<input>{inputs}</input></layer>'


@pytest.mark.parametrize(
    ("text", "held"),
    [
        (
            layer("EmbeddingBagPacked", "opset15", "FP32|5,2|;I32|3,2|[[0, 2], [1, 2], [3, 4]]"),
            "constraints C1, C3, C8 of EmbeddingBagPacked-15",
        ),
        (
            layer("EmbeddingSegmentsSum", "opset3", "FP32|5,2|;I32|4|[0, 2, 3, 4];I32|4|[0, 0, 2, 2];I32||3"),
            "constraints C1, C2, C3, C7, C8 of EmbeddingSegmentsSum-3",
        ),
        (
            layer("Einsum", "opset7", "FP32|2,3|;FP32|3,2|", '<data equation="ij,jk->ik"/>'),
            "constraints C1, C2, C3, C4, C5, C6 of Einsum-7",
        ),
        (
            layer("Interpolate", "opset1", "FP32|1,1,2,2|;I64|2|[4, 4]", '<data axes="2,3" mode="nearest"/>'),
            "constraints C1, C2, C3, C4, C7 of Interpolate-1",
        ),
    ],
    ids=["EmbeddingBagPacked", "EmbeddingSegmentsSum", "Einsum", "Interpolate"],
)
def test_the_constraints_of_an_example_are_those_that_were_checked(text: str, held: str) -> None:
    (example,) = evaluate(read_examples(text), Given())
    assert example.executed, example.not_executed
    assert example.verified[-1] == held
