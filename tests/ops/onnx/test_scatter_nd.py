"""ScatterND of ONNX: ONNX's reference implementation and ONNX Runtime live, versions and layers."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from support.oracle import run

import irexec
from irexec.ops.onnx.scatter_nd import scatter_nd_11, scatter_nd_13, scatter_nd_16, scatter_nd_18
from irexec.ops.spec import contents

onnx = pytest.importorskip("onnx")

VERSIONS = {11: scatter_nd_11, 13: scatter_nd_13, 16: scatter_nd_16, 18: scatter_nd_18}
REDUCTIONS = {11: ["none"], 13: ["none"], 16: ["none", "add", "mul"], 18: ["none", "add", "mul", "max", "min"]}
VERSION_AND_REDUCTION = [(version, reduction) for version, known in REDUCTIONS.items() for reduction in known]


def given(version: int, reduction: str) -> dict[str, str]:
    return {"reduction": reduction} if version >= 16 else {}


def draw(rng: np.random.Generator, dtype: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return data, indices (some negative or repeated) and updates, of any rank, some empty."""
    shape = tuple(rng.integers(1, 5, rng.integers(1, 4)))
    k = int(rng.integers(0, len(shape) + 1))
    outer = tuple(rng.integers(0, 4, rng.integers(0, 3)))
    columns = [rng.integers(-n, n, outer) for n in shape[:k]]
    indices = np.stack(columns, -1) if columns else np.zeros((*outer, 0), np.int64)
    return values(rng, shape, dtype), indices.astype(np.int64), values(rng, outer + shape[k:], dtype)


def values(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    numbers = rng.integers(-5, 6, shape)
    if np.dtype(dtype).kind == "T":
        return numbers.astype(np.str_).astype(dtype)
    if np.dtype(dtype).kind == "c":
        return (numbers + 1j * rng.integers(-3, 4, shape)).astype(dtype)
    return np.asarray(numbers > 0 if dtype == np.bool_ else numbers, dtype)


TYPES = [np.float64, np.float32, np.float16, np.complex64, np.complex128, np.bool_, np.int8, np.uint16, np.int64]


@pytest.mark.parametrize(("version", "reduction"), VERSION_AND_REDUCTION)
@pytest.mark.parametrize("dtype", TYPES)
def test_against_the_reference_implementation(version: int, reduction: str, dtype: Any) -> None:
    from onnx.reference.ops.op_scatternd import _scatter_nd_impl

    rng = np.random.default_rng(version)
    for _ in range(12):
        data, indices, updates = draw(rng, dtype)
        (found,) = run(VERSIONS[version], data, indices, updates, **given(version, reduction))
        with np.errstate(all="ignore"):
            expected = _scatter_nd_impl(data, indices, updates, reduction)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("reduction", ["none", "add"])
def test_strings(reduction: str) -> None:
    rng = np.random.default_rng(2)
    for _ in range(20):
        data, indices, updates = draw(rng, np.dtypes.StringDType())
        (found,) = run(scatter_nd_18, data, indices, updates, reduction=reduction)
        expected = data.astype(object)
        for place in np.ndindex(indices.shape[:-1]):
            own = expected[tuple(indices[place])] if reduction == "add" else ""
            expected[tuple(indices[place])] = own + updates.astype(object)[place]
        assert found.tolist() == expected.tolist()


def onnxruntime(version: int, reduction: str, inputs: tuple[np.ndarray, ...]) -> np.ndarray:
    runtime = pytest.importorskip("onnxruntime")
    helper = onnx.helper
    names = ("data", "indices", "updates")
    infos = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in zip(names, inputs, strict=True)
    ]
    node = helper.make_node("ScatterND", names, ["y"], **given(version, reduction))
    output = helper.make_tensor_value_info("y", infos[0].type.tensor_type.elem_type, inputs[0].shape)
    graph = helper.make_graph([node], "g", infos, [output])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=8)
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    result: np.ndarray = session.run(None, dict(zip(names, inputs, strict=True)))[0]
    return result


@pytest.mark.parametrize(("version", "reduction"), VERSION_AND_REDUCTION)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64, np.uint8, np.bool_])
def test_against_onnx_runtime(version: int, reduction: str, dtype: Any) -> None:
    if dtype == np.bool_ and reduction in ("max", "min"):
        pytest.skip("ONNX Runtime has no maximum of booleans")
    rng = np.random.default_rng(version + 50)
    tried = 0
    while tried < 4:
        data, indices, updates = draw(rng, dtype)
        if not updates.size or not indices.shape[-1]:
            continue  # For these, ONNX Runtime deviates from the page's equation, or rejects them.
        tried += 1
        (found,) = run(VERSIONS[version], data, indices, updates, **given(version, reduction))
        if reduction == "none" and scatter_nd_13.oracle.open(data, indices, updates) is not None:
            continue  # ONNX Runtime's order is not determined.
        np.testing.assert_array_equal(found, onnxruntime(version, reduction, (data, indices, updates)))


@pytest.mark.parametrize("version", VERSIONS)
def test_the_last_of_duplicates_is_used_and_a_note_states_this(version: int) -> None:
    data, indices, updates = np.zeros(3), np.array([[1], [1], [-2]]), np.array([5.0, 6.0, 7.0])
    operator = VERSIONS[version]
    assert run(operator, data, indices, updates)[0].tolist() == [0, 7, 0]
    found = operator.oracle.open(data, indices, updates)
    assert found is not None and "1 place more than once" in found.note
    assert sorted(c.item() for c in found.candidates[1]) == [5, 6, 7]
    assert operator.oracle.open(data, indices[:1], updates[:1]) is None
    if version >= 16:
        assert operator.oracle.open(data, indices, updates, reduction="add") is None


def test_an_opset_has_the_newest_operator_up_to_it() -> None:
    found = {n: contents.find("ScatterND", f"onnx{n}") for n in (10, 11, 12, 15, 16, 17, 18, 28)}
    assert found == {
        10: None, 11: scatter_nd_11, 12: scatter_nd_11, 15: scatter_nd_13, 16: scatter_nd_16, 17: scatter_nd_16,
        18: scatter_nd_18, 28: scatter_nd_18,
    }  # fmt: skip
    assert irexec.onnx15.scatter_nd(np.zeros(2), np.array([[-1]]), np.ones(1)).tolist() == [0, 1]
    for name in ("onnx0", "onnx1000", "onnx018"):
        assert contents.find("ScatterND", name) is None


def test_as_a_layer() -> None:
    text = """<layer id="0" name="s" type="ScatterND" version="onnx18">
        <data reduction="max"/>
        <input>
            <port id="0" precision="FP32"><dim>3</dim></port>
            <port id="1" precision="I64"><dim>2</dim><dim>1</dim></port>
            <port id="2" precision="FP32"><dim>2</dim></port>
        </input>
        <output><port id="3" precision="FP32"><dim>3</dim></port></output>
    </layer>"""
    assert not irexec.validate(text.encode()).errors
    wrong = irexec.validate(text.replace('onnx18"', 'onnx16"').encode())
    assert [(d.code, d.line) for d in wrong.errors] == [("D005", 2)]
    indices = irexec.validate(text.replace("I64", "I32").encode())
    assert [(d.code, d.line) for d in indices.errors] == [("O002", 5)]


def test_the_docstring_lists_the_constraints() -> None:
    assert re.findall(r"^ *(C\d) ", scatter_nd_18.__doc__ or "", re.MULTILINE) == [f"C{n}" for n in range(1, 7)]
