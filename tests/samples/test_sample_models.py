"""The sample models: the committed files are those that the script writes, OpenVINO agrees, and the command
runs them.
"""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.waiting import PATIENCE

import irexec
from irexec.cli.main import main

SAMPLES = Path(__file__).parents[2] / "samples"
INPUTS = {"classifier": "image", "segmenter": "image", "transformer": "words"}


def load(name: str, what: str) -> np.ndarray:
    array: np.ndarray = np.load(SAMPLES / name / f"{what}.npy")
    return array


def test_the_script_writes_what_is_committed(tmp_path: Path) -> None:
    subprocess.run([sys.executable, SAMPLES / "make_models.py", tmp_path], check=True, timeout=PATIENCE)
    written = {p.relative_to(tmp_path): p.read_bytes() for p in tmp_path.rglob("*.*")}
    assert len(written) == 12
    for path, data in written.items():
        if path.suffix == ".xml":
            assert (SAMPLES / path).read_text() == data.decode()
        else:
            assert (SAMPLES / path).read_bytes() == data
        assert len(data) < 1_000_000


@pytest.mark.parametrize("name", INPUTS)
def test_there_is_nothing_to_complain_about(name: str) -> None:
    report = irexec.validate(SAMPLES / name / "model.xml")
    assert not report.diagnostics


@pytest.mark.parametrize("name", INPUTS)
def test_openvino_computes_the_same(name: str) -> None:
    openvino = pytest.importorskip("openvino")
    path, given = SAMPLES / name / "model.xml", load(name, INPUTS[name])
    own = irexec.compile_model(path)([given])[0]
    theirs = openvino.Core().compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})([given])[0]
    np.testing.assert_allclose(own, theirs, rtol=1e-4, atol=1e-4)
    assert own.dtype == theirs.dtype


def test_the_classifier_gives_probabilities_image_by_image() -> None:
    compiled = irexec.compile_model(SAMPLES / "classifier" / "model.xml")
    image = load("classifier", "image")
    both = compiled({"image": image})["probabilities"]
    np.testing.assert_allclose(both.sum(1), 1, rtol=1e-6)
    for n in range(2):
        np.testing.assert_allclose(compiled([image[n : n + 1]])[0][0], both[n], rtol=1e-5)
    assert np.ptp(both) > 0.01, "the images are told apart"


def test_the_transformer_remembers() -> None:
    """Words one by one, with the cache, give the logits of the whole sentence."""
    request = irexec.compile_model(SAMPLES / "transformer" / "model.xml").create_infer_request()
    sentence = np.concatenate([load("transformer", "words"), load("transformer", "next")], axis=1)
    whole = request.infer([sentence])[0].copy()
    request.reset_state()
    steps = [request.infer([sentence[:, i : i + 1]])[0].copy() for i in range(sentence.shape[1])]
    np.testing.assert_allclose(np.concatenate(steps, axis=1), whole, rtol=1e-4, atol=1e-4)
    assert sorted((s.name, s.state.shape) for s in request.query_state()) == [
        ("keys", (1, 4, 7, 16)),
        ("values", (1, 4, 7, 16)),
    ]
    assert np.abs(request.infer([sentence])[0] - whole).max() > 0.01, "what went before matters"


@pytest.mark.parametrize("name", INPUTS)
def test_the_command_runs_them(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home, out = SAMPLES / name, tmp_path / "out.npz"
    port = INPUTS[name]
    assert main(["run", str(home / "model.xml"), "--input", f"{port}={home / port}.npy", "--save", str(out)]) == 0
    assert port in capsys.readouterr().out
    saved = np.load(out)
    expected = irexec.compile_model(home / "model.xml")([load(name, port)])[0]
    assert any(np.array_equal(saved[key], expected) for key in saved.files)


def test_the_models_are_built_with_the_public_names_only() -> None:
    names = runpy.run_path(str(SAMPLES / "make_models.py"), run_name="sample")
    assert set(names["MODELS"]) == {*INPUTS, "converted"}
    text = (SAMPLES / "make_models.py").read_text()
    assert "from irexec." not in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [("The sky", "The sky is blue and the grass is green."), ("空は", "空は青く、草は緑です。")],
)
def test_a_folder_of_optimum_runs_from_text_to_text(text: str, expected: str) -> None:
    pytest.importorskip("regex")
    folder = SAMPLES / "text_to_text"
    command = [sys.executable, folder / "generate.py", folder / "model", text]
    environment = os.environ | {"PYTHONIOENCODING": "utf-8", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, capture_output=True, check=True, timeout=PATIENCE, env=environment)
    assert done.stdout.decode().strip() == expected


@pytest.mark.parametrize("part", ["tokenizer", "model", "detokenizer"])
def test_the_files_of_optimum_have_no_findings(part: str) -> None:
    report = irexec.validate(SAMPLES / "text_to_text" / "model" / f"openvino_{part}.xml")
    assert not report.diagnostics
