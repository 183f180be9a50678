"""Constants at any byte of the weights: reading leaves them there; compiling copies them for layers that need
alignment.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irexec
from irexec import Model
from irexec.runtime.engine import CompiledModel
from irexec.runtime.engine.aligned import aligned, as_taken

ops: Any = irexec.opset15
ROWS = 1500

XML = f"""<net name="odd" version="11"><layers>
    <layer id="0" name="x" type="Parameter" version="opset1"><data shape="2,{ROWS}" element_type="f32"/>
        <output><port id="0" precision="FP32"><dim>2</dim><dim>{ROWS}</dim></port></output></layer>
    <layer id="1" name="w" type="Const" version="opset1">
        <data element_type="f32" shape="{ROWS},3" offset="1" size="{ROWS * 12}"/>
        <output><port id="0" precision="FP32"><dim>{ROWS}</dim><dim>3</dim></port></output></layer>
    <layer id="2" name="product" type="MatMul" version="opset1"><data transpose_a="false" transpose_b="false"/>
        <input><port id="0" precision="FP32"><dim>2</dim><dim>{ROWS}</dim></port>
            <port id="1" precision="FP32"><dim>{ROWS}</dim><dim>3</dim></port></input>
        <output><port id="2" precision="FP32"><dim>2</dim><dim>3</dim></port></output></layer>
    <layer id="3" name="y" type="Result" version="opset1">
        <input><port id="0" precision="FP32"><dim>2</dim><dim>3</dim></port></input></layer>
    <layer id="4" name="itself" type="Result" version="opset1">
        <input><port id="0" precision="FP32"><dim>{ROWS}</dim><dim>3</dim></port></input></layer>
</layers><edges>
    <edge from-layer="0" from-port="0" to-layer="2" to-port="0"/>
    <edge from-layer="1" from-port="0" to-layer="2" to-port="1"/>
    <edge from-layer="2" from-port="2" to-layer="3" to-port="0"/>
    <edge from-layer="1" from-port="0" to-layer="4" to-port="0"/>
