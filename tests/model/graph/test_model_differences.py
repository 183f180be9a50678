"""Comparing models: every kind of difference is reported, and nothing else."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np
from support.model_differences import differences

import irexec
from irexec.api.opsets.nodes import constant_node

ops = irexec.opset15


def test_every_kind_of_difference_is_reported() -> None:
    def changed(change: Callable[[irexec.Model], None]) -> list[str]:
        model = base()
        change(model)
        return differences(base(), model)

    def base() -> irexec.Model:
        x = ops.parameter([2], "f32", name="x")
        return irexec.Model([ops.clamp(ops.add(x, np.float32([1, 2]), name="add"), min=0.0, max=1.0)], [x], "m")

    def node(model: irexec.Model, type: str) -> irexec.Node:
        return next(n for n in model.get_ops() if n.type == type)

    assert changed(lambda m: None) == []
    assert changed(lambda m: setattr(m, "name", "n")) == ["the model's name: 'm' and 'n'"]
    assert changed(lambda m: node(m, "Clamp").attributes.update(max=2.0)) == ["Clamp '': attribute max: 1.0 and 2.0"]
    assert changed(lambda m: setattr(node(m, "Const"), "constant", np.float32([1, 3]))) == [
        "Const '': the constants differ"
    ]
    assert "order" not in "".join(changed(lambda m: setattr(node(m, "Add"), "inputs", node(m, "Add").inputs[::-1])))
    assert any("inputs" in d for d in changed(lambda m: setattr(node(m, "Add"), "inputs", node(m, "Add").inputs[::-1])))
    assert any("names" in d for d in changed(lambda m: m.inputs[0].names.add("y")))
    assert any("name: 'add'" in d for d in changed(lambda m: node(m, "Add").set_friendly_name("sum")))
    assert any("rt_info" in d for d in changed(lambda m: node(m, "Add").rt_info.update(k="v")))
    assert any("number of results" in d for d in changed(lambda m: m.results.clear()))


def test_nan_equals_nan_in_constants_and_attributes() -> None:
    def model() -> irexec.Model:
        node = ops.clamp(constant_node(irexec.Node, np.array([np.nan], ml_dtypes.bfloat16)), min=0.0, max=1.0)
        node.attributes["max"] = float("nan")
        return irexec.Model([node], [])

    assert differences(model(), model()) == []
