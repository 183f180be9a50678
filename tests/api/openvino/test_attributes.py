"""The attributes of a node: every way to change them is checked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irexec
from irexec import IRError, Model, Node
from irexec import opset15 as ops

pytestmark = pytest.mark.any_python

X = np.linspace(-1, 1, 48, dtype=np.float32).reshape(1, 3, 4, 4)


def model() -> Model:
    x = ops.parameter(X.shape, np.float32, name="x")
    made = ops.convolution(x, np.ones((2, 3, 2, 2), np.float32), [1, 1], [0, 0], [0, 0], [1, 1], name="conv")
    return Model([ops.gelu(made, "erf", name="gelu")], [x], "small")


def node(model: Model, name: str) -> Node:
    return next(node for node in model.get_ops() if node.friendly_name == name)


def read(folder: Path) -> Model:
    irexec.save_model(model(), folder / "small.xml")
    return irexec.read_model(folder / "small.xml")


CHANGES: dict[str, Callable[[Node, str, Any], Any]] = {
    "item": lambda node, name, value: node.attributes.__setitem__(name, value),
    "update": lambda node, name, value: node.attributes.update({name: value}),
    "keyword": lambda node, name, value: node.attributes.update(**{name: value}),
    "union": lambda node, name, value: setattr(node, "attributes", node.attributes | {name: value}),
    "in place": lambda node, name, value: node.attributes.__ior__({name: value}),
    "set_attribute": lambda node, name, value: node.set_attribute(name, value),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_wrong_value(change: str) -> None:
    gelu = node(model(), "gelu")
    with pytest.raises(IRError, match=r"D005.*'tanhh' is not one of .* did you mean 'tanh'"):
        CHANGES[change](gelu, "approximation_mode", "tanhh")
    assert gelu.attributes == {"approximation_mode": "ERF"}


@pytest.mark.parametrize("change", CHANGES)
def test_a_misspelt_name(change: str) -> None:
    gelu = node(model(), "gelu")
    with pytest.raises(IRError, match=r"D001.*'aproximation_mode'; did you mean 'approximation_mode'"):
        CHANGES[change](gelu, "aproximation_mode", "tanh")
    assert gelu.attributes == {"approximation_mode": "ERF"}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_read_as_in_a_file_and_has_an_effect(change: str, tmp_path: Path) -> None:
    made = read(tmp_path)
    conv = node(made, "conv")
    CHANGES[change](conv, "strides", [2, np.int64(2)])
    assert conv.attributes["strides"] == (2, 2)
    assert irexec.compile_model(made)([X])[0].shape == (1, 2, 2, 2)


def test_a_dictionary_that_was_taken_before_changes_with_the_node() -> None:
    conv = node(model(), "conv")
    attributes = conv.attributes
    conv.set_attribute("strides", [2, 2])
    conv.attributes = conv.attributes | {"pads_begin": [1, 1]}
    assert (attributes["strides"], attributes["pads_begin"]) == ((2, 2), (1, 1))
    assert attributes.copy() == dict(attributes) == {**attributes}


def test_nodes_with_equal_attributes_are_changed_independently(tmp_path: Path) -> None:
    x = ops.parameter([2], np.float32, name="x")
    irexec.save_model(Model([ops.elu(ops.elu(x, 0.5, name="a"), 0.5, name="b")], [x]), tmp_path / "m.xml")
    made = irexec.read_model(tmp_path / "m.xml")
    node(made, "a").attributes["alpha"] = 0.25
    assert (node(made, "a").attributes["alpha"], node(made, "b").attributes["alpha"]) == (0.25, 0.5)


@pytest.mark.parametrize(
    "remove", [lambda a: a.pop("strides"), lambda a: a.__delitem__("strides"), lambda a: a.clear()]
)
def test_a_required_attribute_cannot_be_removed(remove: Callable[[Any], Any]) -> None:
    conv = node(model(), "conv")
    before = dict(conv.attributes)
    with pytest.raises(IRError, match=r"D002.*'strides' is missing"):
        remove(conv.attributes)
    assert conv.attributes == before


def test_an_attribute_with_a_default_can_be_removed() -> None:
    conv = node(model(), "conv")
    assert conv.attributes.pop("auto_pad") == "explicit"
    assert conv.attributes.setdefault("auto_pad", "valid") == conv.attributes["auto_pad"] == "valid"
    assert conv.attributes.setdefault("auto_pad", "explicit") == "valid"
    assert conv.attributes.popitem() == ("auto_pad", "valid")


def test_an_edited_model_has_the_findings_of_its_saved_file(tmp_path: Path) -> None:
    made = read(tmp_path)
    node(made, "conv").attributes["strides"] = [2, 2]
    irexec.save_model(made, tmp_path / "edited.xml")
    assert len(irexec.validate(tmp_path / "edited.xml")) == 0
    again = read(tmp_path)
    node(again, "conv").attributes["strides"] = [2, 2]
    assert irexec.validate(again).diagnostics == []  # Shapes that the file declares belong to the unchanged model.
    node(again, "conv").attributes["strides"] = [2]
    assert [finding.code for finding in irexec.validate(again)] == ["O001"]
