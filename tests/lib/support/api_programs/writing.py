"""A random program of OpenVINO's Python API, as its statements."""

from __future__ import annotations

import random

from support.api_programs import asking, layers, models
from support.api_programs.routines import ROUTINES
from support.api_programs.writer import Writer

OPSETS = ("opset8", "opset10", "opset13", "opset13", "opset15")


def program(seed: int) -> list[str]:
    """Return the statements of one program; `ov`, `np`, `data` and `F32` are predefined, an opset is imported first."""
    w = Writer(random.Random(seed))
    w.say(f"ops = ov.{w.choose(OPSETS)}")
    if w.chance(0.25):
        w.choose(ROUTINES)(w)
        return w.lines
    for _ in range(w.choose((0, 0, 1, 2))):
        asking.value(w)
    for _ in range(w.choose((1, 1, 2))):
        layers.parameter(w)
    for _ in range(w.rng.randrange(1, 9)):
        w.choose(layers.LAYERS)(w)
        if w.chance(0.4):
            asking.node(w)
    model = models.define(w)
    for _ in range(w.rng.randrange(5)):
        if w.chance(0.5):
            models.ask(w, model)
        else:
            model = models.change(w, model)
    if w.chance(0.8):
        models.run(w, model)
    return w.lines
