"""LSTMCell, GRUCell, RNNCell: what is said of OpenVINO."""

from __future__ import annotations

import numpy as np
import pytest
from support.cases import the
from support.oracle import layer_xml, tensor

import irexec
from irexec.core.types import F32


@pytest.mark.parametrize(("kind", "code"), [("LSTM", "D011"), ("GRU", "D011"), ("RNN", "P007")])
def test_openvino_rejects_a_cell_without_bias(kind: str, code: str) -> None:
    """The pages of LSTMCell and GRUCell say that the bias is optional, that of RNNCell that it is required."""
    core = pytest.importorskip("openvino").Core()
    states, gates = (2 if kind == "LSTM" else 1), {"LSTM": 16, "GRU": 12, "RNN": 4}[kind]
    shapes = [(2, 3), *[(2, 4)] * states, (gates, 3), (gates, 4), (gates,)]
    arrays = [np.zeros(shape, np.float32) for shape in shapes]
    cell = the(f"{kind}Cell", {"LSTM": 4, "GRU": 3, "RNN": 1}[kind])
    whole, without = (
        layer_xml(cell, given, {"hidden_size": 4}, [tensor(F32, "2,4")] * states).encode()
        for given in (arrays, arrays[:-1])
    )
    core.read_model(whole)
    assert not [d for d in irexec.validate(whole) if d.code == code]
    with pytest.raises(RuntimeError, match="out of range"):
        core.read_model(without)
    (finding,) = (d for d in irexec.validate(without) if d.code == code)
    assert finding.openvino and finding.openvino.startswith("rejects")
