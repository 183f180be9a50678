"""Every public member of the classes of the API has a docstring, and every function of an opset shows its types."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from inspect import getattr_static
from typing import Any

import pytest

import irexec

CLASSES = [name for name in irexec.__all__ if inspect.isclass(getattr(irexec, name))]


def members(owner: type) -> list[str]:
    return [name for name in dir(owner) if not name.startswith("_")]


def docstring(owner: type, name: str) -> str | None:
    found: Any = getattr_static(owner, name)
    slots = [vars(each).get("__slots__") for each in owner.__mro__]
    described = [entry[name] for entry in slots if isinstance(entry, dict) and entry.get(name)]
    return described[0] if described else inspect.getdoc(found)


@pytest.mark.parametrize("name", CLASSES)
def test_members_have_docstrings(name: str) -> None:
    """Check members except fields, which the docstring of the class describes."""
    owner = getattr(irexec, name)
    fields = {member for member in members(owner) if inspect.isdatadescriptor(field := getattr_static(owner, member))
              and not isinstance(field, property)}  # fmt: skip
    bare = {
        m for m in members(owner) if m not in fields and is_code(getattr_static(owner, m)) and not docstring(owner, m)
    }
    assert bare == set()


def is_code(member: object) -> bool:
    return isinstance(member, (property, staticmethod, classmethod)) or inspect.isroutine(member)


OPEN = {
    **dict.fromkeys(
        (
            "Bisected.to_dict return", "Blame.to_dict return", "Comparison.to_dict return",
            "Conformance.to_dict return", "Diagnostic.to_dict return", "Differences.to_dict return",
            "Passes.to_dict return", "Sides.to_dict return", "Shapes.to_dict return",
        ),
        "an object for JSON",
    ),
    **dict.fromkeys(
        (
            "Core.get_property return", "CompiledModel.get_property return", "Node.get_attributes return",
            "Node.all_attributes return", "Op.get_attributes return", "Op.all_attributes return",
        ),
        "the class depends on the name: a union would need a cast at each use",
    ),
    **dict.fromkeys(
        (
            "OVAny.__getitem__ return", "OVAny.aslist return", "OVAny.astype return", "OVAny.get return",
            "RTMap.__getitem__ return", "RTMap.__init__ values", "Input.rt_info return", "Node.__init__ attributes",
            "Tensor.__getitem__ return",
            "Tensor.tolist return", "Node.attributes return", "Op.attributes return",
        ),
        "a container of any value",
    ),
    "InferRequest.set_callback callback": "the callback gets what the caller passes as userdata",
    "AsyncInferQueue.set_callback callback": "the callback gets what the caller passes as userdata",
    "operator return": "decorates kernels of any signature",
}  # fmt: skip
"""The parameters and results of public functions whose type is Any, with the reasons."""


def functions() -> Iterator[tuple[str, Callable[..., object]]]:
    """Yield the public functions and the methods of public classes, with their names."""
    for name in irexec.__all__:
        found = getattr(irexec, name)
        if not inspect.isclass(found):
            yield name, found
            continue
        for method in (*members(found), "__init__", "__call__", "__getitem__", "__setitem__"):
            member: Any = getattr_static(found, method, None)
            function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
            if inspect.isfunction(function) and is_written(function):
                yield f"{name}.{method}", function


def is_written(function: Callable[..., object]) -> bool:
    """Return True for a function of irexec, except the constructors of records, which are generated."""
    module = function.__module__ or ""
    return module.startswith("irexec") and module != "irexec.core.records"


def test_public_functions_have_types() -> None:
    """An annotation that is missing or contains Any needs a reason."""
    untyped = set()
    for name, function in functions():
        signature = inspect.signature(function)
        annotations = {parameter.name: parameter.annotation for parameter in signature.parameters.values()}
        for bound in ("self", "cls"):
            annotations.pop(bound, None)
        for each, annotation in {**annotations, "return": signature.return_annotation}.items():
            written = str(annotation).replace("np.dtype[Any]", "np.dtype").replace("np.ndarray[Any, Any]", "np.ndarray")
            if annotation is inspect.Signature.empty or re.search(r"\bAny\b", written):
                untyped.add(f"{name} {each}")
    assert untyped == set(OPEN)


def test_functions_of_opsets_have_no_any() -> None:
    found = []
    for number in (1, 6, 15):
        opset = getattr(irexec, f"opset{number}")
        for name in dir(opset):
            signature = inspect.signature(getattr(opset, name))
            annotations = [p.annotation for p in signature.parameters.values()] + [signature.return_annotation]
            if any(a is inspect.Signature.empty or re.search(r"\bAny\b", str(a)) for a in annotations):
                found.append(f"opset{number}.{name}{signature}")
    assert found == []


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
