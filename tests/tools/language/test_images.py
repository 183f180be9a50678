"""Images in a text: where their embeddings are put, patches, windows, positions; models of images that are unknown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.language_folders import L, write
from support.language_images import IMAGE, SIDE, write_with_images

from irexec.cli.main import main
from irexec.tools.language.folder import Folder
from irexec.tools.language.images import Image, Patches, seen

pytest.importorskip("regex")
RANDOM = np.random.default_rng(0)
WIDE = Image(RANDOM.normal(size=(6, 5)).astype(np.float32), 4, ([8], [9]), 1, (2, 3))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ([1, 7], [1, 8, 4, 4, 4, 4, 4, 4, 9, 7]),
        ([7, 7], [8, 4, 4, 4, 4, 4, 4, 9, 7, 7]),
        ([1, 5, 4, 6], [1, 5, 4, 4, 4, 4, 4, 4, 6]),
        ([1, 4, 4, 4, 4, 4, 4, 6], [1, 4, 4, 4, 4, 4, 4, 6]),
    ],
)
def test_the_image_is_named_in_the_text(text: list[int], named: list[int]) -> None:
    assert WIDE.named(np.array([text])).tolist() == [named]


def test_embeddings_are_put_in_the_places_of_the_token() -> None:
    tokens = np.array([[1, 4, 4, 4, 4, 4, 4, 7, 4], [7, 1, 8, 4, 4, 4, 4, 4, 4]])
    text = RANDOM.normal(size=(2, 9, 5)).astype(np.float32)
    found = WIDE.into(text, tokens)
    assert np.array_equal(found[0], [text[0, 0], *WIDE.embedded, *text[0, 7:]])
    assert np.array_equal(found[1], [*text[1, :3], *WIDE.embedded])


def test_an_image_takes_as_many_positions_as_its_longer_side() -> None:
    tokens = np.array([[1, 4, 4, 4, 4, 4, 4, 7, 7]])
    counted = np.arange(9)[None]
    time, height, width = WIDE.positions(counted, tokens)[:, 0].tolist()
    assert time == [0, 1, 1, 1, 1, 1, 1, 4, 5]
    assert height == [0, 1, 1, 1, 2, 2, 2, 4, 5]
    assert width == [0, 1, 2, 3, 1, 2, 3, 4, 5]
    assert WIDE.positions(np.array([[9]]), None)[:, 0].tolist() == [[6]] * 3


def test_patches_follow_each_other_in_squares(tmp_path: Path) -> None:
    folder = Folder(write_with_images(tmp_path / "model", "qwen2_vl"))
    pixels = RANDOM.normal(size=(1, 3, 2 * SIDE, 4 * SIDE)).astype(np.float32)
    patches = Patches(folder, pixels)
    places = [(row, column + 2 * square) for square in range(2) for row in range(2) for column in range(2)]
    for found, (row, column) in zip(patches.values, places, strict=True):
        cut = pixels[0, :, row * SIDE : (row + 1) * SIDE, column * SIDE : (column + 1) * SIDE]
        assert np.array_equal(found.reshape(3, 2, SIDE, SIDE), np.stack([cut, cut], 1))
    assert patches.grid == (1, 2)
    hidden = np.zeros((8, 32), np.float32)
    _, mask, angles = patches.inputs(hidden)
    assert not mask.any()
    # The angles of the row, then those of the column; the first of each is the position itself.
    steps = angles.shape[1] // 2
    assert [(row, column) for row, column in angles[:, [0, steps]].tolist()] == places


def test_windows_are_squares(tmp_path: Path) -> None:
    folder = write_with_images(tmp_path / "model", "qwen2_vl")
    config = json.loads((folder / "config.json").read_text())
    config["vision_config"]["window_size"] = 4 * SIDE
    (folder / "config.json").write_text(json.dumps(config))
    patches = Patches(Folder(folder), np.zeros((1, 3, 4 * SIDE, 6 * SIDE), np.float32))
    patches._inputs.append("window_index")
    order, windows = patches._windows()
    # Windows of 2 by 2 embeddings, in 2 rows and 3 columns.
    assert order.tolist() == [0, 1, 3, 4, 2, 5]
    assert [int((windows == window).sum()) for window in dict.fromkeys(windows.tolist())] == [16, 8]


def run(capsys: pytest.CaptureFixture[str], *words: str | Path, code: int = 0) -> Any:
    assert main([*map(str, words), "--tokens", "4", "--format", "json"]) == code, capsys.readouterr()
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def image(tmp_path: Path) -> Path:
    np.save(tmp_path / "image.npy", RANDOM.normal(size=(1, 3, 4 * SIDE, 4 * SIDE)).astype(np.float32))
    return tmp_path / "image.npy"


@pytest.mark.parametrize(("kind", "count"), [("llava", 16), ("qwen2_vl", 4)])
def test_a_text_with_an_image(
    kind: str, count: int, tmp_path: Path, image: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_with_images(tmp_path / "right", kind)
    words = ["--prompt", "The sky is", "--image", image]
    prompt = run(capsys, "generate", folder, *words)["prompt"]
    assert prompt.count(IMAGE) == count
    for fault, block in (
        ("image scale", "embeddings of images: block 1, attention"),
        ("scale", "block 1, attention"),
    ):
        wrong = write_with_images(tmp_path / fault, kind, fault)
        found = run(capsys, "compare", folder, *words, "--with", wrong, code=1)
        expected = block.replace("embeddings of images", "blocks of the vision encoder") if kind != "llava" else block
        assert found["block"] == expected, found["verdict"]


@pytest.mark.parametrize("kind", ["llava", "qwen2_vl"])
def test_openvino_agrees(kind: str, tmp_path: Path, image: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("openvino")
    options = ["--config", "INFERENCE_PRECISION_HINT=f32", "--config", "KV_CACHE_PRECISION=f32"]
    folder = write_with_images(tmp_path / "right", kind)
    words = ["--prompt", "The sky is", "--image", image, "--with", "openvino", *options]
    found = run(capsys, "compare", folder, *words)
    assert max(step["divergence"] for step in found["steps"]) < 1e-8
    assert len(found["parts"]) == (3 if kind == "llava" else 4)


def test_models_that_are_not_put_together_are_compared_alone(
    tmp_path: Path, image: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = []
    for fault in ("", "image scale"):
        folders.append(write_with_images(tmp_path / f"x{fault}", "llava", fault))
        (folders[-1] / "config.json").unlink()
    words = ["--prompt", "The sky is", "--image", image]
    found = run(capsys, "compare", folders[0], *words, "--with", folders[1], code=1)
    assert found["lines"][-1] == (
        "the image is not put into the text: irexec does not know how to run openvino_vision_embeddings_model on it; "
        "they are compared alone, with typical values"
    )
    assert found["block"] == "embeddings of images: block 1, attention"
    assert main(["generate", str(folders[0]), *map(str, words)]) == 2
    assert "the image is not put into the text" in capsys.readouterr().err


def test_the_encoder_reads_an_image(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_with_images(tmp_path / "model", "llava")
    for suffix in ("xml", "bin"):
        encoder, decoder = (folder / f"openvino_{name}_model.{suffix}" for name in ("vision_embeddings", "language"))
        encoder.rename(folder / f"openvino_encoder_model.{suffix}")
        decoder.unlink()
        other = write(tmp_path / suffix, "cross") / f"openvino_decoder_model.{suffix}"
        other.rename(folder / other.name)
    texts = []
    for seed in range(2):
        np.save(tmp_path / "image.npy", np.random.default_rng(seed).normal(0, 9, (3, 16, 16)).astype(np.float32))
        words = ["--prompt", "The sky", "--image", tmp_path / "image.npy"]
        found = run(capsys, "compare", folder, *words, "--with", folder)
        texts.append(found["steps"])
        assert next(iter(found["parts"])) == "openvino_encoder_model"
    assert texts[0] != texts[1]


@pytest.mark.parametrize(
    ("kind", "shape", "message"),
    [
        ("llava", (1, 5, 16, 16), "does not match the model's shape [?,3,?,?]"),
        ("qwen2_vl", (1, 3, 16, 12), "the image has the shape [1, 3, 16, 12]"),
        ("text", (1, 3, 16, 16), "the folder contains no models of images"),
        ("nothing", (), "--image"),
    ],
)
def test_what_is_refused(
    kind: str, shape: tuple[int, ...], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "image.npy"
    if kind != "nothing":
        np.save(file, np.zeros(shape, np.float32))
    folder = write_with_images(tmp_path / "a", kind) if "l" in kind else write(tmp_path / "a", "llama")
    assert main(["generate", str(folder), "--prompt", "The sky", "--image", str(file)]) == 2
    assert message in capsys.readouterr().err


def test_a_folder_without_the_token_of_images(tmp_path: Path) -> None:
    folder = write_with_images(tmp_path / "a", "llava")
    (folder / "config.json").write_text("{}")
    assert seen(Folder(folder), np.zeros((1, 3, 16, 16), L), lambda part, inputs: np.zeros(0)) is None
