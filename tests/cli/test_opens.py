"""Every command opens each of its files once, and parses each text once; exceptions are listed with their reasons."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irexec
from irexec import opset13 as ops
from irexec.cli.main import main
from irexec.ir import reader

_opened: Counter[str] | None = None


def _count(event: str, arguments: tuple[Any, ...]) -> None:
    if _opened is not None and event == "open" and isinstance(arguments[0], (str, bytes, os.PathLike)):
        _opened[os.path.realpath(os.fsdecode(arguments[0]))] += 1


@cache
def _add_hook() -> None:
    """Add the hook when a test first needs it: it cannot be removed, and is called for all events of the process."""
    sys.addaudithook(_count)


@contextmanager
def counting(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Iterator[tuple[Counter[str], Counter[str]]]:
    """Count how often each file of the folder is opened, by its name, and how often each text is parsed."""
    global _opened
    _add_hook()
    opened, parsed = Counter[str](), Counter[str]()
    original = reader._Reader.__init__

    def begin(self: Any, elements: Any, findings: Any) -> None:
        parsed[elements.text] += 1
        original(self, elements, findings)

    _opened = found = Counter()
    try:
        with monkeypatch.context() as patched:
            patched.setattr(reader._Reader, "__init__", begin)
            yield opened, parsed
    finally:
        _opened = None
        opened.update({Path(path).name: count for path, count in found.items() if Path(path).parent == folder})


LAYER = """<layer id="0" name="y" type="ReLU" version="opset1">
    <input><port id="0"><dim>2</dim></port></input>
    <output><port id="1"><dim>2</dim></port></output>
</layer>"""
PAGE = f"# ReLU\n\n```xml\n{LAYER}\n```\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a model in several states, a page, printed layers, and inputs, as the current folder."""
    monkeypatch.chdir(tmp_path)
    x = ops.parameter([2, 3], "f32", name="x")
    y = ops.relu(ops.add(x, np.arange(6, dtype=np.float32).reshape(2, 3)), name="y")
    model = irexec.Model([y], [x], "m")
    for name in ("m", "other", "wrong", "lenient", "broken"):
        irexec.save_model(model, f"{name}.xml")
    text = Path("m.xml").read_text()
    Path("lenient.xml").write_text(text.replace('type="ReLU"', 'type="ReLU" extra="1"'))
    Path("wrong.xml").write_text(text.replace("auto_broadcast", "auto_broadcas"))
    Path("broken.xml").write_text(text.replace("</net>", ""))
    Path("layer.xml").write_text(LAYER)
    Path("page.md").write_text(PAGE)
    Path("inputs").mkdir()
    for name in "ab":
        np.savez(f"inputs/{name}.npz", x=np.ones((2, 3), np.float32))
    return Path(os.path.realpath(tmp_path))


MODEL = [
    ["validate", "{}"],
    ["validate", "{}", "--mode", "openvino"],
    ["run", "{}"],
    ["run", "{}", "--trace", "--sanitize"],
    ["run", "{}", "--inputs", "inputs", "--save", "results"],
    ["report", "{}", "-o", "out.html"],
    ["report", "{}", "--run", "-o", "out.html"],
    ["report", "{}", "--diff", "other.xml", "--run", "-o", "out.html"],
    ["compare", "{}", "--with", "other.xml"],
    ["compare", "{}", "--with", "other.xml", "--inputs", "inputs"],
    ["diff", "{}", "other.xml"],
    ["diff", "{}", "other.xml", "--run"],
    ["show", "{}"],
    ["convert", "{}", "out.xml"],
    ["cut", "{}", "-o", "part.xml", "--to", "y"],
    ["fix", "{}", "--diff"],
    ["fix", "{}"],
    ["doctest", "{}"],
]
OTHERS = [
    ["validate", "layer.xml"],
    ["run", "layer.xml"],
    ["report", "layer.xml", "-o", "out.html"],
    ["fix", "layer.xml", "--diff"],
    ["doctest", "layer.xml"],
    ["doctest", "page.md"],
    ["report", "page.md", "-o", "out.html"],
]
AGAIN: Mapping[tuple[str, ...], str] = {
    ("fix", "wrong.xml"): "before it is replaced, the file is compared with what was read",
    ("fix", "broken.xml"): "before it is replaced, the file is compared with what was read",
    **{
        ("doctest", name): "a page that turns out to be a model is validated as a model, with its weights"
        for name in ("m.xml", "lenient.xml", "wrong.xml", "broken.xml")
    },
}
"""Commands that open the model's file once more, with the reason."""
CHECKED_AGAIN = {
    (
        "report",
        "--run",
    ): "a file with errors in strict mode runs in openvino mode, in which other checks follow an error",
    ("fix",): "whether irexec runs the file before and after a safe fix is asked in openvino mode",
}
"""Commands that check a text with errors in both modes: the text in memory is parsed for each mode."""


def run(arguments: list[str]) -> None:
    with suppress(SystemExit):
        main(arguments)


@pytest.mark.parametrize("name", ["m.xml", "lenient.xml", "wrong.xml", "broken.xml"])
@pytest.mark.parametrize("command", MODEL, ids=" ".join)
def test_a_model(name: str, command: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = [part.format(name) for part in command]
    with counting(monkeypatch, folder) as (opened, parsed):
        run(arguments)
    assert opened[name] == 1 + (tuple(arguments) in AGAIN)
    others = {path: count for path, count in opened.items() if path != name and not path.endswith(".part")}
    assert set(others.values()) <= {1}, others
    again = any(set(words) <= set(command) for words in CHECKED_AGAIN) and name in ("wrong.xml", "broken.xml")
    assert max(parsed.values(), default=0) <= 1 + again


@pytest.mark.parametrize("command", OTHERS, ids=" ".join)
def test_layers_and_pages(command: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with counting(monkeypatch, folder) as (opened, parsed):
        run(command)
    assert opened[command[1]] == 1
    assert parsed and max(parsed.values()) == 1


@pytest.mark.parametrize("command", [c for c in MODEL if c[0] not in ("fix", "doctest")], ids=" ".join)
def test_an_onnx_model(command: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The checks of other packages run in a separate process, which reads the file."""
    onnx = pytest.importorskip("onnx")
    text = '<ir_version: 9, opset_import: ["" : 17]> m (float[2, 3] x) => (float[2, 3] y) { y = Relu(x) }'
    for name in ("m.onnx", "other.onnx"):
        onnx.save(onnx.parser.parse_model(text), name)
    arguments = [part.format("m.onnx").replace("other.xml", "other.onnx") for part in command]
    with counting(monkeypatch, folder) as (opened, _):
        run(arguments)
    assert opened["m.onnx"] == 1 and opened["other.onnx"] <= 1
