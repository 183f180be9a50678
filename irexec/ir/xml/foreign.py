"""Files that are no text, by the bytes that they begin with, so that each can be called by its name."""

from __future__ import annotations

import re

_BEGINNINGS = (
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"PK\x03\x04", "a ZIP archive, as PyTorch and Keras write their models, too"),
    (b"PK\x05\x06", "a ZIP archive"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ", "an xz archive"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard archive"),
    (b"\x7fELF", "an ELF file: a program or a library"),
    (b"MZ", "a program or a library for Windows"),
    (b"%PDF", "a PDF document"),
    (b"\x89HDF", "an HDF5 file, as Keras writes its models"),
    (b"\x93NUMPY", "a NumPy array (.npy)"),
    (b"GGUF", "a GGUF model"),
    (b"\x80\x02", "a Python pickle, as PyTorch wrote its models"),
    (b"\x80\x04", "a Python pickle"),
)
_TFLITE = b"TFL3"
_TEXT = re.compile(rb"\xff\xfe|\xfe\xff|\0*<|.*<(net|layer)\b", re.DOTALL)
# The field `ir_version` of ONNX's ModelProto, then the field `producer_name` or the next one; and of TensorFlow's
# SavedModel the field `saved_model_schema_version`, then the field `meta_graphs`.
_ONNX = re.compile(rb"\x08[\x01-\x20][\x12\x1a\x22\x28\x32\x3a\x42]", re.DOTALL)
_SAVED_MODEL = re.compile(rb"\x08\x01\x12.", re.DOTALL)


def is_onnx_model(data: bytes) -> bool:
    """True for bytes that begin as ONNX's ModelProto does."""
    return _ONNX.match(data) is not None and not _is_saved_model(data)


def _is_saved_model(data: bytes) -> bool:
    return _SAVED_MODEL.match(data) is not None and b"serve" in data[:4096]


def foreign_kind(data: bytes) -> tuple[str, str | None] | None:
    """What a file is by its first bytes, and what to do with it; None for a text and for what is not known."""
    if data[4:8] == _TFLITE:
        return "a TensorFlow Lite model", "convert it with `ovc`"
    if _is_saved_model(data):
        return "a protobuf: a SavedModel of TensorFlow", "convert it with `ovc`"
    if _ONNX.match(data):
        return "a protobuf, as ONNX models are", "name it .onnx, and irexec reads it as one"
    known = next(((kind, None) for beginning, kind in _BEGINNINGS if data.startswith(beginning)), None)
    if known is None and b"\0" in data and not _TEXT.match(data):
        return "a binary file", "the weights of a model are read with the .xml that they belong to"
    return known
