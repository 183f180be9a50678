"""Written files: those that belong together appear at once, and no failure leaves an incomplete set."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.waiting import PATIENCE

import irexec
from irexec import opset15 as ops
from irexec.ir.io import exchange, writing
from irexec.ir.io.writing import replace_expected, together
from irexec.model.arrays.saving import save_arrays
from irexec.tools.cut.extract import Extract

NAMES = ("a.npz", "a.bin", "a.xml")


def write(folder: Path, text: str) -> None:
    with together() as files:
        for name in NAMES:
            with files.create(folder / name) as stream:
                stream.write(text.encode())


def content(folder: Path) -> dict[str, str]:
    """Return every file with its text, including hidden files."""
    return {path.name: path.read_text() for path in folder.iterdir()}


def failing(function: Callable[..., None], number: int, error: BaseException, *, after: bool) -> Callable[..., None]:
    """Return the function such that its call of this number raises: before it does anything, or after it has."""
    count = 0

    def call(*arguments: object) -> None:
        nonlocal count
        count += 1
        if count == number and not after:
            raise error
        function(*arguments)
        if count == number:
            raise error

    return call


ERRORS = [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()]


@pytest.mark.parametrize("error", ERRORS, ids=["disk", "signal"])
@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("there", [True, False], ids=["replacing", "new"])
@pytest.mark.parametrize("links", [True, False], ids=["links", "no links"])
def test_when_a_rename_fails_all_files_are_the_old_ones(
    error: BaseException, number: int, there: bool, links: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if there:
        write(tmp_path, "old")
    old = content(tmp_path)

    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, "this file system has no links")

    failing_place = failing(writing._Staged.place, number, error, after=False)
    monkeypatch.setattr(writing._Staged, "place", lambda self: failing_place(self))
    if not links:
        monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(type(error)) as caught:
        write(tmp_path, "new")
    assert caught.value is error
    assert content(tmp_path) == old


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("there", [True, False], ids=["replacing", "new"])
def test_a_signal_right_after_a_rename_leaves_all_old_or_all_new(
    number: int, there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if there:
        write(tmp_path, "old")
    old = content(tmp_path)
    failing_place = failing(writing._Staged.place, number, KeyboardInterrupt(), after=True)
    monkeypatch.setattr(writing._Staged, "place", lambda self: failing_place(self))
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path, "new")
    assert content(tmp_path) == (dict.fromkeys(NAMES, "new") if number == 3 else old)


def test_no_file_has_its_name_before_all_are_written(tmp_path: Path) -> None:
    write(tmp_path, "old")
    with together() as files:
        for name in NAMES:
            with files.create(tmp_path / name) as stream:
                stream.write(b"new")
            assert [(tmp_path / n).read_text() for n in NAMES] == ["old"] * 3
    assert content(tmp_path) == dict.fromkeys(NAMES, "new")


def test_the_file_that_leads_to_the_others_is_renamed_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    placed = []
    place = writing._Staged.place
    monkeypatch.setattr(writing._Staged, "place", lambda self: (placed.append(Path(self.target).name), place(self)))
    model = small()
    Extract(model, [np.ones(2, np.float32)], [], True).save(tmp_path / "part.xml")
    assert placed == ["part.npz", "part.irt", "part.bin", "part.xml"]


def test_an_old_file_is_given_up_only_when_the_new_one_is_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = []
    monkeypatch.setattr(os, "fsync", synced.append)
    write(tmp_path, "old")
    assert not synced
    write(tmp_path, "new")
    assert len(synced) == len(NAMES)


LIMITED = """
import resource, sys
import numpy as np, irexec
from irexec.tools.cut.extract import Extract
path, limit = sys.argv[1:]
model = irexec.read_model(path)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
try:
    Extract(model, [np.ones(2, np.float32)], [], True).save(path)
except OSError as error:
    print(error.errno, error.filename)
