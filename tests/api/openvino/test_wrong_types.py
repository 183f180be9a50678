"""Arguments of wrong types: OpenVINO's compiled functions raise TypeError, and so do these."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irexec
from irexec import opset15 as ops

WRONG = [1.5, None, b"x", object(), [object()], {"a": 1}, np.float32(1), len]
SHAPE, LAYOUT, CORE = irexec.PartialShape([1, -1]), irexec.Layout("NC"), irexec.Core()
X = ops.parameter([2, 3], np.float32, name="x")
MODEL = irexec.Model([ops.relu(X)], [X], "m")
FUNCTIONS: dict[str, Callable[[Any], object]] = {
    "union": SHAPE.union,
    "merge": SHAPE.merge,
    "compatible": SHAPE.compatible,
    "broadcast": SHAPE.broadcast,
    "has_name": LAYOUT.has_name,
    "get_index_by_name": LAYOUT.get_index_by_name,
    "Layout": irexec.Layout,
    "get_batch": irexec.get_batch,
    "set_batch": irexec.set_batch,
    "set_batch of": lambda wrong: irexec.set_batch(MODEL, wrong),
    "query_model": CORE.query_model,
    "remove_variable": MODEL.remove_variable,
    "remove_target_input": MODEL.outputs[0].remove_target_input,
}


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: type(wrong).__name__)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_wrong_type(name: str, wrong: Any) -> None:
    with pytest.raises(TypeError):
        FUNCTIONS[name](wrong)
