"""Files as beginners write them: `irexec fix --unsafe` corrects them, if necessary in two rounds with its findings."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import irexec
from irexec.core.types import Array
from irexec.tools.fixes.applying import apply_fixes

FILES = Path(__file__).parent / "beginners"
Meant = Callable[..., Array]


def softmax(x: Array) -> Array:
    e = np.exp(x)
    return e / e.sum(-1, keepdims=True)


def pooled(x: Array, combine: Callable[..., Array]) -> Array:
    """Return the combination of 2x2 windows without overlap."""
    n, c, h, w = x.shape
    return combine(x.reshape(n, c, h // 2, 2, w // 2, 2), axis=(3, 5))


def soft_sign(x: Array) -> Array:
    return x / (1 + np.abs(x))


# The computation that the author of the file intended.
MEANT: dict[str, Meant] = {
    "wrong_port_ids": lambda a: np.tanh(np.maximum(a, 0)),
    "missing_edge": np.add,
    "misspelt_types": lambda x: 1 / (1 + np.exp(-pooled(x, np.max))),
    "forgotten_dims": np.matmul,
    "wrong_opset": lambda x: soft_sign(x * np.tanh(np.log1p(np.exp(x)))),
    "precision_mismatch": lambda x: x.astype(np.int64),
    "names_of_another_framework": lambda a, b: (a * b).astype(np.float16),
    "edges_from_to": lambda x: np.exp(-x),
    "nothing_but_types": np.abs,
    "attributes": lambda x: softmax(pooled(x, np.mean)),
    "attrs_on_layer": softmax,
    "conv_pytorch": lambda x, w: np.einsum(
        "nchwyx,ocyx->nohw",
        np.lib.stride_tricks.sliding_window_view(np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))), (3, 3), (2, 3)),
        w,
    ),
    "no_edges": lambda x: 1 / (1 + np.exp(-x)),
    "no_outputs": np.exp,
    "no_result": np.tanh,
    "one_based": np.subtract,
    "onnx_memory": lambda x: np.maximum(x, 0),
    "ampersand": np.exp,
    "capital_elements": np.exp,
    "cut_off": np.exp,
    "dims_in_one": np.exp,
    "edges_by_name": np.exp,
    "from_and_to_exchanged": np.exp,
    "ids_are_words": np.exp,
    "no_layers_element": np.exp,
    "no_quotes": softmax,
    "no_version": np.exp,
    "python_booleans": lambda a, b: a @ b.T,
    "python_tuple": np.exp,
    "quotes_of_a_word_processor": np.exp,
    "same_id_twice": np.exp,
    "shape_in_brackets": np.exp,
    "unclosed_tag": np.exp,
    "opset_number": lambda x: (0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))).astype(np.float16),
}


def check(data: bytes, meant: Meant) -> None:
    """Check that the model is valid, and computes the intended results."""
    assert irexec.validate(data).ok
    compiled = irexec.compile_model(irexec.read_model(data, mode="strict"))
    rng = np.random.default_rng(0)
    given = [rng.normal(size=[int(n) for n in port.shape]).astype(np.float32) for port in compiled.inputs]
    # Sums of f32 products may cancel, so that only their absolute error is bounded.
    np.testing.assert_allclose(compiled(given)[0], meant(*given), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", MEANT)
def test_it_becomes_right(name: str) -> None:
    wrong = (FILES / f"{name}.xml").read_bytes()
    assert not irexec.validate(wrong).ok
    check(apply_fixes(wrong, unsafe=True).data, MEANT[name])


def test_or_in_two_rounds_of_reading() -> None:
    """Findings name the decisions for a person: another type first, then the attribute that its shapes need."""
    wrong = (FILES / "two_rounds_of_reading.xml").read_bytes()
    first = apply_fixes(wrong, unsafe=True)
    (finding,) = first.report.errors
    assert finding.hint == "did you mean MatMul? write the bias as an Add after it"
    second = apply_fixes(
        first.data.replace(b'type="Linear" version="opset1">', b'type="MatMul" version="opset1">'), unsafe=True
    )
    (finding,) = second.report.errors
    assert finding.code == "O001"
    assert "transpose_b" in f"{finding.message} {finding.hint}" or finding.port == "b"
    data = b'type="MatMul" version="opset1"><data transpose_b="true"/>'
    check(second.data.replace(b'type="MatMul" version="opset1">', data), lambda x, w: x @ w.T)


def test_a_constant_whose_value_is_written_as_text() -> None:
    """The value is kept: a finding states where it belongs, and a person moves it there."""
    wrong = (FILES / "const_text.xml").read_bytes()
    first = apply_fixes(wrong, unsafe=True)
    assert b'value="2.0"' in first.data
    assert {finding.code for finding in first.report.errors} == {"C001"}
    assert all("append the bytes of the value to the .bin" in str(finding.hint) for finding in first.report.errors)
    data = first.data.replace(b'value="2.0"', b'offset="0" size="4"')
    model = irexec.read_model(data, np.float32([2]).tobytes(), mode="strict")
    assert irexec.compile_model(model)([np.full((2, 4), 3, np.float32)])[0].tolist() == [[6] * 4] * 2


def test_an_attribute_that_is_an_input() -> None:
    """One round with the findings: the axes are a constant at input 1."""
    first = apply_fixes((FILES / "reduce_axes.xml").read_bytes(), unsafe=True)
    hints = [finding.hint for finding in first.report.errors if finding.code == "D001"]
    assert hints == ["connect a Const with the value to input 1, 'axes'"]
    const = (
        b'<layer id="3" name="axes" type="Const" version="opset1"><data element_type="i64" shape="2" offset="0"'
        b' size="16"/><output><port id="0" precision="I64"><dim>2</dim></port></output></layer><layer id="2"'
    )
    port, edge = b'<port id="2" precision="I64"><dim>2</dim></port></input>', b"</edges>"
    data = (
        first.data.replace(b'<layer id="2"', const).replace(b'axes="1,2" ', b"").replace(b"</input>", port, 1)
        .replace(edge, b'<edge from-layer="3" from-port="0" to-layer="1" to-port="2"/></edges>')
    )  # fmt: skip
    model = irexec.read_model(data, np.int64([1, 2]).tobytes(), mode="strict")
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    np.testing.assert_array_equal(irexec.compile_model(model)([x])[0], x.mean((1, 2), keepdims=True))


@pytest.mark.parametrize("empty", [b"", b"  <edges/>\n", b"  <edges>\n  </edges>\n"])
def test_edges_are_laid_out_as_layers_are(empty: bytes) -> None:
    wrong = (FILES / "no_edges.xml").read_bytes().replace(b"</net>", empty + b"</net>")
    assert apply_fixes(wrong, unsafe=True).data.endswith(
        b"""  </layers>
  <edges>
    <edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>
    <edge from-layer="1" from-port="1" to-layer="2" to-port="0"/>
  </edges>
