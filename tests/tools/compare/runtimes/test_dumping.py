"""irexec compare --dump: results of a runtime on one machine are compared on another, with all steps and bodies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.failing import SAMPLES, reference
from support.faults import Forgetful
from support.mocks import Wrong
from support.nets import iterating

import irexec
from irexec import opset15 as ops
from irexec.cli.main import main
from irexec.tools.compare.compare import compare
from irexec.tools.compare.result import Comparison
from irexec.tools.compare.runtimes.dumping import dump
from irexec.tools.compare.runtimes.folder import Folder
from irexec.tools.compare.runtimes.runtime import CannotRun, OtherModel, Runtime
from irexec.tools.inspect.record import read_dump
from irexec.tools.run.record import Reference

ROWS = np.array([[0, 0], [0, 0], [5, 6]], np.float32)


def loop() -> Reference:
    """Return two steps of three iterations; the fault below is visible in the last iteration only."""
    return Reference(irexec.read_model(iterating().text.encode()), [[ROWS * 0], [ROWS]])


def larger(array: Any) -> Any:
    return array * np.float32(1.5)


def elsewhere(run: Reference, runtime: Runtime, folder: Path) -> Comparison:
    """Return the comparison with the dump, which names the same layers as the comparison with the runtime."""
    dump(run, runtime, folder)
    found, here = compare(run, Folder(folder)), compare(run, runtime)
    assert found.agrees == here.agrees
    assert (found.culprit and found.culprit.described) == (here.culprit and here.culprit.described)
    assert [(row.node, row.agrees, row.total) for row in found.layers] == [
        (r.node, r.agrees, r.total) for r in here.layers
    ]
    return found


@pytest.mark.by_hand(0)
def test_a_wrong_layer_of_the_second_step(tmp_path: Path) -> None:
    run = reference("transformer")
    assert len(run.steps) == 2
    found = elsewhere(run, Wrong("mlp/gelu"), tmp_path)
    assert found.culprit is not None
    assert [node.friendly_name for node in found.culprit.nodes] == ["mlp/gelu"]
    assert found.unseen == 0


def test_all_agrees(tmp_path: Path) -> None:
    assert elsewhere(reference("transformer"), Wrong("nothing has this name"), tmp_path).agrees


@pytest.mark.by_hand(0)
def test_states_are_those_of_the_steps_before(tmp_path: Path) -> None:
    """A runtime that forgets the variables is wrong in the second step."""
    found = elsewhere(reference("transformer"), Forgetful(lambda model: []), tmp_path)
    assert found.culprit is not None
    assert (found.culprit.nodes[0].type, found.culprit.step) == ("ReadValue", 1)


def test_a_wrong_layer_of_a_body(tmp_path: Path) -> None:
    found = elsewhere(loop(), Wrong("inner", larger), tmp_path)
    assert found.culprit is not None
    assert [node.friendly_name for node in found.culprit.nodes] == ["inner"]
    assert (found.culprit.outer, found.culprit.step, found.culprit.iteration) == (("outer",), 1, 2)


def test_a_report_shows_the_last_step_with_its_bodies(tmp_path: Path) -> None:
    run = loop()
    dump(run, Wrong(""), tmp_path)
    rows = {row.name: row for row in read_dump(tmp_path).trace}
    assert (rows["outer"].depth, rows["outer"].calls) == (0, len(run.steps))
    assert rows["inner"].depth == 1
    last = run.record([node.outputs[0] for node in run.model.nodes if node.friendly_name == "outer"])[-1]
    (array,) = last.values()
    assert rows["outer"].outputs[0].max == pytest.approx(float(array.max()))


def test_other_steps_are_refused(tmp_path: Path) -> None:
    run = reference("transformer")
    dump(run, Wrong(""), tmp_path)
    with pytest.raises(CannotRun, match="contains 2 steps, but inputs of 1 step were given"):
        compare(Reference(run.model, run.steps[:1]), Folder(tmp_path))
    with pytest.raises(CannotRun, match="was recorded with different values of 'words' in step 1"):
        compare(Reference(run.model, [run.steps[0], run.steps[0]]), Folder(tmp_path))
    (tmp_path / "0").rename(tmp_path / "7")
    with pytest.raises(CannotRun, match="does not contain step 0"):
        Folder(tmp_path)


def test_layers_that_share_a_name_are_not_mixed_up(tmp_path: Path) -> None:
    x = ops.parameter([2], np.float32, name="x")
    model = irexec.Model([ops.exp(ops.exp(x, name="same"), name="same")], [x], "twice")
    run = Reference(model, [[np.float32([1, 2])]])
    dump(run, Wrong(""), tmp_path)
    found = compare(run, Folder(tmp_path))
    assert found.agrees
    assert found.unseen == 2


def test_another_model_is_wrong_in_a_body() -> None:
    run = loop()
    other = irexec.read_model(iterating().text.replace('type="Abs"', 'type="Negative"').encode())
    found = compare(run, OtherModel("other.xml", other))
    assert found.culprit is not None
    assert (found.culprit.nodes[0].friendly_name, found.culprit.outer) == ("inner", ("outer",))


# The command


@pytest.mark.by_hand(0)
def test_one_side_dumps_and_the_other_compares(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, folder = str(SAMPLES / "transformer" / "model.xml"), str(tmp_path / "there")
    for name, file in (("first", "words"), ("second", "next")):
        np.savez(tmp_path / f"{name}.npz", words=np.load(SAMPLES / "transformer" / f"{file}.npy"))
    steps = [word for name in ("first", "second") for word in ("--input", str(tmp_path / f"{name}.npz"))]
    assert main(["compare", model, "--with", model, *steps, "--dump", folder]) == 0
    assert f"{folder}: results of {model} in 2 steps" in capsys.readouterr().out
    assert main(["compare", model, "--with", folder]) == 0
    assert f"all 48 layers agree with {model}, recorded in {folder}" in capsys.readouterr().out.replace("\n  ", " ")
    assert main(["compare", model, "--with", folder, *steps]) == 0
    capsys.readouterr()
    assert main(["compare", model, "--with", folder, *steps[:2]]) == 2
    assert "contains 2 steps, but inputs of 1 step were given" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["classifier", "transformer", "loop", "names"])
def test_a_dump_of_run_contains_its_inputs(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also those that `irexec run` draws, where `irexec compare` would choose others, and more steps."""
    model, folder = str(tmp_path / "model.xml"), str(tmp_path / "there")
    if name == "loop":
        Path(model).write_text(iterating().text)
    elif name == "names":
        # One name cannot be a key of an archive.
        x, y = ops.parameter([2, 3], "bf16", name="/x"), ops.parameter([2, 3], "bf16", name="y")
        irexec.save_model(irexec.Model([ops.subtract(x, y)], [x, y], "names"), model)
    else:
        model = str(SAMPLES / name / "model.xml")
    assert main(["run", model, "--dump", folder]) == 0
    capsys.readouterr()
    assert main(["compare", model, "--with", folder]) == 0
    assert main(["compare", model, "--with", model, "--with", folder]) == 0
    assert "layer" in capsys.readouterr().out
    assert irexec.compare(model, folder).agrees
    assert main(["run", model, "--input", f"{folder}/inputs.npz"]) == 0
    assert main(["run", model, "--input", f"{folder}/inputs.npz", "--dump", folder]) == 2


