"""Files that a user names: which are read, which are replaced, and which are rejected by name."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

import irexec
from irexec.ir.io.files import open_regular
from irexec.ir.io.writing import together

pytestmark = pytest.mark.skipif(os.name == "nt", reason="pipes, devices and links as on POSIX")


def write(path: Path | str, data: bytes = b"new") -> None:
    with together() as files, files.create(path) as stream:
        stream.write(data)


def test_a_pipe_is_refused_and_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="a pipe, not a regular file"):
        open_regular(tmp_path / "pipe")
    with pytest.raises(OSError, match="a pipe"):
        write(tmp_path / "pipe")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


@pytest.mark.parametrize("path", ["/dev/null", "/dev/zero"])
def test_a_device_is_neither_read_nor_replaced(path: str) -> None:
    for act in (open_regular, write):
        with pytest.raises(OSError, match="a device, not a regular file"):
            act(path)
    assert stat.S_ISCHR(os.stat(path).st_mode)


def test_a_directory_is_not_a_file(tmp_path: Path) -> None:
    for act in (open_regular, write):
        with pytest.raises(OSError, match="directory"):
            act(tmp_path)


@pytest.mark.parametrize("name", ["a\0b", "a\udfff.xml"])
def test_names_that_no_file_can_have_are_ordinary_errors(name: str, tmp_path: Path) -> None:
    for act in (open_regular, write):
        with pytest.raises(OSError) as caught:
            act(str(tmp_path / name))
        assert caught.value.strerror


def test_the_target_of_a_link_is_replaced_and_the_link_stays(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    target, link, chain = tmp_path / "folder" / "real.bin", tmp_path / "link.bin", tmp_path / "chain.bin"
    target.write_bytes(b"old")
    link.symlink_to("folder/real.bin")
    chain.symlink_to("link.bin")
    write(chain)
    assert link.is_symlink() and chain.is_symlink()
    assert target.read_bytes() == b"new"
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["chain.bin", "folder", "link.bin", "real.bin"]


def test_a_link_to_nothing_makes_the_file_it_names(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("made")
    write(tmp_path / "link")
    assert (tmp_path / "made").read_bytes() == b"new"


@pytest.mark.parametrize("name", ["pipe", "none\0", "\udcff\ud800"])
@pytest.mark.parametrize("act", [irexec.validate, lambda path: irexec.validate("x", weights=path)])
def test_the_public_functions_give_findings(name: str, act, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    Path("x").write_text('<net version="11"><layers/></net>')
    report = act(name)
    assert not report.ok
    assert {"U001", "C010"} & {finding.code for finding in report}


@pytest.mark.parametrize("use", [irexec.read_model, irexec.shapes, irexec.fix, irexec.Core().read_model])
def test_a_missing_file_has_one_message(tmp_path: Path, use: Callable[[Path], object]) -> None:
    (tmp_path / "net.xml").touch()
    path = tmp_path / "nett.xml"
    expected = f"the file does not exist; did you mean {tmp_path / 'net.xml'}?"
    with pytest.raises(FileNotFoundError if use is irexec.fix else irexec.IRError) as caught:
        use(path)
    assert expected in str(caught.value)
    (found,) = irexec.validate(path)
    assert (found.code, found.line, found.openvino, found.message + found.advice) == ("U001", None, None, expected)


def test_the_models_of_a_folder_are_suggested(tmp_path: Path) -> None:
    (tmp_path / "culprit.xml").touch()
    (found,) = irexec.validate(tmp_path)
    assert found.hint == f"did you mean {tmp_path / 'culprit.xml'}?"
    (found,) = irexec.validate(f"{tmp_path}s")
    assert found.hint == f"did you mean {tmp_path}?"
