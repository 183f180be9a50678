"""AvgPool: the pages' shapes, constraints, OpenVINO live, divisors, types."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.amounts import amount
from support.oracle import infer, openvino, run, tensor

import irexec
from irexec.core.types import F32
from irexec.ops.spec.contents import find
from irexec.ops.spec.operator import ConstraintError, Operator

PLAIN = {"strides": (1, 1), "pads_begin": (0, 0), "pads_end": (0, 0), "kernel": (2, 2), "exclude-pad": True}


def op(version: int = 16) -> Operator:
    found = find("AvgPool", f"opset{version}")
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"kernel": (5, 5), "pads_begin": (1, 1), "pads_end": (1, 1), "strides": (3, 3)}, "[1,3,10,10]"),
        ({"kernel": (5, 5), "pads_begin": (1, 1), "pads_end": (1, 1), "strides": (2, 2)}, "[1,3,15,15]"),
        ({"kernel": (5, 5), "auto_pad": "valid", "pads_begin": (1, 1), "strides": (2, 2)}, "[1,3,14,14]"),
        (
            {"kernel": (5, 5), "pads_begin": (1, 1), "pads_end": (1, 1), "strides": (2, 2), "dilations": (2, 2)},
            "[1,3,13,13]",
        ),
        # The page prints 32 here, its formula H_out = H, which a stride of 2 cannot have; OpenVINO has 16.
        ({"auto_pad": "same_upper", "strides": (2, 2)}, "[1,3,16,16]"),
    ],
)
def test_shapes_of_the_pages(changes: dict[str, Any], expected: str) -> None:
    (result,), breaches = infer(op(), [tensor(F32, "1,3,32,32")], **PLAIN | changes)
    assert not breaches and str(result.shape) == expected


def breach(shape: str, version: int, **changes: Any) -> list[str | None]:
    return [b.constraint for b in infer(op(version), [tensor(F32, shape)], **PLAIN | changes)[1]]


@pytest.mark.parametrize("version", [1, 14, 16])
def test_c1_c2_c3(version: int) -> None:
    assert breach("3,4", version) == ["C1"]
    assert breach("1,3,4,4", version, strides=(2,)) == ["C2"]
    assert breach("1,3,4,4", version, strides=()) == ["C2"]
    assert breach("...", version, strides=(1,)) == ["C2"]
    assert breach("1,3,1,4", version) == ["C3"]
    with pytest.raises(ConstraintError) as error:
        op(version)(np.zeros((1, 1, 1, 4), np.float32), **op(version).parse_attributes(PLAIN)[0])
    assert error.value.constraint == "C3"


@pytest.mark.parametrize("version", [1, 14, 16])
def test_c4_no_window_lies_in_the_padding_alone(version: int) -> None:
    assert breach("1,3,4,4", version, pads_begin=(0, 2)) == ["C4"]
    assert breach("1,3,4,4", version, pads_end=(2, 0), auto_pad="valid") == []
    assert breach("1,3,4,4", version, pads_end=(2, 0), **{"exclude-pad": False}) == []
    if version == 16:
        assert breach("1,3,4,4", version, pads_end=(2, 0), dilations=(2, 1)) == []


def test_only_later_versions_know_ceil_torch_and_dilations() -> None:
    assert op(1).parse_attributes(PLAIN | {"rounding_type": "ceil_torch"})[1]
    assert op(14).parse_attributes(PLAIN | {"dilations": "1,1"})[1]
    assert not op(16).parse_attributes(PLAIN | {"rounding_type": "ceil_torch", "dilations": "1,1"})[1]


@pytest.mark.by_hand(3)
@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("exclude", [True, False])
def test_agrees_with_openvino(axes: int, exclude: bool) -> None:
    rng = np.random.default_rng(axes)
    for _ in range(amount(4, 2)):
        kernel = rng.integers(1, 4, axes)
        attributes: dict[str, Any] = {
            "strides": tuple(np.minimum(rng.integers(1, 4, axes), kernel).tolist()),
            "pads_begin": tuple((kernel // 2).tolist()),
            "pads_end": tuple(((kernel - 1) // 2).tolist()),
            "kernel": tuple(kernel.tolist()),
            "auto_pad": str(rng.choice(["explicit", "same_upper", "same_lower", "valid"])),
            "exclude-pad": exclude,
        }
        x = rng.normal(size=(2, 3, *rng.integers(6, 10, axes))).astype(np.float32)
        for version, changes in [
            (1, {"rounding_type": "floor"}),
            (14, {"rounding_type": "ceil_torch"}),
            (16, {"dilations": tuple(rng.integers(1, 3, axes).tolist())}),
        ]:
            given = attributes | changes
            theirs = openvino(op(version), x, **given)[0]
            np.testing.assert_allclose(run(op(version), x, **given)[0], theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"kernel": 3, "strides": 2, "pads_begin": 1, "pads_end": 1, "exclude": True}, [1.5, 3, 5, 6.5]),
        ({"kernel": 3, "strides": 2, "pads_begin": 1, "pads_end": 1}, [1, 3, 5, 13 / 3]),
        ({"kernel": 3, "strides": 3, "rounding_type": "ceil"}, [2, 5, 7]),
        ({"kernel": 3, "strides": 3, "pads_begin": 1, "rounding_type": "ceil"}, [1, 4, 13 / 3]),
        ({"kernel": 4, "strides": 3, "pads_end": 1, "rounding_type": "ceil"}, [2.5, 5.5, 1.75]),
        ({"kernel": 2, "strides": 3, "pads_begin": 1, "pads_end": 2, "rounding_type": "ceil"}, [0.5, 3.5, 6.5, 0]),
        ({"kernel": 2, "strides": 4, "rounding_type": "ceil"}, [1.5, 5.5, 0]),
    ],
)
def test_what_the_sum_is_divided_by(changes: dict[str, Any], expected: list[float]) -> None:
    lists = {k: (changes.get(k, 0),) for k in ("kernel", "strides", "pads_begin", "pads_end")}
    exclude, rounding = changes.get("exclude", False), changes.get("rounding_type", "floor")
    x = np.arange(1, 8, dtype=np.float32).reshape(1, 1, 7)
    result = run(op(14), x, **lists, rounding_type=rounding, **{"exclude-pad": exclude})[0]
    np.testing.assert_allclose(result[0, 0], expected, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
def test_means_of_integers_are_rounded_to_even(dtype: Any) -> None:
    attributes = {"strides": (2,), "pads_begin": (0,), "pads_end": (0,), "kernel": (2,), "exclude-pad": True}
    result = run(op(), np.array([[[1, 2, 2, 3, -1, -2, 127, 127]]], dtype), **attributes)[0]
    assert result.tolist() == [[[2, 2, -2, 127]]]


@pytest.mark.parametrize(("dtype", "value"), [(np.int64, -(2**60) - 1), (np.uint64, 2**62 + 1), (np.uint8, 255)])
def test_large_integers_are_exact(dtype: Any, value: int) -> None:
    assert (run(op(), np.full((1, 1, 3, 3), value, dtype), **PLAIN | {"kernel": (1, 2)})[0] == value).all()


def test_narrow_floats_do_not_overflow_on_the_way() -> None:
    x = np.full((1, 1, 4, 4), 60000, np.float16)
    assert (run(op(), x, **PLAIN)[0] == 60000).all()
    assert run(op(), x.astype(ml_dtypes.bfloat16), **PLAIN)[0].dtype == ml_dtypes.bfloat16


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.uint8])
def test_many_taps_give_what_the_padded_sum_gives(dtype: Any) -> None:
    """Large kernels and small kernels are computed in different ways."""
    rng = np.random.default_rng(5)
    data = rng.integers(0, 100, (2, 3, 7, 90)).astype(dtype)
    for kernel, stride, dilation in [(40, 1, 1), (64, 3, 1), (33, 2, 2), (35, 1, 3)]:
        lists: dict[str, Any] = {"kernel": (2, kernel), "strides": (1, stride), "dilations": (1, dilation)}
        lists |= {"pads_begin": (0, 30), "pads_end": (0, 31)}
        padded = np.pad(data.astype(np.float64), [(0, 0), (0, 0), (0, 0), (30, 31)])
        views = np.lib.stride_tricks.sliding_window_view(padded, (2, (kernel - 1) * dilation + 1), (2, 3))
        sums = views[:, :, :, ::stride, :, ::dilation].sum(axis=(4, 5))
        expected = sums / (2 * kernel)
        result = run(op(), data, exclude_pad=False, **lists)[0]
        np.testing.assert_allclose(result, expected if dtype == np.float64 else np.rint(expected))


def test_a_kernel_of_billions_costs_what_it_meets() -> None:
    data = np.arange(1, 17, dtype=np.float64).reshape(1, 1, 4, 4)
    far = 1 << 60
    attributes = {"strides": (1, 1), "pads_begin": (far, 0), "pads_end": (far, 0), "kernel": (2 * far, 2)}
    result = run(op(), data, exclude_pad=False, **attributes)[0]
    np.testing.assert_allclose(result[0, 0], np.tile(np.array([60, 68, 76]) / (4 * far), (5, 1)))
    result = run(op(), data, exclude_pad=True, **attributes)[0]
    np.testing.assert_allclose(result[0, 0], np.tile(np.array([60, 68, 76]) / 8, (5, 1)))


def test_nothing_between_is_larger_than_the_data_or_the_result() -> None:
    """20,001 windows along an axis of one pixel, and one window along an axis of 20,000 pixels."""
    import tracemalloc

    data = np.zeros((1, 1, 1, 20_000), np.float32)
    far = {"kernel": (1, 20_000), "strides": (1, 1), "pads_begin": (10_000, 0), "pads_end": (10_000, 0)}
    tracemalloc.start()
    assert run(op(), data, exclude_pad=False, **far)[0].shape == (1, 1, 20_001, 1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000_000


def test_ceil_torch_without_a_pixel_has_no_window() -> None:
    data = np.zeros((1, 2, 0, 5), np.float32)
    attributes = {"strides": (2, 2), "pads_begin": (0, 0), "pads_end": (2, 2), "kernel": (2, 2), "exclude_pad": False}
    assert irexec.opset14.avg_pool(data, **attributes, rounding_type="ceil_torch").shape == (1, 2, 0, 3)
