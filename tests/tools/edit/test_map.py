"""`compare --map`: models whose inputs differ by preprocessing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import irexec
from irexec.cli.main import main

SAMPLE = "samples/classifier/model.xml"


@pytest.fixture(scope="module")
def camera(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the classifier with preprocessing."""
    path = tmp_path_factory.mktemp("camera") / "m.xml"
    made = irexec.edit(
        SAMPLE,
        layouts={"image": "NHWC->NCHW"},
        reverse_channels=["image"],
        means={"image": [120, 110, 100]},
        scales={"image": 60},
        precisions={"image": "u8"},
        compare=False,
    )
    irexec.save_model(made.model, path)
    return str(path)


STEPS = ("image=NHWC->NCHW", "reverse", "mean:120,110,100", "image=scale:60", "u8")


def run(camera: str, *steps: str, other: str = SAMPLE) -> int:
    return main(["compare", camera, "--with", other, *(word for step in steps for word in ("--map", step))])


def test_the_other_model_gets_the_same_preprocessing(camera: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(camera, *STEPS) == 0
    assert "layers agree" in capsys.readouterr().out


@pytest.mark.parametrize("missing", [1, 2, 3])
def test_a_missing_step_is_a_difference(missing: int, camera: str) -> None:
    assert run(camera, *(step for number, step in enumerate(STEPS) if number != missing)) == 1


def test_a_layout_is_suggested(camera: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(camera) == 2
    assert "--map 'image=NHWC->NCHW' gives it to both models" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("steps", "other", "code"),
    [
        (["image=backwards"], SAMPLE, "U004"),
        (["mean:a"], SAMPLE, "U004"),
        (["picture=u8"], SAMPLE, "U004"),
        (["u8"], "openvino", "U003"),
        (["u8"], "nothing.xml", "U001"),
    ],
)
def test_wrong_steps(steps: list[str], other: str, code: str, camera: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(camera, *steps, other=other) == 2
    assert f"error[{code}]" in capsys.readouterr().err


def test_not_for_many_processes(camera: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "inputs").mkdir()
    np.save(tmp_path / "inputs" / "0.npy", np.zeros((1, 32, 32, 3), np.uint8))
    options = ["--inputs", str(tmp_path / "inputs"), "-j", "2", "--map", "u8"]
    assert main(["compare", camera, "--with", SAMPLE, *options]) == 2
    assert "--map cannot be combined" in capsys.readouterr().err
