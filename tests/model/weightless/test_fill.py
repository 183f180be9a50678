"""Models without weights: constants that the declared shapes determine, those that they leave open, and drawn ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irexec
from irexec import opset15 as ops
from irexec.cli.main import main
from irexec.frontends.reading import Reading, read
from irexec.ir.weights.file import RandomWeights
from irexec.model.weightless import fill as filling

SAMPLES = Path(__file__).parents[3] / "samples"


def lone(folder: Path, model: irexec.Model) -> Path:
    """Write the model without its weights."""
    irexec.save_model(model, folder / "lone.xml")
    (folder / "lone.bin").unlink()
    return folder / "lone.xml"


def constant(values: Any, dtype: Any = np.int64) -> Any:
    return ops.constant(np.array(values, dtype), name="sought")


def model_of(shape: list[int], build: Callable[[Any], Any]) -> irexec.Model:
    x = ops.parameter(shape, np.float32, name="x")
    return irexec.Model([build(x)], [x], "m")


def sought(reading: Reading) -> Any:
    assert reading.model is not None
    return next(node for node in reading.model.walk() if node.friendly_name == "sought").constant


@pytest.mark.parametrize(
    ("shape", "build", "expected"),
    [
        ([1, 3, 8, 5], lambda x: ops.reduce_mean(x, constant([2, 3]), keep_dims=True), [2, 3]),
        ([2, 3, 8, 5], lambda x: ops.transpose(x, constant([0, 2, 3, 1])), [0, 2, 3, 1]),
        ([2, 3, 8], lambda x: ops.reshape(x, constant([2, 24]), special_zero=False), [2, 24]),
        ([-1, 3, 8], lambda x: ops.reshape(x, constant([0, 24]), special_zero=True), [0, 24]),
        ([1, 3, 1, 5], lambda x: ops.squeeze(x, constant([2])), [2]),
        ([3, 5], lambda x: ops.unsqueeze(x, constant([1])), [1]),
        ([2, 3, 8], lambda x: ops.gather(x, np.int64([0, 1, 2, 1]), constant(2)), 2),
        ([2, 9, 4], lambda x: ops.split(x, constant(1), 3).output(0), 1),
        ([2, 9, 4], lambda x: ops.variadic_split(x, np.int64(1), constant([2, 7])).output(1), [2, 7]),
        ([2, 3], lambda x: ops.tile(x, constant([4, 1])), [4, 1]),
        ([3, 1], lambda x: ops.broadcast(x, constant([2, 3, 5])), [2, 3, 5]),
        ([2, 9], lambda x: ops.topk(x, constant(4), axis=1, mode="max", sort="value").output(0), 4),
        ([2, 9], lambda x: ops.topk(x, constant(4, np.int32), axis=1, mode="max", sort="value").output(0), 4),
        (
            [1, 2, 4, 6],
            lambda x: ops.interpolate(x, constant([8, 18]), "nearest", "sizes", axes=np.int64([2, 3])),
            [8, 18],
        ),
        (
            [1, 2, 4, 6],
            lambda x: ops.interpolate(x, constant([2, 3], np.float32), "nearest", "scales", axes=np.int64([2, 3])),
            [2, 3],
        ),
    ],
)
def test_found_where_one_choice_fits(
    shape: list[int], build: Callable[[Any], Any], expected: Any, tmp_path: Path
) -> None:
    path = lone(tmp_path, model_of(shape, build))
    reading = read(path, RandomWeights())
    assert reading.report.ok, reading.report
    assert np.array_equal(sought(reading), expected)


@pytest.mark.parametrize(
    ("shape", "build", "choices"),
    [
        ([2, 3, 3], lambda x: ops.transpose(x, constant([0, 2, 1])), ("[0, 1, 2]", "[0, 2, 1]")),
        ([4, 4], lambda x: ops.reduce_sum(x, constant([0])), ("[0]", "[1]")),
        (
            [3, 4],
            lambda x: ops.pad(x, constant([1, 0]), constant([0, 1]), "constant"),
            ("[0, 0]", "[1, 1]"),
        ),
    ],
)
def test_asked_for_where_several_fit(
    shape: list[int], build: Callable[[Any], Any], choices: tuple[str, ...], tmp_path: Path
) -> None:
    reading = read(lone(tmp_path, model_of(shape, build)), RandomWeights())
    asked = [finding for finding in reading.report.errors if finding.code == "U006"]
    assert asked and asked[0].line is not None
    assert "'sought'" in asked[0].message
    assert all(choice in asked[0].message for choice in choices)
    assert asked[0].hint is not None and "--constant 'sought=[" in asked[0].hint


def test_a_given_constant_is_used_and_a_wrong_one_reported(tmp_path: Path) -> None:
    path = lone(tmp_path, model_of([2, 3, 3], lambda x: ops.transpose(x, constant([0, 2, 1]))))
    assert np.array_equal(sought(read(path, RandomWeights(0, {"sought": [0, 2, 1]}))), [0, 2, 1])
    assert [e.code for e in read(path, RandomWeights(0, {"sought": [0, 1]})).report.errors] == ["U004"]
    assert "U005" in [e.code for e in read(path, RandomWeights(0, {"other": [0]})).report.errors]


def test_a_constant_behind_other_layers_is_found(tmp_path: Path) -> None:
    """The extent that a Gather takes from a shape, joined to others, is determined by the shape that it makes."""

    def build(x: Any) -> Any:
        batch = ops.gather(ops.shape_of(x), constant([0]), np.int64(0))
        return ops.reshape(x, ops.concat([batch, np.int64([6])], 0), special_zero=False)

    reading = read(lone(tmp_path, model_of([4, 2, 3], build)), RandomWeights())
    assert reading.report.ok
    assert np.array_equal(sought(reading), [0])


@pytest.mark.parametrize("name", ["classifier", "segmenter"])
def test_weights_are_the_same_for_the_same_seed(name: str, tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    path.write_bytes((SAMPLES / name / "model.xml").read_bytes())
    drawn = []
    for seed in (0, 0, 1):
        reading = read(path, RandomWeights(seed))
        assert reading.model is not None and reading.report.ok
        assert "C016" in [finding.code for finding in reading.report]
        drawn.append([n.constant for n in reading.model.walk() if n.constant is not None and n.constant.size > 1])
    assert all(map(np.array_equal, drawn[0], drawn[1]))
    assert not all(map(np.array_equal, drawn[0], drawn[2]))


@pytest.mark.by_hand(0)
def test_results_are_finite_and_openvino_agrees(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("openvino")
    path = tmp_path / "m.xml"
    path.write_bytes((SAMPLES / "classifier" / "model.xml").read_bytes())
    options = ["--random-weights", "--seed", "3"]
    precise = ["--config", "INFERENCE_PRECISION_HINT=f32"]
    assert main(["compare", str(path), "--with", "openvino", *options, *precise]) == 0
    assert main(["run", str(path), *options, "-o", str(tmp_path / "out.npz")]) == 0
    (result,) = np.load(tmp_path / "out.npz").values()
    assert np.isfinite(result).all()
    assert main(["shapes", str(path), *options]) == 0
    assert main(["show", str(path), *options]) == 0
    assert main(["report", str(path), *options, "-o", str(tmp_path / "page.html")]) == 0
    assert "C016" in capsys.readouterr().out


LOOKS = {
    "cut": (["--around", "head", "-o", "part.xml"], 0, "verified"),
    "reduce": (["--check", "false {}", "-o", "small"], 0, "still fails"),
    "passes": ([], 0, "keep the results"),
    "bisect": (["--settings"], 2, "the failure is not there"),
    "blame": (["--skip", "passes", "--skip", "settings"], 2, "nothing to blame"),
}


@pytest.mark.parametrize("command", LOOKS)
@pytest.mark.parametrize("weights", ["drawn", "in another file"])
def test_commands_that_look_for_failures(
    weights: str, command: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """OpenVINO gets the weights too, although it finds none beside the file."""
    pytest.importorskip("openvino")
    monkeypatch.chdir(tmp_path)
    Path("m.xml").write_bytes((SAMPLES / "classifier" / "model.xml").read_bytes())
    Path("other.bin").write_bytes((SAMPLES / "classifier" / "model.bin").read_bytes())
    options, code, told = LOOKS[command]
    given = ["--random-weights"] if weights == "drawn" else ["--weights", "other.bin"]
    precise = [] if command in ("cut", "reduce") else ["--config", "INFERENCE_PRECISION_HINT=f32"]
    assert main([command, "m.xml", *given, *options, *precise]) == code
    assert told in "".join(capfd.readouterr())


@pytest.mark.by_hand(0)
def test_in_python(tmp_path: Path) -> None:
    pytest.importorskip("openvino")
    path = tmp_path / "m.xml"
    path.write_bytes((SAMPLES / "classifier" / "model.xml").read_bytes())
    weights = irexec.RandomWeights(seed=2)
    with pytest.raises(irexec.IRError):
        irexec.read_model(path)
    assert irexec.compile_model(irexec.read_model(path, weights))(np.zeros((1, 3, 32, 32), np.float32))[0].size == 10
    config = {"INFERENCE_PRECISION_HINT": "f32"}
    assert irexec.compare(path, "openvino", weights=weights, config=config).agrees
    assert "batch" in irexec.shapes(path, weights=weights).symbols
    assert irexec.report(path, weights=weights).html.startswith("<!DOCTYPE html>")
    assert irexec.edit(path, weights=weights, batch=2).notes[0].endswith("bit for bit")


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--constant", "a=1"], "U003"),
        (["--random-weights", "--weights", "other.bin"], "U003"),
        (["--random-weights", "--constant", "a"], "U004"),
    ],
)
def test_wrong_options(options: list[str], code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(SAMPLES / "classifier" / "model.xml"), *options]) == 2
    assert f"error[{code}]" in capsys.readouterr().err


def test_weights_beyond_the_memory_are_not_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filling, "memory", lambda: 1000)
    path = lone(tmp_path, model_of([1, 300], lambda x: ops.matmul(x, np.ones((300, 2), np.float32), False, False)))
    assert [e.code for e in read(path, RandomWeights()).report.errors] == ["C013"]
