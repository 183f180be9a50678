"""Files as beginners write them: `irexec fix --unsafe` makes them right, or two rounds of reading what it says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import irexec
from irexec.mend.mend import mend
from irexec.types import Array

FILES = Path(__file__).parent / "beginners"
Meant = Callable[..., Array]


def softmax(x: Array) -> Array:
    e = np.exp(x)
    return e / e.sum(-1, keepdims=True)


def pooled(x: Array, combine: Callable[..., Array]) -> Array:
    """2x2 windows side by side."""
    n, c, h, w = x.shape
    return combine(x.reshape(n, c, h // 2, 2, w // 2, 2), axis=(3, 5))


def soft_sign(x: Array) -> Array:
    return x / (1 + np.abs(x))


# What whoever wrote the file wants it to compute.
MEANT: dict[str, Meant] = {
    "wrong_port_ids": lambda a: np.tanh(np.maximum(a, 0)),
    "missing_edge": np.add,
    "misspelt_types": lambda x: 1 / (1 + np.exp(-pooled(x, np.max))),
    "forgotten_dims": np.matmul,
    "wrong_opset": lambda x: soft_sign(x * np.tanh(np.log1p(np.exp(x)))),
    "precision_mismatch": lambda x: x.astype(np.int64),
    "names_of_another_framework": lambda a, b: (a * b).astype(np.float16),
    "edges_from_to": lambda x: np.exp(-x),
    "nothing_but_types": np.abs,
    "attributes": lambda x: softmax(pooled(x, np.mean)),
}


def check(data: bytes, meant: Meant) -> None:
    """The model is right, and computes what is meant."""
    assert irexec.validate(data).ok
    compiled = irexec.compile_model(irexec.read_model(data, mode="strict"))
    rng = np.random.default_rng(0)
    given = [rng.normal(size=[int(n) for n in port.shape]).astype(np.float32) for port in compiled.inputs]
    np.testing.assert_allclose(compiled(given)[0], meant(*given), rtol=1e-5)


@pytest.mark.parametrize("name", MEANT)
def test_it_becomes_right(name: str) -> None:
    wrong = (FILES / f"{name}.xml").read_bytes()
    assert not irexec.validate(wrong).ok
    check(mend(wrong, unsafe=True).data, MEANT[name])


def test_or_in_two_rounds_of_reading() -> None:
    """What only a person decides is said: another type first, then the attribute that its shapes need."""
    wrong = (FILES / "two_rounds_of_reading.xml").read_bytes()
    first = mend(wrong, unsafe=True)
    (finding,) = first.report.errors
    assert finding.hint == "did you mean MatMul? a bias is an Add behind it"
    second = mend(
        first.data.replace(b'type="Linear" version="opset1">', b'type="MatMul" version="opset1">'), unsafe=True
    )
    (finding,) = second.report.errors
    assert finding.code == "O001"
    assert "transpose_b" in f"{finding.message} {finding.hint}" or finding.port == "b"
    data = b'type="MatMul" version="opset1"><data transpose_b="true"/>'
    check(second.data.replace(b'type="MatMul" version="opset1">', data), lambda x, w: x @ w.T)
