"""irexec compare with another export of the same network: other layers, folded constants, renumbered names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import irexec
from irexec import Model, Node
from irexec import opset15 as ops
from irexec.tools.compare.compare import compare
from irexec.tools.compare.result import Comparison
from irexec.tools.compare.runtimes.runtime import OtherModel
from irexec.tools.run.record import Reference

pytestmark = pytest.mark.any_python

F = np.float32
RNG = np.random.default_rng(0)
ROWS = RNG.normal(0, 1, (1, 6, 16)).astype(F)
EACH = np.random.default_rng(8).normal(0, 0.4, (4, 8, 8)).astype(F)
FOUR = np.random.default_rng(9).normal(0, 1, (4, 8)).astype(F)
WEIGHTS = [RNG.normal(0, 0.4, (16, 16)).astype(F) for _ in range(8)]


def compared(right: Model, other: Model, given: np.ndarray = ROWS) -> Comparison:
    return compare(Reference(right, [[given]]), OtherModel("other.xml", other))


def heads(x: Node, order: list[int]) -> Node:
    return ops.transpose(ops.reshape(x, np.int64([0, 0, 4, 4]), True), np.int64(order))


def attention(x: Node, weights: list[np.ndarray], decomposed: bool, scale: float) -> Node:
    """Return attention as one layer, or as products and a SoftMax with the keys transposed in another way."""
    query, key, value = (ops.matmul(x, w, False, False) for w in weights[:3])
    q, v = heads(query, [0, 2, 1, 3]), heads(value, [0, 2, 1, 3])
    if decomposed:
        root = F(np.sqrt(scale))
        scores = ops.matmul(ops.multiply(q, root), ops.multiply(heads(key, [0, 2, 3, 1]), root), False, False)
        made = ops.matmul(ops.softmax(scores, 3), v, False, False)
    else:
        made = ops.scaled_dot_product_attention(q, heads(key, [0, 2, 1, 3]), v, None, np.array(scale, F))
    rows = ops.reshape(ops.transpose(made, np.int64([0, 2, 1, 3])), np.int64([0, 0, 16]), True)
    return ops.add(x, ops.matmul(rows, weights[3], False, False))


def blocks(decomposed: bool, second: float = 0.5, names: str = "") -> Model:
    x = ops.parameter([1, 6, 16], F, name="x")
    made = attention(attention(x, WEIGHTS[:4], decomposed, 0.5), WEIGHTS[4:], decomposed, second)
    model = Model([ops.tanh(made)], [x], "blocks")
    for number, node in enumerate(model.nodes if names else ()):
        node.friendly_name = node.friendly_name if node.type in ("Parameter", "Result") else f"{names}{number}"
    return model


@pytest.mark.parametrize("names", ["", "/layer_"])
def test_attention_as_other_layers(names: str) -> None:
    found = compared(blocks(False), blocks(True, names=names))
    assert not found.same
    assert found.agrees, found.verdict
    assert found.verdict.startswith("the same results, but for rounding, as other.xml")


def test_a_fault_in_another_export() -> None:
    found = compared(blocks(False), blocks(True, second=0.6))
    assert not found.agrees, found.verdict
    assert found.culprit is not None
    assert "ScaledDotProductAttention" in {node.type for node in found.culprit.nodes}
    assert len(found.culprit.nodes) <= 3


def normalized(factor: float) -> Model:
    """Return a convolution whose weights were multiplied by a factor in another order."""
    x = ops.parameter([1, 3, 8, 8], F, name="x")
    kernel = RNG_KERNEL * F(factor)
    return Model([ops.relu(ops.convolution(x, kernel, [1, 1], [0, 0], [0, 0], [1, 1], name="conv"))], [x], "normalized")


RNG_KERNEL = RNG.normal(0, 1, (4, 3, 3, 3)).astype(F)
IMAGE = RNG.normal(0, 1, (1, 3, 8, 8)).astype(F)


def test_constants_that_were_folded_in_another_order() -> None:
    found = compared(normalized(1.0), normalized(1.0 + 2 * np.finfo(F).eps), IMAGE)
    assert not found.same
    assert found.agrees, found.verdict


def test_constants_that_are_others() -> None:
    found = compared(normalized(1.0), normalized(1.0 + 64 * np.finfo(F).eps), IMAGE)
    assert not found.agrees
    assert "conv (Convolution)" in found.verdict


def test_layers_before_a_wrong_result_that_have_no_counterparts_are_named() -> None:
    """The result reads other layers in the other model; only the layers of this model can show which of them
    is wrong.
    """

    def network(another: bool) -> Model:
        x = ops.parameter([4, 8], np.float32, name="in" if another else "x")
        if not another:
            return Model([ops.softmax(ops.elu(x, 1.0, name="bent"), 1, name="weights")], [x], "m")
        bent = ops.select(ops.greater(x, np.float32(0)), x, ops.subtract(ops.exp(x), np.float32(1.03)))
        large = ops.exp(ops.subtract(bent, ops.reduce_max(bent, np.array([1]), True)))
        return Model([ops.divide(large, ops.reduce_sum(large, np.array([1]), True))], [x], "m")

    given = np.random.default_rng(0).normal(size=(4, 8)).astype(np.float32)
    found = compare(Reference(network(False), [[given]]), OtherModel("other.xml", network(True)))
    assert found.culprit is not None
    assert [node.friendly_name for node in found.culprit.nodes] == ["bent", "weights"]
    assert "reads" not in found.verdict and "together: " in found.verdict


def test_a_result_that_reads_another_layer_is_named_although_the_right_ones_have_no_counterparts() -> None:
    """The correct layers are missing in the file of the other model, because nothing reads them."""

    def network(short: bool) -> Model:
        x = ops.parameter([4, 8], np.float32, name="x")
        first = ops.tanh(x, name="first")
        last = ops.relu(ops.sigmoid(ops.exp(first, name="grown"), name="bent"), name="last")
        return Model([ops.result(first if short else last, name="out")], [x], "m")

    given = np.random.default_rng(0).normal(size=(4, 8)).astype(np.float32)
    found = compare(Reference(network(False), [[given]]), OtherModel("other.xml", network(True)))
    assert found.culprit is not None
    assert [node.friendly_name for node in found.culprit.nodes] == ["out"]
    assert found.culprit.changes == ["reads first instead of last"]


def folded(kernel: np.ndarray, fold: bool) -> Model:
    """Return a mean, a convolution and a normalization, or a convolution and a sum that compute the same."""
    x = ops.parameter([1, 3, 8, 8], F, name="x")
    mean, gamma, beta = F(0.5), F([1.5, 0.5, 2, 1]), F([0.1, 0.2, 0.3, 0.4])
    if fold:
        made = ops.convolution(
            x, kernel[:, ::-1] * gamma.reshape(-1, 1, 1, 1), [1, 1], [0, 0], [0, 0], [1, 1], name="both"
        )
        moved = beta - mean * (kernel.sum((1, 2, 3)) * gamma)
        made = ops.add(made, moved.reshape(1, -1, 1, 1), name="norm")
    else:
        made = ops.gather(ops.subtract(x, mean, name="centred"), np.int64([2, 1, 0]), np.int64(1), name="turned")
        made = ops.convolution(made, kernel, [1, 1], [0, 0], [0, 0], [1, 1], name="c")
        made = ops.batch_norm_inference(made, gamma, beta, F([0] * 4), F([1] * 4), 0.0, name="norm")
    return Model([ops.relu(made, name="end")], [x], "folded")


def test_a_layer_that_stands_for_several_is_not_blamed_alone() -> None:
    """The kernel is wrong, but the other model has a sum in place of the normalization."""
    assert compared(folded(RNG_KERNEL, False), folded(RNG_KERNEL, True), IMAGE).agrees
    found = compared(folded(RNG_KERNEL, False), folded(RNG_KERNEL[..., ::-1], True), IMAGE)
    assert found.culprit is not None and "c" in [node.friendly_name for node in found.culprit.nodes]


def written_gelu(form: str) -> Model:
    """Return Gelu between two products, as one layer or as several (`written out`)."""
    x = ops.parameter([6, 16], F, name="x")
    y = ops.matmul(x, WEIGHTS[0], False, False, name="first")
    if form == "written out":
        error = ops.erf(ops.multiply(y, F(2**-0.5), name="scaled"), name="erf")
        y = ops.multiply(ops.multiply(y, F(0.5), name="half"), ops.add(error, F(1), name="one"))
        y.friendly_name = "product"
    else:
        y = ops.gelu(y, form, name="gelu")
    return Model([ops.matmul(y, WEIGHTS[1], False, False, name="second")], [x], "gelu")


def test_the_other_layers_of_a_group_are_named() -> None:
    found = compared(written_gelu("written out"), written_gelu("tanh"), ROWS[0])
    assert found.culprit is not None
    assert all(node.friendly_name != "second" for node in found.culprit.nodes), "the second product only follows"
    assert found.verdict.endswith("; the other model has gelu (Gelu) instead")
    assert compared(written_gelu("written out"), written_gelu("erf"), ROWS[0]).agrees


def test_a_group_is_saved_with_the_layer_that_shows_its_values(tmp_path: Path) -> None:
    found = compared(written_gelu("written out"), written_gelu("tanh"), ROWS[0])
    assert found.culprit is not None
    found.culprit.save(tmp_path)
    types = [node.type for node in irexec.read_model(tmp_path / "culprit.xml").get_ops()]
    assert types.count("MatMul") == 1


def in_pieces() -> Model:
    """Return a product for each row, from one Split to one Concat."""
    x = ops.parameter([4, 8], F, name="x")
    made = []
    for number, row in enumerate(ops.split(x, np.int64(0), 4, name="rows").outputs()):
        product = ops.matmul(row, EACH[number], False, False, name=f"product{number}")
        made.append(ops.tanh(product, name=f"bent{number}"))
    y = ops.concat(made, 0, name="joined")
    y = ops.transpose(y, np.int64([1, 0]), name="turned")
    return Model([ops.multiply(y, F(2), name="last")], [x], "pieces")


def in_one(wrong: int | None = None, order: Sequence[int] = range(4)) -> Model:
    """Return the same as one product of stacked matrices; one may be wrong, or the rows may be in another order."""
    x = ops.parameter([4, 8], F, name="x")
    weights = EACH.copy()
    if wrong is not None:
        weights[wrong] *= F(1.25)
    y = ops.matmul(ops.unsqueeze(x, np.int64([1])), weights, False, False)
    y = ops.sigmoid(ops.multiply(ops.gather(ops.squeeze(y, np.int64([1])), np.int64([*order]), np.int64(0)), F(2)))
    y = ops.subtract(ops.multiply(y, F(2)), F(1))
    y = ops.transpose(y, np.int64([1, 0]), name="turned")
    return Model([ops.multiply(y, F(2), name="last")], [x], "pieces")


@pytest.mark.parametrize("wrong", [0, 2])
def test_layers_that_end_in_a_concat_are_narrowed_to_its_first_wrong_input(wrong: int) -> None:
    assert compared(in_pieces(), in_one(), FOUR).agrees
    found = compared(in_pieces(), in_one(wrong), FOUR)
    assert found.culprit is not None
    assert [node.friendly_name for node in found.culprit.nodes] == ["rows", f"product{wrong}", f"bent{wrong}"]


def test_inputs_of_a_concat_in_another_order_are_named_together() -> None:
    found = compared(in_pieces(), in_one(order=[1, 0, 2, 3]), FOUR)
    assert found.culprit is not None
    assert "joined" in [node.friendly_name for node in found.culprit.nodes]
