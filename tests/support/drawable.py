"""Models whose graphs are worth a drawing, made in Python."""

from __future__ import annotations

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
"""Names that would do something where they became markup or script."""


def stacked(count: int, names: str = "net/layer.{}/") -> irexec.Model:
    """`count` times the same seven layers with a residual; their names begin with `names`."""
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
