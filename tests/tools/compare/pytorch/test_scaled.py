"""Results of modules are recognized in values that differ from them by a scale."""

from __future__ import annotations

import numpy as np

import irexec
from irexec.tools.compare.pytorch.pairing import Made
from irexec.tools.compare.pytorch.scaled import is_scaled, scaled

op = irexec.opset15


def test_a_factor_that_was_folded_into_weights_is_recognized() -> None:
    drawn = np.random.default_rng(7)
    weight, gamma, x = (drawn.normal(size=s).astype(np.float32) for s in ((6, 5), (1, 5), (20, 6)))
    given = op.parameter([20, 6], np.float32, name="x")
    folded = op.matmul(given, weight * gamma, False, False, name="folded")
    model = irexec.Model([op.tanh(folded, name="tanh")], [given], "net")
    results = {Made(0, 0): x @ weight, Made(1, 0): x @ weight[:, ::-1]}
    assert scaled(model, [x], results, set()) == {Made(0, 0)}
    # The value that has a pair is the result of another module.
    (node,) = (node for node in model.get_ops() if node.friendly_name == "folded")
    assert scaled(model, [x], results, {node.outputs[0]}) == set()


def test_what_is_a_scale_and_what_is_not() -> None:
    drawn = np.random.default_rng(3)
    x, other = drawn.normal(size=(2, 2, 3, 4, 4)).astype(np.float32)
    factor, offset = drawn.normal(size=(2, 1, 3, 1, 1)).astype(np.float32)
    assert is_scaled(x, x * factor[0] + offset[0]) and is_scaled(x, x * 2)
    assert not is_scaled(x, other) and not is_scaled(x, np.maximum(x, 0)) and not is_scaled(x, x + 0.01 * other)
    assert (
        not is_scaled(x, np.zeros_like(x))
        and not is_scaled(x, x[:1])
        and not is_scaled(x[:, :, :1, :1], x[:, :, :1, :1])
    )
    assert not is_scaled(np.zeros_like(x), np.zeros_like(x))
