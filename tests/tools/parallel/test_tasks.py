"""The dependencies of tasks' results: everything that could change them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from irexec.tools.parallel.inputs import RunInput, split_item
from irexec.tools.parallel.models import Validate, models_in

SAMPLES = Path(__file__).parents[3] / "samples"


def test_models_below_folders_by_name(tmp_path: Path) -> None:
    for name in ("b.XML", "a.onnx", "a.bin", "sub/c.xml", ".hidden/d.xml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    found = models_in([tmp_path, tmp_path / "a.bin", tmp_path / "a.onnx"])
    assert [Path(path).relative_to(tmp_path).as_posix() for path in found] == ["a.onnx", "b.XML", "sub/c.xml", "a.bin"]


def test_a_model_depends_on_its_weights(tmp_path: Path) -> None:
    model, weights = tmp_path / "m.xml", tmp_path / "m.bin"
    model.write_text("<net/>")
    keys = [Validate().key(str(model))]
    weights.write_bytes(b"1")
    keys.append(Validate().key(str(model)))
    weights.write_bytes(b"2")
    keys += [
        Validate().key(str(model)),
        Validate(weights=str(model)).key(str(model)),
        Validate("openvino").key(str(model)),
    ]
    assert len(set(keys)) == 5


def test_an_onnx_model_depends_on_the_files_that_may_be_its_data(tmp_path: Path) -> None:
    model = tmp_path / "m.onnx"
    model.touch()
    before = Validate().key(str(model))
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "w.raw").write_bytes(b"1")
    assert Validate().key(str(model)) != before


def test_a_run_depends_on_the_model_the_item_and_the_options(tmp_path: Path) -> None:
    mask, item = tmp_path / "mask.npy", tmp_path / "x.npy"
    np.save(mask, 1)
    np.save(item, 1)
    task = RunInput("m.xml", str(tmp_path), "out", inputs=(f"mask={mask}", "axis=1"))
    keys = [task.key(str(item))]
    np.save(mask, 2)
    keys.append(task.key(str(item)))
    np.save(item, 2)
    keys.append(task.key(str(item)))
    assert len(set(keys)) == 3


def test_a_run_depends_on_the_archive_that_a_value_is_taken_from(tmp_path: Path) -> None:
    archive, item = tmp_path / "a.npz", tmp_path / "x.npy"
    np.save(item, 1)
    keys = set()
    for value in (1, 2):
        np.savez(archive, one=value)
        keys |= {RunInput("m.xml", "", "out", inputs=(f"y={mark}{archive}:one",)).key(str(item)) for mark in ("", "@")}
    assert len(keys) == 4


def test_items_are_files_or_samples() -> None:
    assert split_item("a/b.npz:17") == ("a/b.npz", 17)
    assert split_item("a/b.npy") == ("a/b.npy", None)
    assert split_item("a:1/b.npz") == ("a:1/b.npz", None)
