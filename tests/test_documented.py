"""Every public member of the classes of the API has a docstring, and every function of an opset shows its types."""

from __future__ import annotations

import inspect
import re
from functools import reduce
from inspect import getattr_static
from typing import Any

import pytest

import irexec

CLASSES = [name for name in irexec.__all__ if inspect.isclass(getattr(irexec, name))]
FREE = {"config", "userdata", "obj", "value", "property", "properties", "extension", "extensions", "library_path"}
"""Parameters that take any value: properties, entries of runtime information, and what a callback is given."""


def members(owner: type) -> list[str]:
    return [name for name in dir(owner) if not name.startswith("_")]


def docstring(owner: type, name: str) -> str | None:
    found: Any = getattr_static(owner, name)
    slots = [vars(each).get("__slots__") for each in owner.__mro__]
    described = [entry[name] for entry in slots if isinstance(entry, dict) and entry.get(name)]
    return described[0] if described else inspect.getdoc(found)


@pytest.mark.parametrize("name", CLASSES)
def test_members_have_docstrings(name: str) -> None:
    """Fields are described by the docstring of the class."""
    owner = getattr(irexec, name)
    fields = {member for member in members(owner) if inspect.isdatadescriptor(field := getattr_static(owner, member))
              and not isinstance(field, property)}  # fmt: skip
    bare = {
        m for m in members(owner) if m not in fields and is_code(getattr_static(owner, m)) and not docstring(owner, m)
    }
    assert bare == set()


def is_code(member: object) -> bool:
    return isinstance(member, (property, staticmethod, classmethod)) or inspect.isroutine(member)


@pytest.mark.parametrize(
    "function",
    [
        *(
            "read_model",
            "compile_model",
            "save_model",
            "serialize",
            "validate",
            "compare",
            "diff",
            "fix",
            "report",
            "shapes",
        ),
        *("Core.read_model", "Core.compile_model", "Core.import_model", "CompiledModel.infer_new_request"),
        *("CompiledModel.__call__", "InferRequest.infer", "InferRequest.start_async", "InferRequest.get_tensor"),
        *("InferRequest.set_tensors", "Model.input", "Model.output", "Model.reshape", "Model.add_outputs", "set_batch"),
    ],
)
def test_parameters_have_types(function: str) -> None:
    found = reduce(getattr, function.split("."), irexec)
    given = {name: kind for name, kind in found.__annotations__.items() if name not in FREE}
    assert [name for name, kind in given.items() if re.search(r"\bAny\b", kind)] == []


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
