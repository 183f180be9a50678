"""`irexec explain`: pages, the list, and unknown codes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from irexec.cli import explain
from irexec.cli.main import main
from irexec.core.diagnostics.codes import CODES


def test_a_page_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "u001"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"# U001: {CODES['U001'].title}\n")
    assert "$ irexec validate" in shown


def test_a_page_is_rendered_with_what_fixing_changes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert main(["explain", "D001"]) == 0
    shown = capsys.readouterr().out
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert "\x1b[" in shown
    assert "```" not in plain
    lines = [line.rstrip() for line in plain.splitlines()]
    assert '-            <data reduction="sum" reductoin="max"/>' in lines
    assert '+            <data reduction="sum"/>' in lines


def test_several_pages(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "U001", "O001"]) == 0
    shown = capsys.readouterr().out
    assert shown.index("# U001: ") < shown.index("# O001: ")


def test_the_list_has_every_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(maxsplit=2) for line in lines] == [[e.code, str(e.severity), e.title] for e in CODES.values()]


@pytest.mark.parametrize(
    ("wrong", "advice"),
    [
        ("U01", "did you mean U001"), ("OO01", "O001"), ("!!!!", "`irexec explain` lists all codes"),
        ("D901", "did you mean D001?\n"),
    ],
)  # fmt: skip
def test_an_unknown_code(wrong: str, advice: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", wrong]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert f"unknown code '{wrong}'" in captured.err
    assert advice in captured.err


def test_an_unknown_code_does_not_hide_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "ZZZZ", "U001"]) == 2
    assert "# U001" in capsys.readouterr().out


def test_pages_in_the_package_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "U001.md").write_text("# U001: shipped\n")
    monkeypatch.setattr(explain, "_FOLDERS", (tmp_path, *explain._FOLDERS))
    assert explain.page("U001") == "# U001: shipped\n"
    assert explain.page("U002").startswith("# U002: ")


def test_without_pages_the_title_remains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explain, "_FOLDERS", (tmp_path,))
    assert explain.page("U001") == f"# U001: {CODES['U001'].title}\n"
