"""Names of files with characters that a terminal, a log or another program would interpret are shown as text."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.waiting import PATIENCE

from irexec.cli.fix import _shown
from irexec.cli.main import main
from irexec.tools.fixes.difference import difference

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="file names that are any bytes")

SAMPLES = Path(__file__).parents[2] / "samples"
NAME = "n\x1b]0;x\x07\n::error::\u202e\u2028\udcff"
ACTING = set("\x1b\x07\u202e\u2028\udcff")

COMMANDS = [
    ["validate", f"{NAME}.xml"],
    *(["validate", f"{NAME}w.xml", "--format", form] for form in ("concise", "github", "json", "sarif", "text")),
    ["validate", f"{NAME}none.xml"],
    ["validate", f"--{NAME}"],
    ["fix", f"{NAME}w.xml", "--diff"],
    ["fix", f"{NAME}w.xml"],
    ["run", f"{NAME}.xml", "--input", NAME],
    ["run", f"{NAME}.xml", "--extension", NAME],
    ["show", f"{NAME}.xml"],
    ["report", f"{NAME}.xml", "-o", f"{NAME}.html"],
    ["cut", f"{NAME}.xml", "--around", NAME],
    ["cut", f"{NAME}.xml", "--around", "stem/conv", "-o", f"{NAME}c.xml"],
    ["convert", f"{NAME}.xml", "-o", f"{NAME}v.xml"],
    ["diff", f"{NAME}.xml", f"{NAME}w.xml"],
    ["doctest", NAME],
    ["compare", f"{NAME}.xml", "--with", NAME],
    ["reduce", f"{NAME}.xml", "--with", NAME],
    ["explain", NAME],
    ["schema", "Relu", "--out", f"{NAME}d"],
    [NAME],
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for suffix in ("xml", "bin"):
        shutil.copy(SAMPLES / "classifier" / f"model.{suffix}", f"{NAME}.{suffix}")
    shutil.copy(SAMPLES / "wrong.xml", f"{NAME}w.xml")
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_names_are_shown(command: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with contextlib.suppress(SystemExit):
        main(command)
    printed = capsys.readouterr()
    text = printed.out + printed.err
    assert text
    assert not set(text) & ACTING
    assert "internal error" not in text
    assert not any(line.startswith("::") and not line.startswith("::error file=n") for line in text.splitlines())


@pytest.mark.parametrize(
    "name", ["plain/model.xml", 'with "quotes" and \\', "\x1b[31m", "a\nb\t", "\u202eä", "not \udcff"]
)
@pytest.mark.parametrize("given", ["", "./"])
def test_git_reads_the_names_of_a_difference(
    given: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("before\n")
    monkeypatch.chdir(tmp_path)
    text = difference(given + name, b"before\n", b"after\n")
    assert text.count("\n") == 5
    if shutil.which("git") is None:
        return
    done = subprocess.run(
        ["git", "apply"], input=text.encode(), cwd=tmp_path, capture_output=True, timeout=PATIENCE,
        env=os.environ | {"GIT_CEILING_DIRECTORIES": str(tmp_path.parent)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / name).read_text() == "after\n"


def test_a_difference_on_a_terminal_shows_what_would_act_on_it() -> None:
    controller, terminal = os.openpty()
    with open(controller), open(terminal, "w") as stream:
        assert _shown("+a\x1b[2J\n-b\u202e\n", stream) == "+a\\x1b[2J\n-b\\u202e\n"
    with open(os.devnull, "w") as stream:
        assert _shown("+a\x1b[2J\n", stream) == "+a\x1b[2J\n"
