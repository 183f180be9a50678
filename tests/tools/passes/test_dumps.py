"""The folder of dumps: repetitions are deleted while they are written, and equal constants are kept once."""

from __future__ import annotations

import re
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from support.waiting import PATIENCE

from irexec.core.diagnostics.findings import Findings
from irexec.core.types import U8
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


LARGE = 1 << 17


def graph_of(*ranges: tuple[int, int], title: str = "") -> str:
    return title + "".join(f'<data offset="{offset}" size="{size}" />' for offset, size in ranges)


def constants(folder: Folder) -> list[list[bytes]]:
    """Return the bytes of the constants of each dump."""
    weights, found = folder.constants.weights(), []
    for dump in folder.dumps:
        ranges = re.findall(r'offset="(\d+)" size="(\d+)"', dump.file.read_text())
        held = (
            weights.constant(U8, (int(size),), int(offset), int(size), Findings(lambda at: None))
            for offset, size in ranges
        )
        found.append([one.array.tobytes() for one in held if one is not None])
    return found


def used(path: Path) -> int:
    return sum(file.stat().st_blocks * 512 for file in path.iterdir())


def test_equal_constants_take_space_once(tmp_path: Path) -> None:
    first, second = (np.random.default_rng(seed).bytes(LARGE) for seed in range(2))
    write(tmp_path, 2, 0, "P", graph_of((0, LARGE), (LARGE, LARGE)), first + second)
    write(tmp_path, 2, 1, "Q", graph_of((0, LARGE), (LARGE, LARGE)), second + first)
    write(tmp_path, 3, 2, "R", graph_of((0, 1), (1, LARGE)), b"x" + second)
    folder = Folder(tmp_path)
    folder.take(all_complete=True)
    assert constants(folder) == [[first, second], [second, first], [b"x", second]]
    assert used(tmp_path) < 3 * LARGE


def test_graphs_whose_constants_are_at_other_offsets_are_the_same(tmp_path: Path) -> None:
    write(tmp_path, 2, 0, "P", graph_of((0, 3), (3, 4)), b"onefour")
    write(tmp_path, 2, 1, "Q", graph_of((4, 3), (0, 4)), b"fourone")
    folder = Folder(tmp_path)
    folder.take(all_complete=True)
    assert [dump.name for dump in folder.dumps] == ["P"]


def model_with(path: Path, data: bytes, *ranges: tuple[int, int]) -> tuple[Path, Path]:
    file = path / "model.xml"
    file.write_text(graph_of(*ranges))
    file.with_suffix(".bin").write_bytes(data)
    return file, file.with_suffix(".bin")


def test_constants_of_the_model_take_no_space(tmp_path: Path) -> None:
    own, path = np.random.default_rng(0).bytes(2 * LARGE), tmp_path / "dumps"
    path.mkdir()
    folder = Folder(path, model_with(tmp_path, own, (0, LARGE), (LARGE, LARGE)))
    write(path, 2, 0, "P", graph_of((3, LARGE), (0, 3)), b"new" + own[LARGE:])
    folder.take(all_complete=True)
    assert constants(folder) == [[own[LARGE:], b"new"]]
    assert used(path) < LARGE


@pytest.mark.parametrize("boundary", [LARGE, LARGE // 2])
def test_known_constants_take_no_space_while_they_are_written(boundary: int, tmp_path: Path) -> None:
    own, path = np.random.default_rng(0).bytes(2 * LARGE), tmp_path / "dumps"
    path.mkdir()
    folder = Folder(path, model_with(tmp_path, own, (0, LARGE), (LARGE, LARGE)))
    ranges = (0, boundary), (boundary, 2 * LARGE - boundary)
    write(path, 2, 0, "P", "", own[:-1])
    folder.take(all_complete=False)
    assert used(path) < 1.5 * LARGE or sys.platform != "linux"
    with (path / "Model2_000_P.bin").open("ab") as stream:
        stream.write(own[-1:])
    (path / "Model2_000_P.xml").write_text(graph_of(*ranges))
    folder.take(all_complete=True)
    # The boundaries of constants are known only when the graph is: other ones need the bytes again.
    assert constants(folder) == [[own[:boundary], own[boundary:]]]


def test_other_constants_than_the_expected_ones_are_kept(tmp_path: Path) -> None:
    own, path = np.random.default_rng(0).bytes(2 * LARGE), tmp_path / "dumps"
    path.mkdir()
    folder = Folder(path, model_with(tmp_path, own, (0, LARGE), (LARGE, LARGE)))
    write(path, 2, 0, "P", graph_of((0, LARGE), (LARGE, LARGE)), own[LARGE:] + own[:LARGE][::-1])
    folder.take(all_complete=False)
    folder.take(all_complete=True)
    assert constants(folder) == [[own[LARGE:], own[:LARGE][::-1]]]


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
    assert folder.total == 0
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
