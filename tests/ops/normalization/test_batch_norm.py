"""BatchNormInference: OpenVINO live, both input orders, constraints."""

from __future__ import annotations

import numpy as np
import pytest
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import F32
from irexec.ops.spec.contents import find
from irexec.ops.spec.operator import ConstraintError, Operator


def op(version: int = 5) -> Operator:
    found = find("BatchNormInference", f"opset{version}")
    assert found is not None
    return found


def inputs(*shape: int) -> list[np.ndarray]:
    rng = np.random.default_rng(len(shape))
    parameters = [rng.normal(size=shape[1]) for _ in range(3)] + [rng.random(shape[1])]
    return [a.astype(np.float32) for a in (rng.normal(size=shape), *parameters)]


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4), (1, 5, 40, 41), (2, 2, 3, 4, 5)])
def test_agrees_with_openvino(shape: tuple[int, ...]) -> None:
    arrays = inputs(*shape)
    theirs = openvino(op(), *arrays, epsilon=0.01)[0]
    np.testing.assert_allclose(run(op(), *arrays, epsilon=0.01)[0], theirs, rtol=1e-4, atol=1e-5)


def test_version_1_takes_both_orders() -> None:
    data, gamma, beta, mean, variance = inputs(2, 3, 4)
    expected = openvino(op(1), gamma, beta, data, mean, variance, epsilon=0.01)[0]
    files = run(op(1), gamma, beta, data, mean, variance, epsilon=0.01)[0]
    page = run(op(1), data, gamma, beta, mean, variance, epsilon=0.01)[0]
    np.testing.assert_allclose(files, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(page, files)


def breach(data: str, *others: str) -> list[str | None]:
    shapes = [*others, *["3"] * (4 - len(others))]
    return [b.constraint for b in infer(op(), [tensor(F32, data), *[tensor(F32, s) for s in shapes]], epsilon=0.1)[1]]


def test_c1_rank() -> None:
    assert breach("3") == ["C1"]


def test_c2_a_channel_or_more() -> None:
    assert breach("2,0", "0", "0", "0", "0") == ["C2"]


def test_c3_1d() -> None:
    assert breach("2,3", "3,1") == ["C3"]


def test_c4_one_value_per_channel() -> None:
    assert breach("2,3,4", "3", "4") == ["C4"]
    assert breach("2,?,4", "3", "3", "3", "2") == ["C4"]
    with pytest.raises(ConstraintError):
        op()(*inputs(2, 3)[:4], np.ones(2, np.float32), epsilon=0.1)


def test_a_parameter_gives_the_channels() -> None:
    (result,), breaches = infer(
        op(), [tensor(F32, "2,?,4"), *[tensor(F32, s) for s in ("?", "3", "?", "?")]], epsilon=0.0
    )
    assert not breaches and str(result.shape) == "[2,3,4]"


def test_epsilon_is_not_negative() -> None:
    assert op().parse_attributes({"epsilon": "-1"})[1]


def test_f16_is_computed_in_f32() -> None:
    data, *parameters = [np.array(v, np.float16) for v in ([[60000.0]], [1.0], [0.0], [60000.0], [1e-7])]
    assert run(op(), data, *parameters, epsilon=1e-9)[0].tolist() == [[0]]
