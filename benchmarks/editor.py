"""Response times of `irexec lsp` in an editor: findings after a key press, and answers while a large text is checked.

    python benchmarks/editor.py [--layers 1000 30000]

Each text is a chain of layers with one element per line. The time of findings includes the server's pause before a
check.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "lib"))

from support.editor import Editor

KEYS = 10
PORT = '<port id="{}" precision="FP32">\n<dim>1</dim>\n<dim>3</dim>\n<dim>8</dim>\n<dim>8</dim>\n</port>\n'


def chain(layers: int) -> str:
    """Return a model in which each layer reads the one before it."""
    lines = ['<net name="chain" version="11">\n<layers>\n<layer id="0" name="x" type="Parameter" version="opset1">\n']
    lines += [f'<data shape="1,3,8,8" element_type="f32"/>\n<output>\n{PORT.format(0)}</output>\n</layer>\n']
    for number in range(1, layers + 1):
        lines.append(f'<layer id="{number}" name="relu{number}" type="ReLU" version="opset1">\n')
        lines.append(f"<input>\n{PORT.format(0)}</input>\n<output>\n{PORT.format(1)}</output>\n</layer>\n")
    lines.append(f'<layer id="{layers + 1}" name="y" type="Result" version="opset1">\n')
    lines.append(f"<input>\n{PORT.format(0)}</input>\n</layer>\n</layers>\n<edges>\n")
    for number in range(layers + 1):
        ends = f'from-port="{min(number, 1)}" to-layer="{number + 1}" to-port="0"'
        lines.append(f'<edge from-layer="{number}" {ends}/>\n')
    return "".join([*lines, "</edges>\n</net>\n"])


def measure(editor: Editor, layers: int) -> None:
    text, uri = chain(layers), f"file:///benchmark/chain{layers}.xml"
    print(f"{layers} layers, {len(text) / 1e6:.1f} MB")
    began = time.perf_counter()
    editor.open(uri, text)
    row("opened, findings", [time.perf_counter() - began])
    line = text.splitlines().index('<layer id="7" name="relu7" type="ReLU" version="opset1">')
    typed: list[float] = []
    offered: list[float] = []
    for key in range(KEYS):
        at = {"line": line, "character": 20}
        began = time.perf_counter()
        editor.change(uri, 2 + key, [{"range": {"start": at, "end": at}, "text": "a"}])
        editor.at("completion", uri, line, 32 + key)
        offered.append(time.perf_counter() - began)
        editor.findings(uri, 2 + key)
        typed.append(time.perf_counter() - began)
    row("a key, completion", offered)
    row("a key, findings", typed)
    for method in ("hover", "documentSymbol", "foldingRange"):
        began = time.perf_counter()
        editor.at(method, uri, line, 3)
        row(method, [time.perf_counter() - began])
    print()


def row(what: str, seconds: list[float]) -> None:
    print(f"  {what:<20} median {statistics.median(seconds) * 1e3:8.1f} ms  worst {max(seconds) * 1e3:8.1f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, nargs="+", default=[1000, 30000])
    with Editor() as editor:
        for layers in parser.parse_args().layers:
            measure(editor, layers)


if __name__ == "__main__":
    main()
