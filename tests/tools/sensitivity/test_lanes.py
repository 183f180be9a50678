"""Lanes: many choices in one pass give the same results as the model of each choice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.failing import SAMPLES
from support.spoilt import NETWORKS, quantized, samples

import irexec
from irexec import opset15 as ops
from irexec.core.types import BF16, Array
from irexec.runtime.engine import CompiledModel
from irexec.tools.sensitivity.batching import compute_rows
from irexec.tools.sensitivity.lanes import Lane, Pass
from irexec.tools.sensitivity.quantizers import quantized_board
from irexec.tools.sensitivity.rounding import rounding_board
from irexec.tools.sensitivity.switches import Board

pytestmark = pytest.mark.any_python

RNG = np.random.default_rng(0)


def check(board: Board, steps: list[list[Array]], count: int = 6) -> None:
    """Compare random choices in one pass with their models run alone."""
    sites = [*board.sites.values()]
    lanes = []
    for number in range(count):
        some = RNG.choice(len(sites), int(RNG.integers(1, 4)))
        lanes.append(Lane(number % len(steps), frozenset(sites[k] for k in some), bool(number % 2)))
    for lane, results in zip(lanes, Pass(board, lanes).run(steps), strict=True):
        fine = {*board.sites.values()} - lane.changed if lane.from_fine else lane.changed
        expected = CompiledModel(board.wired(fine)).infer_new_request(steps[lane.step]).to_tuple()
        for mine, theirs in zip(results, expected, strict=True):
            assert mine.shape == theirs.shape
            # A value that rounding moves across the border of two levels differs by one level.
            assert np.mean(np.abs(mine - theirs) > 1e-4 * (1 + np.abs(theirs))) < 0.02


@pytest.mark.by_hand(2)
@pytest.mark.parametrize("name", NETWORKS)
def test_lanes_are_the_models_of_their_choices(name: str) -> None:
    model = NETWORKS[name]()
    given = samples(model, 3)
    board, _ = quantized_board(model, quantized(model, given))
    check(board, [[array] for array in given])


@pytest.mark.parametrize("name", ["classifier", "segmenter", "transformer"])
def test_lanes_of_samples_in_bf16(name: str) -> None:
    folder = SAMPLES / name
    model = irexec.read_model(folder / "model.xml")
    steps = [[np.load(folder / f"{port.any_name}.npy") for port in model.inputs]]
    check(rounding_board(model, BF16), steps)


def test_what_lanes_have_in_common_is_computed_once() -> None:
    x = ops.parameter([2, 4], np.float32, name="x")
    model = irexec.Model([ops.exp(ops.tanh(ops.relu(x, name="a"), name="b"), name="c")], [x], "m")
    board = rounding_board(model, BF16)
    last = next(site for site in board.sites.values() if site.node.type == "Result")
    made = Pass(board, [Lane(0), Lane(0, [last])])
    made.run([[np.ones((2, 4), np.float32)]])
    alone = Pass(board, [Lane(0)])
    alone.run([[np.ones((2, 4), np.float32)]])
    assert made.layers_run == alone.layers_run


def layer(build: Callable[[Any], Any], *shape: int) -> Any:
    """Return a layer that reads a parameter `x` of this shape."""
    x = ops.parameter(shape, np.float32, name="x")
    made = build(x)
    return made if hasattr(made, "inputs") else made.node


INDEX = np.int64
RULES: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "Transpose": (lambda x: ops.transpose(x, INDEX([2, 0, 1])), (2, 3, 4)),
    "Transpose reversed": (lambda x: ops.transpose(x, INDEX([])), (2, 3, 4)),
    "Reshape": (lambda x: ops.reshape(x, INDEX([0, -1]), True), (2, 3, 4)),
    "Squeeze": (lambda x: ops.squeeze(x, INDEX([1])), (2, 1, 4)),
    "Unsqueeze": (lambda x: ops.unsqueeze(x, INDEX([0, -1])), (2, 3)),
    "Concat": (lambda x: ops.concat([x, np.ones((2, 2), np.float32)], 1), (2, 3)),
    "Concat from the end": (lambda x: ops.concat([x, np.ones((2, 2), np.float32)], -1), (2, 3)),
    "Gather": (lambda x: ops.gather(x, INDEX([2, 0]), INDEX(1)), (2, 3, 4)),
    "StridedSlice": (
        lambda x: ops.strided_slice(x, INDEX([0, 1]), INDEX([1, 3]), INDEX([1, 1]), [0, 0], [0, 0], [], [1, 0], []),
        (2, 3, 4),
    ),
    "Slice": (lambda x: ops.slice(x, INDEX([1]), INDEX([3]), INDEX([1]), INDEX([-1])), (2, 3, 4)),
    "Slice of the first axes": (lambda x: ops.slice(x, INDEX([1]), INDEX([2]), INDEX([1])), (2, 3, 4)),
    "Pad": (lambda x: ops.pad(x, INDEX([1, 0]), INDEX([0, 2]), "constant", np.float32(1)), (2, 3)),
    "Broadcast": (lambda x: ops.broadcast(x, INDEX([5, 2, 3]), mode="numpy"), (2, 3)),
    "Tile": (lambda x: ops.tile(x, INDEX([2, 1])), (2, 3)),
    "SoftMax": (lambda x: ops.softmax(x, 1), (2, 3, 4)),
    "ReduceMean": (lambda x: ops.reduce_mean(x, INDEX([0, -1]), False), (2, 3, 4)),
    "MVN": (lambda x: ops.mvn(x, INDEX([1, 2]), True, 1e-5, "inside_sqrt"), (2, 3, 4)),
    "Split": (lambda x: ops.split(x, INDEX(1), 2), (2, 4)),
    "VariadicSplit": (lambda x: ops.variadic_split(x, INDEX(-1), INDEX([1, -1])), (2, 4)),
    "Add": (lambda x: ops.add(x, np.arange(6, dtype=np.float32).reshape(2, 1, 3)), (4, 3)),
    "MatMul": (lambda x: ops.matmul(x, np.eye(4, 5, dtype=np.float32)), (2, 3, 4)),
    "MatMul of a transposed": (lambda x: ops.matmul(x, np.eye(3, 5, dtype=np.float32), True), (2, 3, 4)),
    "MatMul from the left": (lambda x: ops.matmul(np.ones((2, 2, 3), np.float32), x), (3, 4)),
    "Interpolate": (
        lambda x: ops.interpolate(x, INDEX([4, 6]), "nearest", "sizes", axes=INDEX([2, 3])),
        (1, 2, 2, 3),
    ),
    "DepthToSpace": (lambda x: ops.depth_to_space(x, "blocks_first", 2), (1, 4, 2, 3)),
}


@pytest.mark.parametrize("name", RULES)
def test_a_batched_call_gives_the_rows(name: str) -> None:
    build, shape = RULES[name]
    node = layer(build, *shape)
    rows = RNG.normal(0, 1, (3, *shape)).astype(np.float32)
    is_many = [value.node.type == "Parameter" for value in node.inputs]
    held = [None if many else value.node.constant for many, value in zip(is_many, node.inputs, strict=True)]
    given = [rows if many else array for many, array in zip(is_many, held, strict=True)]
    found = compute_rows(node, given, is_many, 3)
    assert found is not None
    for number, row in enumerate(rows):
        single = [row if many else array for many, array in zip(is_many, held, strict=True)]
        expected = node.operator.compute(*single, **node.all_attributes)
        parts = expected if isinstance(expected, (tuple, list)) else [expected]
        for mine, theirs in zip(found, parts, strict=True):
            assert mine[number].shape == np.shape(theirs)
            assert np.allclose(mine[number], theirs, rtol=1e-6, atol=1e-6)


def test_a_type_without_a_rule_is_run_row_by_row(tmp_path: Path) -> None:
    node = layer(lambda x: ops.cum_sum(x, INDEX(0)), 2, 3)
    assert compute_rows(node, [np.ones((4, 2, 3), np.float32), INDEX(0)], [True, False], 4) is None
