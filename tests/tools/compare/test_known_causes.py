"""What other sides are known to do: a verdict tells it if an experiment shows it, and never depends on it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest

from irexec import Model
from irexec import opset15 as ops
from irexec.core.types import Array
from irexec.tools.compare import compare as comparing
from irexec.tools.compare.compare import compare
from irexec.tools.compare.known_causes import KNOWN
from irexec.tools.compare.result import Comparison
from irexec.tools.compare.runtimes.folder import Folder
from irexec.tools.compare.runtimes.openvino_runtime import OpenVINO
from irexec.tools.run.record import Reference

F, L = np.float32, np.int64
RNG = np.random.default_rng(3)
WHOLE = L([2**40, 2**31, 2**32 + 5, -(2**40), 3, 2**24 + 1])
SMALL = np.int8([100, -100, 3, 127])
REAL = RNG.normal(0, 1, (4, 8)).astype(F)
HALVES = F([0.5, 1.5, 2.5, -0.5, -2.5, 3.2])
WITH_NAN = F([3, np.nan, 1, 2])
TINY = F([1e-40, -1e-40, 3e-40])
LEVELS = (RNG.integers(200, 256, (3, 16)) * 0.5).astype(F)
WEIGHTS = (RNG.integers(90, 128, (16, 4)) * RNG.choice([1, 1, 1, -1], (16, 4)) * 0.25).astype(F)


class Row(NamedTuple):
    """A layer, its inputs, what the other side computes, and the words that tell its cause."""

    inputs: list[Array]
    build: Callable[..., Any]
    theirs: Callable[..., Array]
    cause: str


def _in_pairs(a: Array, b: Array) -> Array:
    """Return the product as vpmaddubsw computes it: each two products are added in 16 bits."""
    total = np.zeros((a.shape[0], b.shape[1]), L)
    for k in range(0, a.shape[1], 2):
        one, two = (np.outer(a[:, n] * 2, b[n] * 4).astype(L) for n in (k, k + 1))
        total += np.clip(one + two, -32768, 32767)
    return (total * 0.125).astype(F)


def _in_bits(kind: Any) -> Callable[[Array, Array], Array]:
    return lambda a, b: (a.astype(kind).astype(F) @ b.astype(kind).astype(F)).astype(kind).astype(F)


def _low(array: Array) -> Array:
    return (array & 0xFFFFFFFF).astype(np.uint32).view(np.int32).astype(L)


ROWS = {
    "low bits": Row([WHOLE, L([7])], lambda x, y: ops.add(x, y), lambda x, y: _low(x + y), "the low 32 bits"),
    "constants": Row(
        [WHOLE],
        lambda x: ops.add(x, L([2**40])),
        lambda x: _low(_low(x) + 2**31 - 1),
        "the low 32 bits, and constants limited to their range",
    ),
    "limited": Row(
        [WHOLE],
        lambda x: ops.maximum(x, L([1])),
        lambda x: np.maximum(np.clip(x, -(2**31), 2**31 - 1), 1),
        "limited to their range",
    ),
    "smallest": Row(
        [L([2**20, 3, 5]), L([2, 3, 3])],
        lambda x, y: ops.power(x, y),
        lambda x, y: L([-(2**31), 27, 125]),
        "the smallest one for all others",
    ),
    "in f32": Row(
        [WHOLE + 7],
        lambda x: ops.abs(x),
        lambda x: np.abs(x.astype(F)).astype(L),
        "computes integers in f32",
    ),
    "low bits in f32": Row(
        [WHOLE[2:] + 8],
        lambda x: ops.abs(x),
        lambda x: np.abs(_low(x).astype(F)).astype(L),
        "computes the low 32 bits of integers in f32",
    ),
    "saturation": Row(
        [SMALL, SMALL],
        lambda x, y: ops.add(x, y),
        lambda x, y: np.clip(x.astype(L) + y, -128, 127).astype(np.int8),
        "limits integers to the range of their type",
    ),
    "pairs in 16 bits": Row(
        [LEVELS, WEIGHTS], lambda x, y: ops.matmul(x, y, False, False), _in_pairs, "as processors without VNNI do"
    ),
    "halves of Round": Row(
        [HALVES],
        lambda x: ops.round(x, "half_to_even"),
        lambda x: np.sign(x) * np.floor(np.abs(x) + F(0.5)),
        "rounds halves away from zero",
    ),
    "halves of a quantization": Row(
        [np.append(HALVES, F(9))],
        lambda x: ops.fake_quantize(x, F(0), F(255), F(0), F(255), 256),
        lambda x: np.floor(np.clip(x, 0, 255) + F(0.5)),
        "rounds halves away from zero",
    ),
    "NaN is smallest": Row(
        [WITH_NAN],
        lambda x: ops.topk(x, L(2), 0, "max", "value").output(0),
        lambda x: F([3, 2]),
        "orders NaN as the smallest value",
    ),
    "NaN is not chosen": Row(
        [WITH_NAN, F([1, 2, 3, 4])],
        lambda x, y: ops.maximum(x, y),
        lambda x, y: np.fmax(x, y),
        "orders NaN as the smallest value",
    ),
    "an attribute": Row(
        [F([[1, 2], [3, 4]])],
        lambda x: ops.cum_sum(x, L(1), True, False),
        lambda x: np.cumsum(x, 1, dtype=F),
        "ignores exclusive=True",
    ),
    "f16": Row([REAL, REAL.T.copy()], lambda x, y: ops.matmul(x, y, False, False), _in_bits(np.float16), "in f16"),
    "bf16": Row(
        [REAL, REAL.T.copy()], lambda x, y: ops.matmul(x, y, False, False), _in_bits(ml_dtypes.bfloat16), "in bf16"
    ),
    "denormals": Row(
        [TINY, F([1e30])],
        lambda x, y: ops.multiply(x, y),
        lambda x, y: np.zeros_like(x),
        "flushes denormal numbers",
    ),
}


def _run(row: Row) -> Reference:
    parameters = [ops.parameter([*a.shape], a.dtype, name=f"x{k}") for k, a in enumerate(row.inputs)]
    made = row.build(*parameters)
    getattr(made, "node", made).friendly_name = "layer"
    return Reference(Model([ops.result(made, name="r")], parameters, "model"), [row.inputs])


def _compared(row: Row, folder: Path) -> Comparison:
    run = _run(row)
    run.model.outputs[0].tensor.set_names({"r"})
    np.savez(folder / "other.npz", r=row.theirs(*row.inputs))
    return compare(run, Folder(folder / "other.npz"))


@pytest.mark.parametrize("name", ROWS)
def test_a_verdict_tells_the_known_cause(name: str, tmp_path: Path) -> None:
    row = ROWS[name]
    found = _compared(row, tmp_path)
    assert not found.agrees and "layer" in found.verdict, found.verdict
    assert row.cause in found.cause and found.cause.startswith("layer "), found.cause
    assert found.to_dict()["cause"] == found.cause


def test_every_known_cause_has_a_row() -> None:
    texts = [known.text for known in KNOWN]
    untested = [text for text in texts if not any(_begins(text, row.cause) for row in ROWS.values())]
    assert not untested


def _begins(text: str, cause: str) -> bool:
    return cause in text or cause.startswith(text)


@pytest.mark.parametrize("name", ROWS)
def test_another_error_has_no_known_cause(name: str, tmp_path: Path) -> None:
    """Values that no runtime is known to compute: the right ones, with a large error in the first element."""

    def theirs(*inputs: Array) -> Array:
        made = np.array(_run(row).results()[0][0])
        made.reshape(-1)[0] = 77
        return made

    row = ROWS[name]
    found = _compared(row._replace(theirs=theirs), tmp_path)
    assert not found.agrees and not found.cause


@pytest.mark.parametrize("name", ROWS)
def test_a_cause_cannot_change_the_verdict(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = _compared(ROWS[name], tmp_path)
    monkeypatch.setattr(comparing, "known_cause", lambda culprit: "")
    without = _compared(ROWS[name], tmp_path)
    assert (found.verdict, found.proof, found.agrees) == (without.verdict, without.proof, without.agrees)


LOW = "integers of 64 bits in 32 bits: the low 32 bits"
OPENVINO = {
    "add": LOW,
    "subtract": LOW,
    "multiply": LOW,
    "maximum": LOW,
    "divide": "the low 32 bits of integers in f32",
    "power": "integers of 64 bits in 32 bits: the smallest one",
}
"""Functions of two integers of 64 bits, and what OpenVINO computes."""


@pytest.mark.parametrize("name, kept", OPENVINO.items())
def test_openvino_computes_integers_of_64_bits_in_32(name: str, kept: str) -> None:
    inputs = [L([2**20, 3, 5]), L([2, 3, 3])] if name == "power" else [WHOLE, L([7, 3, 9, -2, 5, 2])]
    run = _run(Row(inputs, getattr(ops, name), np.add, ""))
    found = compare(run, OpenVINO("CPU", {}, run.model))
    assert f"layer computes {kept}" in found.cause
    assert found.proof.endswith("those of the other side are equal")


def test_openvino_limits_constants_of_64_bits() -> None:
    run = _run(ROWS["constants"])
    found = compare(run, OpenVINO("CPU", {}, run.model))
    assert f"layer computes {LOW}, and constants limited to their range" in found.cause


def test_the_cause_of_a_layer_in_a_body() -> None:
    """The first iteration in which OpenVINO computes another sum than irexec."""
    x, row = ops.parameter([3, 2], "i64", name="x"), ops.parameter([1, 2], "i64", name="row")
    made = ops.add(row, L(2**40), name="inner")
    loop = ops.tensor_iterator()
    loop.set_body(Model([ops.result(made, name="made")], [row]))
    loop.set_sliced_input(row, x.output(0), 0, 1, 1, -1, 0)
    model = Model([ops.result(loop.get_concatenated_slices(made.output(0), 0, 1, 1, -1, 0), name="r")], [x])
    found = compare(Reference(model, [[L([[1, 2], [3, 4], [5, 6]])]]), OpenVINO("CPU", {}, model))
    assert f"inner computes {LOW}, and constants limited to their range" in found.cause
