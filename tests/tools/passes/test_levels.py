"""Moved levels: what rounding a zero point does to quantized values is explained, an error of a whole step is not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import irexec
from irexec.model.graph.model import Model
from irexec.ops.spec.traits import Quantization
from irexec.tools.passes.levels import are_moved
from irexec.tools.run.record import Reference

LOW, HIGH, COUNT = -1.3, 2.1, 256
STEP = (HIGH - LOW) / (COUNT - 1)
X = np.random.default_rng(5).normal(0.4, 0.6, (2, 16, 8, 8)).astype(np.float32)
NETS = {
    "alone": "",
    "pooled": "  out = MaxPool-1(q) strides=[2,2] pads=[0,0]:[0,0] kernel=[2,2]\n",
    "multiplied": "  w   = Constant f32[24,16,3,3] seed(3)\n"
    "  out = Convolution-1(q, w) strides=[1,1] pads=[1,1]:[1,1] dilations=[1,1]\n",
    "activated": "  out = Swish-4(q)\n",
    "twice": "  w   = Constant f32[16,16,1,1] seed(3)\n"
    "  c   = Convolution-1(q, w) strides=[1,1] pads=[0,0]:[0,0] dilations=[1,1]\n"
    "  l   = Constant f32[] -3.7\n  h   = Constant f32[] 3.9\n  out = FakeQuantize-1(c, l, h, l, h) levels=256\n",
}


def model_of(net: str, moved: float = 0.0) -> Model:
    """Return a net whose levels are moved by a part of a step."""
    low, high = LOW + moved * STEP, HIGH + moved * STEP
    return irexec.parse(
        f"model m (x: f32[2,16,8,8]) -> ({'out' if net else 'q'})\n  low = Constant f32[] {low}\n"
        f"  top = Constant f32[] {high}\n  q   = FakeQuantize-1(x, low, top, low, top) levels={COUNT}\n{net}"
    )


def results(model: Model, change: Callable[[np.ndarray], np.ndarray] | None = None) -> list[list[np.ndarray]]:
    reference = Reference(model, [[X]])
    if change is None:
        return reference.results()
    first = next(node for node in model.nodes if Quantization in node.traits)
    return reference.changed({first.outputs[0]: change})


@pytest.mark.parametrize("net", NETS)
@pytest.mark.parametrize("moved", [0.1, -0.3, 0.5])
def test_levels_that_are_moved_by_up_to_half_a_step(net: str, moved: float) -> None:
    found = results(model_of(NETS[net], moved))
    assert are_moved(Reference(model_of(NETS[net]), [[X]]), found)


@pytest.mark.parametrize(
    ("net", "wrong"),
    [
        *((net, wrong) for net in NETS for wrong in ("a step up", "a step down")),
        # A product of 16 channels hides the error of one in the rounding of the others.
        *((net, "one channel up") for net in ("alone", "pooled", "activated")),
    ],
)
def test_an_error_of_a_step(net: str, wrong: str) -> None:
    size = np.float32(-STEP if wrong == "a step down" else STEP)

    def change(array: np.ndarray) -> np.ndarray:
        changed = array.copy()
        changed[:, 3 if wrong == "one channel up" else slice(None)] += size
        return changed

    found = results(model_of(NETS[net]), change)
    assert not are_moved(Reference(model_of(NETS[net]), [[X]]), found)


@pytest.mark.parametrize(("low", "high", "count", "is_move"), [(-1.27, 1.27, 255, False), (-1.27, 1.27, 256, True)])
def test_levels_that_bytes_hold_are_not_moved(low: float, high: float, count: int, is_move: bool) -> None:
    def model(low: float, high: float) -> Model:
        return irexec.parse(
            f"model m (x: f32[2,16,8,8]) -> (q)\n  low = Constant f32[] {low}\n  top = Constant f32[] {high}\n"
            f"  q   = FakeQuantize-1(x, low, top, low, top) levels={count}\n"
        )

    half = (high - low) / (count - 1) / 2
    assert are_moved(Reference(model(low, high), [[X]]), results(model(low + half, high + half))) == is_move


def test_without_quantized_values() -> None:
    model = irexec.parse("model m (x: f32[2,16,8,8]) -> (y)\n  y = ReLU(x)\n")
    assert not are_moved(Reference(model, [[X]]), results(model))
