"""irexec cut: parts of models that run alone and compute the same values as in the whole model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.model_differences import differences
from support.nets import iterating

import irexec
from irexec import opset15 as ops
from irexec.cli.main import main
from irexec.core.diagnostics import Report
from irexec.model.graph.copies import copied
from irexec.tools.cut.extract import _noise
from irexec.tools.cut.select import select
from irexec.tools.run.record import Reference

SAMPLES = Path(__file__).parents[3] / "samples"
CLASSIFIER = str(SAMPLES / "classifier" / "model.xml")
TRANSFORMER = SAMPLES / "transformer" / "model.xml"


def rerun(path: Path) -> list[np.ndarray]:
    """Return the results of a saved part for its recorded inputs."""
    model = irexec.read_model(path)
    with np.load(path.with_suffix(".npz")) as arrays:
        given = [arrays[min(p.names) if p.names else p.node.friendly_name] for p in model.inputs]
    return list(irexec.compile_model(model)(given).to_tuple())


def test_from_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "part.xml"
    code = main(["cut", CLASSIFIER, "--from", "block2/depthwise/conv", "--to", "pool", "-o", str(out)])
    text = capsys.readouterr().out
    assert code == 0
    assert "7 layers of classifier" in text
    assert "bit for bit" in text
    model = irexec.read_model(out)
    assert [p.friendly_name for p in model.parameters] == ["block1/pointwise/relu"]
    weights = [n.constant.nbytes for n in model.nodes if n.constant is not None]
    assert out.with_suffix(".bin").stat().st_size <= sum(weights) + 64 * len(weights)
    assert rerun(out)[0].shape == (1, 64, 8, 8)


@pytest.mark.by_hand(1)
@pytest.mark.parametrize("distance", [0, 1, 3])
@pytest.mark.parametrize("file", [CLASSIFIER, str(TRANSFORMER)])
def test_around_every_layer(file: str, distance: int) -> None:
    """Every layer that computes something, with its neighbours, has the same results alone and in the model."""
    model = irexec.read_model(file)
    rng = np.random.default_rng(0)
    inputs = {
        "classifier": [rng.standard_normal((2, 3, 32, 32), dtype=np.float32)],
        "transformer": [np.load(TRANSFORMER.parent / "words.npy")],
    }[Path(file).parent.name]
    reference = Reference(model, [inputs])
    names = [n.friendly_name for n in model.nodes if n in reference.count() and n.type not in ("ReadValue", "Assign")]
    assert len(names) > 15
    for name in names[:: 1 if distance == 0 else 5]:
        report = Report()
        part = select(reference, around=name, distance=distance, report=report)
        assert part is not None, report
        assert part.checked, name


def test_a_layer_of_a_body_at_one_iteration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "m.xml"
    file.write_text(iterating().text, "utf-8")
    np.save(tmp_path / "x.npy", np.array([[-1, 2], [-3, 4], [-5, 6]], np.float32))
    given = ["--input", f"x={tmp_path / 'x.npy'}"]
    out = tmp_path / "part.xml"
    assert main(["cut", str(file), "--around", "inner", "--iteration", "2", *given, "-o", str(out)]) == 0
    np.testing.assert_array_equal(rerun(out)[0], [[5, 6]])
    assert main(["cut", str(file), "--around", "inner", "--iteration", "3", *given, "-o", str(out)]) != 0
    assert "3 iterations with these inputs, 0 to 2, so there is no iteration 3" in capsys.readouterr().err
    assert main(["cut", str(file), "--around", "outer", *given, "-o", str(out)]) == 0
    np.testing.assert_array_equal(rerun(out)[0], [[1, 2], [3, 4], [5, 6]])


def test_anonymised(tmp_path: Path) -> None:
    out = tmp_path / "part.xml"
    command = ["cut", CLASSIFIER, "--from", "block1/depthwise/conv", "--to", "probabilities", "--anonymise"]
    assert main([*command, "-o", str(out)]) == 0
    text = out.read_text("utf-8")
    for word in ("block", "stem", "classifier", "probabilities", "<rt_info>"):
        assert word not in text
    original = irexec.read_model(CLASSIFIER)
    secret = {n.constant.tobytes() for n in original.nodes if n.constant is not None and n.constant.size > 64}
    weights = out.with_suffix(".bin").read_bytes()
    assert not any(s in weights for s in secret)
    assert rerun(out)[0].shape == (1, 10)


def test_no_number_and_no_word_of_the_original_is_left(tmp_path: Path) -> None:
    """Scalars, tokens, flags and texts are replaced as well; structure is kept, so that the part runs."""
    x, tokens = ops.parameter([1, 6, 8], np.float32, name="secret_x"), ops.parameter([1, 6], np.int64, name="words")
    table = np.random.default_rng(1).normal(0, 1, (50, 8)).astype(np.float32)
    rows = ops.gather(ops.constant(table), tokens, np.int64(0), name="secret_rows")
    scaled = ops.multiply(ops.add(rows, x), np.float32(0.3535534), name="secret_scale")
    halved = ops.multiply(ops.reshape(scaled, np.int64([6, 8]), False, name="flat"), np.float32(0.5), name="end")
    model = irexec.Model([halved], [x, tokens], "secret")
    irexec.save_model(model, tmp_path / "whole.xml")
    ids = np.int64([[7, 3, 41, 9, 12, 30]])
    np.savez(
        tmp_path / "given.npz", secret_x=np.random.default_rng(2).normal(0, 1, (1, 6, 8)).astype(np.float32), words=ids
    )
    out = tmp_path / "send.xml"
    command = ["cut", str(tmp_path / "whole.xml"), "--to", "end", "--anonymise", "--input", str(tmp_path / "given.npz")]
    assert main([*command, "-o", str(out)]) == 0
    sent = irexec.read_model(out)
    numbers = {n.constant.tobytes() for n in sent.nodes if n.constant is not None}
    assert np.float32(0.3535534).tobytes() not in numbers
    assert {np.float32(0.5).tobytes(), np.int64([6, 8]).tobytes(), np.int64(0).tobytes()} <= numbers
    given = np.load(out.with_suffix(".npz"))
    assert not any(np.array_equal(given[name], ids) for name in given.files)
    assert all(given[name].min() >= 0 for name in given.files if given[name].dtype == np.int64)
    for file in (out, out.with_suffix(".bin"), out.with_suffix(".npz")):
        assert b"secret" not in file.read_bytes() and b"words" not in file.read_bytes()


def test_texts_are_replaced() -> None:
    made = _noise(np.array(["the patient", "is well"], np.dtypes.StringDType()), np.random.default_rng(0))
    assert [len(text) for text in made.tolist()] == [11, 7]
    assert "patient" not in made[0]


def test_a_copy_is_equal_and_shares_nothing() -> None:
    for text in (iterating().text.encode(), CLASSIFIER, TRANSFORMER):
        model = irexec.read_model(text)
        copy = copied(model)
        assert differences(model, copy) == []
        assert not {*model.walk()} & {*copy.walk()}


def test_what_cannot_be_cut(capsys: pytest.CaptureFixture[str]) -> None:
    def refused(*options: str) -> str:
        assert main(["cut", CLASSIFIER, *options]) == 2
        return capsys.readouterr().err

    assert "select the part to extract" in refused()
    assert "no layer has this name" in refused("--around", "haed")
    assert "did you mean" in refused("--around", "haed")
    assert "the second layer does not depend on the first" in refused("--from", "pool", "--to", "stem/conv")
    assert "because it computes nothing" in refused("--around", "image")
