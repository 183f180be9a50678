"""irexec compare with long loops: the iteration in which a layer is wrong, including iterations after the
first group.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.mocks import Wrong
from support.nets import Net

import irexec
from irexec.debug.comparison.compare import compare
from irexec.debug.comparison.culprit import FIRST_ITERATIONS
from irexec.debug.record import Reference
from irexec.debug.runtimes.dumping import dump
from irexec.debug.runtimes.folder import Folder
from irexec.types import Array

ROWS = 200


def rows() -> Reference:
    """Return a TensorIterator over the rows of x [200,2]; row k contains k."""
    body = Net()
    row = body.parameter("row", "1,2")
    body.result(body.layer("Abs", [body.layer("ReLU", [row], "1,2", name="cut")], "1,2", name="positive"), "rows")
    net = Net("loop")
    maps = (
        '<port_map><input external_port_id="0" internal_layer_id="0" axis="0" part_size="1" stride="1"/>'
        '<output external_port_id="1" internal_layer_id="3" axis="0" part_size="1" stride="1"/></port_map>'
    )
    x = net.parameter("x", f"{ROWS},2")
    outer = net.layer("TensorIterator", [x], f"{ROWS},2", name="outer", more=f"{maps}<body>{body.inside}</body>")
    net.result(outer)
    array = np.repeat(np.arange(ROWS, dtype=np.float32), 2).reshape(ROWS, 2)
    return Reference(irexec.read_model(net.text.encode()), [[array]])


@pytest.mark.by_hand(2)
@pytest.mark.parametrize("wrong", [FIRST_ITERATIONS - 1, FIRST_ITERATIONS, 143, ROWS - 1])
@pytest.mark.parametrize("dumped", [False, True])
def test_the_iteration_is_named(wrong: int, dumped: bool, tmp_path: Path) -> None:
    def distort(array: Array) -> Array:
        return np.where(array == wrong, array + 1, array)

    other, run = Wrong("positive", distort), rows()
    if dumped:
        dump(run, other, tmp_path)
    found = compare(run, Folder(tmp_path) if dumped else other)
    assert found.culprit is not None
    assert found.culprit.described == f"positive (Abs) in outer, iteration {wrong}"
