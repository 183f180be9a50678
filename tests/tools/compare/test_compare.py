"""irexec compare: the only wrong layer is named, wherever it is, however much later layers amplify its error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.verdicts import named

openvino = pytest.importorskip("openvino")

from ml_dtypes import bfloat16
from support.amounts import IN_CI, amount
from support.mocks import Silent, Wrong, WrongTogether
from support.nets import Net, iterating

import irexec
from irexec import opset15 as ops
from irexec.cli.main import main
from irexec.core.types import ElementType
from irexec.model.graph.ports import port_name
from irexec.tools.compare.compare import compare
from irexec.tools.compare.errors import NONE, Bounds
from irexec.tools.compare.result import Comparison, Row
from irexec.tools.compare.runtimes.folder import Folder
from irexec.tools.compare.runtimes.openvino_runtime import OpenVINO
from irexec.tools.compare.runtimes.runtime import Aligned, OtherModel
from irexec.tools.inspect.observed import read_observed
from irexec.tools.run.record import Reference

SAMPLES = Path(__file__).parents[3] / "samples"
CLASSIFIER = SAMPLES / "classifier"
TRANSFORMER = SAMPLES / "transformer"


def reference(name: str) -> Reference:
    model = irexec.read_model(SAMPLES / name / "model.xml")
    if name == "classifier":
        return Reference(model, [[np.load(CLASSIFIER / "image.npy")]])
    return Reference(model, [[np.load(TRANSFORMER / "words.npy")], [np.load(TRANSFORMER / "next.npy")]])


def real_layers(run: Reference) -> list[str]:
    """Return the layers whose first output contains real numbers: each can be wrong without making other
    layers fail.
    """
    counts = run.count()
    values = run.record({node.outputs[0] for node in counts if node.outputs})[0]
    return [
        value.node.friendly_name
        for value, array in values.items()
        if array.size and ElementType.of(array.dtype).is_real and value.node.type not in ("Assign", "ReadValue")
    ]


@pytest.mark.by_hand(1)
@pytest.mark.parametrize("name", ["classifier", "transformer"])
def test_a_wrong_layer_is_named_at_every_position(name: str) -> None:
    run = reference(name)
    layers = real_layers(run)
    assert len(layers) >= 20
    for layer in layers[:: 1 if IN_CI else 4]:
        found = compare(run, Wrong(layer))
        assert named(found) == [layer], found.verdict
        assert [row.node.friendly_name for row in found.layers if not row.agrees] == [layer]
        assert found.verdict.startswith(f"first wrong layer: {layer} (")


@pytest.mark.by_hand(0)
def test_layers_that_are_not_shown_are_judged_with_those_they_are_given_to() -> None:
    """If a runtime exposes no BatchNormInference and no Convolution, every layer is judged, and the wrong layer is
    named together with the layers up to the next exposed one.
    """
    run = reference("classifier")
    silent = ("BatchNormInference", "Convolution", "GroupConvolution")
    right = compare(run, Silent("", silent))
    assert right.agrees and right.unseen == 0, right.verdict
    for layer in real_layers(run)[:: 4 // amount(4, 1)]:
        found = compare(run, Silent(layer, silent))
        assert found.culprit is not None, layer
        assert layer in named(found), found.verdict
        assert all(node.type in silent for node in found.culprit.nodes[:-1])
        assert len(found.culprit.nodes) <= 3


def test_what_cannot_be_shown_at_all_is_not_judged() -> None:
    found = compare(reference("classifier"), Silent("", None))
    assert found.agrees
    assert found.unseen == found.count > 10
    assert found.verdict == f"the results agree with mock ({found.count} of {found.count} layers not observed)"


def test_a_verdict_counts_the_layers_that_were_observed() -> None:
    nodes = [node for node in reference("classifier").model.nodes if node.outputs]
    for count, agree in ((1, "the one observed layer agrees"), (2, "all 2 observed layers agree")):
        rows = [Row(node, (), True, NONE, NONE, "exact") for node in nodes[:count]]
        found = Comparison("folder", layers=rows, count=20)
        assert found.verdict == f"{agree} with folder ({20 - count} of 20 layers not observed)"


def test_the_right_runtime_agrees() -> None:
    found = compare(reference("transformer"), Wrong("nothing has this name"))
    assert found.agrees
    assert found.unseen == 0
    assert found.verdict == f"all {found.count} layers agree with mock"


def test_an_error_that_grows_later_is_not_the_later_layers_own() -> None:
    x = ops.parameter([1, 8], np.float32, name="x")
    y = ops.multiply(x, np.float32(2), name="slightly")
    z = ops.exp(ops.multiply(y, np.float32(30), name="scaled"), name="huge")
    model = irexec.Model([ops.subtract(z, np.float32(1), name="last")], [x], "growing")
    found = compare(
        Reference(model, [[np.linspace(-1, 1, 8, dtype=np.float32)[None]]]),
        Wrong("slightly", lambda a: a * np.float32(1.0001)),
    )
    assert named(found) == ["slightly"]
    rows = {row.node.friendly_name: row for row in found.layers}
    assert rows["last"].total is not None and rows["slightly"].total is not None
    assert rows["last"].total.relative > 10 * rows["slightly"].total.relative
    assert rows["last"].agrees


def test_bounds_take_the_place_of_the_tolerances() -> None:
    run = reference("classifier")
    assert not compare(run, Wrong("head")).agrees
    assert compare(run, Wrong("head"), bounds=Bounds(atol=1.0, rtol=1.0)).agrees


def test_the_window_changes_nothing() -> None:
    run = reference("classifier")
    whole, small = compare(run, Wrong("mean")), compare(run, Wrong("mean"), window=1)
    assert [row.to_dict() for row in whole.layers] == [row.to_dict() for row in small.layers]
    assert whole.verdict == small.verdict


def test_a_wrong_layer_of_a_body_is_named_with_its_iteration() -> None:
    x = np.array([[0, 0], [0, 0], [5, 6]], np.float32)
    run = Reference(irexec.read_model(iterating().text.encode()), [[x]])
    found = compare(run, Wrong("inner", lambda a: a * np.float32(1.5)))
    assert named(found) == ["inner"]
    assert found.culprit is not None
    assert (found.culprit.outer, found.culprit.iteration) == (("outer",), 2)
    assert found.verdict.startswith("first wrong layer: inner (Abs) in outer, iteration 2")
    assert found.to_dict()["layers"][-1]["outer"] == ["outer"]


def test_a_wrong_layer_of_a_body_that_changes_no_result() -> None:
    net = Net("picking")
    body = Net()
    row = body.parameter("row", "1,4")
    larger = body.layer("Exp", [row], "1,4", name="larger")
    body.result(body.layer("Sign", [larger], "1,4", name="sign"), "signs")
    maps = (
        '<port_map><input external_port_id="0" internal_layer_id="0" axis="0" part_size="1" stride="1"/>'
        '<output external_port_id="1" internal_layer_id="3" axis="0" part_size="1" stride="1"/></port_map>'
    )
    x = net.parameter("x", "2,4")
    net.result(net.layer("TensorIterator", [x], "2,4", name="outer", more=f"{maps}<body>{body.inside}</body>"))
    run = Reference(irexec.read_model(net.text.encode()), [[np.ones((2, 4), np.float32)]])
    found = compare(run, Wrong("larger"))
    assert not any(error for _, error in found.results)
    assert found.agrees and found.culprit is None
    assert "larger in outer" in found.others


def test_what_nobody_reads_is_not_compared() -> None:
    """No result depends on the indices of MaxPool, which another axis changes."""

    def pooled(axis: int) -> irexec.Model:
        x = ops.parameter([1, 2, 4, 4], np.float32, name="x")
        pool = ops.max_pool(x, [2, 2], [1, 1], [0, 0], [0, 0], [2, 2], "floor", "explicit", "i64", axis, name="pool")
        return irexec.Model([pool.output(0)], [x], "pooled")

    x = np.random.default_rng(0).normal(0, 1, (1, 2, 4, 4)).astype(np.float32)
    found = compare(Reference(pooled(2), [[x]]), OtherModel("other", pooled(0)))
    assert found.agrees, found.verdict
    assert found.unseen == 0


def chain() -> Reference:
    x = ops.parameter([2, 4], np.float32, name="x")
    value = x
    for number in range(3):
        value = ops.tanh(ops.multiply(value, np.float32(1.5), name=f"scale{number}"), name=f"bend{number}")
    return Reference(irexec.Model([value], [x], "chain"), [[np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)]])


@pytest.mark.parametrize("tells", [True, False])
@pytest.mark.parametrize("pair", [("scale0", "bend0"), ("bend0", "scale1"), ("scale2", "bend2")])
def test_an_error_that_showing_layers_hides(pair: tuple[str, str], tells: bool) -> None:
    """Two layers run as one, with an error: both are named, whether or not the runtime reports the fusion."""
    found = compare(chain(), WrongTogether(*pair, tells=tells))
    assert all(row.agrees for row in found.layers)
    assert found.hidden
    assert named(found) == list(pair)
    assert "only if the layers between them are not observed" in found.verdict
    assert not found.agrees


def test_a_step_of_a_quantizer_without_an_error_of_any_layer() -> None:
    """A runtime that fuses layers over a quantizer is a whole step off where no layer, if observed, has any error."""
    x = ops.parameter([1, 64], np.float32, name="x")
    scaled = ops.multiply(x, np.float32(4), name="scaled")
    steps = ops.round(scaled, "half_to_even", name="steps")
    model = irexec.Model([ops.multiply(steps, np.float32(0.25), name="result")], [x], "quantized")
    values = np.arange(64, dtype=np.float32).reshape(1, 64) / 8

    def one_step(array: np.ndarray) -> np.ndarray:
        return np.where(np.arange(64) % 5 == 1, array + np.float32(1), array)

    other = WrongTogether("scaled", "steps", tells=False)
    other.distort = one_step
    found = compare(Reference(model, [[values]]), other)
    assert all(row.agrees and not row.own for row in found.layers)
    assert found.hidden and not found.agrees
    assert not any("accumulated" in hint for hint in found.hints)


def test_the_culprit_is_saved_as_a_model_of_its_own(tmp_path: Path) -> None:
    run = reference("classifier")
    found = compare(run, Wrong("block1/depthwise/norm"))
    assert found.culprit is not None
    found.culprit.save(tmp_path)
    model = irexec.read_model(tmp_path / "culprit.xml")
    (norm,) = [n for n in model.nodes if n.type not in ("Parameter", "Const", "Result")]
    assert norm.type == "BatchNormInference"
    with np.load(tmp_path / "culprit.npz") as inputs, np.load(tmp_path / "outputs.npz") as outputs:
        result = irexec.compile_model(model)(inputs[inputs.files[0]])[0]
        mine, theirs = (outputs[f"{prefix}{port_name(model.outputs[0])}"] for prefix in ("irexec_", ""))
        np.testing.assert_array_equal(result, mine)
        assert np.abs(result - theirs).max() > 0.01


def test_the_saved_results_of_the_other_side_are_compared_with_the_saved_culprit(tmp_path: Path) -> None:
    found = compare(reference("classifier"), Wrong("block1/depthwise/norm"))
    assert found.culprit is not None
    found.culprit.save(tmp_path)
    with np.load(tmp_path / "culprit.npz") as inputs:
        saved = Reference(irexec.read_model(tmp_path / "culprit.xml"), [[*inputs.values()]])
    again = compare(saved, Folder(tmp_path / "outputs.npz"))
    assert named(again) == ["block1/depthwise/norm"]
    assert again.culprit is not None and again.culprit.own == found.culprit.own


# OpenVINO, live


@pytest.mark.parametrize("name", ["classifier", "transformer"])
def test_openvino_agrees(name: str) -> None:
    run = reference(name)
    found = compare(run, OpenVINO("CPU", {"INFERENCE_PRECISION_HINT": "f32"}, run.model))
    assert found.agrees, found.verdict
    assert found.unseen == 0


@pytest.mark.by_hand(1)
@pytest.mark.parametrize("name", ["classifier", "transformer"])
def test_openvino_in_a_lower_precision_agrees_within_its_rounding(name: str) -> None:
    """On a processor without bf16, OpenVINO computes in f32 regardless of the hint."""
    run = reference(name)
    has_bf16 = "BF16" in openvino.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    found = compare(run, OpenVINO("CPU", {"INFERENCE_PRECISION_HINT": "bf16"}, run.model))
    assert found.agrees, found.verdict
    assert "INFERENCE_PRECISION_HINT=bf16" in found.other
    assert ("within the rounding of bf16" in found.verdict) == has_bf16


def test_a_lower_precision_is_part_of_the_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Aligned, "precision", "bf16")
    found = compare(reference("classifier"), Wrong("stem/conv", lambda x: x.astype(bfloat16).astype(x.dtype)))
    assert named(found) == ["stem/conv"], found.verdict
    assert found.verdict.endswith("; the other side computes in bf16")


def test_openvino_in_a_body() -> None:
    run = Reference(irexec.read_model(iterating().text.encode()), [[np.ones((3, 2), np.float32)]])
    assert compare(run, OpenVINO(original=run.model)).agrees


# The command


def command(*options: str) -> list[str]:
    return ["compare", str(CLASSIFIER / "model.xml"), "--input", f"image={CLASSIFIER / 'image.npy'}", *options]


def test_a_model_with_another(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = irexec.read_model(CLASSIFIER / "model.xml")
    for node in model.nodes:
        if node.friendly_name == "block1/pointwise/norm":
            node.attributes["epsilon"] = 0.5
        elif node.type == "ReLU":
            node.friendly_name += "_renamed"
    irexec.save_model(model, tmp_path / "other.xml")
    assert main(command("--with", str(tmp_path / "other.xml"), "--save-culprit", str(tmp_path / "found"))) == 1
    text = capsys.readouterr().out
    assert text.startswith("first wrong layer: block1/pointwise/norm (BatchNormInference): ")
    assert "epsilon is 0.5 instead of" in " ".join(text.split())
    assert max(len(line) for line in text.splitlines() if str(tmp_path) not in line) <= 80
    # The layer of the other model is saved as well, so that the difference can be reproduced without the two models.
    saved = [str(tmp_path / "found" / name) for name in ("culprit.xml", "other.xml", "culprit.npz")]
    assert main(["compare", saved[0], "--with", saved[1], "--input", saved[2]]) == 1
    assert "epsilon is 0.5 instead of" in " ".join(capsys.readouterr().out.split())


def test_the_layer_of_the_other_model_is_saved_with_the_layers_inserted_before_it(tmp_path: Path) -> None:
    for name in ("a", "b"):
        x = ops.parameter([2], np.float32, name="x")
        y = ops.exp(ops.relu(x, name="r"), name="e")
        end = ops.tanh(ops.multiply(y, np.float32(3), name="m") if name == "b" else y, name="t")
        irexec.save_model(irexec.Model([end], [x], name), tmp_path / f"{name}.xml")
    run = Reference(irexec.read_model(tmp_path / "a.xml"), [[np.array([0.1, -0.2], np.float32)]])
    found = compare(run, OtherModel(str(tmp_path / "b.xml")))
    assert found.culprit is not None
    assert named(found) == ["t"]
    found.culprit.save(tmp_path)
    with np.load(tmp_path / "other.npz") as inputs, np.load(tmp_path / "outputs.npz") as outputs:
        result = irexec.compile_model(tmp_path / "other.xml")(dict(inputs))[0]
        np.testing.assert_array_equal(result, outputs["t"])


def test_another_model_that_takes_one_shape_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The message explains how to give both models the same shape."""
    for name, shape in (("open", [-1, 4]), ("closed", [3, 4])):
        x = ops.parameter(shape, np.float32, name="x")
        irexec.save_model(irexec.Model([ops.relu(x)], [x], name), tmp_path / f"{name}.xml")
    command = ["compare", str(tmp_path / "open.xml"), "--with", str(tmp_path / "closed.xml")]
    assert main(command) == 2
    error = capsys.readouterr().err
    assert "it expects [3,4] for 'x', but the model was given [1,4]: --shape x=3,4 gives both the same shape" in error
    assert main([*command, "--shape", "x=3,4"]) == 0


