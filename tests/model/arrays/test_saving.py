"""Files that are complete or absent, and names that are safe."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO

import numpy as np
import pytest

from irexec.model.arrays.saving import archive_names, safe_name, save_arrays, save_atomically, save_json


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    target = tmp_path / "a.bin"
    target.write_bytes(b"before")

    def fail(stream: IO[bytes]) -> None:
        stream.write(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        save_atomically(target, fail)
    assert target.read_bytes() == b"before"
    assert [p.name for p in tmp_path.iterdir()] == ["a.bin"]


@pytest.mark.skipif(os.name == "nt", reason="permissions as on POSIX")
def test_permissions_are_those_of_any_new_file(tmp_path: Path) -> None:
    save_json(tmp_path / "new.json", {})
    (tmp_path / "plain.json").write_text("{}")
    assert (tmp_path / "new.json").stat().st_mode == (tmp_path / "plain.json").stat().st_mode
    os.chmod(tmp_path / "new.json", 0o600)
    save_json(tmp_path / "new.json", {"a": 1})
    assert (tmp_path / "new.json").stat().st_mode & 0o777 == 0o600


def test_the_same_arrays_make_the_same_bytes(tmp_path: Path) -> None:
    arrays = {"a/b": np.arange(5), "file": np.zeros((2, 0)), "ß": np.array("text")}
    save_arrays(tmp_path / "1.npz", arrays)
    save_arrays(tmp_path / "2.npz", arrays)
    assert (tmp_path / "1.npz").read_bytes() == (tmp_path / "2.npz").read_bytes()
    with np.load(tmp_path / "1.npz") as loaded:
        assert loaded.files == list(arrays)
        assert all(np.array_equal(loaded[name], array) for name, array in arrays.items())


@pytest.mark.parametrize(
    ("name", "safe"),
    [("conv1/weights", "conv1_weights"), ("../../etc/passwd", "_.._etc_passwd"), ("", "_"), ("a" * 300, "a" * 80)],
)
def test_safe_names(name: str, safe: str) -> None:
    assert safe_name(name) == safe


def test_names_in_an_archive() -> None:
    names = ["out", "out", "a/b", "../x", "/abs", "", "C:x", "a\n"]
    assert archive_names(names) == [
        "out",
        "output_1",
        "a/b",
        "output_3",
        "output_4",
        "output_5",
        "output_6",
        "output_7",
    ]
    assert archive_names(["/x", "y", "1"], prefix="") == ["0", "y", "1"]


def test_a_generated_name_is_never_another_results() -> None:
    names = ["output_1", "../z", "output_1", "output_2", "output_3_", "", "output_6", "output_3"]
    found = archive_names(names)
    assert len(set(found)) == len(names)
    assert [found[0], found[3], found[4], found[6], found[7]] == [names[0], *names[3:5], *names[6:]]
    assert archive_names(["output_1", "../z"]) == ["output_1", "output_1_"]
