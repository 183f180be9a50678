"""irexec run --as: the effect of another precision on a model, and the layers that correct it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.failing import SAMPLES, reference

import irexec
from irexec import opset15 as ops
from irexec.cli.main import main
from irexec.core.types import BF16, F16, F32, Array, ElementType
from irexec.runtime.engine import CompiledModel
from irexec.tools.run.record import Reference
from irexec.tools.sensitivity.precision import forecast, lowered

RNG = np.random.default_rng(0)
X: Array = RNG.normal(0, 1, (2, 16)).astype(np.float32)


def attention() -> Reference:
    """Return attention with scores that are too large for f16 before they are scaled, as if the query were
    not scaled.
    """
    x = ops.parameter([2, 16], np.float32, name="x")
    query = ops.matmul(x, np.float32(300) * np.eye(16, dtype=np.float32), name="query")
    scores = ops.matmul(query, RNG.normal(0, 300, (16, 16)).astype(np.float32), name="scores")
    scaled = ops.divide(scores, np.float32(1e5), name="scaled")
    return Reference(irexec.Model([ops.softmax(scaled, -1, name="weights")], [x], "attention"), [[X]])


def test_an_overflow_is_named_with_the_way_there_and_fixed() -> None:
    found = forecast(attention(), F16)
    assert found.run.broken is not None
    assert found.run.broken.friendly_name == "scores"
    assert "scores (MatMul) overflows" in found.verdict and "exceeds 65504" in found.verdict
    assert [row.node.friendly_name for row in found.way] == ["query", "scores"]
    assert found.kept is not None and found.fixed is not None
    assert [node.friendly_name for node in found.kept] == ["scores", "scaled"]
    assert found.fixed.fine
    assert not found.run.fine


def test_bf16_has_the_range() -> None:
    found = forecast(attention(), BF16)
    assert found.run.broken is None
    assert found.kept is None
    assert found.verdict.startswith("in bf16 no layer overflows; weights loses ")


def test_what_becomes_zero_is_counted_and_fixed() -> None:
    """1e-9 is zero in f16, so that 0 / 0 is NaN although no value is large."""
    x = ops.parameter([2, 16], np.float32, name="x")
    small = ops.multiply(ops.abs(x), np.float32(1e-9), name="small")
    model = irexec.Model([ops.divide(small, ops.reduce_max(small, [1], True), name="ratio")], [x], "small")
    found = forecast(Reference(model, [[X]]), F16)
    assert found.run.broken is not None
    assert found.run.broken.friendly_name == "ratio"
    rows = {row.node.friendly_name: row for row in found.layers}
    assert rows["small"].zero == rows["small"].count == 32
    assert found.kept is not None and "small" in [node.friendly_name for node in found.kept]
    assert found.fixed is not None and found.fixed.fine


def test_a_loss_without_an_overflow_is_fixed() -> None:
    """A large number is added and subtracted: nothing remains of the small one."""
    x = ops.parameter([2, 16], np.float32, name="x")
    far = ops.add(x, np.float32(30000), name="far")
    model = irexec.Model([ops.subtract(far, np.float32(30000), name="back")], [x], "far")
    found = forecast(Reference(model, [[X]]), F16)
    assert found.run.broken is None and not found.run.fine
    assert "more than rounding causes" in found.verdict
    assert found.kept is not None and [node.friendly_name for node in found.kept] == ["far", "back"]
    assert found.fixed is not None and found.fixed.fine


@pytest.mark.parametrize("kind", [F16, BF16])
@pytest.mark.parametrize("name", ["classifier", "transformer", "loop"])
def test_every_layer_is_rounded(name: str, kind: ElementType) -> None:
    """Check that each value that a layer of the lowered model reads is a number of the type, in bodies as well."""
    run = reference(name)
    model, origin = lowered(run.model, kind)

    class Watching:
        count = 0

        def before(self, node: Any, inputs: Any) -> None:
            if node.type == origin[node].type:
                for value, array in zip(node.inputs, inputs, strict=True):
                    if value is not None and array is not None and array.dtype == np.float32:
                        Watching.count += 1
                        np.testing.assert_array_equal(array, array.astype(kind.dtype).astype(np.float32))

        def after(self, *given: Any) -> None:
            pass

    CompiledModel(model).create_infer_request([Watching()]).infer(run.steps[0])
    assert Watching.count > 3


def test_what_is_kept_is_not_rounded() -> None:
    run = reference("classifier")
    model, _ = lowered(run.model, F16, list(run.model.walk()))
    found = CompiledModel(model)(run.steps[0])[0]
    np.testing.assert_array_equal(found, run.results()[0][0])


def test_the_forecast_is_what_a_model_of_the_type_computes() -> None:
    """Compare the forecast loss with that of the same model with all types set to f16."""
    x = ops.parameter([2, 16], np.float32, name="x")
    weights = RNG.normal(0, 1, (16, 8)).astype(np.float32)
    model = irexec.Model([ops.tanh(ops.matmul(ops.sigmoid(x), weights))], [x], "wide")
    y = ops.parameter([2, 16], np.float16, name="y")
    narrow = irexec.Model([ops.tanh(ops.matmul(ops.sigmoid(y), weights.astype(np.float16)))], [y], "narrow")
    made = CompiledModel(lowered(model, F16)[0])([X])[0]
    np.testing.assert_array_equal(made.astype(np.float16), CompiledModel(narrow)([X.astype(np.float16)])[0])
    assert F32 is ElementType.of(made.dtype)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    irexec.save_model(attention().model, tmp_path / "m.xml")
    np.save(tmp_path / "x.npy", X)
    command = ["run", str(tmp_path / "m.xml"), "--input", f"x={tmp_path / 'x.npy'}", "--as", "f16"]
    assert main(command) == 0
    text = capsys.readouterr().out
    assert "scores (MatMul) overflows" in text
    assert "verified: the results are correct with these layers in f32: scores, scaled" in text
    assert main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["forecast"]
    assert (found["type"], found["first"], found["keep"]) == ("f16", "scores", ["scores", "scaled"])
    image = f"image={SAMPLES / 'classifier' / 'image.npy'}"
    assert main(["run", str(SAMPLES / "classifier" / "model.xml"), "--input", image, "--as", "f16"]) == 0
    assert "in f16 no layer overflows; probabilities loses" in capsys.readouterr().out