def test_inputs_that_irexec_refuses_too_are_its_own_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, shape in (("open", [-1, 4]), ("closed", [2, 4])):
        x = ops.parameter(shape, np.float32, name="x")
        end = ops.reshape(x, np.array([8]), False, name="flat")
        irexec.save_model(irexec.Model([end], [x], name), tmp_path / f"{name}.xml")
    assert (
        main(["compare", str(tmp_path / "open.xml"), "--with", str(tmp_path / "closed.xml"), "--shape", "x=3,4"]) == 2
    )
    error = capsys.readouterr().err
    assert error.startswith("error[O001]: ") and "layer: Reshape 'flat'" in error


def test_json_is_what_the_report_reads(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command("--with", str(CLASSIFIER / "model.xml"), "--json")) == 0
    text = capsys.readouterr().out
    observed: Any = read_observed(text)
    assert observed.kind == "compare"
    assert len(observed.layers) == len(json.loads(text)["layers"]) == 20
    assert observed.verdict.startswith("all 20 layers agree with ")


def test_a_dumped_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "dump"
    given = ["--input", f"image={CLASSIFIER / 'image.npy'}"]
    assert main(["run", str(CLASSIFIER / "model.xml"), *given, "--dump", str(folder)]) == 0
    assert main(command("--with", str(folder))) == 0
    (path,) = folder.glob("*_head.npy")
    array = np.load(path)
    array[0, 3] += 1
    np.save(path, array)
    capsys.readouterr()
    # The results were recorded as well, and are equal.
    assert main(command("--with", str(folder))) == 0
    text = capsys.readouterr().out.replace("\n  ", " ")
    assert text.startswith(f"the same results as {folder}; 2 layers compute different values: head, ")
    (path,) = folder.glob("*_probabilities.npy")
    np.save(path, np.roll(np.load(path), 1, -1))
    assert main(command("--with", str(folder))) == 1
    assert capsys.readouterr().out.startswith("first wrong layer: probabilities (SoftMax): ")


@pytest.mark.by_hand(0)
def test_what_cannot_be_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def refused(other: str) -> str:
        assert main(command("--with", other)) == 2
        return capsys.readouterr().err

    assert "is neither a known runtime" in refused("tensorflow")
    assert "OpenVINO has no device NPU9" in refused("openvino:NPU9")
    assert "ONNX Runtime can run .onnx files only" in refused("onnxruntime")
    assert "contains neither index.json nor .npy files" in refused(str(tmp_path))
