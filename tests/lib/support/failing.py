"""The models in which faults are planted, with inputs."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import irexec
from irexec.tools.run.record import Reference
from support.nets import Net

SAMPLES = Path(__file__).parents[3] / "samples"


def reference(name: str) -> Reference:
    """Return a model with its inputs: `classifier`, `transformer` (two steps) or `loop`."""
    if name == "loop":
        return Reference(
            irexec.read_model(loop().text.encode()), [[np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)]]
        )
    folder = SAMPLES / name
    model = irexec.read_model(folder / "model.xml")
    files = [["image.npy"]] if name == "classifier" else [["words.npy"], ["next.npy"]]
    return Reference(model, [[np.load(folder / file) for file in step] for step in files])


def loop() -> Net:
    """Return x [3,4], scaled, then a TensorIterator over its rows (a row times itself, tanh, absolute value), then
    ReLU.
    """
    body = Net()
    row = body.parameter("row", "1,4")
    squared = body.layer("Multiply", [row, row], "1,4", name="squared")
    bent = body.layer("Tanh", [squared], "1,4", name="bent")
    body.result(body.layer("Abs", [bent], "1,4", name="positive"), "rows")
    net = Net("loop")
    x = net.parameter("x", "3,4")
    scaled = net.layer("Exp", [x], "3,4", name="scaled")
    maps = (
        '<port_map><input external_port_id="0" internal_layer_id="0" axis="0" part_size="1" stride="1"/>'
        '<output external_port_id="1" internal_layer_id="4" axis="0" part_size="1" stride="1"/></port_map>'
    )
    outer = net.layer("TensorIterator", [scaled], "3,4", name="outer", more=f"{maps}<body>{body.inside}</body>")
    net.result(net.layer("ReLU", [outer], "3,4", name="last"))
    return net