</edges></net>
"""


# The same without a result that is the constant: only the product reads it.
PRODUCT = re.sub(
    r'<layer id="4".*?</layer>|<edge from-layer="1" from-port="0" to-layer="4" to-port="0"/>', "", XML, flags=re.S
)


def odd(folder: Path, xml: str = XML) -> tuple[Model, np.ndarray]:
    """Return a model with weights at an odd byte, and the weights."""
    weights = np.random.default_rng(5).standard_normal((ROWS, 3)).astype(np.float32)
    (folder / "odd.xml").write_text(xml)
    (folder / "odd.bin").write_bytes(b"\0" + weights.tobytes())
    return irexec.read_model(folder / "odd.xml"), weights


def test_reading_leaves_an_unaligned_constant_in_the_file_and_compiling_copies_it(tmp_path: Path) -> None:
    model, weights = odd(tmp_path)
    (constant,) = (node.constant for node in model.get_ops() if node.type == "Const")
    assert constant is not None and not constant.flags.aligned
    np.testing.assert_array_equal(constant, weights)
    x = np.random.default_rng(6).standard_normal((2, ROWS)).astype(np.float32)
    results = irexec.compile_model(model)([x])
    np.testing.assert_allclose(results[0], x @ weights, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(results[1], weights)
    assert results[1].flags.aligned


def test_copies_lie_apart_and_are_read_only(tmp_path: Path) -> None:
    model, weights = odd(tmp_path)
    (copy,) = aligned(model.get_ops()).values()
    np.testing.assert_array_equal(copy, weights)
    assert copy.ctypes.data % 64 == 0 and not copy.flags.writeable


def test_a_model_whose_constants_are_aligned_is_not_copied(tmp_path: Path) -> None:
    (tmp_path / "even.xml").write_text(XML.replace('offset="1"', 'offset="0"'))
    (tmp_path / "even.bin").write_bytes(np.zeros((ROWS, 3), np.float32).tobytes())
    assert aligned(irexec.read_model(tmp_path / "even.xml").get_ops()) == {}


def test_what_only_a_product_reads_stays_in_the_file(tmp_path: Path) -> None:
    model, weights = odd(tmp_path, PRODUCT)
    assert aligned(model.get_ops()) == {}
    compiled = irexec.compile_model(model)
    x = np.random.default_rng(6).standard_normal((2, ROWS)).astype(np.float32)
    for _ in range(5):
        np.testing.assert_allclose(compiled([x])[0], x @ weights, rtol=1e-4, atol=1e-4)


def halves(*also: Any, **more: Any) -> tuple[Model, np.ndarray, np.ndarray]:
    """Return x times f16 weights that a Convert converts to f32, with `more` results computed from these f32 weights;
    and x, and the weights.

    `also`: the parameters that these results need.
    """
    rng = np.random.default_rng(0)
    weights, x = rng.standard_normal((700, 600)).astype(np.float16), rng.standard_normal((5, 600)).astype(np.float32)
    given = ops.parameter([-1, 600], np.float32)
    wide = ops.convert(ops.constant(weights), "f32")
    made = [ops.matmul(given, wide, False, True), *(make(wide) for make in more.values())]
    return Model(made, [given, *also]), x, weights


def test_f16_that_only_a_product_widens_stays_f16() -> None:
    model, x, weights = halves()
    (taken,) = as_taken(model.walk()).values()
    assert np.array_equal(taken, weights) and taken.dtype == np.float16
    compiled = irexec.compile_model(model)
    for rows in (5, 5, 1, 5, 5, 3):
        expected = x[:rows] @ weights.T.astype(np.float32)
        np.testing.assert_allclose(compiled([x[:rows]])[0], expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("picks", [None, np.array([[3, 699, 0]]), np.int64(-1)])
def test_an_f16_table_of_rows_that_is_multiplied_by_too_stays_f16(picks: Any) -> None:
    """As with the embeddings of a language model."""
    rows, index = ops.parameter([2, -1], np.int64), np.array([[0, 699, 5], [7, 7, 1]])
    also = [rows] if picks is None else []
    taken_rows = rows if picks is None else ops.constant(picks)
    model, x, weights = halves(*also, rows=lambda wide: ops.gather(wide, taken_rows, 0))
    (taken,) = as_taken(model.walk()).values()
    assert taken.dtype == np.float16
    compiled = irexec.compile_model(model)
    for _ in range(4):
        product, found = compiled([x, index] if picks is None else [x]).to_tuple()
        np.testing.assert_allclose(product, x @ weights.T.astype(np.float32), rtol=1e-4, atol=1e-4)
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, weights[index if picks is None else picks])


def test_a_layer_that_needs_only_the_shape_does_not_read_weights() -> None:
    model, _, weights = halves(shape=lambda wide: ops.shape_of(wide))
    assert [array.dtype for array in as_taken(model.walk()).values()] == [weights.dtype]


def test_f16_that_others_read_too_becomes_f32() -> None:
    model, x, weights = halves(exp=ops.exp)
    assert as_taken(model.walk()) == {}
    product, powers = irexec.compile_model(model)([x]).to_tuple()
    np.testing.assert_allclose(product, x @ weights.T.astype(np.float32), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(powers, np.exp(weights.astype(np.float32)), rtol=1e-5)


def test_listeners_see_the_declared_type() -> None:
    model, x, weights = halves()
    seen: list[np.ndarray] = []

    class Listener:
        def before(self, node: Any, inputs: Any) -> None:
            seen.extend(inputs)

        def after(self, node: Any, inputs: Any, results: Any, seconds: float) -> None:
            seen.extend(inputs)

    CompiledModel(model).create_infer_request([Listener()]).infer([x])
    assert {array.dtype for array in seen} == {np.dtype(np.float32)}
    assert any(np.array_equal(array, weights) for array in seen)
