"""The pages of the diagnostic codes: each code has a page, and irexec behaves as the page shows.

A page contains fenced blocks. The first one causes the finding, the one marked `fixed` does not:

- ```xml: a model or a snippet, given to `irexec.validate`; with the word `run`, given to `irexec run`
- ```irt: a model in the text form, given to `irexec.validate`
- ```python: a few lines that set `report`, or raise IRError
- ```console: commands after `$ `

A block with a name (```hex model.bin, ```xml other.xml) is a file next to both examples; with the word `fixed`, next to
the fixed example only.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import cast

import numpy as np
import pytest

import irexec
import irexec.core.types
from irexec.cli.main import main
from irexec.core.diagnostics import Report
from irexec.core.diagnostics.codes import CODES
from irexec.ops.spec.operator import REGISTRY

PAGES = Path(__file__).parents[3] / "docs" / "codes"
SOURCES = Path(irexec.__file__).parent.rglob("*.py")
TEXTS = "".join(p.read_text("utf-8") for p in SOURCES if p.name != "codes.py")
# The types export a C128, which looks like a code.
REPORTED = set(re.findall(r'"([A-Z]\d{3})"', TEXTS)) - set(irexec.core.types.__all__)
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, the words after that, and the text."""

    language: str
    words: tuple[str, ...]
    text: str

    @property
    def name(self) -> str | None:
        return next((word for word in self.words if "." in word), None)

    @property
    def fixed(self) -> bool:
        return "fixed" in self.words

    def write(self, folder: Path) -> None:
        data = bytes.fromhex(self.text) if self.language == "hex" else self.text.encode()
        (folder / (self.name or f"model.{self.language}")).write_bytes(data)


@pytest.fixture(autouse=True, scope="module")
def modules_loaded() -> None:
    """The page of F001 hides `onnx`, and afterwards forgets what was loaded meanwhile: load everything before."""
    import_module("irexec.frontends.onnx")
    irexec.validate(b"<net/>")


@pytest.fixture(autouse=True)
def own_operators_forgotten() -> Iterator[None]:
    """A page that declares an operator does so in an opset called `mine`."""
    yield
    for key in [key for key in REGISTRY if key[1] == "mine"]:
        del REGISTRY[key]


def blocks(code: str) -> list[Block]:
    text = (PAGES / f"{code}.md").read_text(encoding="utf-8")
    return [Block(match[1], tuple(match[2].split()), match[3]) for match in BLOCK.finditer(text)]


def codes_found(example: Block, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """Code → severity of what irexec says about the example, which is executed in the current folder."""
    if example.language in ("xml", "irt") and "run" not in example.words:
        report = irexec.validate(f"model.{example.language}")
    elif example.language == "python":
        names: dict[str, object] = {"irexec": irexec, "np": np, "report": Report()}
        try:
            exec(example.text, names)
            report = cast(Report, names["report"])
        except irexec.IRError as error:
            report = error.report
    else:
        run = example.language == "xml"
        commands = ["$ irexec run model.xml"] if run else example.text.splitlines()
        for command in commands:
            main(shlex.split(command.removeprefix("$ irexec ")))
        shown = capsys.readouterr()
        return {
            code: severity for severity, code in re.findall(r"^(\w+)\[(\w+)\]", shown.out + shown.err, re.MULTILINE)
        }
    return {finding.code: str(finding.severity) for finding in report}


def execute(code: str, *, fixed: bool, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    page = blocks(code)
    example = next(block for block in page if not block.name and block.fixed is fixed)
    files = [block for block in page if block.name and (fixed or not block.fixed)]
    for block in [example, *files] if example.language in ("xml", "irt") else files:
        block.write(Path())
    return codes_found(example, capsys)


def test_every_code_has_a_page_and_every_page_a_code() -> None:
    assert sorted(path.stem for path in PAGES.glob("*.md")) == sorted(CODES)


def test_every_code_is_reported_somewhere() -> None:
    assert sorted(CODES.keys() - REPORTED) == []
    assert sorted(REPORTED - CODES.keys()) == []


@pytest.mark.parametrize("code", CODES)
def test_a_page_has_the_form(code: str) -> None:
    text = (PAGES / f"{code}.md").read_text(encoding="utf-8")
    assert text.startswith(f"# {code}: {CODES[code].title}\n\n")
    examples = [block for block in blocks(code) if not block.name]
    assert [block.fixed for block in examples] == [False, True]
    assert len({block.language for block in examples}) == 1
    assert ("--mode openvino" in text) is CODES[code].lenient
    assert text.count("```") == 2 * len(blocks(code))


@pytest.mark.parametrize("code", sorted(CODES.keys() & REPORTED))
def test_what_a_page_shows_is_so(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    failing = execute(code, fixed=False, capsys=capsys)
    if "O004" in failing and code not in failing:
        pytest.skip("the example's operator is not implemented yet, so its attributes and shapes are not checked")
    if code == "O004" and "O004" not in failing:
        pytest.skip("all operators are implemented")
    assert failing.get(code) == CODES[code].severity, f"the first example gives {failing}"
    repaired = execute(code, fixed=True, capsys=capsys)
    assert code not in repaired
    wrong = {found for found, severity in repaired.items() if severity == "error"}
    assert wrong <= {"O004"}, f"the fixed example gives {repaired}"
