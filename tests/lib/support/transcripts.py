"""Documents that are executed: fenced blocks of Markdown, and commands with their output."""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from support.amounts import IN_CI
from support.waiting import PATIENCE

_BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SIX_DIGITS = re.compile(r"(?<![\d.])\b(?=\d*\.\d*(?!\d|\.\d))(?:0\.0*)?(?:[1-9]\.?(?:\d\.?){5})\b")
_TIME = re.compile(r" in [0-9.]+s\b.*")


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, the words after it, its text, and the line on which it starts."""

    language: str
    words: tuple[str, ...]
    text: str
    line: int

    @property
    def file(self) -> str | None:
        """The name of the file whose content is the block, if a word gives one."""
        return next((word for word in self.words if "." in word), None)

    def write(self, folder: Path) -> None:
        assert self.file is not None
        (folder / self.file).write_text(self.text, "utf-8")


def blocks(path: Path) -> list[Block]:
    text = path.read_text("utf-8")
    return [Block(m[1], tuple(m[2].split()), m[3], text[: m.start()].count("\n") + 1) for m in _BLOCK.finditer(text)]


def commands(block: Block) -> Iterator[tuple[str, list[str]]]:
    """Yield the commands of a console block, each with the lines of its expected output."""
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, *expected = part.rstrip("\n").split("\n")
        yield command, expected


def run(command: str, folder: Path, *, alone: bool = IN_CI) -> subprocess.CompletedProcess[str]:
    """Run `irexec`, `python` or `pytest` with this interpreter's packages, in a folder.

    `alone`: start a process for `irexec`, too; in this process it takes half a second less.
    """
    program, *arguments = shlex.split(command)
    module = {"irexec": ["-m", "irexec"], "pytest": ["-m", "pytest", "-p", "no:cacheprovider"], "python": []}[program]
    # A checkout that is not installed is also found, and so are the files of the document.
    paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")]), str(Path(__file__).parents[3])]
    # Commands that a command runs find this interpreter as well.
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    settings = {"PYTHONPATH": os.pathsep.join(paths), "PATH": programs, "NO_COLOR": "1", "COLUMNS": "80"}
    environment = os.environ | settings
    environment.pop("PYTEST_ADDOPTS", None)
    if program == "irexec" and not alone:
        with mock.patch.dict(os.environ, environment, clear=True), chdir(folder):
            return _in_this_process(arguments)
    return subprocess.run(
        [sys.executable, *module, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


def _in_this_process(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    from irexec.cli.main import main

    outputs = [io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2)]
    with redirect_stdout(outputs[0]), redirect_stderr(outputs[1]):
        try:
            code: object = main(arguments)
        except SystemExit as end:
            code = end.code
    printed, complained = (output.buffer.getvalue().decode() for output in outputs)
    return subprocess.CompletedProcess(arguments, int(str(code or 0)), printed, complained)


def _five_digits(line: str) -> str:
    return _SIX_DIGITS.sub(lambda number: f"{float(number[0]):.5g}", line)


def differs(printed: str, expected: list[str]) -> str | None:
    """Return the difference of the output of a command from the expected lines; None if there is none.

    A line `...` stands for any lines; the time at the end of a line (`in 0.1s`) is ignored. Of numbers with six digits
    five are compared: BLAS adds in another order on other processors.
    """
    lines = [_five_digits(_TIME.sub("", line)).rstrip() for line in printed.rstrip("\n").split("\n")]
    wanted = [_five_digits(line).rstrip() for line in expected]
    while wanted and not wanted[-1]:
        wanted.pop()
    parts = [re.escape(line) if line.strip() != "..." else None for line in wanted]
    pattern = "\n".join(r"(?:.*\n)*?.*" if part is None else part for part in parts)
    if re.fullmatch(pattern, "\n".join(lines)):
        return None
    return "printed:\n" + "\n".join(lines) + "\nexpected:\n" + "\n".join(wanted)
