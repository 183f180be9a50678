"""Each constraint of an operator is stated in one place: a condition with its message.

The shape rule runs for each call and each inference, on all known values. A kernel checks constraints on values; if the
rule checks the same for constants, both call one function, with `check` and with `require`.
"""

from __future__ import annotations

import importlib

import pytest
from support.statements import stated

from irexec.ops.spec.contents import everything
from irexec.ops.spec.operator import REGISTRY, Operator

pytestmark = pytest.mark.any_python

ALLOWED = {
    ("BlockSparseAttention-ie_internal_opset", "C4"): "the kernel calls that of ScaledDotProductAttention, whose C4 is "
    "about scalar masks",
}
"""(operator, constraint) → the reason why its kernel has a condition that its rule, which also checks the constraint,
lacks.
"""


def _operators() -> list[Operator]:
    importlib.import_module("irexec.ops.onnx")
    importlib.import_module("irexec.ops.tokenizers")
    assert all(made is not None for _, _, made in everything())
    return [made for made in REGISTRY.values() if not made.is_own and made.rule is not None]


@pytest.mark.by_hand(0)
def test_a_kernel_repeats_no_condition_of_its_rule() -> None:
    twice = {}
    for made in _operators():
        kernel, rule = stated(made.kernel), stated(made.rule)
        for constraint in kernel.keys() & rule.keys():
            if own := kernel[constraint] - rule[constraint]:
                twice[str(made), constraint] = [f"{p.module}.{p.function}, line {p.line}" for p in sorted(own)]
    assert twice.keys() == ALLOWED.keys(), twice


def test_the_places_of_constraints_are_found() -> None:
    """A shared function counts for both, at any depth, and with a number that was passed to it."""
    operators = {str(made): made for made in _operators()}
    shared = {"Gather-8": "C5", "ReduceSum-1": "C3", "ScatterUpdate-3": "C1", "CTCLoss-4": "C2", "RNN-onnx7": "C1"}
    for name, constraint in shared.items():
        made = operators[name]
        assert stated(made.kernel)[constraint] <= stated(made.rule)[constraint], name
    assert {"C1", "C2"} <= stated(operators["FakeConvert-13"].rule).keys()  # These numbers come from a loop.
    assert "C2" not in stated(operators["Add-1"].kernel)
