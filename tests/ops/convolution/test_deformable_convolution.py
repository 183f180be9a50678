"""DeformableConvolution: the pages' shapes, constraints, OpenVINO, and its common behaviour with Convolution."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import F32
from irexec.ops.spec.contents import find
from irexec.ops.spec.operator import ConstraintError, Operator

PLAIN = {"strides": (1, 1), "pads_begin": (0, 0), "pads_end": (0, 0), "dilations": (1, 1)}


def op(version: int = 8) -> Operator:
    found = find("DeformableConvolution", f"opset{version}")
    assert found is not None
    return found


def inputs(rng: np.random.Generator, group: int, deformable: int, rows: int = 4, columns: int = 5) -> list[np.ndarray]:
    channels = group * deformable * 2
    shapes = [(2, channels, 6, 7), (2, deformable * 18, rows, columns), (4, channels // group, 3, 3)]
    arrays = [rng.normal(size=s).astype(np.float32) for s in shapes]
    return [*arrays, rng.random((2, deformable * 9, rows, columns), np.float32)]


def breach(shapes: list[str], **changes: Any) -> list[str | None]:
    known = [tensor(F32, s) for s in shapes]
    return [b.constraint for b in infer(op(), [*known, *[None] * (4 - len(known))], **PLAIN | changes)[1]]


GOOD = ["1,4,224,224", "1,50,220,220", "64,4,5,5", "1,25,220,220"]


def test_shape_of_the_page() -> None:
    (result,), breaches = infer(op(), [tensor(F32, s) for s in GOOD], **PLAIN)
    assert not breaches and str(result.shape) == "[1,64,220,220]"
    four = ["1,4,224,224", "1,200,220,220", "64,4,5,5"]
    (result,), breaches = infer(op(1), [tensor(F32, s) for s in four], **PLAIN, deformable_group=4)
    assert not breaches and str(result.shape) == "[1,64,220,220]"


def test_c1_two_values() -> None:
    assert breach(GOOD, strides=(1,)) == ["C1"]


def test_c2_rank_4() -> None:
    assert breach(["1,4,224", *GOOD[1:]]) == ["C2"]


def test_c3_groups() -> None:
    assert breach(GOOD, group=2) == ["C3"]
    assert breach([*GOOD[:2], "63,2,5,5", GOOD[3]], group=2) == ["C3"]


def test_c4_deformable_groups() -> None:
    assert breach(["1,4,224,224", "1,150,220,220", "64,4,5,5"], deformable_group=3) == ["C4"]


def test_c5_the_kernel_fits() -> None:
    assert "C5" in breach(["1,4,3,224", "1,50,1,220", "64,4,5,5"])


def test_c6_channels_of_offsets_and_mask() -> None:
    assert breach([GOOD[0], "1,49,220,220", *GOOD[2:]]) == ["C6"]
    assert breach([*GOOD[:3], "1,50,220,220"]) == ["C6"]


def test_c7_extents_of_offsets_and_mask() -> None:
    assert breach([GOOD[0], "1,50,219,220", *GOOD[2:]]) == ["C7"]
    with pytest.raises(ConstraintError):
        op()(*inputs(np.random.default_rng(0), 1, 1, 3, 3), **PLAIN)


@pytest.mark.parametrize(("group", "deformable"), [(1, 1), (2, 1), (1, 2), (2, 2)])
def test_agrees_with_openvino(group: int, deformable: int) -> None:
    arrays = inputs(np.random.default_rng(group * 10 + deformable), group, deformable)
    attributes = PLAIN | {"group": group, "deformable_group": deformable}
    theirs = openvino(op(1), *arrays[:3], **attributes)[0]
    np.testing.assert_allclose(run(op(1), *arrays[:3], **attributes)[0], theirs, rtol=1e-4, atol=1e-4)
    for padded in (False, True):
        more = attributes | {"bilinear_interpolation_pad": padded}
        theirs = openvino(op(), *arrays, **more)[0]
        np.testing.assert_allclose(run(op(), *arrays, **more)[0], theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("auto_pad", ["explicit", "same_upper", "same_lower"])
def test_without_offsets_it_is_a_convolution(auto_pad: str) -> None:
    rng = np.random.default_rng(5)
    x, w = rng.normal(size=(1, 3, 8, 9)), rng.normal(size=(2, 3, 3, 2))
    attributes = PLAIN | {"strides": (2, 1), "pads_begin": (1, 0), "pads_end": (0, 1), "auto_pad": auto_pad}
    convolution = find("Convolution", "opset1")
    assert convolution is not None
    expected = convolution(x, w, **attributes)
    offsets = np.zeros((1, 12, *expected.shape[2:]))
    np.testing.assert_allclose(run(op(), x, offsets, w, None, **attributes)[0], expected, rtol=1e-9, atol=1e-12)


def test_between_pixels_and_at_the_border() -> None:
    """Half a pixel outside: with bilinear_interpolation_pad half of the border's value, otherwise nothing."""
    x, w = np.full((1, 1, 2, 2), 8.0), np.ones((1, 1, 1, 1))
    offsets = np.zeros((1, 2, 2, 2))
    offsets[0, 0] = -0.5
    results = [op()(x, offsets, w, **PLAIN, bilinear_interpolation_pad=p)[0, 0] for p in (False, True)]
    assert results[0].tolist() == [[0, 0], [8, 8]]
    assert results[1].tolist() == [[4, 4], [8, 8]]


@pytest.mark.parametrize("padded", [False, True])
def test_what_is_not_sampled_adds_nothing_whatever_it_holds(padded: bool) -> None:
    data = np.ones((1, 1, 3, 3), np.float32)
    data[0, 0, [0, 1, 2, 2], [0, 0, 0, 2]] = np.inf, np.nan, np.inf, np.nan
    offsets = np.zeros((1, 2, 3, 3), np.float32)
    offsets[0, 0, :, 0] = -7  # The first column is read far above the image.
    offsets[0, 1, 2, 2] = 7  # The last pixel, far to its right.
    attributes = PLAIN | {"bilinear_interpolation_pad": padded}
    (found,) = run(op(), data, offsets, np.ones((1, 1, 1, 1), np.float32), **attributes)
    np.testing.assert_array_equal(found[0, 0], [[0, 1, 1], [0, 1, 1], [0, 1, 0]])
