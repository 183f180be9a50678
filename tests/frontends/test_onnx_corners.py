"""Edge cases of ONNX's operators that its own tests do not cover, compared with ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest

import irexec

pytest.importorskip("onnxruntime")

from support.microsoft import beside_onnx_runtime, model_of

F = np.float32


class Corner(NamedTuple):
    """A node: its operator, its inputs (a shape stands for random values), and which of them are initializers."""

    type: str
    inputs: list[Any]
    attributes: dict[str, Any]
    opset: int = 18
    outputs: int = 1
    constants: tuple[int, ...] = ()


WHOLE = np.array([[7, -5, 3], [2, -8, 9]])
E4M3FNUZ, E5M2FNUZ = ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2fnuz
CORNERS = {
    "a crop by scales is as large as without": Corner(
        "Resize",
        [(1, 1, 5, 4), F([0, 0, 0.2, 0.1, 1, 1, 0.9, 1.2]), F([1, 1, 2, 1.5])],
        {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 3.5},
    ),
    "a transposed convolution to a shape": Corner(
        "ConvTranspose", [(1, 2, 4, 3), (2, 1, 3, 2)], {"strides": [2, 3], "output_shape": [8, 8]}
    ),
    "a transposed convolution to a shape, VALID": Corner(
        "ConvTranspose", [(1, 1, 2), (1, 1, 3)], {"strides": [3], "output_shape": [5], "auto_pad": "VALID"}
    ),
    "a transposed convolution, SAME_LOWER": Corner(
        "ConvTranspose", [(1, 2, 4, 3), (2, 1, 4, 3)], {"strides": [1, 2], "auto_pad": "SAME_LOWER"}
    ),
    "a transposed convolution, SAME_UPPER": Corner(
        "ConvTranspose",
        [(1, 4, 3), (4, 1, 4)],
        {"strides": [1], "dilations": [2], "group": 2, "auto_pad": "SAME_UPPER"},
    ),
    "the best none": Corner("TopK", [(2, 3), np.array([0])], {}, outputs=2, constants=(1,)),
    "none, as only a run knows": Corner("TopK", [(2, 3), np.array([0])], {}, outputs=2, constants=()),
    "two, as only a run knows": Corner("TopK", [(2, 3), np.array([2])], {"axis": 0}, outputs=2, constants=()),
    "fewer indices than data": Corner("GatherElements", [(3, 4, 2), np.array([[[0], [-1]], [[2], [1]]])], {"axis": 0}),
    "statistics of doubles are floats": Corner(
        "LayerNormalization", [np.arange(6.0).reshape(2, 3) ** 2, np.ones(3)], {"axis": 1}, outputs=3
    ),
    "the norm of integers": Corner("ReduceL2", [WHOLE, np.array([1])], {}),
    "the logarithm of sums of integers": Corner("ReduceLogSum", [abs(WHOLE), np.array([0])], {}),
    "the logarithm of exponentials of an integer": Corner("ReduceLogSumExp", [np.array(5)], {}),
    "shrunk integers": Corner("Shrink", [WHOLE], {"bias": 0.6, "lambd": 2.5}),
    "backwards from before the first": Corner(
        "Slice", [(6, 3), np.array([-9, -9]), np.array([-100, 2]), np.array([0, 1]), np.array([-1, 1])], {}
    ),
    "what is cut off does not wrap": Corner(
        "Pad", [(5, 4), np.array([-1, 1, 3, -2])], {"mode": "wrap"}, opset=19, constants=()
    ),
    "indices by columns": Corner(
        "MaxPool", [(2, 2, 3, 4)], {"kernel_shape": [2, 2], "storage_order": 1}, outputs=2
    ),
    "parts whose lengths are given": Corner("Split", [(7, 2), np.array([2, 4, 1])], {"axis": 0}, outputs=3),
    "float8 e4m3fnuz": Corner(
        "DequantizeLinear", [np.arange(-3, 3, 0.25).astype(E4M3FNUZ), F(0.3)], {}, opset=19, constants=(0,)
    ),
    "float8 e5m2fnuz": Corner(
        "DequantizeLinear", [np.arange(-3, 3, 0.25).astype(E5M2FNUZ), F(0.3)], {}, opset=19, constants=(0,)
    ),
}  # fmt: skip


@pytest.mark.parametrize("known", [True, False], ids=["shapes known", "shapes not known"])
@pytest.mark.parametrize("name", CORNERS)
def test_beside_onnx_runtime(name: str, known: bool, tmp_path: Path) -> None:
    corner = CORNERS[name]
    rng = np.random.default_rng(0)
    inputs = [rng.standard_normal(i, F) if isinstance(i, tuple) else np.asarray(i) for i in corner.inputs]
    model, fed = model_of(
        corner.type, inputs, corner.attributes, corner.outputs, corner.constants, domain="", opset=corner.opset
    )
    if not known:
        for info in model.graph.input:
            for dim in info.type.tensor_type.shape.dim:
                dim.Clear()
    for wanted, found in beside_onnx_runtime(model, fed, tmp_path):
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("empty", [0, 1])
@pytest.mark.parametrize("type", ["ReduceSum", "ReduceLogSumExp"])
def test_axes_whose_number_only_a_run_knows(type: str, empty: int, tmp_path: Path) -> None:
    x = np.random.default_rng(0).standard_normal((2, 3), F)
    options = {"noop_with_empty_axes": empty, "keepdims": 0}
    model, _ = model_of(type, [x, np.array([0])], options, 1, domain="", opset=18)
    model.graph.input[1].type.tensor_type.shape.dim[0].Clear()
    for axes in ([], [1], [-2, 1]):
        for wanted, found in beside_onnx_runtime(model, {"x0": x, "x1": np.array(axes, np.int64)}, tmp_path):
            np.testing.assert_allclose(found, wanted, rtol=1e-5)
            assert found.shape == wanted.shape


def test_a_shape_of_too_few_extents_is_refused(tmp_path: Path) -> None:
    import onnx

    model, _ = model_of("ConvTranspose", [np.ones((1, 1, 2, 2), F), np.ones((1, 1, 2, 2), F)], {"output_shape": [4]}, 1)
    model.graph.node[0].domain = ""
    onnx.save(model, tmp_path / "model.onnx")
    (finding,) = irexec.validate(tmp_path / "model.onnx").errors
    assert (finding.code, finding.attribute) == ("F009", "output_shape")


@pytest.mark.parametrize("kind", [ml_dtypes.int4, ml_dtypes.uint4, np.int16, np.bool_])
def test_integers_are_written_without_a_point(kind: Any) -> None:
    written = irexec.onnx25.cast(np.array([0, 1, 5]).astype(kind), to="string")
    assert written.tolist() == [str(int(v)) for v in np.array([0, 1, 5]).astype(kind)]


def test_gemm_of_integers_compared_with_the_reference(tmp_path: Path) -> None:
    import onnx
    from onnx.reference import ReferenceEvaluator

    a, b, c = WHOLE.astype(np.int32), WHOLE.T.astype(np.int32), np.array([[1], [-2]], np.int32)
    model, fed = model_of("Gemm", [a, b, c], {"alpha": 0.5, "beta": 0.75}, 1, domain="", opset=13)
    onnx.save(model, tmp_path / "model.onnx")
    expected = ReferenceEvaluator(model).run(None, fed)[0]
    found = irexec.compile_model(tmp_path / "model.onnx")(fed)[0]
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, np.trunc(expected))


@pytest.mark.filterwarnings("error")
def test_a_batch_of_nothing_has_no_mean() -> None:
    ones = np.ones(3, F)
    empty = np.empty((0, 3, 2), F)
    y, mean, variance = irexec.onnx15.batch_normalization(empty, ones, ones, ones, ones, epsilon=1e-5, momentum=0.5)
    assert y.shape == empty.shape
    assert np.isnan(mean).all() and np.isnan(variance).all()
