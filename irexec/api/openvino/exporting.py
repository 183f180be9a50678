"""A compiled model as bytes: the IR followed by its weights."""

from __future__ import annotations

import struct
import tempfile
from pathlib import Path

from irexec.model.graph.model import Model
from irexec.model.graph.write import write_model

_MAGIC = b"irexec1\0"
_HEADER = struct.Struct("<8sQQ")


def exported(model: Model) -> bytes:
    """Return the bytes that `imported` reads."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.xml")
        write_model(model, path)
        text, weights = path.read_bytes(), path.with_suffix(".bin").read_bytes()
    return _HEADER.pack(_MAGIC, len(text), len(weights)) + text + weights


def imported(data: bytes) -> tuple[bytes, bytes]:
    """Return the IR and the weights in exported bytes. Raises RuntimeError for any other bytes."""
    if len(data) < _HEADER.size or not data.startswith(_MAGIC):
        raise RuntimeError("these bytes are not a model that irexec exported; OpenVINO exports compiled code")
    _, text, weights = _HEADER.unpack_from(data)
    if len(data) != _HEADER.size + text + weights:
        raise RuntimeError("the exported model is truncated, or is followed by other bytes")
    return data[_HEADER.size : _HEADER.size + text], data[_HEADER.size + text :]
