"""The names of operator types in files and in OpenVINO's node objects."""

from __future__ import annotations

_SAID = {"Const": "Constant", "PReLU": "PRelu", "ReLU": "Relu", "SoftMax": "Softmax"}
_WRITTEN = {said: written for written, said in _SAID.items()}


def type_name(type: str) -> str:
    """Return the name in OpenVINO's nodes of a type in a file: `Const` → `Constant`."""
    return _SAID.get(type, type)


def file_type(name: str) -> str:
    """Return the type in a file for the name in OpenVINO's nodes: `Constant` → `Const`."""
    return _WRITTEN.get(name, name)
