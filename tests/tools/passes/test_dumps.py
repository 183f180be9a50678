"""The folder of dumps: repetitions are deleted while they are written, and equal weights are kept once."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from support.waiting import PATIENCE

from irexec.tools.passes.dumps import Dump, Folder, taking


def write(folder: Path, model: int, number: int, name: str, graph: str, weights: bytes = b"") -> None:
    stem = f"Model{model}_{number:03}_{name}"
    (folder / f"{stem}.bin").write_bytes(weights)
    (folder / f"{stem}.xml").write_text(graph)


def test_a_graph_is_taken_when_it_changes(tmp_path: Path) -> None:
    for number, graph in enumerate(["a", "a", "b", "b", "a"]):
        write(tmp_path, 2, number, f"P{number}", graph)
    folder = Folder(tmp_path)
    folder.take(all_complete=True)
    assert [(dump.number, dump.name) for dump in folder.dumps] == [(0, "P0"), (2, "P2"), (4, "P4")]
    assert folder.total == 5
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix == ".xml") == [
        "Model2_000_P0.xml", "Model2_002_P2.xml", "Model2_004_P4.xml",
    ]  # fmt: skip


def test_the_last_pair_may_be_incomplete(tmp_path: Path) -> None:
    write(tmp_path, 0, 0, "First", "a")
    write(tmp_path, 0, 1, "Second", "b")
    folder = Folder(tmp_path)
    folder.take(all_complete=False)
    assert [dump.name for dump in folder.dumps] == ["First"]
    folder.take(all_complete=True)
    assert [dump.name for dump in folder.dumps] == ["First", "Second"]


def test_models_do_not_count_as_repetitions_of_each_other(tmp_path: Path) -> None:
    write(tmp_path, 0, 0, "P", "a")
    write(tmp_path, 3, 1, "Q", "a")
    folder = Folder(tmp_path)
    folder.take(all_complete=True)
    assert [dump.model for dump in folder.dumps] == [0, 3]


def test_equal_weights_take_space_once(tmp_path: Path) -> None:
    for number, graph in enumerate("abc"):
        write(tmp_path, 2, number, "P", graph, b"weights")
    folder = Folder(tmp_path)
    folder.take(all_complete=True)
    assert {os.stat(dump.weights).st_ino for dump in folder.dumps} == {os.stat(folder.dumps[0].weights).st_ino}
    assert folder.dumps[2].weights.read_bytes() == b"weights"


@pytest.mark.parametrize("linked", [True, False])
def test_weights_of_the_model_take_no_space(linked: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*paths: object) -> None:
        raise OSError("another file system")

    own, path = tmp_path / "model.bin", tmp_path / "dumps"
    own.write_bytes(b"weights")
    path.mkdir()
    write(path, 2, 0, "P", "a", b"weights")
    write(path, 2, 1, "Q", "b", b"others")
    if not linked:
        monkeypatch.setattr(os, "link", refuse)
    folder = Folder(path, own)
    folder.take(all_complete=True)
    assert folder.dumps[0].weights.samefile(own)
    assert [dump.weights.read_bytes() for dump in folder.dumps] == [b"weights", b"others"]


@pytest.mark.parametrize(
    ("title", "name"),
    [("ov::pass::NopElimination", "NopElimination"), ("ov::intel_cpu::pass::x64::Eliminate", "Eliminate"), ("P", "P")],
)
def test_names_lose_their_namespace(title: str, name: str) -> None:
    assert Dump(0, 0, title, Path("x.xml")).name == name


def test_what_was_written_before_an_error_is_taken(tmp_path: Path) -> None:
    folder = Folder(tmp_path)

    def fail() -> None:
        with taking(folder, lambda: None):
            write(tmp_path, 0, 0, "P", "a")
            raise OSError("full")

    with pytest.raises(OSError, match="full"):
        fail()
    assert folder.pending() == 1
    folder.take(all_complete=True)
    assert folder.total == 1


def test_progress_is_told_while_dumps_are_written(tmp_path: Path) -> None:
    folder, seen, enough = Folder(tmp_path), list[int](), threading.Event()

    def progress(taken: int) -> None:
        seen.append(taken)
        enough.set()

    with taking(folder, lambda: None, progress):
        for number in range(3):
            write(tmp_path, 0, number, "P", str(number))
        assert enough.wait(PATIENCE)
    assert seen[0] == 2
    assert folder.total == 3
