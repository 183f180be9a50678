"""Arguments of opset functions that once raised an exception other than IRError, or gave a wrong result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irexec
from irexec.runtime.engine import CompiledModel

ops: Any = irexec.opset15
f = np.float32
ONE = np.ones(1, f)

REFUSED: dict[str, Callable[[], Any]] = {
    "a kernel without pixels": lambda: ops.convolution(
        np.ones((1, 2, 4, 4), f), np.ones((3, 2, 0, 3), f), [1, 1], [0, 0], [0, 0], [1, 1]
    ),
    "cropping more than there is": lambda: ops.pad(
        np.ones((3, 3), f), np.int64([-(2**63), 0]), np.int64([2**63 - 1, 0]), pad_mode="symmetric"
    ),
    "a tile of 2**63 - 1": lambda: ops.tile(np.ones(3, f), np.int64([2**63 - 1])),
    "an eye of a terabyte": lambda: ops.eye(np.int64(2**40), np.int64(2**40), np.int64(0), output_type="f32"),
    "rows of different lengths": lambda: ops.relu([[1, 2], [3]]),
    "a text": lambda: ops.relu("abc"),
    "nothing": lambda: ops.relu(None),
    "a dict": lambda: ops.relu({}),
    "an array as the name": lambda: ops.relu(ONE, ONE),
    "an integer of 400 digits": lambda: ops.relu(10**400),
    "an integer beyond 64 bits": lambda: ops.add(np.int64([1]), 10**30),
    "dates": lambda: ops.relu(np.zeros(3, "M8[s]")),
    "records": lambda: ops.relu(np.zeros(3, [("a", "f4")])),
    "objects": lambda: ops.relu(np.array([1, 2], object)),
    "complex numbers": lambda: ops.relu(np.array([1j])),
    "long doubles": lambda: ops.relu(np.array([1], np.longdouble)),
    "rank 65 by reshape": lambda: ops.reshape(ONE, np.int64([1] * 65), special_zero=False),
    "rank 70 by unsqueeze": lambda: ops.unsqueeze(np.ones((1,) * 60, f), np.int64(list(range(10)))),
    "rank 70 by tile": lambda: ops.tile(ONE, np.int64([1] * 70)),
    "rank 70 by broadcast": lambda: ops.broadcast(ONE, np.int64([1] * 70)),
    "an axis that is a word": lambda: ops.softmax(ONE, axis="x"),
    "an attribute of another name": lambda: ops.softmax(ONE, axes=0),
    "an attribute that is an object": lambda: ops.softmax(ONE, axis=object()),
    "an attribute of 5,000 digits": lambda: ops.softmax(ONE, axis=10**5000),
    "an attribute's text of 5,000 digits": lambda: ops.softmax(ONE, axis="9" * 5000),
    "a missing input": lambda: ops.add(ONE),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str) -> None:
    with pytest.raises(irexec.IRError):
        REFUSED[case]()


def test_what_is_legal_is_computed() -> None:
    assert ops.bucketize(np.int64([-5, 3]), np.uint32([1, 2, 4])).tolist() == [0, 2]
    far = np.float32([[0, 0, np.inf, 3]])
    attributes = {"pooled_h": 2, "pooled_w": 2, "sampling_ratio": 0, "spatial_scale": 1.0, "mode": "avg"}
    assert not ops.roi_align(np.ones((1, 1, 4, 4), f), far, np.int64([0]), **attributes).any()
    assert ops.relu(np.array([1, -2], ">f4")).tolist() == [1, 0]
    assert ops.range(np.int8(0), np.int64(2**63 - 1), np.int64(2**61), output_type="f32").shape == (4,)
    assert ops.hswish(np.float32([6e37])).tolist() == np.float32([6e37]).tolist()
    assert ops.elu(-ONE, alpha=float("nan")).shape == (1,)


def dynamic(build: Callable[..., Any], arrays: list[np.ndarray]) -> CompiledModel:
    parameters = [ops.parameter([-1] * a.ndim, a.dtype, name=f"p{i}") for i, a in enumerate(arrays)]
    return irexec.compile_model(irexec.Model([build(*parameters).output(0)], parameters, "m"))


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(f)


BREAKING: dict[str, tuple[Callable[..., Any], list[np.ndarray]]] = {
    "scores of fewer batches": (
        lambda b, s: ops.non_max_suppression(b, s, np.int64(3), f(0.5), f(0)),
        [normal(2, 6, 4), normal(1, 1, 6)],
    ),
    "regions of three numbers": (
        lambda x, r, b: ops.roi_align(x, r, b, 2, 2, 2, 1.0, "avg"),
        [normal(1, 2, 8, 8), normal(3, 3), np.zeros(3, np.int64)],
    ),
    "one length for two sequences": (
        lambda x, h, c, n: ops.lstm_sequence(
            x, h, c, n, normal(1, 8, 3), normal(1, 8, 2), normal(1, 8), hidden_size=2, direction="forward"
        ),
        [normal(2, 3, 3), normal(2, 1, 2), normal(2, 1, 2), np.int64([2])],
    ),
    "parents of another number of steps": (
        lambda a, b, m: ops.gather_tree(a, b, m, f(1)),
        [np.ones((3, 1, 3), f), np.zeros((4, 1, 3), f), f([3])],
    ),
    "a mask of no steps": (
        lambda a, b: ops.ctc_greedy_decoder(a, b),
        [normal(5, 2, 4), np.ones((0, 2), f)],
    ),
    "an input of more columns than the weights": (
        lambda x, h, c: ops.lstm_cell(x, h, c, normal(8, 3), normal(8, 2), normal(8), hidden_size=2),
        [normal(1, 4), normal(1, 2), normal(1, 2)],
    ),
}


@pytest.mark.parametrize("case", BREAKING)
def test_shapes_that_come_at_run_time_are_refused_as_those_that_are_known(case: str) -> None:
    build, arrays = BREAKING[case]
    with pytest.raises(irexec.IRError) as static:
        build(*[ops.parameter(list(a.shape), a.dtype) for a in arrays])
    compiled = dynamic(build, arrays)
    expected = {d.constraint for d in static.value.report.errors}
    for _ in range(2):
        with pytest.raises(irexec.IRError) as error:
            compiled(arrays)
        assert {d.constraint for d in error.value.report.errors} == expected
        assert {d.code for d in error.value.report.errors} == {"O001"}


def test_a_sequence_of_no_batch_gives_an_empty_result() -> None:
    compiled = dynamic(
        lambda x, h, n: ops.gru_sequence(
            x, h, n, normal(1, 6, 3), normal(1, 6, 2), normal(1, 6), hidden_size=2, direction="forward"
        ),
        [np.zeros((0, 4, 3), f), np.zeros((0, 1, 2), f), np.zeros(0, np.int64)],
    )
    assert compiled([np.zeros((0, 4, 3), f), np.zeros((0, 1, 2), f), np.zeros(0, np.int64)])[0].shape == (0, 1, 4, 2)