"""


@pytest.mark.skipif(os.name == "nt", reason="the limit of the size of a file is POSIX's")
@pytest.mark.parametrize(("limit", "fails"), [(100, ".npz"), (1000, ".bin")])
def test_a_full_disk_leaves_the_old_files(limit: int, fails: str, tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    irexec.save_model(small(), path)
    save_arrays(tmp_path / "m.npz", {"x": np.zeros(2, np.float32)})
    old = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    command = [sys.executable, "-c", LIMITED, str(path), str(limit)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert done.stdout == f"{errno.EFBIG} {path.with_suffix(fails)}\n", done.stderr
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == old


def small() -> irexec.Model:
    """Return a model of x [2] → x times 500 rows of weights, 4,000 bytes in the `.bin`."""
    x = ops.parameter([2], np.float32, name="x")
    weights = ops.constant(np.arange(1000, dtype=np.float32).reshape(500, 2))
    return irexec.Model([ops.multiply(x, weights)], [x], "small")


def test_a_model_saved_over_its_own_file_keeps_its_values(tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    irexec.save_model(small(), path)
    before = irexec.compile_model(path)([np.float32([1, 2])])[0]
    model = irexec.read_model(path)  # Its weights are mapped from the file.
    for _ in range(2):
        irexec.save_model(model, path)
    irexec.serialize(model, path, tmp_path / "m.bin")
    for found in (model, irexec.read_model(path)):
        assert np.array_equal(irexec.compile_model(found)([np.float32([1, 2])])[0], before)
    assert sorted(content_names(tmp_path)) == ["m.bin", "m.xml"]


def test_a_model_saved_over_the_weights_of_another_leaves_that_one_right(tmp_path: Path) -> None:
    irexec.save_model(small(), tmp_path / "a.xml")
    model = irexec.read_model(tmp_path / "a.xml", tmp_path / "a.bin")
    x = ops.parameter([2], np.float32, name="x")
    irexec.save_model(irexec.Model([ops.add(x, ops.constant(np.float32([7, 7])))], [x], "other"), tmp_path / "a.xml")
    expected = irexec.compile_model(small())([np.float32([1, 2])])[0]
    assert np.array_equal(irexec.compile_model(model)([np.float32([1, 2])])[0], expected)


def content_names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def test_serialize_writes_both_paths_or_none(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(irexec.IRError, match=r"folder: error\[U007\] the file cannot be written: .*directory"):
        irexec.serialize(small(), tmp_path / "m.xml", tmp_path / "folder")
    assert content_names(tmp_path) == ["folder"]
    irexec.serialize(small(), tmp_path / "m.xml", tmp_path / "folder" / "w.bin")
    assert content_names(tmp_path / "folder") == ["w.bin"]


posix = pytest.mark.skipif(os.name == "nt", reason="owners, permissions and links as on POSIX")


@posix
def test_a_replaced_file_keeps_owner_and_permissions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    os.chmod(path, 0o2640)
    found = os.stat(path)
    real, asked = os.stat, []

    def stat_of_another(name: str, **how: bool) -> os.stat_result:
        status = real(name, **how)
        if os.fspath(name) == os.path.realpath(path):
            values = list(status)
            values[stat.ST_UID], values[stat.ST_GID] = status.st_uid + 1, status.st_gid + 1
            return os.stat_result(values)
        return status

    def chown(name: str, owner: int, group: int) -> None:
        asked.append((owner, group))
        raise PermissionError(errno.EPERM, "not permitted")

    monkeypatch.setattr(os, "stat", stat_of_another)
    monkeypatch.setattr(os, "chown", chown)
    with together() as files, files.create(path) as stream:
        stream.write(b"new")
    monkeypatch.undo()
    assert asked == [(-1, found.st_gid + 1), (found.st_uid + 1, -1)]
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new", 0o2640)


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="extended attributes as Linux has them")
def test_a_replaced_file_keeps_its_extended_attributes(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    try:
        os.setxattr(path, "user.note", b"kept")
    except OSError:
        pytest.skip("this file system has no extended attributes")
    with together() as files, files.create(path) as stream:
        stream.write(b"new")
    assert os.getxattr(path, "user.note") == b"kept"


# Replacing an expected version

Writer = Callable[[Path], None]


def saves(path: Path) -> None:
    """Save the file as an editor does that writes a new file and renames it."""
    (path.parent / "typed").write_bytes(b"typed")
    os.replace(path.parent / "typed", path)


def saves_in_place(path: Path) -> None:
    path.write_bytes(b"typed")


def removes(path: Path) -> None:
    path.unlink()


linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux exchanges two files in one step")


def test_what_is_expected_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    assert replace_expected(path, b"old", b"new")
    assert content(tmp_path) == {"a": "new"}
    assert not replace_expected(path, b"old", b"newer")
    assert content(tmp_path) == {"a": "new"}


@linux
@pytest.mark.parametrize("writes", [saves, saves_in_place, removes])
def test_a_file_written_between_check_and_rename_is_never_lost(
    writes: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    exchanged, count = exchange.exchanged, 0

    def after_another(one: str, other: str) -> bool:
        nonlocal count
        count += 1
        if count == 1:
            writes(path)
        return exchanged(one, other)

    monkeypatch.setattr(exchange, "exchanged", after_another)
    assert not replace_expected(path, b"old", b"new")
    assert content(tmp_path) == ({} if writes is removes else {"a": "typed"})


@linux
def test_the_newest_of_several_saves_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    exchanged, count = exchange.exchanged, 0

    def after_another(one: str, other: str) -> bool:
        nonlocal count
        count += 1
        if count <= 4:
            (tmp_path / "typed").write_text(f"typed {count}")
            os.replace(tmp_path / "typed", path)
        return exchanged(one, other)

    monkeypatch.setattr(exchange, "exchanged", after_another)
    assert not replace_expected(path, b"old", b"new")
    assert content(tmp_path) == {"a": "typed 4"}


@linux
def test_a_file_that_somebody_has_open_for_writing_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with path.open("r+b"):
        assert not replace_expected(path, b"old", b"new")
    assert content(tmp_path) == {"a": "old"}
    assert replace_expected(path, b"old", b"new")


def test_where_files_cannot_be_exchanged_the_last_look_comes_before_the_rename(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "exchanged", lambda one, other: False)
    path = tmp_path / "a"
    path.write_bytes(b"old")
    assert replace_expected(path, b"old", b"new")
    assert not replace_expected(path, b"old", b"newer")
    assert content(tmp_path) == {"a": "new"}


@posix
def test_the_target_of_a_link_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    assert replace_expected(tmp_path / "link", b"old", b"new")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real").read_bytes() == b"new"
