"""The number of layers that are judged together with one observed layer."""

from __future__ import annotations

import numpy as np

import irexec
from irexec.tools.compare.together import Together
from irexec.tools.compare.windows import comparable

op = irexec.opset15


def test_a_module_may_be_more_layers_than_a_fusion() -> None:
    """Exporters unroll the loops of recurrent modules, of which only the results are observed."""
    x = op.parameter([2], np.float32, name="x")
    last = x
    for _ in range(300):
        last = op.relu(last)
    model = irexec.Model([last], [x], "unrolled")
    nodes = comparable(model)
    assert Together(model, nodes).of(nodes[-1]) == ([nodes[-1]], [nodes[-2].outputs[0]])
    assert Together(model, nodes, modules=True).of(nodes[-1]) == (nodes, [x.outputs[0]])
