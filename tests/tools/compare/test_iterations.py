"""irexec compare with long loops: the iteration in which a layer is wrong, including iterations after the
first group.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.mocks import Wrong
from support.nets import Net
from support.verdicts import compared

import irexec
from irexec import Model
from irexec import opset15 as ops
from irexec.core.types import Array
from irexec.tools.compare.compare import compare
from irexec.tools.compare.culprit import FIRST_ITERATIONS
from irexec.tools.compare.runtimes.dumping import dump
from irexec.tools.compare.runtimes.folder import Folder
from irexec.tools.run.record import Reference

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


@pytest.mark.by_hand(1)
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


def branching(exchanged: bool) -> Model:
    """Return a Loop whose body chooses one of two branches, which another model exchanges."""
    branches = []
    for make in (lambda h: ops.multiply(h, np.float32(0.5), name="halved"), lambda h: ops.tanh(h, name="bent")):
        h = ops.parameter([1, 4], np.float32, name="h")
        branches.append(Model([make(h)], [h], "branch"))
    number, state = ops.parameter([], np.int64, name="number"), ops.parameter([1, 4], np.float32, name="state")
    is_even = ops.equal(ops.mod(number, np.int64(2)), np.int64(0), name="even")
    chosen = ops.if_op(is_even, name="chosen")
    one, two = branches[::-1] if exchanged else branches
    chosen.set_then_body(one)
    chosen.set_else_body(two)
    chosen.set_input(state.output(0), one.parameters[0], two.parameters[0])
    chosen.set_output(one.results[0], two.results[0])
    body = Model([ops.add(chosen, np.float32(0.1), name="after"), np.array(True)], [number, state], "body")
    x = ops.parameter([1, 4], np.float32, name="x")
    loop = ops.loop(np.int64(5), np.array(True), name="loop")
    loop.set_function(body)
    loop.set_special_body_ports([0, 1])
    loop.set_merged_input(state, x.output(0), body.results[0].output(0))
    return Model([loop.get_iter_value(body.results[0].output(0), -1)], [x], "branching")


def test_exchanged_branches_in_a_loop() -> None:
    given = [np.array([[1, -2, 0.5, 3]], np.float32)]
    assert compared(branching(False), branching(False), given).same
    found = compared(branching(False), branching(True), given)
    assert not found.agrees and found.culprit is not None
    assert found.culprit.described == "chosen (If) in loop, iteration 0"
    assert found.culprit.changes == ["the then branch and the else branch are exchanged"]
