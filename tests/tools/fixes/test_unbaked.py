"""Baked sizes are removed only if running both models confirms the change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.dynamic_nets import MODELS

import irexec
from irexec import opset15 as ops
from irexec.cli.main import main
from irexec.tools.fixes.unbaked import CannotUnbake, unbaked


def model(build: Any, shape: list[int]) -> irexec.Model:
    x = ops.parameter(shape, np.float32, name="x")
    return irexec.Model([build(x)], [x], "traced")


def test_an_exported_batch_is_opened() -> None:
    traced = MODELS["exported"]()
    before = irexec.shapes(traced)
    made = unbaked(before)
    assert [(change.before, change.after) for change in made.changes] == [
        ((1, -1, 2, 4), (0, -1, 2, 4)),
        ((1, -1, 8), (0, -1, 8)),
    ]
    assert irexec.shapes(made.model).conditions == [[]]
    assert irexec.shapes(traced).conditions == before.conditions, "the original is not changed"
    ids = np.array([[1, 2, 3], [4, 5, 6]])
    both = irexec.compile_model(made.model)([ids])[0]
    for number in range(2):
        np.testing.assert_array_equal(
            both[number : number + 1], irexec.compile_model(traced)([ids[number : number + 1]])[0]
        )


def test_a_target_that_merged_axes_is_inferred() -> None:
    def build(x: Any) -> Any:
        moved = ops.reshape(x, np.array([-1, 4]), special_zero=False)
        return ops.add(ops.reshape(ops.relu(moved), np.array([1, 6, 4]), special_zero=False), x)

    made = unbaked(irexec.shapes(model(build, [-1, 6, 4])))
    assert [change.after for change in made.changes] == [(-1, 6, 4)]


def test_what_mixes_the_elements_is_not_changed() -> None:
    def build(x: Any) -> Any:
        summed = ops.reduce_sum(x, np.array([0]), keep_dims=True)
        flat = ops.reshape(ops.add(x, summed), np.array([1, 24]), special_zero=False)
        return ops.matmul(flat, np.ones((24, 2), np.float32))

    with pytest.raises(CannotUnbake, match="differ from the results of each"):
        unbaked(irexec.shapes(model(build, [-1, 6, 4])))


def test_a_broadcast_that_mixes_the_elements_is_not_changed() -> None:
    def build(x: Any) -> Any:
        mean = ops.reduce_mean(x, np.array([0]), keep_dims=True)
        return ops.concat([x, ops.broadcast(mean, np.array([1, 4]))], 1)

    with pytest.raises(CannotUnbake, match="differ from the results of each"):
        unbaked(irexec.shapes(model(build, [-1, 4])))


def at(made: irexec.Model, *shape: int) -> np.ndarray:
    return irexec.compile_model(made)([np.arange(np.prod(shape), dtype=np.float32).reshape(shape)])[0]


def test_a_token_that_was_broadcast_to_the_batch_is_opened() -> None:
    """The Broadcast depends on no input: its target is computed from the input."""

    def build(x: Any) -> Any:
        token = ops.broadcast(np.ones((1, 1, 4), np.float32), np.array([2, 1, 4]), name="token")
        return ops.concat([token, x], 1)

    before = irexec.shapes(model(build, [-1, -1, 4]))
    assert before.conditions == [["batch == 2"]]
    made = unbaked(before)
    assert list(map(str, made.changes)) == ["Broadcast 'token': [2,1,4] became [batch,1,4]"]
    assert irexec.shapes(made.model).conditions == [[]]
    assert at(made.model, 3, 5, 4)[2, :2].tolist() == [[1, 1, 1, 1], [40, 41, 42, 43]]


def test_a_slice_to_the_exported_length_is_opened() -> None:
    """A table of positions that an exporter cut to the traced length."""

    def build(x: Any) -> Any:
        table = np.arange(64, dtype=np.float32).reshape(16, 4)
        return ops.add(x, ops.slice(table, np.array([0]), np.array([6]), np.array([1]), name="positions"), "none")

    made = unbaked(irexec.shapes(model(build, [-1, 4])))
    assert list(map(str, made.changes)) == ["Slice 'positions': [6] became [batch]"]
    assert irexec.shapes(made.model).conditions == [["batch <= 16"]]
    assert at(made.model, 3, 4).tolist() == [[0, 2, 4, 6], [8, 10, 12, 14], [16, 18, 20, 22]]


def test_a_size_in_a_concat_of_shape_arithmetic_is_opened() -> None:
    def build(x: Any) -> Any:
        batch = ops.gather(ops.shape_of(x), np.array([0]), np.int64(0))
        target = ops.concat([batch, np.array([10, 4])], 0, name="target")  # Two heads of five tokens.
        return ops.reshape(x, target, special_zero=False, name="heads")

    made = unbaked(irexec.shapes(model(build, [-1, -1, 8])))
    assert list(map(str, made.changes)) == ["Concat 'target': [10,4] became [2*length,4]"]
    assert irexec.shapes(made.model).conditions == [[]]
    assert at(made.model, 2, 3, 8).shape == (2, 6, 4)


def test_a_tile_of_the_exported_size_is_opened() -> None:
    def build(x: Any) -> Any:
        mask = ops.tile(np.ones((1, 3), np.float32), np.array([4, 1]), name="mask")
        return ops.multiply(x, mask, "none")

    made = unbaked(irexec.shapes(model(build, [-1, 3])))
    assert list(map(str, made.changes)) == ["Tile 'mask': [4,1] became [batch,1]"]


def test_sizes_that_can_be_opened_are_opened_and_the_others_are_reported() -> None:
    """The mask has six rows for every length, and is broadcast to a batch of two."""

    def build(x: Any) -> Any:
        mask = ops.broadcast(np.ones((1, 6, 6), np.float32), np.array([2, 6, 6]), name="mask")
        return ops.add(ops.matmul(x, x, False, True), mask)

    made = unbaked(irexec.shapes(model(build, [-1, -1, 4])))
    assert list(map(str, made.changes)) == ["Broadcast 'mask': [2,6,6] became [batch,6,6]"]
    (kept,) = made.kept
    assert kept.startswith("length = 2 is still refused by 'mask'")


def test_nothing_is_fixed() -> None:
    with pytest.raises(CannotUnbake, match="no dynamic dimension is fixed"):
        unbaked(irexec.shapes(MODELS["unet"]()))


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    irexec.save_model(MODELS["exported"](), tmp_path / "traced.xml")
    assert main(["shapes", str(tmp_path / "traced.xml"), "--unbake", str(tmp_path / "open.xml")]) == 0
    assert "[1,-1,8] became [0,-1,8]" in capsys.readouterr().out
    assert irexec.validate(tmp_path / "open.xml").ok
    assert irexec.shapes(tmp_path / "open.xml").conditions == [[]]


def test_the_command_writes_nothing_that_is_not_verified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    irexec.save_model(MODELS["unet"](), tmp_path / "unet.xml")
    assert main(["shapes", str(tmp_path / "unet.xml"), "--unbake", str(tmp_path / "open.xml")]) == 1
    assert "is not written: no dynamic dimension is fixed" in capsys.readouterr().err
    assert not (tmp_path / "open.xml").exists()


def test_openvino_computes_the_same(tmp_path: Path) -> None:
    openvino = pytest.importorskip("openvino")
    irexec.save_model(unbaked(irexec.shapes(MODELS["exported"]())).model, tmp_path / "open.xml")
    ids = np.arange(15).reshape(3, 5)
    theirs = openvino.Core().compile_model(tmp_path / "open.xml", "CPU", {"INFERENCE_PRECISION_HINT": "f32"})([ids])[0]
    np.testing.assert_allclose(irexec.compile_model(tmp_path / "open.xml")([ids])[0], theirs, rtol=1e-5, atol=1e-5)
