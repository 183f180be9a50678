"""The names of operator types: what a file writes, and what OpenVINO's objects say of themselves."""

from __future__ import annotations

_SAID = {"Const": "Constant", "PReLU": "PRelu", "ReLU": "Relu", "SoftMax": "Softmax"}
_WRITTEN = {said: written for written, said in _SAID.items()}


def type_name(type: str) -> str:
    """The name that OpenVINO's nodes have for a type of a file: `Const` → `Constant`."""
    return _SAID.get(type, type)


def file_type(name: str) -> str:
    """The type in a file for the name that OpenVINO's nodes have: `Constant` → `Const`."""
    return _WRITTEN.get(name, name)
