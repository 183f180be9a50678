"""Colour conversion: compared with OpenVINO, its inverse, and the constraints."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.oracle import infer, openvino, run, tensor

import irexec
from irexec.core.types import F32
from irexec.ops.spec.contents import find
from irexec.ops.spec.operator import ConstraintError, Operator


def op_of(type: str) -> Operator:
    op = find(type, "opset17" if type.endswith("toNV12") else "opset8")
    assert op is not None
    return op


def pixels(*shape: int, dtype: Any = np.uint8) -> Any:
    return np.random.default_rng(0).integers(0, 256, shape).astype(dtype)


@pytest.mark.parametrize("type", ["NV12toRGB", "NV12toBGR", "I420toRGB", "I420toBGR"])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_to_rgb_agrees_with_openvino(type: str, dtype: Any) -> None:
    colour = [(2, 2, 3, 2)] if type.startswith("NV12") else [(2, 2, 3, 1)] * 2
    for shapes in ([(2, 6, 6, 1)], [(2, 4, 6, 1), *colour]):
        arrays = [pixels(*s, dtype=dtype) for s in shapes]
        ours = run(op_of(type), *arrays)[0]
        theirs = openvino(op_of(type), *arrays)[0]
        np.testing.assert_allclose(ours.astype(float), theirs.astype(float), atol=1 if dtype == np.uint8 else 1e-3)


@pytest.mark.parametrize("type", ["RGBtoNV12", "BGRtoNV12"])
def test_to_nv12_follows_the_page(type: str) -> None:
    # OpenVINO has no kernel for these that can run a model from a file.
    image = pixels(2, 4, 6, 3, dtype=np.float64)
    y, uv = run(op_of(type), image, single_plane=False)
    for n, h, w in np.ndindex(2, 4, 6):
        r, g, b = image[n, h, w] if type.startswith("RGB") else image[n, h, w, ::-1]
        assert y[n, h, w, 0] == pytest.approx(0.257 * r + 0.504 * g + 0.098 * b + 16)
    for n, h, w in np.ndindex(2, 2, 3):
        block = image[n, 2 * h : 2 * h + 2, 2 * w : 2 * w + 2].reshape(4, 3)
        r, g, b = block.T if type.startswith("RGB") else block.T[::-1]
        u = np.clip(-0.148 * r - 0.291 * g + 0.439 * b + 128, 0, 255).mean()
        v = np.clip(0.439 * r - 0.368 * g - 0.071 * b + 128, 0, 255).mean()
        np.testing.assert_allclose(uv[n, h, w], [u, v])
    one = run(op_of(type), image)[0]
    np.testing.assert_array_equal(one[:, :4], y)
    np.testing.assert_array_equal(one[:, 4:].reshape(uv.shape), uv)


def test_formula_of_the_page() -> None:
    y, u, v = 120.0, 90.0, 200.0
    planes = [np.full((1, 2, 2, 1), y), np.array([[[[u, v]]]])]
    red, green, blue = run(op_of("NV12toRGB"), *planes)[0][0, 0, 0]
    assert red == pytest.approx(1.164 * (y - 16) + 1.596 * (v - 128))
    assert green == pytest.approx(1.164 * (y - 16) - 0.813 * (v - 128) - 0.391 * (u - 128))
    assert blue == pytest.approx(1.164 * (y - 16) + 2.018 * (u - 128))


def test_bgr_is_rgb_backwards() -> None:
    plane = pixels(1, 6, 4, 1)
    for name in ("NV12", "I420"):
        rgb, bgr = run(op_of(f"{name}toRGB"), plane)[0], run(op_of(f"{name}toBGR"), plane)[0]
        np.testing.assert_array_equal(rgb, bgr[..., ::-1])


def test_one_plane_is_the_planes_in_a_row() -> None:
    y, u, v = pixels(1, 4, 6, 1), pixels(1, 2, 3, 1), pixels(1, 2, 3, 1) // 2
    i420 = np.concatenate([y.ravel(), u.ravel(), v.ravel()]).reshape(1, 6, 6, 1)
    np.testing.assert_array_equal(run(op_of("I420toRGB"), i420)[0], run(op_of("I420toRGB"), y, u, v)[0])
    uv = np.concatenate([u, v], axis=3)
    nv12 = np.concatenate([y.ravel(), uv.ravel()]).reshape(1, 6, 6, 1)
    np.testing.assert_array_equal(run(op_of("NV12toRGB"), nv12)[0], run(op_of("I420toRGB"), y, u, v)[0])


def test_grey_returns_unchanged() -> None:
    image = np.full((1, 2, 2, 3), 77, np.uint8)
    back = run(op_of("NV12toRGB"), run(op_of("RGBtoNV12"), image)[0])[0]
    assert np.abs(back.astype(int) - 77).max() <= 1


def breaches(type: str, *shapes: str) -> set[str | None]:
    return {b.constraint for b in infer(op_of(type), [tensor(F32, s) for s in shapes])[1]}


def test_c1_to_c3_of_nv12() -> None:
    assert breaches("NV12toRGB", "1,6,4,1") == breaches("NV12toRGB", "1,4,4,1", "1,2,2,2") == set()
    assert breaches("NV12toRGB", "6,4,1") == breaches("NV12toRGB", "1,6,4,3") == {"C1"}
    assert breaches("NV12toRGB", "1,4,4,1", "1,2,2,1") == breaches("NV12toRGB", "1,4,4,1", "1,2,3,2") == {"C2"}
    assert breaches("NV12toRGB", "2,4,4,1", "1,2,2,2") == {"C2"}
    assert breaches("NV12toRGB", "1,5,4,1") == breaches("NV12toRGB", "1,3,3,1") == {"C3"}
    with pytest.raises(ConstraintError):
        op_of("NV12toRGB")(pixels(1, 5, 4, 1))
    with pytest.raises(ConstraintError):
        op_of("NV12toBGR")(pixels(1, 3, 4, 1), pixels(1, 1, 2, 2))


def test_c1_to_c4_of_i420() -> None:
    assert breaches("I420toRGB", "1,4,4,1", "1,2,2,1", "1,2,2,1") == set()
    assert breaches("I420toRGB", "1,4,4,1", "1,2,2,1", "1,2,1,1") == {"C2"}
    assert breaches("I420toRGB", "1,4,4,1", "1,2,2,1") == {"C4"}


def test_c1_c2_of_to_nv12() -> None:
    assert breaches("RGBtoNV12", "1,4,4,3") == set()
    assert breaches("RGBtoNV12", "1,4,4,1") == {"C1"}
    assert breaches("RGBtoNV12", "1,3,4,3") == breaches("RGBtoNV12", "1,4,3,3") == {"C2"}
    with pytest.raises(ConstraintError):
        op_of("RGBtoNV12")(pixels(1, 3, 4, 3))


def test_two_ports_where_there_is_one_plane() -> None:
    layer = """<layer id="0" name="x" type="Parameter" version="opset1"><data shape="1,4,4,3" element_type="f32"/>
        <output><port id="0" precision="FP32"/></output></layer>
        <layer id="1" name="c" type="BGRtoNV12" version="opset17"><data single_plane="true"/>
        <input><port id="0"/></input>
        <output><port id="1" precision="FP32"/><port id="2" precision="FP32"/></output></layer>
        <layer id="2" name="y" type="Result" version="opset1"><input><port id="0"/></input></layer>"""
    edges = """<edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>
        <edge from-layer="1" from-port="2" to-layer="2" to-port="0"/>"""
    text = f'<net name="m" version="11"><layers>{layer}</layers><edges>{edges}</edges></net>'
    assert [d.code for d in irexec.validate(text.encode()).errors] == ["P007"]
    assert irexec.validate(text.replace('"true"', '"false"').encode()).ok


def test_partial_shapes() -> None:
    types = [tensor(F32, "?,?,?,1"), tensor(F32, "2,3,?,2")]
    assert str(infer(op_of("NV12toRGB"), types)[0][0].shape) == "[2,6,?,3]"
    assert str(infer(op_of("NV12toRGB"), [tensor(F32, "?,6,?,1")])[0][0].shape) == "[?,4,?,3]"
    assert str(infer(op_of("RGBtoNV12"), [tensor(F32, "?,4,?,3")])[0][0].shape) == "[?,6,?,1]"
