"""What commands print in this process, and a stream that is a terminal."""

from __future__ import annotations

import io

import pytest

from irexec.cli.main import main


class Terminal(io.StringIO):
    """A stream that reports that it is a terminal."""

    def isatty(self) -> bool:
        return True


def output(arguments: list[str], capsys: pytest.CaptureFixture[str], code: int = 0) -> str:
    """Return what a command prints, to the one stream that it may use for this exit code."""
    assert main(arguments) == code
    shown = capsys.readouterr()
    assert bool(shown.err) is (code != 0)
    return shown.err if code else shown.out


def printed(capsys: pytest.CaptureFixture[str]) -> str:
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out
