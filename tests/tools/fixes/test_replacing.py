"""A file that is replaced by its fixed contents: the properties that are kept, and reports about those that
cannot be.
"""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest
from support.nets import two_inputs

from irexec.cli.main import main
from irexec.ir.io import exchange
from irexec.tools.fixes import replacing
from irexec.tools.fixes.replacing import FileChanged, replace_file

pytestmark = pytest.mark.skipif(os.name == "nt", reason="owners, permissions and links as on POSIX")
WRONG = two_inputs().text.replace('type="ReLU"', 'type="relu"')


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.xml"
    path.write_text(WRONG, "utf-8")
    os.chmod(path, 0o640)
    return path


def test_a_symbolic_link_stays_and_the_permissions_of_its_target_too(model: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.xml"
    link.symlink_to("model.xml")
    assert main(["fix", str(link)]) == 0
    assert link.is_symlink()
    assert model.read_text("utf-8") == two_inputs().text
    assert stat.S_IMODE(model.stat().st_mode) == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.xml", "model.xml"]


@pytest.mark.parametrize(("count", "note"), [(1, "1 other hard link to the file still has the old content")])
def test_a_parted_hard_link_is_reported(
    count: int, note: str, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "second.xml").hardlink_to(model)
    assert main(["fix", str(model)]) == 0
    assert f"fixed 1 finding in {model}\nnote: {model}: {note}\n" in capsys.readouterr().out
    assert (tmp_path / "second.xml").read_text("utf-8") == WRONG
    assert main(["fix", str(model)]) == 0
    assert "note:" not in capsys.readouterr().out


def test_an_owner_that_cannot_be_kept_is_reported(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, owners = os.stat, [1, 2]

    def stat_of(path: str, **how: bool) -> os.stat_result:
        values = list(real(path, **how))
        values[stat.ST_UID] = owners.pop(0)
        return os.stat_result(values)

    monkeypatch.setattr(replacing, "replace_expected", lambda path, before, after: True)
    monkeypatch.setattr(replacing.os, "stat", stat_of)
    assert replace_file(model, b"old", b"new") == ["the owner or the group of the file could not be preserved"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux exchanges two files in one step")
def test_a_save_between_the_check_and_the_rename_is_kept_and_reported(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    exchanged, count = exchange.exchanged, 0

    def after_a_save(one: str, other: str) -> bool:
        nonlocal count
        if (count := count + 1) == 1:
            (tmp_path / "typed").write_text("typed by the user")
            os.replace(tmp_path / "typed", model)
        return exchanged(one, other)

    monkeypatch.setattr(exchange, "exchanged", after_a_save)
    assert main(["fix", str(model)]) == 2
    assert "U007]: the file was changed by another program or is being written" in capsys.readouterr().out
    assert model.read_text("utf-8") == "typed by the user"
    assert [path.name for path in tmp_path.iterdir()] == ["model.xml"]


def test_what_is_no_longer_there_is_not_made_again(model: Path) -> None:
    model.write_text("theirs")
    with pytest.raises(FileChanged):
        replace_file(model, b"before", b"after")
    assert model.read_text() == "theirs"
