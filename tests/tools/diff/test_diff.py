"""irexec diff: one line for each change, however many later layers it affects."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.nets import iterating

import irexec
from irexec import Model, Node
from irexec import opset15 as ops
from irexec.cli.main import main
from irexec.model.graph.copies import copied
from irexec.tools.diff.diff import diff
from irexec.tools.inspect.observed import read_observed

SAMPLES = Path(__file__).parents[3] / "samples"
CLASSIFIER = SAMPLES / "classifier" / "model.xml"
WEIGHTS = np.linspace(-1, 1, 64, dtype=np.float32).reshape(8, 8)


def named(model: Model, name: str) -> Node:
    return next(node for node in model.walk() if node.friendly_name == name)


def said(a: Model, b: Model) -> list[tuple[str, str | None, str | None]]:
    return [(change.change, change.a, change.b) for change in diff(a, b)]


def small(*, extra: bool = False, weights: Any = WEIGHTS, scale: float = 2.0, kind: str = "relu") -> Model:
    x = ops.parameter([2, 8], np.float32, name="x")
    value = ops.matmul(x, weights, name="product")
    if extra:
        value = ops.sigmoid(value, name="inserted")
    value = getattr(ops, kind)(value, name="bend")
    return irexec.Model([ops.multiply(value, np.float32(scale), name="scaled")], [x], "small")


@pytest.mark.parametrize("name", ["classifier", "transformer"])
def test_a_model_and_its_copy(name: str) -> None:
    model = irexec.read_model(SAMPLES / name / "model.xml")
    assert diff(model, copied(model)) == []


def test_an_inserted_layer_is_one_entry() -> None:
    assert said(small(), small(extra=True)) == [("added", None, "inserted")]
    assert said(small(extra=True), small()) == [("removed", "inserted", None)]
    (change,) = diff(small(), small(extra=True))
    assert change.text == "Sigmoid after product"


def test_a_replaced_layer() -> None:
    (change,) = diff(small(), small(kind="tanh"))
    assert (change.change, change.text) == ("replaced", "ReLU became Tanh")


def test_a_constant_with_its_error_and_its_noise() -> None:
    changed = WEIGHTS.copy()
    changed[3, 4] += 0.5
    (change,) = diff(small(), small(weights=changed))
    assert change.change == "constant"
    assert change.text.startswith("largest error 0.5 at [3, 4], SNR 19.4 dB, read by ")


def test_an_attribute() -> None:
    model = irexec.read_model(CLASSIFIER)
    other = copied(model)
    named(other, "stem/norm").attributes["epsilon"] = 0.5
    (change,) = diff(model, other)
    assert (change.change, change.a) == ("attribute", "stem/norm")
    assert change.text.startswith("epsilon: ") and change.text.endswith(" became 0.5")


def test_renaming_everything_is_one_line() -> None:
    model = irexec.read_model(CLASSIFIER)
    other = copied(model)
    for number, node in enumerate(other.nodes):
        node.friendly_name = f"node_{number}"
        for value in node.outputs:
            value.names = set()
    (change,) = diff(model, other)
    assert (change.change, change.a) == ("renamed", None)
    assert change.text.startswith("21 layers: different names (image became node_0, stem/conv became node_")


def test_compressed_weights_are_one_line() -> None:
    def model(stored: bool) -> Model:
        x = value = ops.parameter([2, 8], np.float32, name="x")
        for number in range(5):
            weights = np.round(WEIGHTS * 127).astype(np.int8)
            if stored:
                wide = ops.convert(ops.constant(weights), destination_type="f32")
                given: Any = ops.multiply(wide, np.float32(1 / 127), name=f"unpacked{number}")
            else:
                given = WEIGHTS
            value = ops.matmul(value, given, name=f"product{number}")
        return irexec.Model([value], [x], "deep")

    (change,) = diff(model(False), model(True))
    assert change.change == "compressed"
    assert change.text.startswith("5 constants: f32 became i8, largest error 0.00")
    assert "dB" in change.text


def deep(make: Any, count: int = 5) -> Model:
    """Return a model with a layer of each kind, several times."""
    x = value = ops.parameter([2, 8], np.float32, name="x")
    for number in range(count):
        value = make(value, number)
    return irexec.Model([value], [x], "deep")


def renamed(model: Model, prefix: str) -> Model:
    """Return the model with other names, so that layers cannot be paired by name."""
    for number, node in enumerate(model.nodes):
        node.friendly_name = f"{prefix}{number}"
        for value in node.outputs:
            value.names = set()
    return model


def test_many_inserted_layers_of_a_type_are_one_line() -> None:
    def make(value: Any, number: int) -> Any:
        return ops.matmul(value, WEIGHTS, name=f"product{number}")

    def gated(value: Any, number: int) -> Any:
        return ops.sigmoid(make(value, number), name=f"gate{number}")

    (change,) = diff(deep(make), deep(gated))
    assert (change.change, change.a, change.b) == ("added", None, None)
    assert change.text == "5 layers: Sigmoid (gate0, gate1, gate2, ...)"


def test_other_names_and_a_computed_bias() -> None:
    """Layers are paired by their common neighbours if their other inputs have no pair."""

    def make(value: Any, number: int) -> Any:
        return ops.relu(ops.add(ops.matmul(value, WEIGHTS), np.ones((1, 8), np.float32)))

    def shaped(value: Any, number: int) -> Any:
        product = ops.matmul(value, WEIGHTS)
        bias = ops.broadcast(np.ones(1, np.float32), ops.shape_of(product))
        return ops.relu(ops.add(product, bias))

    found = diff(renamed(deep(make), "a"), renamed(deep(shaped), "b"))
    assert [(change.change, change.text.partition(" (")[0]) for change in found] == [
        ("added", "10 layers: 5 ShapeOf, 5 Broadcast"),
        ("renamed", "16 layers: different names"),
        ("connection", "5 layers: Add, input 1: Const became Broadcast"),
    ]


def test_attributes_that_change_alike_are_one_line() -> None:
    def model(axis: int) -> Model:
        return deep(lambda value, number: ops.softmax(value, axis, name=f"soft{number}"))

    (change,) = diff(model(0), model(1))
    assert change.text == "5 layers: SoftMax, axis: 0 became 1 (soft0, soft1, soft2, ...)"


def test_constants_that_were_rounded_otherwise_are_one_line() -> None:
    def model(scale: float) -> Model:
        weights = (WEIGHTS.astype(np.float64) * scale).astype(np.float32)
        return deep(lambda value, number: ops.matmul(value, weights, name=f"product{number}"))

    (change,) = diff(model(1.0), model(1 + 2**-24))
    assert change.change == "constant"
    assert change.text.startswith("5 constants: rounded differently, largest error ")
    (change,) = diff(model(1.0), model(1.01))
    assert change.text.startswith(
        "5 constants: different values of input 1 of MatMul, largest error 0.01, SNR 40 dB (read by "
    )


def test_weights_that_are_stored_in_another_way() -> None:
    """Weights transposed for a product with another attribute are one line for all layers."""

    def model(transpose: bool) -> Model:
        weights = WEIGHTS.T.copy() if transpose else WEIGHTS
        return deep(lambda x, n: ops.matmul(x, weights, transpose_b=transpose, name=f"product{n}"))

    changes = {change.change: change.text for change in diff(model(False), model(True))}
    assert {*changes} == {"attribute", "constant"}
    assert changes["constant"].startswith("5 constants: transposed (read by product0")


def test_replaced_layers_have_no_constants_in_common() -> None:
    def model(replaced: bool) -> Model:
        def make(x: Any, n: int) -> Any:
            name = f"layer{n}"
            if replaced:
                return ops.mvn(x, np.int64([1]), True, 1e-5, "inside_sqrt", name=name)
            return ops.add(x, np.float32(np.arange(8)), name=name)

        return deep(make)

    (change,) = diff(model(False), model(True))
    assert change.change == "replaced"
    assert change.text.startswith("5 layers: Add became MVN (layer0, ")


def test_a_folded_constant() -> None:
    half = ops.multiply(ops.constant(WEIGHTS), np.float32(0.5), name="half")
    (change,) = diff(small(weights=half), small(weights=WEIGHTS * np.float32(0.5)))
    assert change.change == "folded"


def test_another_opset_is_one_line() -> None:
    def model(opset: Any) -> Model:
        x = value = ops.parameter([2, 8], np.float32, name="x")
        for number in range(5):
            value = opset.softmax(value, axis=1, name=f"soft{number}")
        return irexec.Model([value], [x], "soft")

    (change,) = diff(model(irexec.opset1), model(irexec.opset8))
    assert change.change == "opset"
    assert change.text.startswith("5 layers: SoftMax-1 became SoftMax-8")


def test_a_layer_of_a_body() -> None:
    model = irexec.read_model(iterating().text.encode())
    other = irexec.read_model(iterating().text.replace('type="Abs"', 'type="Negative"').encode())
    (change,) = diff(model, other)
    assert (change.change, change.outer, change.text) == ("replaced", ("outer",), "Abs became Negative")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    irexec.save_model(small(), tmp_path / "a.xml")
    irexec.save_model(small(extra=True), tmp_path / "b.xml")
    files = [str(tmp_path / "a.xml"), str(tmp_path / "b.xml")]
    assert main(["diff", files[0], files[0]]) == 0
    assert capsys.readouterr().out.startswith("no difference between ")
    assert main(["diff", *files, "--run"]) == 1
    text = capsys.readouterr().out
    assert text.startswith("1 difference between ")
    assert "+  added  inserted  Sigmoid after product" in text
    assert "results: " in text
    assert main(["diff", *files, "--json"]) == 1
    found = capsys.readouterr().out
    observed: Any = read_observed(found)
    assert (observed.kind, observed.changes[0].b) == ("diff", "inserted")
    assert json.loads(found)["changes"][0]["change"] == "added"
    assert main(["diff", files[0], str(tmp_path / "none.xml")]) == 2


def test_models_without_their_weights(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    irexec.save_model(small(), tmp_path / "a.xml")
    irexec.save_model(small(extra=True), tmp_path / "b.xml")
    files = [str(tmp_path / "a.xml"), str(tmp_path / "b.xml")]
    (tmp_path / "b.bin").unlink()
    assert main(["diff", files[0], files[0]]) == 0
    assert "weights" not in capsys.readouterr().out
    assert main(["diff", *files]) == 1
    first, added, last = capsys.readouterr().out.splitlines()
    assert first.startswith("1 difference between ") and "+  added  inserted  Sigmoid" in added
    assert last == f"weights were not compared: {tmp_path / 'b.bin'} does not exist"
    assert main(["diff", *files[::-1], "--format", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["weights_compared"] is False
    assert main(["diff", *files, "--run"]) == 2
    capsys.readouterr()
    assert main(["diff", *files[::-1], "--weights", str(tmp_path / "none.bin")]) == 1
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == f"weights were not compared: {tmp_path / 'none.bin'}: No such file or directory"


def permuted(order: list[int], scale: float, swapped: bool) -> Model:
    x, y = (ops.parameter([2, 3, 4, 5], np.float32, name=name) for name in "xy")
    values = [ops.reshape(ops.transpose(x, np.int64(order), name="order"), np.int64([2, -1]), False, name="flat")]
    values.append(ops.reshape(y, np.int64([2, -1]), False, name="other"))
    total = ops.add(*(values[::-1] if swapped else values), name="total")
    return irexec.Model([ops.multiply(total, np.float32([scale, *[1] * 59]), name="scaled")], [x, y], "permuted")


def test_constants_of_integers_are_distinguished_by_their_values() -> None:
    texts = [change.text for change in diff(permuted([0, 2, 3, 1], 1, False), permuted([0, 3, 2, 1], 1, False))]
    assert "[0, 2, 3, 1] became [0, 3, 2, 1], read by order" in texts


def test_operands_in_the_other_order_are_one_line() -> None:
    (change,) = diff(permuted([0, 1, 2, 3], 1, False), permuted([0, 1, 2, 3], 1, True))
    assert (change.a, change.text) == ("total", "operands in the other order")


@pytest.mark.parametrize(
    "changed, expected",
    [
        ({"order": [0, 2, 1]}, "[0, 1, 2] became [0, 2, 1]"),
        ({"end": 3}, "[4] became [3]"),
        ({"crosswise": True}, "operands in the other order, which changes the result"),
        ({"kind": "f16"}, "destination_type: f32 became f16"),
    ],
)
def test_a_cause_and_what_follows_from_it_are_one_line(changed: dict[str, Any], expected: str) -> None:
    """The shapes and types of a layer follow from its order, bound or type."""

    def model(*, order: Sequence[int] = (0, 1, 2), end: int = 4, crosswise: bool = False, kind: str = "f32") -> Model:
        x, y = (ops.parameter([1, 4, 8], np.float32, name=name) for name in "xy")
        made = ops.transpose(
            ops.subtract(*((y, x) if crosswise else (x, y)), name="apart"), np.int64(order), name="turn"
        )
        ends = [np.int64([value]) for value in (0, end, 1, 1)]
        return Model([ops.convert(ops.slice(made, *ends, name="part"), kind, name="wide")], [x, y], "chain")

    (change,) = diff(model(), model(**changed))
    assert change.text.startswith(expected)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_infinite_constants(value: float) -> None:
    finite, infinite = (permuted([0, 1, 2, 3], number, False) for number in (1.0, value))
    for pair in ((finite, infinite), (infinite, finite)):
        (change,) = diff(*pair)
        assert change.text == "largest error inf at [0], read by scaled"
    assert diff(infinite, permuted([0, 1, 2, 3], value, False)) == []


def test_many_layers_of_many_types_are_counted_in_one_line() -> None:
    """As between the exports of one network by two exporters."""

    def model(more: bool) -> Model:
        x = ops.parameter([4, 8], np.float32, name="x")
        made = ops.relu(x, name="relu")
        for _ in range(3 if more else 0):
            made = ops.exp(ops.abs(ops.tanh(ops.sigmoid(made))))
        return Model([ops.add(made, x, name="sum")], [x], "m")

    (change,) = [change for change in diff(model(False), model(True)) if change.change == "added"]
    assert change.text == "12 layers: 3 Sigmoid, 3 Tanh, 3 Abs, 3 Exp"
    assert len(change.members) == 12


def exported(another: bool, *, slope: float = 0.5) -> Model:
    """Return a network as one exporter writes it, or another exporter: with other names, layers and types of
    constants.
    """
    kind = np.int64 if another else np.int32
    x = ops.parameter([2, 3, 8], np.float32, name="input" if another else "x")
    value: Any = x
    for number in range(6):
        weights = WEIGHTS + np.float32(number)
        shape = [-1, 8] if another else [6, 8]
        flat = ops.reshape(
            value, np.array(shape, kind), False, name=f"view_{number}" if another else f"block{number}/flat"
        )
        name = f"addmm_{number}" if another else f"block{number}/product"
        if another:
            product = ops.matmul(flat, np.ascontiguousarray(weights.T), False, True, name=name)
            bent = ops.multiply(product, ops.sigmoid(product, name=f"sigmoid_{number}"), name=f"mul_{number}")
        else:
            bent = ops.swish(ops.matmul(flat, weights, False, False, name=name), name=f"block{number}/bend")
        moved = ops.add(bent, np.float32(slope if number == 3 else 0.25), name=f"b{number}")
        value = ops.reshape(moved, np.array([2, 3, 8], kind), False, name=f"back_{number}" if another else f"c{number}")
    return Model([value], [x], "network")


def test_another_export_of_a_network_is_described_in_under_ten_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    irexec.save_model(exported(False), "a.xml")
    irexec.save_model(exported(True), "b.xml")
    assert main(["diff", "a.xml", "b.xml"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) < 10
    for text in ("added", "6 layers: 6 Sigmoid", "Swish became Multiply", "different names"):
        assert any(text in line for line in lines), lines


def test_a_constant_that_another_export_does_not_explain_is_a_line() -> None:
    """The bias of one block is listed; weights that are only stored differently are counted."""
    changes = [change for change in diff(exported(False), exported(True, slope=0.75)) if change.change == "constant"]
    alone = [change for change in changes if not change.members]
    assert [change.text for change in alone] == ["0.5 became 0.75, read by b3"]
    assert len(changes) == 2


def test_another_opset_of_onnx_is_one_line_and_each_node_another(tmp_path: Path) -> None:
    """Softmax of opset 12 flattens its input, and that of opset 13 does not."""
    helper = pytest.importorskip("onnx.helper")
    models = []
    for opset in (12, 13):
        x, y = (helper.make_tensor_value_info(name, 1, [2, 3, 4]) for name in "xy")
        nodes = [helper.make_node("Relu", ["x"], ["r"], "act"), helper.make_node("Softmax", ["r"], ["y"], "prob")]
        made = helper.make_model(
            helper.make_graph(nodes, "g", [x], [y]), opset_imports=[helper.make_opsetid("", opset)]
        )
        models.append(irexec.read_model(made.SerializeToString()))
    assert [(each.change, each.a, each.text) for each in diff(*models)] == [
        ("opset", None, "opset_import: onnx12 became onnx13"),
        ("replaced", "prob", "Softmax of ONNX, in IR Reshape, SoftMax, ShapeOf, Reshape became SoftMax"),
    ]
    assert not diff(models[0], models[0])