</net>
"""
    )


def test_no_edges_are_added_where_a_comment_would_be_lost() -> None:
    wrong = (FILES / "no_edges.xml").read_bytes().replace(b"</net>", b"<edges><!-- none --></edges></net>")
    assert apply_fixes(wrong, unsafe=True).data == wrong


def test_layers_are_put_into_a_list() -> None:
    """Also if a body has a list of its own, or a comment precedes; not if other elements are between the layers."""
    right = (FILES / "no_edges.xml").read_bytes()
    wrong = re.sub(rb"\s*</?layers>", b"", right)
    assert b"<layers>" not in wrong
    again = apply_fixes(wrong, unsafe=True).data
    assert (again.count(b"<layers>"), again.count(b"</layers>")) == (1, 1)
    assert again.index(b"<layers>") < again.index(b"<layer ")
    before = wrong.replace(b"<layer ", b"<!-- layers --><layer ", 1)
    assert apply_fixes(before, unsafe=True).data.count(b"<layers>") == 1
    between = wrong.replace(b"</layer>", b"</layer><meta_data/>", 1)
    assert b"<layers>" not in apply_fixes(between, unsafe=True).data


def test_ports_counted_from_one_are_not_exchanged() -> None:
    """A safe fix of one of two edges would compute b - a instead of a - b."""
    wrong = (FILES / "one_based.xml").read_bytes()
    assert not apply_fixes(wrong).report.ok
