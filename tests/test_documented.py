"""Every public member of the classes of the API has a docstring, and every function of an opset shows its types."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import irexec

CLASSES = ("Model", "Node", "Output", "Core", "CompiledModel", "InferRequest", "Tensor")
# Fields of the graph's own classes, which the docstring of the class describes.
DESCRIBED_BY_THE_CLASS = {
    "Model": {"inputs", "outputs"},
    "Output": {"declared", "element_type", "index", "names", "node", "rt_info"},
}


def members(owner: type) -> list[str]:
    return [name for name in dir(owner) if not name.startswith("_")]


def docstring(owner: type, name: str) -> str | None:
    found: Any = inspect.getattr_static(owner, name)
    slots = [vars(each).get("__slots__") for each in owner.__mro__]
    described = [entry[name] for entry in slots if isinstance(entry, dict) and entry.get(name)]
    return described[0] if described else inspect.getdoc(found)


@pytest.mark.parametrize("name", CLASSES)
def test_members_have_docstrings(name: str) -> None:
    owner = getattr(irexec, name)
    bare = {member for member in members(owner) if not docstring(owner, member)}
    assert bare <= DESCRIBED_BY_THE_CLASS.get(name, set())


def test_functions_of_opsets_have_types_and_words() -> None:
    opset = irexec.opset15
    for name in ("convolution", "concat", "scatter_nd_update", "split", "softmax", "interpolate"):
        function = getattr(opset, name)
        shown = inspect.signature(function)
        assert all(each.annotation is not inspect.Parameter.empty for each in shown.parameters.values())
        assert shown.return_annotation is not inspect.Signature.empty and function.__doc__
    strides = inspect.signature(opset.convolution).parameters["strides"]
    assert strides.annotation == tuple[int, ...]
    assert inspect.signature(opset.concat).parameters["nodes"].annotation.startswith("Sequence[Node")
