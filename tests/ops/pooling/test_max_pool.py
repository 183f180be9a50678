"""MaxPool: the pages' examples with values, constraints, OpenVINO live, types and corners."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.amounts import amount
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import F32, TensorType
from irexec.ops.spec.contents import find
from irexec.ops.spec.operator import ConstraintError, NodeTypes, Operator

A = [[[[-1, 2, 3], [4, 5, -6], [-7, 8, 9]]]]
B = [[[[1, 2, 3], [4, 5, 6], [7, 8, 9]]]]
TWO = [[[[-1, 2, 3], [4, 5, -6], [-7, 8, 9]], [[2, -1, 5], [6, -7, 1], [8, 2, -3]]]]
NINE = [[[[1, 2, 3], [4, 5, 6], [7, 8, 9]], [[10, 11, 12], [13, 14, 15], [16, 17, 18]]]]
PLAIN = {"strides": (1, 1), "pads_begin": (0, 0), "pads_end": (0, 0), "kernel": (2, 2)}
PADDED = {"pads_begin": (1, 1), "pads_end": (1, 1)}


def op(version: int = 14) -> Operator:
    found = find("MaxPool", f"opset{version}")
    assert found is not None
    return found


EXAMPLES: dict[str, tuple[Any, dict[str, Any], Any, Any]] = {
    "explicit": (
        A,
        PADDED,
        # The page prints -6 and 5 where the window contains 3 and -6.
        [[[[-1, 2, 3, 3], [4, 5, 5, 3], [4, 8, 9, 9], [-7, 8, 9, 9]]]],
        [[[[0, 1, 2, 2], [3, 4, 4, 2], [3, 7, 8, 8], [6, 7, 8, 8]]]],
    ),
    "same_lower": (
        A,
        {"auto_pad": "same_lower"},
        [[[[-1, 2, 3], [4, 5, 5], [4, 8, 9]]]],
        [[[[0, 1, 2], [3, 4, 4], [3, 7, 8]]]],
    ),
    "same_upper": (
        TWO,
        {"auto_pad": "same_upper"},
        [[[[5, 5, 3], [8, 9, 9], [8, 9, 9]], [[6, 5, 5], [8, 2, 1], [8, 2, -3]]]],
        [[[[4, 4, 2], [7, 8, 8], [7, 8, 8]], [[12, 11, 11], [15, 16, 14], [15, 16, 17]]]],
    ),
    "ceil_torch": (
        B,
        PADDED | {"strides": (2, 2), "rounding_type": "ceil_torch"},
        [[[[1, 3], [7, 9]]]],
        [[[[0, 2], [6, 8]]]],
    ),
    "ceil": (
        A,
        {"strides": (2, 2), "rounding_type": "ceil", "auto_pad": "valid"},
        [[[[5, 3], [8, 9]]]],
        [[[[4, 2], [7, 8]]]],
    ),
    "dilated": (
        B,
        PADDED | {"dilations": (2, 2)},
        [[[[5, 6, 5], [8, 9, 8], [5, 6, 5]]]],
        [[[[4, 5, 4], [7, 8, 7], [4, 5, 4]]]],
    ),
    "axis": (
        NINE,
        {"axis": 2},
        [[[[5, 6], [8, 9]], [[14, 15], [17, 18]]]],
        [[[[4, 5], [7, 8]], [[4, 5], [7, 8]]]],
    ),
}


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.float16, ml_dtypes.bfloat16, np.int8])
def test_examples_of_the_pages(name: str, dtype: Any) -> None:
    data, changes, values, indices = EXAMPLES[name]
    results = run(op(), np.array(data, dtype), **PLAIN | changes)
    assert results[0].astype(int).tolist() == values
    assert results[1].dtype == np.int64 and results[1].tolist() == indices


def test_one_dimension() -> None:
    attributes = {"strides": (1,), "pads_begin": (5,), "pads_end": (5,), "kernel": (3,), "auto_pad": "valid"}
    x = np.array([[[-1, 2, 3, 5, -7, 9, 1]]], np.float32)
    values, indices = run(op(8), x, **attributes, index_element_type="i32")
    assert values.tolist() == [[[3, 5, 5, 9, 9]]] == run(op(1), x, **attributes)[0].tolist()
    assert indices.dtype == np.int32 and indices.tolist() == [[[2, 3, 3, 5, 5]]]


def breach(shape: str, version: int = 14, **changes: Any) -> list[str | None]:
    return [b.constraint for b in infer(op(version), [tensor(F32, shape)], **PLAIN | changes)[1]]


@pytest.mark.parametrize("version", [1, 8, 14])
def test_c1_rank(version: int) -> None:
    assert breach("1,3", version) == ["C1"]
    assert breach("1,1,1,1,1,1", version) == ["C1"]


@pytest.mark.parametrize("version", [1, 8, 14])
def test_c2_one_value_per_spatial_axis(version: int) -> None:
    assert breach("1,3,4,4", version, kernel=(2, 2, 2)) == ["C2"]
    assert breach("1,3,4,4", version, pads_end=(1,)) == ["C2"]
    assert breach("1,3,4,4", version, strides=()) == ["C2"]


@pytest.mark.parametrize("version", [1, 8, 14])
def test_c3_the_kernel_fits(version: int) -> None:
    assert breach("1,3,4,4", version, kernel=(5, 2)) == ["C3"]
    with pytest.raises(ConstraintError) as error:
        op(version)(np.zeros((1, 1, 4, 4), np.float32), **PLAIN | {"kernel": (2, 5)})
    assert error.value.constraint == "C3"


def test_c4_type_of_the_indices() -> None:
    assert breach("1,3,4,4", index_element_type="u8") == ["C4"]


def test_c5_axis() -> None:
    assert breach("1,3,4,4", axis=4) == ["C5"]
    assert breach("1,3,4,4", axis=-4) == []


def test_partial_shapes() -> None:
    (values, indices), breaches = infer(op(), [tensor(F32, "?,3,?,5..9")], **PLAIN, index_element_type="i32")
    assert not breaches
    assert str(values) == "f32[?,3,1..,4..8]" and str(indices) == "i32[?,3,1..,4..8]"
    (values, _), _ = infer(op(), [tensor(F32, "...")], **PLAIN)
    assert values.rank == 4


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_agrees_with_openvino(axes: int) -> None:
    rng = np.random.default_rng(axes)
    for _ in range(amount(6, 2)):
        kernel = rng.integers(1, 4, axes)
        attributes: dict[str, Any] = {
            "strides": tuple(np.minimum(rng.integers(1, 4, axes), kernel).tolist()),
            "pads_begin": tuple((kernel // 2).tolist()),
            "pads_end": tuple(((kernel - 1) // 2).tolist()),
            "kernel": tuple(kernel.tolist()),
            "auto_pad": str(rng.choice(["explicit", "same_upper", "same_lower", "valid"])),
        }
        x = rng.normal(size=(2, 3, *rng.integers(6, 10, axes))).astype(np.float32)
        floor = attributes | {"rounding_type": "floor"}
        np.testing.assert_array_equal(run(op(1), x, **floor)[0], openvino(op(1), x, **floor)[0])
        more = attributes | {
            "rounding_type": str(rng.choice(["floor", "ceil_torch"])),
            "dilations": tuple(rng.integers(1, 3, axes).tolist()),
            "axis": int(rng.integers(-axes - 2, axes + 2)),
        }
        for mine, theirs in zip(run(op(), x, **more), openvino(op(), x, **more), strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_padding_is_minus_infinity() -> None:
    """OpenVINO returns the lowest finite number for a window that contains only padding or -inf."""
    attributes = {"strides": (4,), "pads_begin": (0,), "pads_end": (2,), "kernel": (2,), "rounding_type": "ceil"}
    values, indices = run(op(), np.arange(1, 8, dtype=np.float32).reshape(1, 1, 7), **attributes)
    assert values.tolist() == [[[2, 6, -np.inf]]] and indices.tolist() == [[[1, 5, 0]]]
    values, indices = run(op(), np.full((1, 2, 4), -np.inf, np.float32), **attributes)
    assert not np.isfinite(values).any() and indices.tolist() == [[[0, 0], [4, 4]]]
    assert run(op(), np.ones((1, 1, 7), np.uint8), **attributes)[0].tolist() == [[[1, 1, 0]]]


def test_nan_is_the_largest() -> None:
    """OpenVINO ignores NaN."""
    attributes = {"strides": (2,), "pads_begin": (0,), "pads_end": (0,), "kernel": (2,)}
    values, indices = run(op(), np.array([[[1, np.nan, np.nan, np.nan, 3, 2]]], np.float32), **attributes)
    np.testing.assert_array_equal(values, [[[np.nan, np.nan, 3]]])
    assert indices.tolist() == [[[1, 2, 4]]]


def test_the_first_of_equal_elements_counts() -> None:
    indices = run(op(), np.zeros((1, 1, 3, 3), np.int32), **PLAIN)[1]
    assert indices.tolist() == [[[[0, 1], [3, 4]]]]


def test_unread_indices_are_not_computed() -> None:
    x = np.random.default_rng(0).normal(size=(1, 2, 5, 5)).astype(np.float32)
    attributes = op().parse_attributes(PLAIN)[0]
    outputs = tuple(op().infer([TensorType.of(x)], attributes))
    assert op().specializer is not None
    fast = op().specializer(NodeTypes((TensorType.of(x),), outputs, (None,), attributes, used=(True, False)))
    assert fast is not None
    values, indices = fast(x)
    np.testing.assert_array_equal(values, op()(x, **attributes)[0])
    assert indices.shape == values.shape and indices.dtype == np.int64
    assert op().specializer(NodeTypes((TensorType.of(x),), outputs, (None,), attributes, used=(True, True))) is None


def test_many_taps_give_what_few_do() -> None:
    """Large kernels are computed in another way; a window read pixel by pixel gives the expected result."""
    rng = np.random.default_rng(3)
    for _ in range(12):
        # Few values, so that many are equal.
        data = rng.choice([-1.0, 0.0, 2.0, np.nan, -np.inf], (2, 2, 9, 60)).astype(np.float32)
        kernel, dilation = rng.integers([1, 33], [6, 45]), (1, int(rng.integers(1, 3)))
        padding = tuple(rng.integers(0, 45, 2).tolist())
        stride = tuple(rng.integers(1, 4, 2).tolist())
        lists = {"strides": stride, "dilations": dilation, "pads_begin": (0, padding[0]), "pads_end": (0, padding[1])}
        if (kernel[1] - 1) * dilation[1] + 1 > 60 + sum(padding):
            continue
        values, indices = run(op(), data, kernel=tuple(kernel.tolist()), axis=2, **lists)
        for place in np.ndindex(values.shape):
            ys = [place[2] * stride[0] + t for t in range(kernel[0])]
            xs = [place[3] * stride[1] - padding[0] + t * dilation[1] for t in range(kernel[1])]
            window = [(y, x) for y in ys for x in xs if 0 <= x < 60]
            pixels = np.array([data[place[0], place[1], y, x] for y, x in window], np.float32)
            best = int(pixels.argmax()) if window else None
            np.testing.assert_equal(values[place], -np.inf if best is None else pixels[best])
            assert indices[place] == (0 if best is None else window[best][0] * 60 + window[best][1])


def test_a_kernel_of_billions_costs_what_it_meets() -> None:
    data = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    far = 1 << 31
    attributes = {"strides": (1, 1), "pads_begin": (0, far), "pads_end": (0, far), "kernel": (2, 2 * far + 2)}
    values, indices = run(op(), data, **attributes)
    np.testing.assert_array_equal(values[0, 0], np.repeat([[7], [11], [15]], 3, axis=1))
    np.testing.assert_array_equal(indices, values)
    far = 1 << 61
    gaps = {"strides": (far, 1), "dilations": (far, 1), "pads_begin": (far, 0), "pads_end": (far, 0), "kernel": (3, 4)}
    assert [r.ravel().tolist() for r in run(op(), data, **gaps)] == [[3], [3]]
