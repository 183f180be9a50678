"""A user's own operator with the name of a standard one takes precedence, in any order of imports."""

from __future__ import annotations

import subprocess
import sys

import pytest
from support.waiting import PATIENCE

DECLARED = """
from typing import Annotated
import numpy as np
import irexec
from irexec.ops.spec.operator import Elements, operator
from irexec.ops.rules.shapes import same_as
from irexec.core.types import Array, F32
Float = Annotated[Array, Elements("T", {F32})]
def declare():
    @operator("ReLU", "opset1", shapes=same_as())
    def relu(x: Float, /) -> Float:
        return np.full_like(x, 7)
def result():
    x = irexec.opset13.parameter([2], np.float32)
    model = irexec.Model([irexec.opset13.relu(x)], [x])
    return irexec.compile_model(model)([np.ones(2, np.float32)])[0].tolist()
"""


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", DECLARED + code], capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    return done.stdout.strip()


def test_declared_before_the_standard_one_is_imported() -> None:
    code = "declare(); import irexec.ops.activation.pointwise; print(result())"
    assert run(code) == "[7.0, 7.0]"


@pytest.mark.parametrize(
    "before",
    ["import irexec.ops.activation.pointwise", "irexec.opset13.relu(np.ones(1, np.float32))", "result()"],
    ids=["imported", "computed with", "run"],
)
def test_declared_after_the_standard_one_was(before: str) -> None:
    code = f"{before}; declare(); import irexec.ops.activation.pointwise; print(result(), irexec.opset13.relu([1.0]))"
    assert run(code) == "[7.0, 7.0] [7.]"


PUBLIC_SHAPES = """
from typing import Annotated
import numpy as np
import irexec
from irexec.ops.spec.operator import Elements
from irexec.core.types import Array, F32
T = Annotated[Array, Elements("T", {F32})]
@irexec.operator("Twice", "mine")
def twice(data: T, /) -> T:
    return np.concatenate([data, data])
@twice.shapes
def _(check, data):
    if data.rank is None:
        return irexec.PartialShape.dynamic()
    return irexec.PartialShape([data.shape[0] * 2, *data.shape[1:]])
def made(shape):
    return irexec.mine.twice(irexec.opset15.parameter(shape, np.float32)).output(0).partial_shape
"""


def test_a_rule_may_return_the_public_shape() -> None:
    """The rank of `irexec.PartialShape` is a Dimension, as in OpenVINO."""
    code = f"{PUBLIC_SHAPES}\nprint(irexec.mine.twice(np.ones((2, 3), np.float32)).shape, made([2, -1]))"
    assert run(code).split("\n")[-1] == "(4, 3) [4,?]"
    assert run(f"{PUBLIC_SHAPES}\nprint(made(irexec.PartialShape.dynamic()))") == "[...]"
