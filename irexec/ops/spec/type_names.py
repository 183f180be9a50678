"""The names of operator types in files and in OpenVINO's node objects."""

from __future__ import annotations

_IN_API = {"Const": "Constant", "PReLU": "PRelu", "ReLU": "Relu", "SoftMax": "Softmax"}
_IN_FILES = {api: file for file, api in _IN_API.items()}


def type_name(type: str) -> str:
    """Return the name in OpenVINO's nodes of a type in a file: `Const` → `Constant`."""
    return _IN_API.get(type, type)


def file_type(name: str) -> str:
    """Return the type in a file for the name in OpenVINO's nodes: `Constant` → `Const`."""
    return _IN_FILES.get(name, name)
