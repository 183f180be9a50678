"""irexec compare: weights that one of two files stores in fewer bits, and recordings of irexec, which round nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.verdicts import named

import irexec
from irexec import Model
from irexec import opset15 as ops
from irexec.cli.main import main
from irexec.tools.compare.compare import compare
from irexec.tools.compare.result import Comparison
from irexec.tools.compare.runtimes.dumping import dump
from irexec.tools.compare.runtimes.folder import Folder
from irexec.tools.compare.runtimes.runtime import OtherModel
from irexec.tools.run.record import Reference

pytestmark = pytest.mark.any_python

F = np.float32


def compared(right: Model, other: Model, rows: np.ndarray) -> Comparison:
    return compare(Reference(right, [[rows]]), OtherModel("other.xml", other))


def halves(kind: str, larger: float = 1.0, columns: int = 16, transposed: bool = False) -> Model:
    """Return products with weights that are stored in a type; one of them is also larger. The last one has `columns`,
    and may be stored transposed.
    """
    x = made = ops.parameter([4, 16], F, name="x")
    rng = np.random.default_rng(0)
    for number in range(4):
        last = number == 3
        weights = rng.normal(0, 0.3, (16, columns if last else 16)).astype(F) * F(larger if number == 2 else 1.0)
        weights = weights.T.copy() if last and transposed else weights
        given = ops.convert(ops.constant(weights, kind), "f32") if kind != "f32" else ops.constant(weights)
        made = ops.tanh(ops.matmul(made, given, False, last and transposed, name=f"product{number}"))
    return Model([made], [x], "products")


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_a_fault_among_weights_in_fewer_bits_is_named(kind: str) -> None:
    rows = np.random.default_rng(1).normal(size=(4, 16)).astype(F)
    found = compared(halves("f32"), halves(kind), rows)
    assert named(found) == ["product0"]
    assert f"the constant b is rounded to {kind}" in found.verdict
    assert any(note.startswith("constants of 4 layers have fewer bits") for note in found.notes)
    assert any("compress_to_fp16=False" in hint for hint in found.hints) is (kind == "f16")
    worse = compared(halves("f32"), halves(kind, 1.03), rows)
    assert named(worse) == ["product2"] and "the constant b is 3" in worse.verdict
    assert named(compared(halves(kind), halves(kind, 1.03), rows)) == ["product2"]
    assert "the constant b is not rounded to" in compared(halves(kind), halves("f32"), rows).verdict


@pytest.mark.parametrize("columns", [16, 8])
@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_weights_in_fewer_bits_may_be_stored_transposed(kind: str, columns: int) -> None:
    rows = np.random.default_rng(1).normal(size=(4, 16)).astype(F)
    right = halves("f32", columns=columns)
    stored = halves(kind, columns=columns, transposed=True)
    for found in (compared(right, stored, rows), compared(stored, right, rows)):
        assert named(found) == ["product0"]
        assert any(note.startswith("constants of 4 layers have fewer bits") for note in found.notes)
        assert not any("transpose_b" in text for text in (found.verdict, *found.notes))
    worse = compared(right, halves(kind, 1.03, columns, transposed=True), rows)
    assert named(worse) == ["product2"] and "the constant b is 3" in worse.verdict
    assert compared(right, halves("f32", columns=columns, transposed=True), rows).agrees


@pytest.mark.parametrize("kind", ["f32", "f16"])
def test_the_same_weights_read_transposed_are_a_fault(kind: str) -> None:
    rows = np.random.default_rng(1).normal(size=(4, 16)).astype(F)
    wrong = halves(kind)
    product = next(node for node in wrong.nodes if node.friendly_name == "product3")
    product.attributes["transpose_b"] = True
    found = compared(halves("f32"), wrong, rows)
    assert named(found) == ["product3"] and "transpose_b is True instead of False" in found.verdict


@pytest.mark.parametrize("by_run", [False, True])
@pytest.mark.parametrize("epsilon", [1e-5, 1e-4])
def test_an_epsilon_in_a_recording_of_irexec(
    epsilon: float, by_run: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A runtime that fuses layers may also have this error: the sum is off by one or two units."""

    def model(epsilon: float) -> Model:
        x = ops.parameter([4, 16], F, name="x")
        mean = ops.reduce_mean(ops.multiply(x, x), np.array([1]), True, name="mean")
        root = ops.sqrt(ops.add(mean, F(epsilon), name="padded"), name="root")
        return Model([ops.divide(x, root, name="normalized")], [x], "rms")

    monkeypatch.chdir(tmp_path)
    rows = np.random.default_rng(0).normal(0, 5, (4, 16)).astype(F)
    run = Reference(model(1e-5), [[rows]])
    if by_run:
        irexec.save_model(model(epsilon), "other.xml")
        np.save("x.npy", rows)
        assert main(["run", "other.xml", "--input", "x=x.npy", "--dump", "recorded"]) == 0
    else:
        dump(run, OtherModel("other.xml", model(epsilon)), "recorded")
    found = compare(run, Folder(Path("recorded")))
    assert named(found) == ([] if epsilon == 1e-5 else ["padded"])
    assert found.agrees is (epsilon == 1e-5)
