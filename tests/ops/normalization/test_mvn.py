"""MVN of both versions: OpenVINO, constraints, precision and edge cases."""

from __future__ import annotations

import numpy as np
import pytest
from support.oracle import infer, openvino, run, tensor

from irexec.core.threads import parallel
from irexec.core.types import F32, I64
from irexec.ops.spec.contents import find
from irexec.ops.spec.operator import ConstraintError, Operator

PLAIN = {"normalize_variance": True, "eps": 1e-3}


def op(version: int) -> Operator:
    found = find("MVN", f"opset{version}")
    assert found is not None
    return found


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).normal(3, 2, shape).astype(np.float32)


@pytest.mark.parametrize("axes", [[1], [-1], [2, 3], [0, 2, 3], [3, 1], [0, 1, 2, 3], [0], [-3, -1]])
@pytest.mark.parametrize("mode", ["inside_sqrt", "outside_sqrt"])
@pytest.mark.parametrize("variance", [True, False])
def test_agrees_with_openvino(axes: list[int], mode: str, variance: bool) -> None:
    x, places = normal(2, 3, 4, 5), np.array(axes)
    attributes = {"normalize_variance": variance, "eps": 0.1, "eps_mode": mode}
    theirs = openvino(op(6), x, places, fixed=[1], **attributes)[0]
    np.testing.assert_allclose(run(op(6), x, places, **attributes)[0], theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("across", "axes"), [(True, [1, 2, 3]), (False, [2, 3])])
def test_version_2_agrees_with_openvino(across: bool, axes: list[int]) -> None:
    x = normal(2, 3, 4, 5)
    theirs = openvino(op(2), x, **PLAIN, across_channels=across)[0]
    np.testing.assert_allclose(run(op(2), x, **PLAIN, across_channels=across)[0], theirs, rtol=1e-4, atol=1e-5)
    given = run(op(2), x, **PLAIN, reduction_axes=tuple(axes), across_channels=not across)[0]
    np.testing.assert_allclose(given, theirs, rtol=1e-4, atol=1e-5)


def test_version_2_takes_any_axes() -> None:
    """OpenVINO's CPU plugin supports only the axes that across_channels can express."""
    x = normal(2, 3, 4, 5)
    later = run(op(6), x, np.array([1, 2]), **PLAIN, eps_mode="inside_sqrt")[0]
    np.testing.assert_array_equal(run(op(2), x, **PLAIN, reduction_axes=(1, -2))[0], later)


def test_c1_c2_of_version_2() -> None:
    for axes, constraint in [((4,), "C1"), ((-5,), "C1"), ((1, -3), "C2")]:
        found = infer(op(2), [tensor(F32, "1,2,3,4")], **PLAIN, reduction_axes=axes)[1]
        assert [b.constraint for b in found] == [constraint]


def test_c1_c2_of_version_6() -> None:
    attributes = PLAIN | {"eps_mode": "inside_sqrt"}
    for axes, constraint in [
        (tensor(I64, "1,1"), "C1"),
        (tensor(I64, "", 1), "C1"),
        (tensor(I64, "1", [4]), "C2"),
        (tensor(I64, "2", [0, -5]), "C2"),
    ]:
        found = infer(op(6), [tensor(F32, "1,2,3,4"), axes], **attributes)[1]
        assert [b.constraint for b in found] == [constraint]
    with pytest.raises(ConstraintError):
        op(6)(normal(2, 3), np.array([2]), **attributes)


def test_statistics_of_large_rows_on_threads() -> None:
    x = normal(64, 3000)
    attributes = PLAIN | {"eps_mode": "inside_sqrt"}
    try:
        parallel.set_num_threads(3)
        result = run(op(6), x, np.array([1]), **attributes)[0]
    finally:
        parallel.set_num_threads(None)
    wide = x.astype(np.float64)
    expected = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-3)
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("axes", [[1], [2], [0], [1, 2]])
@pytest.mark.parametrize("shape", [(4, 5, 1), (4, 1, 5), (1, 4, 5)])
def test_the_input_is_not_touched_unless_it_is_the_result(axes: list[int], shape: tuple[int, ...]) -> None:
    x, places = normal(*shape), np.array(axes)
    before = x.copy()
    attributes = PLAIN | {"eps_mode": "inside_sqrt"}
    expected = op(6)(x, places, **attributes)
    np.testing.assert_array_equal(x, before)
    np.testing.assert_array_equal(op(6)(x, places, **attributes, out=x), expected)


def test_f16_does_not_overflow_on_the_way() -> None:
    x = np.array([[30000, -30000]], np.float16)
    assert run(op(6), x, np.array([1]), **PLAIN | {"eps_mode": "INSIDE_SQRT"})[0].tolist() == [[1, -1]]


def test_empty() -> None:
    assert run(op(2), normal(0, 3, 2, 2), **PLAIN)[0].shape == (0, 3, 2, 2)
