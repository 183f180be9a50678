"""Copies of nodes and models: the parts that are copied, and constants that need not be read."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import irexec
from irexec.core.types import F32, Stored
from irexec.model.graph.copies import copied, like


def elu() -> irexec.Node:
    x = irexec.opset1.parameter([2], np.float32, name="x")
    made = irexec.opset1.elu(x, 0.5, name="r")
    made.outputs[0].names, made.outputs[0].rt_info = {"y"}, {"layout": "[C]"}
    made.rt_info, made.input_rt_info = {"note": "1"}, {0: {"precise": ""}}
    return made


def test_a_copy_has_all_that_the_node_has() -> None:
    node = elu()
    made = like(node, node.inputs)
    for name in ("operator", "type", "version", "id", "given_name", "attributes", "inputs", "rt_info", "input_rt_info"):
        assert getattr(made, name) == getattr(node, name), name
    assert (made.outputs[0].names, made.outputs[0].rt_info) == ({"y"}, {"layout": "[C]"})
    assert (made.outputs[0].element_type, made.outputs[0].shape) == (F32, (2,))


def test_changing_a_copy_leaves_the_node_as_it_is() -> None:
    node = elu()
    made = like(node, node.inputs)
    made.rt_info["note"], made.input_rt_info[0]["precise"], made.attributes["alpha"] = "2", "no", 1.0
    made.outputs[0].names.add("z")
    made.outputs[0].rt_info["layout"] = "[N]"
    assert (node.rt_info, node.input_rt_info, node.attributes) == ({"note": "1"}, {0: {"precise": ""}}, {"alpha": 0.5})
    assert (node.outputs[0].names, node.outputs[0].rt_info) == ({"y"}, {"layout": "[C]"})


def test_weights_stay_in_the_file_when_a_model_is_copied(tmp_path: Path) -> None:
    x = irexec.opset1.parameter([4], np.float32, name="x")
    weights = irexec.opset1.constant(np.arange(4, dtype=np.float32))
    irexec.save_model(irexec.Model([irexec.opset1.add(x, weights)], [x], "m"), tmp_path / "m.xml")
    model = irexec.read_model(tmp_path / "m.xml")
    held = [node.held for node in model.nodes if node.type == "Const"]
    assert isinstance(held[0], Stored)
    for made in (model.clone(), copied(model)):
        assert [node.held for node in made.nodes if node.type == "Const"] == held
