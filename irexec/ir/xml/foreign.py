"""Recognizing files that are not what their names say by their first bytes, so that a message can name their format."""

from __future__ import annotations

import re

_BEGINNINGS = (
    (b"\x89PNG", "a PNG image"), (b"\xff\xd8\xff", "a JPEG image"), (b"GIF8", "a GIF image"),
    (b"PK\x03\x04", "a ZIP archive (also used by PyTorch and Keras for models)"), (b"PK\x05\x06", "a ZIP archive"),
    (b"\x1f\x8b", "a gzip archive"), (b"BZh", "a bzip2 archive"), (b"\xfd7zXZ", "an xz archive"),
    (b"7z\xbc\xaf", "a 7z archive"), (b"\x28\xb5\x2f\xfd", "a Zstandard archive"),
    (b"\x7fELF", "an ELF file: a program or a library"), (b"MZ", "a Windows program or library"),
    (b"%PDF", "a PDF document"), (b"\x89HDF", "an HDF5 file (used by Keras for models)"),
    (b"\x93NUMPY", "a NumPy array (.npy)"), (b"GGUF", "a GGUF model"),
    (b"\x80\x02", "a Python pickle (used by older versions of PyTorch for models)"), (b"\x80\x04", "a Python pickle"),
)  # fmt: skip
_TFLITE = b"TFL3"
_POINTER = re.compile(rb"version https://git-lfs\.github\.com/spec/")
_HTML = re.compile(rb"\s*+(?:<!--[^>]{0,999}-->\s*+)?(?:<!doctype\s++html|<html\b)", re.IGNORECASE)
# What OpenVINO writes before a compiled model: in a file of its cache, and in an exported model.
_CACHED = re.compile(rb'\s*+(?:<\?xml[^>]{0,99}>\s*+)?<compiled_blob\b(?:[^>]{0,999}?\sie_version="([^"]{1,199})")?')
_COMPILED = re.compile(rb"meta=[^;\0]{1,20};ov=([^;\0]{1,99});isa=")
_TEXT = re.compile(rb"\xff\xfe|\xfe\xff|\0*<|.*<(net|layer)\b", re.DOTALL)
# In ONNX's ModelProto, the field `ir_version`, followed by `producer_name` or the next field; in TensorFlow's
# SavedModel, the field `saved_model_schema_version`, followed by `meta_graphs`.
_ONNX = re.compile(rb"\x08[\x01-\x20][\x12\x1a\x22\x28\x32\x3a\x42]", re.DOTALL)
_PROTOBUF, _BINARY = "a protobuf file, possibly an ONNX model", "a binary file"
UNCERTAIN = (_PROTOBUF, _BINARY)
"""The formats of files that may also be something else, such as weights."""
_SAVED_MODEL = re.compile(rb"\x08\x01\x12.", re.DOTALL)


def is_onnx_model(data: bytes) -> bool:
    """Return True for bytes that begin as ONNX's ModelProto does."""
    return _ONNX.match(data) is not None and not _is_saved_model(data)


def _is_saved_model(data: bytes) -> bool:
    return _SAVED_MODEL.match(data) is not None and b"serve" in data[:4096]


def _compiled_kind(data: bytes) -> str | None:
    """Return the release and the instructions in the header of a compiled model; None for any other file."""
    cached, header = _CACHED.match(data), _COMPILED.search(data[:2048])
    if header is not None and (cached is not None or data.startswith(b"RR_UPCVO")):
        # The size of the header is the number before it.
        stop = header.start() + min(int.from_bytes(data[header.start() - 8 : header.start()], "little"), 999)
        isa = data[header.end() : stop].decode("ascii", "replace")
        return f"a model that OpenVINO {header[1].decode('ascii', 'replace')} compiled for {isa or 'a CPU'}"
    if cached is not None:
        release = cached[1].decode("ascii", "replace").split("-")[0] if cached[1] else ""
        return f"a model that OpenVINO {release}".rstrip() + " compiled"
    return None


def foreign_kind(data: bytes) -> tuple[str, str | None] | None:
    """Return the format of a file by its first bytes, and advice on it; None for a text and for an unknown format."""
    if _POINTER.match(data):
        return "a Git LFS pointer, which stands for the file itself", "fetch the file with `git lfs pull`"
    if _HTML.match(data):
        return "an HTML page, possibly an error page saved by a failed download", "download the file again"
    if (compiled := _compiled_kind(data)) is not None:
        return compiled, "use the .xml file of the model: a compiled model runs only with this release on such a device"
    if data[4:8] == _TFLITE:
        return "a TensorFlow Lite model", "convert it with `ovc`"
    if _is_saved_model(data):
        return "a TensorFlow SavedModel (protobuf)", "convert it with `ovc`"
    if _ONNX.match(data):
        return _PROTOBUF, "rename the file to .onnx if it is an ONNX model"
    known = next(((kind, None) for beginning, kind in _BEGINNINGS if data.startswith(beginning)), None)
    if known is None and b"\0" in data and not _TEXT.match(data):
        return _BINARY, "to read the weights of a model, give its .xml file"
    return known