def test_results_with_unknown_inputs_are_not_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, folder, results = str(SAMPLES / "classifier" / "model.xml"), tmp_path / "there", str(tmp_path / "out.npz")
    given = f"image={SAMPLES / 'classifier' / 'image.npy'}"
    assert main(["run", model, "--input", given, "--dump", str(folder), "-o", results]) == 0
    (folder / "inputs.npz").unlink()
    for other in (str(folder), results):
        assert main(["compare", model, "--with", other]) == 2
        assert f"error[U006]: --with {other}: the inputs of {other} are not known: " in capsys.readouterr().err
        with pytest.raises(RuntimeError, match="are not known: give the values of image"):
            irexec.compare(model, other)
        assert main(["compare", model, "--with", other, "--input", given]) == 0


def test_a_dump_has_no_inputs_of_an_earlier_run(tmp_path: Path) -> None:
    model, folder = SAMPLES / "classifier" / "model.xml", tmp_path / "there"
    assert main(["run", str(model), "--dump", str(folder)]) == 0
    assert main(["run", str(model), "--dump", str(folder), "--shape", "image=1,5,5,5"]) == 2
    assert not (folder / "inputs.npz").exists()


@pytest.mark.parametrize("batch", [True, False])
def test_samples_of_a_batch_or_folder(batch: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only the last of three samples shows the fault."""
    x = ops.parameter([4], np.float32, name="x")
    models = {}
    for name, bound in (("right", 8.0), ("wrong", 5.0)):
        models[name] = str(tmp_path / f"{name}.xml")
        irexec.save_model(irexec.Model([ops.clamp(x, 0.0, bound, name="clamped")], [x], "clamping"), models[name])
    samples = np.arange(12, dtype=np.float32).reshape(3, 4) / 2
    given = tmp_path / "given"
    if batch:
        np.savez(given, x=samples)
    else:
        given.mkdir()
        for number, sample in enumerate(samples):
            np.savez(given / str(number), x=sample)
    source = f"{given}.npz" if batch else str(given)
    assert main(["compare", models["right"], "--with", models["wrong"], "--inputs", source]) == 1
    text = capsys.readouterr().out
    assert text.startswith("first wrong layer: clamped (Clamp)")
    assert "in step 2" in text


def test_samples_of_a_model_with_states(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = str(SAMPLES / "transformer" / "model.xml")
    np.savez(tmp_path / "batch.npz", words=np.zeros((2, 1, 4), np.int64))
    assert main(["compare", model, "--with", model, "--inputs", str(tmp_path / "batch.npz")]) == 2
    assert "this model has state" in capsys.readouterr().err


@pytest.mark.parametrize("factor", [1.0, 1.1])
def test_arrays_that_a_tool_wrote_in_f16(factor: float, tmp_path: Path) -> None:
    """The rounding when the arrays were written does not count as an error of a layer."""

    def model(factor: float) -> irexec.Model:
        x = ops.parameter([4, 8], np.float32, name="x")
        first = ops.matmul(x, np.random.default_rng(0).normal(0, 1, (8, 8)).astype(np.float32), name="first")
        second = ops.matmul(first, np.eye(8, dtype=np.float32)[::-1] * np.float32(factor), name="second")
        return irexec.Model([ops.tanh(second, name="end")], [x], "written")

    given = np.random.default_rng(1).normal(0, 1, (4, 8)).astype(np.float32)
    run, other = Reference(model(1.0), [[given]]), Reference(model(factor), [[given]])
    values = [value for node in other.model.nodes if node.inputs for value in node.outputs]
    for value, array in other.record(values)[0].items():
        np.save(tmp_path / f"{value.node.friendly_name}.npy", array.astype(np.float16))
    found = compare(run, Folder(tmp_path))
    assert found.agrees == (factor == 1.0)
    assert found.agrees or (found.culprit is not None and found.culprit.described == "second (MatMul)")
