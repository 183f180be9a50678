"""Mutants with one change through the public function: no exception escapes, and every rejection has a line."""

from __future__ import annotations

import numpy as np
from support.amounts import amount
from support.mutants import mutants
from support.oracle import layer_xml

import irexec
from irexec.core.types import TensorType
from irexec.ops.spec.contents import find

DATA = np.zeros((1, 2, 5, 5), np.float32)
GRU_SHAPES = [(1, 3), (1, 2), (6, 3), (6, 2), (6,)]
LAYERS = [
    ("ScatterNDUpdate", "opset15", [DATA, np.zeros((3, 2), np.int64), np.zeros((3, 5, 5), np.float32)], {}),
    ("MaxPool", "opset1", [DATA], {"strides": (2, 2), "pads_begin": (0, 0), "pads_end": (0, 0), "kernel": (2, 2)}),
    ("Concat", "opset1", [DATA, DATA], {"axis": 1}),
    (
        "GRUCell",
        "opset3",
        [np.zeros(s, np.float32) for s in [(1, 3), (1, 2), (6, 3), (6, 2), (6,)]],
        {"hidden_size": 2},
    ),
]


def test_nothing_escapes_and_every_refusal_has_a_line() -> None:
    count = refused = 0
    for seed, (type, opset, arrays, attributes) in enumerate(LAYERS[: amount(len(LAYERS), 2)]):
        operator = find(type, opset)
        assert operator is not None
        values, problems = operator.parse_attributes(dict(attributes))
        assert not problems
        outputs = operator.infer([TensorType.of(a) for a in arrays], values)
        text = layer_xml(operator, arrays, attributes, outputs)
        assert irexec.validate(text.encode()).ok
        for mutant in mutants(text, seed):
            report = irexec.validate(mutant.encode("utf-8", "surrogatepass"))
            count += 1
            refused += not report.ok
            assert all(finding.line for finding in report.errors), mutant
    assert count > amount(2000, 300)
    assert refused > count // 2
