"""irexec.sensitivity: a damaged quantizer is ranked first, and the model without it has the reported score."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.failing import SAMPLES
from support.quantized import Quantizing, chain, inputs, pair

import irexec
from irexec import opset15 as ops
from irexec.core.types import Array
from irexec.model.graph.model import Model
from irexec.runtime.engine import CompiledModel
from irexec.tools.sensitivity.analysis import PRECISIONS, trials_of
from irexec.tools.sensitivity.measure import Choice, Trials
from irexec.tools.sensitivity.metrics import noise_of
from irexec.tools.sensitivity.quantizers import NoPair

pytestmark = pytest.mark.any_python

NAMES = [
    "block3/in/fq_output_0",
    "block0/in/fq_output_0",
    "block7/product/fq_weights_1",
    "block14/in/fq_output_0",
    "block1/product/fq_weights_1",
    "block9/in/fq_output_0",
    "block5/product/fq_weights_1",
    "block12/in/fq_output_0",
    "block14/product/fq_weights_1",
    "block6/in/fq_output_0",
]


def outputs_of(model: Model, steps: list[Array]) -> list[dict[str, Array]]:
    compiled = CompiledModel(model)
    return [{"y": compiled.infer_new_request([step]).to_tuple()[0]} for step in steps]


@pytest.mark.by_hand(2)
@pytest.mark.parametrize(("seed", "spoilt"), [*enumerate(NAMES)])
def test_a_spoilt_quantizer_is_named_first_and_its_scope_recovers_the_loss(seed: int, spoilt: str) -> None:
    """The range is ten times too small, or so large for every second quantizer that few levels are used."""
    model, other = pair(seed, spoilt, 0.1 if seed % 2 else 150.0)
    found = irexec.sensitivity(model, other, inputs(seed))
    assert found.rows[0].name == spoilt
    assert found.chosen is not None and found.mixed is not None
    assert found.recovered >= 0.9
    assert (f"try to recalibrate {spoilt}: " in str(found)) == ("output" in spoilt)
    layers = [node for node in model.nodes if node.type not in ("Const", "Parameter", "Result")]
    assert len(found.layers) <= 0.05 * len(layers)
    steps = inputs(seed)
    expected = outputs_of(model, steps)
    loss, rest = (noise_of(expected, outputs_of(m, steps)) for m in (other, found.mixed))
    assert 1 - rest / loss == pytest.approx(found.recovered)


def test_the_effect_of_every_unit_is_that_of_a_whole_run() -> None:
    model, other = pair(1, blocks=4)
    steps = inputs(1)
    trials = trials_of(model, other, [[step] for step in steps], "snr")
    expected = outputs_of(model, steps)
    units = trials.board.units
    for unit, effect in zip(units, trials.effects(units), strict=True):
        mixed = noise_of(expected, outputs_of(trials.board.wired(unit.sites), steps))
        rest = noise_of(expected, outputs_of(trials.board.wired({*trials.board.sites.values()} - {*unit.sites}), steps))
        assert trials.proven(Choice(unit.sites)).noise == mixed
        assert (effect.without.noise, effect.alone.noise) == pytest.approx((mixed, rest), rel=1e-3)


def test_without_any_quantizer_it_is_the_float_model() -> None:
    model, other = pair(2, blocks=4)
    trials = trials_of(model, other, [[step] for step in inputs(2)], "snr")
    assert trials.fine.noise == 0
    assert trials.coarse.noise > 0
    assert len(trials.board.units) == 8


def test_parts_need_a_fraction_of_the_work() -> None:
    model, other = pair(3)
    trials = trials_of(model, other, [[step] for step in inputs(3)], "snr")
    before = trials.inferences
    trials.effects(trials.board.units)
    assert trials.inferences - before < 0.6 * 2 * len(trials.inputs) * len(trials.board.units)


def test_passes_of_few_lanes_need_more_work_and_give_the_same() -> None:
    model, other = pair(1, blocks=4)
    steps = [[step] for step in inputs(1)]
    many, single = (trials_of(model, other, steps, "snr", memory=size) for size in (1 << 30, 0))
    assert single.lanes_at_once == 1 and many.lanes_at_once > 64
    effects = [trials.effects(trials.board.units) for trials in (many, single)]
    for one, two in zip(*effects, strict=True):
        assert one.without.noise == pytest.approx(two.without.noise, rel=1e-3)
        assert one.alone.noise == pytest.approx(two.alone.noise, rel=1e-3)
    assert single.inferences > 1.3 * many.inferences


def test_layers_with_other_names_are_paired_by_structure() -> None:
    model, other = pair(4, "block2/in/fq_output_0", 0.1, blocks=5)
    for number, node in enumerate(other.nodes):
        if node.type not in ("Parameter", "FakeQuantize"):
            node.friendly_name = f"layer{number}"
    found = irexec.sensitivity(model, other, inputs(4))
    assert found.fine.noise == 0
    assert found.rows[0].name == "block2/in/fq_output_0"
    assert found.rows[0].layers == ["block2/product"]


def test_a_corrected_bias_is_combined_with_its_weights() -> None:
    model, other = pair(5, blocks=3)
    for node in other.nodes:
        if node.friendly_name == "block1/bias":
            constant = next(v.node for v in node.inputs if v is not None and v.node.constant is not None)
            assert constant.constant is not None
            constant.constant = constant.constant + np.float32(0.01)
    trials = trials_of(model, other, [[step] for step in inputs(5)], "snr")
    assert trials.fine.noise == 0
    assert [len(unit.sites) for unit in trials.board.units if unit.name == "block1/product/fq_weights_1"] == [2]


def test_weights_that_were_smoothed_are_compared_with_the_scaled_ones() -> None:
    """SmoothQuant divides the input of a product by a scale per channel, and multiplies the weights by it."""
    rng = np.random.default_rng(0)
    weights, scale = rng.normal(0, 1, (8, 4)).astype(np.float32), 2.0 ** rng.integers(-2, 3, 8)

    def build(smooth: bool) -> irexec.Model:
        x = ops.parameter([3, 8], np.float32, name="x")
        quantizing = Quantizing(smooth)
        value = ops.multiply(x, (1 / scale).astype(np.float32), name="smooth") if smooth else x
        held = (weights * scale[:, None]).astype(np.float32) if smooth else weights
        y = ops.matmul(quantizing.values(value, "x"), quantizing.weights(held, "y"), name="y")
        return irexec.Model([y], [x], "smooth")

    found = irexec.sensitivity(build(False), build(True), [rng.normal(0, 1, (3, 8)).astype(np.float32)])
    assert found.fine.snr > 130
    assert not found.notes


def shared(quantizes: bool, second: float) -> irexec.Model:
    """Return a value that two products read, of which the second is scaled by a factor; its quantizer is damaged."""
    rng = np.random.default_rng(0)
    x = ops.parameter([4, 16], np.float32, name="x")
    quantizing = Quantizing(quantizes, "x/fq_output_0", 0.1)
    read = quantizing.values(ops.multiply(x, np.float32(1), name="same"), "x")
    parts = [ops.matmul(read, rng.normal(0, 1, (16, 8)).astype(np.float32), name=name) for name in ("a", "b")]
    return irexec.Model([ops.add(parts[0], ops.multiply(parts[1], np.float32(second)), name="y")], [x], "shared")


def test_layers_that_read_a_spoilt_value_are_excluded_together_or_only_those_that_count() -> None:
    steps = [np.random.default_rng(1).normal(0, 1, (4, 16)).astype(np.float32)]
    both, one = (irexec.sensitivity(shared(False, f), shared(True, f), steps) for f in (1.0, 0.01))
    assert both.layers == ["a", "b"] and [row.name for row in both.chosen or []] == ["x/fq_output_0"]
    assert one.layers == ["a"] and one.chosen == [] and one.recovered > 0.9
    assert one.mixed is not None and one.score is not None
    expected, mine = outputs_of(shared(False, 0.01), steps), outputs_of(one.mixed, steps)
    assert noise_of(expected, mine) == one.score.noise


def test_a_spoilt_quantizer_without_an_effect_is_listed_as_conspicuous() -> None:
    """The readers of the quantizer have little effect on the results."""
    rng = np.random.default_rng(0)

    def build(quantizes: bool) -> irexec.Model:
        x = ops.parameter([4, 16], np.float32, name="x")
        parts = []
        for name, factor, count in (("much", 1.0, 1.0), ("little", 0.02, 1e-4)):
            read = Quantizing(quantizes, f"{name}/fq_output_0", factor).values(ops.tanh(x, name=name), name, 1.0)
            weights = rng.normal(0, 1, (16, 8)).astype(np.float32)
            parts.append(ops.multiply(ops.matmul(read, weights, name=f"{name}/product"), np.float32(count)))
        return irexec.Model([ops.add(*parts, name="y")], [x], "odd")

    rng_state = rng.bit_generator.state
    model = build(False)
    rng.bit_generator.state = rng_state
    found = irexec.sensitivity(model, build(True), [np.random.default_rng(1).normal(0, 1, (4, 16)).astype(np.float32)])
    assert [row.name for row in found.rows] == ["much/fq_output_0", "little/fq_output_0"]
    assert [row.name for row in found.conspicuous] == ["little/fq_output_0"]
    assert "unusually low own SNR: little/fq_output_0 (0." in str(found)


def test_models_that_are_not_a_pair_are_refused() -> None:
    model, _ = pair(6, blocks=3)
    with pytest.raises(NoPair, match="no quantizer"):
        irexec.sensitivity(model, model, inputs(6))
    x = ops.parameter([2, 16], np.float32, name="x")
    two = irexec.Model([ops.relu(x), ops.abs(x)], [x], "two")
    with pytest.raises(NoPair, match="numbers of inputs or results"):
        irexec.sensitivity(model, two, inputs(6))


def test_weights_are_listed_with_the_layer_that_reads_them() -> None:
    """Exporters name the layers that decompress weights by numbers."""
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(16, 16)).astype(np.float32)
    codes, x = np.rint(weights * 40).clip(-127, 127).astype(np.int8), ops.parameter([2, 16], np.float32, name="x")
    stored = ops.multiply(ops.convert(ops.constant(codes), "f32"), np.float32(1 / 40), name="Multiply_57")
    model, other = (irexec.Model([ops.matmul(x, w, False, False, name="fc")], [x]) for w in (weights, stored))
    found = irexec.sensitivity(model, other, inputs(0)[:1])
    assert [(row.name, row.label, row.layers) for row in found.rows] == [("Multiply_57", "Multiply_57 of fc", ["fc"])]
    assert "  Multiply_57 of fc\n" in str(found)
    assert max(map(len, str(found).splitlines())) <= 80
    with pytest.raises(NoPair, match="the first model has quantizers and the second has none: the float model comes"):
        irexec.sensitivity(other, model, inputs(0)[:1])


@pytest.mark.parametrize(("name", "meant"), [("bf15", "bf16"), ("int8", "int8-weights")])
def test_a_precision_that_does_not_exist_is_refused(name: str, meant: str) -> None:
    known = "f16, bf16, int8-weights, int4-weights"
    with pytest.raises(ValueError, match=f"'{name}' is neither a file nor one of {known}: did you mean {meant}\\?"):
        irexec.sensitivity(overflowing(), name)


def overflowing() -> irexec.Model:
    x = ops.parameter([2, 16], np.float32, name="x")
    rng = np.random.default_rng(0)
    query = ops.matmul(x, np.float32(300) * np.eye(16, dtype=np.float32), name="query")
    scores = ops.matmul(query, rng.normal(0, 300, (16, 16)).astype(np.float32), name="scores")
    scaled = ops.divide(scores, np.float32(1e5), name="scaled")
    return irexec.Model([ops.softmax(scaled, -1, name="weights")], [x], "attention")


def test_the_layers_of_an_overflow_are_kept_and_marked(tmp_path: Path) -> None:
    """OpenVINO accepts the marks of the written model, and validate reports nothing about them."""
    openvino = pytest.importorskip("openvino")
    found = irexec.sensitivity(overflowing(), "f16", inputs(0))
    assert math.isinf(found.coarse.noise)
    assert found.rows[0].name == "scores" and found.rows[0].clipped > 0
    assert found.layers == ["scaled", "scores"]
    assert found.recovered == 1.0 and found.score is not None and found.score.snr > 40
    assert found.rescaling is not None and [*found.rescaling.powers] == ["scores"]
    assert found.rescaling.difference == 0 and "by powers of two: snr" in str(found)
    found.save_rescaled(tmp_path / "rescaled.xml")
    again = irexec.sensitivity(tmp_path / "rescaled.xml", "f16", inputs(0))
    assert again.coarse.snr == pytest.approx(found.rescaling.score.snr)
    with pytest.raises(ValueError, match="no rescaled model"):
        again.save_rescaled(tmp_path / "none.xml")
    found.save(tmp_path / "kept.xml")
    assert [f.code for f in irexec.validate(tmp_path / "kept.xml").diagnostics] == []
    marked_again = irexec.sensitivity(tmp_path / "kept.xml", "f16", inputs(0))
    assert marked_again.coarse.noise == found.score.noise
    model = openvino.Core().read_model(tmp_path / "kept.xml")
    marked = [op.get_friendly_name() for op in model.get_ops() if "DisablePrecisionConversion_0" in op.get_rt_info()]
    assert sorted(marked) == ["scaled", "scores"]


@pytest.mark.by_hand(1)
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", ["classifier", "transformer"])
def test_samples_in_every_precision(name: str, precision: str, tmp_path: Path) -> None:
    """The written model computes the reported results: with compressed weights, in OpenVINO as well."""
    file = SAMPLES / name / "model.xml"
    step = np.load(SAMPLES / name / ("image.npy" if name == "classifier" else "words.npy"))
    found = irexec.sensitivity(file, precision, [step])
    assert found.chosen is not None and found.score is not None
    assert found.recovered >= 0.9 or (found.coarse.snr >= 60 and not found.chosen)
    found.save(tmp_path / "mixed.xml")
    if "weights" in precision:
        expected = outputs_of(irexec.read_model(file), [step])
        mine = outputs_of(irexec.read_model(tmp_path / "mixed.xml"), [step])
        assert noise_of(expected, mine) == pytest.approx(found.score.noise)
        core = pytest.importorskip("openvino").Core()
        settings = {"INFERENCE_PRECISION_HINT": "f32", "DYNAMIC_QUANTIZATION_GROUP_SIZE": "0"}
        theirs = core.compile_model(tmp_path / "mixed.xml", "CPU", settings)([step])[0]
        assert np.allclose(mine[0]["y"], theirs, atol=1e-4)


def test_an_input_by_name_and_missing_ones() -> None:
    model, other = pair(1, blocks=2)
    step = inputs(1)[0]
    by_name, by_place = (irexec.sensitivity(model, other, given).to_dict() for given in ({"x": step}, [[step]]))
    assert by_name == by_place
    for given, message in (
        ([{"z": step}], r"inputs\['z'\]: no input has this name; the inputs are x"),
        ([[step, step]], "an array is required for each of x"),
        ([], "at least one"),
    ):
        with pytest.raises(ValueError, match=message):
            irexec.sensitivity(model, other, given)


@pytest.mark.parametrize("target", ["much", "nan", "0%", "101%"])
def test_targets_that_are_none(target: str) -> None:
    model, other = pair(1, blocks=2)
    with pytest.raises(ValueError, match="neither a share"):
        irexec.sensitivity(model, other, inputs(1), target=target)


def test_a_target_that_is_met_already_and_one_that_cannot_be() -> None:
    model, other = pair(1, blocks=3)
    met = irexec.sensitivity(model, other, inputs(1), target="1")
    assert met.chosen == [] and met.layers == [] and "met already" in str(met)
    never = irexec.sensitivity(model, other, inputs(1), metric="cosine", target="2")
    assert never.chosen is None and never.mixed is None and "no set of layers" in str(never)
    with pytest.raises(ValueError, match="no mixed model"):
        never.save("never.xml")


def test_a_negligible_loss_needs_no_layer_in_higher_precision() -> None:
    model, _ = pair(1, blocks=3)
    found = irexec.sensitivity(model, "f16", inputs(1))
    assert found.coarse.snr > 60
    assert found.chosen == [] and "the loss is negligible (SNR of the results: " in str(found)
    assert irexec.sensitivity(model, "f16", inputs(1), target="80").layers


def test_no_member_of_the_smallest_set_can_be_spared() -> None:
    model, other = pair(8, blocks=5)
    steps = [[step] for step in inputs(8)]
    found = irexec.sensitivity(model, other, [s[0] for s in steps], target="70%")
    assert len(found.layers) > 1
    trials: Trials = trials_of(model, other, steps, "snr")
    for name in found.layers:
        fewer = Choice(trials.board.excluding([n for n in found.layers if n != name]))
        assert trials.recovered(trials.proven(fewer)) < 0.7


def test_the_result_as_text_and_json() -> None:
    model, other = pair(0, NAMES[0], 40.0, blocks=4)
    found = irexec.sensitivity(model, other, inputs(0))
    text = str(found)
    assert f"{found.ignored_scope}" in text and "nncf.IgnoredScope(names=['block3/product'])" in text
    table = text.split("\n\n")[1]
    assert max(map(len, table.splitlines()[:-2])) <= 80
    known: dict[str, Any] = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert known["chosen"] == [NAMES[0], "block3/product/fq_weights_1"] and known["layers"] == ["block3/product"]
    assert known["fine"]["metric"] == "Infinity"
    assert [point["count"] for point in known["curve"]] == [0, 1, 2, 3, 4]


@pytest.mark.by_hand(0)
def test_variables_hold_their_first_value() -> None:
    """The sample transformer reads a cache, which is empty for every input."""
    file = SAMPLES / "transformer" / "model.xml"
    words = np.load(SAMPLES / "transformer" / "words.npy")
    once, twice = (irexec.sensitivity(file, "bf16", [words] * count) for count in (1, 2))
    assert once.coarse == twice.coarse
    # Layers that only move the same values differ by the rounding of sums, so their order may differ.
    recovered = [{row.name: row.recovered for row in found.rows} for found in (once, twice)]
    assert recovered[0] == pytest.approx(recovered[1], rel=1e-4, abs=1e-6)


def test_a_chain_without_quantizers_is_the_same_in_both_forms() -> None:
    """The float form of these tests has no quantizer."""
    assert all(node.type != "FakeQuantize" for node in chain(0, Quantizing(False)).nodes)


@pytest.mark.by_hand(1)
@pytest.mark.parametrize("dtype", [np.int64, np.float16, np.float64, np.uint8])
def test_inputs_of_another_type_are_converted_as_by_compare(dtype: type) -> None:
    values = np.random.default_rng(0).integers(0, 100, [2, 3, 32, 32])
    name = SAMPLES / "classifier" / "model.xml"
    right = irexec.sensitivity(name, "f16", [{"image": values.astype(np.float32)}])
    found = irexec.sensitivity(name, "f16", [{"image": values.astype(dtype)}])
    assert (found.coarse, found.rows) == (right.coarse, right.rows)


def test_an_input_of_the_wrong_rank_is_a_finding() -> None:
    with pytest.raises(irexec.IRError, match="O008"):
        irexec.sensitivity(SAMPLES / "classifier" / "model.xml", "f16", [{"image": np.zeros([3, 32], np.float32)}])
