"""Models with graphs to draw, created in Python."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

import irexec
from irexec import opset15

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "&amp;&#x41;]]>",
    "</style></svg></script><b>",
    "<!--",
    "'; alert(1); //${alert(1)}`",
    "a\u202eb\u2028c",
]
"""Names that would have an effect if they became markup or script."""


def stacked(count: int, names: str = "net/layer.{}/") -> irexec.Model:
    """Return `count` times the same seven layers with a residual; their names begin with `names`."""
    x = opset15.parameter([1, 8], np.float32, name="x")
    value = x
    for number in range(count):
        own = names.replace("{}", str(number))
        a = opset15.matmul(value, np.ones((8, 8), np.float32), name=own + "in")
        b = opset15.relu(opset15.add(a, np.ones(8, np.float32), name=own + "bias"), name=own + "relu")
        c = opset15.matmul(b, np.ones((8, 8), np.float32), name=own + "out")
        d = opset15.softmax(opset15.tanh(c, name=own + "tanh"), axis=1, name=own + "max")
        value = opset15.add(value, d, name=own + "sum")
    return irexec.Model([value], [x], "stack")


def altered(folder: Path) -> tuple[Path, Path]:
    """Return the path of the classifier of the samples, and of a copy in which an attribute, a layer's type, its name
    and a constant differ, and a layer is missing.
    """
    sample = Path(__file__).parents[3] / "samples" / "classifier"
    text, weights = (sample / "model.xml").read_text("utf-8"), bytearray((sample / "model.bin").read_bytes())
    (folder / "a.xml").write_text(text, "utf-8")
    (folder / "a.bin").write_bytes(weights)
    text = text.replace('name="stem/relu" type="ReLU"', 'name="stem/relu" type="Sigmoid"').replace(
        'name="pool"', 'name="largest"'
    )
    text = re.sub('(name="stem/norm".*?epsilon=")[^"]*', r"\g<1>0.05", text, count=1, flags=re.DOTALL)
    text = re.sub(r'\s*<layer id="32" .*?</layer>', "", text, count=1, flags=re.DOTALL)
    text = re.sub(r'\s*<edge [^>]*to-layer="32"[^>]*>', "", text)
    text = re.sub(r'from-layer="32" from-port="\d+"', 'from-layer="31" from-port="5"', text)
    weights[4000:4004] = np.float32(3).tobytes()
    (folder / "b.xml").write_text(text, "utf-8")
    (folder / "b.bin").write_bytes(weights)
    return folder / "a.xml", folder / "b.xml"
