"""Layers that are judged together: the layer whose wrong connection explains their values is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.mocks import wrong

from irexec import Model
from irexec import opset15 as ops
from irexec.tools.compare.compare import compare
from irexec.tools.compare.result import Comparison
from irexec.tools.compare.runtimes.dumping import dump
from irexec.tools.compare.runtimes.folder import Folder
from irexec.tools.compare.runtimes.runtime import OtherModel
from irexec.tools.run.record import Reference

pytestmark = pytest.mark.any_python

F = np.float32
RNG = np.random.default_rng(0)
ROWS = RNG.normal(0, 1, (4, 8)).astype(F)
WEIGHTS = RNG.normal(0, 0.4, (3, 8, 8)).astype(F)


def model(slip: str = "", weights: np.ndarray = WEIGHTS[2]) -> Model:
    x = ops.parameter([4, 8], F, name="x")
    first = ops.matmul(x, WEIGHTS[0], False, False, name="first")
    gate = ops.sigmoid(ops.matmul(x, WEIGHTS[1], False, False, name="gated"), name="gate")
    bent = ops.tanh(first, name="bent")
    product = ops.multiply(bent, gate, name="product")
    read = {"": product, "no product": bent, "first": first}[slip]
    last = ops.matmul(read, weights, False, False, name="last")
    return Model([ops.relu(ops.add(last, x, name="sum"), name="relu")], [x], "gates")


def through_a_dump(other: Model, folder: Path) -> Comparison:
    run = Reference(model(), [[ROWS]])
    dump(run, OtherModel("other.xml", other), folder)
    return compare(run, Folder(folder))


@pytest.mark.parametrize(("slip", "value"), [("no product", "bent"), ("first", "first")])
def test_what_is_read_instead(slip: str, value: str, tmp_path: Path) -> None:
    found = through_a_dump(model(slip), tmp_path)
    assert found.culprit is not None
    assert [node.friendly_name for node in found.culprit.nodes] == ["last"]
    assert f"the values result from reading {value} instead of product" in found.verdict
    assert (tmp_path / "saved" / "culprit.xml") in found.culprit.save(tmp_path / "saved")


@pytest.mark.parametrize("fault", ["other constants", "left out"])
def test_a_layer_with_constants_that_computes_nothing_on_the_other_side(fault: str, tmp_path: Path) -> None:
    """The values are the same whether the other side omits the layer or has other constants."""

    def scaled(scale: np.ndarray | None) -> Model:
        x = ops.parameter([4, 8], F, name="x")
        bent = ops.tanh(ops.matmul(x, WEIGHTS[0], False, False, name="first"), name="bent")
        read = bent if scale is None else ops.multiply(bent, scale, name="scale")
        return Model([ops.relu(ops.matmul(read, WEIGHTS[1], False, False, name="last"), name="relu")], [x], "scaled")

    run = Reference(scaled(np.linspace(1, 2, 8, dtype=F)), [[ROWS]])
    other = scaled(np.ones(8, F) if fault == "other constants" else None)
    dump(run, OtherModel("other.xml", other), tmp_path)
    index = tmp_path / "0" / "index.json"
    about = json.loads(index.read_text())
    about["tensors"] = [entry for entry in about["tensors"] if entry["layer"]["name"] != "scale"]
    index.write_text(json.dumps(about))
    found = compare(run, Folder(tmp_path))
    assert found.culprit is not None
    assert [node.friendly_name for node in found.culprit.nodes] == ["scale", "last"]
    assert "the values result from reading bent instead of scale" in found.verdict


class Half(OtherModel):
    """Another model, run by irexec with every result rounded to bf16."""

    def load(self, model: Model) -> Any:
        inner = super().load(model)
        for node in inner.layer_pairs.alignment.b.nodes:
            if node.operator is not None and node.inputs and node.type != "Result":
                node.operator = wrong(node.operator, lambda a: a.astype(ml_dtypes.bfloat16).astype(a.dtype))
        inner.precision = "bf16"
        return inner


@pytest.mark.parametrize(("slip", "value"), [("no product", "bent"), ("first", "first")])
def test_what_is_read_instead_by_a_runtime_that_rounds(slip: str, value: str, tmp_path: Path) -> None:
    run = Reference(model(), [[ROWS]])
    dump(run, Half("other.xml", model(slip)), tmp_path)
    found = compare(run, Folder(tmp_path))
    assert found.culprit is not None
    assert [node.friendly_name for node in found.culprit.nodes] == ["last"]
    assert f"the values result from reading {value} instead of product" in found.verdict


def test_what_no_slip_explains_is_named_together(tmp_path: Path) -> None:
    found = through_a_dump(model("no product", WEIGHTS[1]), tmp_path)
    assert found.culprit is not None
    assert "last" in [node.friendly_name for node in found.culprit.nodes] and len(found.culprit.nodes) > 1
