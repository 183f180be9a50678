"""Reading a file into ONNX's ModelProto, with large tensors left in the file; a finding reports an invalid file."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable, Mapping
from typing import IO, NamedTuple

import numpy as np
from google.protobuf.message import DecodeError, Message

from irexec.core.diagnostics import Place
from irexec.core.diagnostics.findings import Findings
from irexec.core.types import Array
from irexec.frontends.onnx.messages import onnx
from irexec.frontends.onnx.wire import Unusual, cut_off, without_large_tensors
from irexec.ir.io.files import open_regular, unreadable
from irexec.ir.weights.file import misplaced


def not_text(message: Message) -> str | None:
    """Return the name of a text field, at any depth of the message, that is not UTF-8; None if all are."""
    pending = [message]
    while pending:
        for field, value in pending.pop().ListFields():
            if field.type == field.TYPE_MESSAGE:
                pending.extend(value if field.is_repeated else [value])
            elif field.type == field.TYPE_STRING and not _is_text(value if field.is_repeated else [value]):
                return str(field.name)
    return None


def _is_text(values: Iterable[object]) -> bool:
    return not any(isinstance(value, bytes) for value in values)


# The size below which leaving tensors in the file is not worthwhile.
_SMALL = 1 << 18


class OnnxFile(NamedTuple):
    """An ONNX model as parsed from its file. `raw`: number of an initializer → its bytes, which `proto` lacks."""

    proto: onnx.ModelProto
    raw: Mapping[int, Array]


def read_file(given: str | os.PathLike[str] | bytes, findings: Findings) -> OnnxFile | None:
    """Return the contents of an ONNX file, or of its bytes; None, with a finding, if it is not an ONNX model."""
    place = Place(file=findings.file)
    try:
        if isinstance(given, bytes):
            found = OnnxFile(onnx.ModelProto.FromString(given), {})
        else:
            with open_regular(given, "the model") as stream:
                found = _parsed(stream)
    except (OSError, ValueError) as error:
        message, hint = (str(error), None) if isinstance(given, bytes) else unreadable(given, error)
        findings.add("U001", message, place=place, hint=hint)
        return None
    except DecodeError:
        _report_other(given, findings, "the file is not a valid ONNX model (protobuf cannot be decoded)")
        return None
    if not found.proto.HasField("graph"):
        _report_other(given, findings, "the file contains no ONNX graph")
        return None
    if (field := not_text(found.proto)) is not None:
        findings.add("F002", f"a {field} in the file is not UTF-8", place=place)
        return None
    return found


def _report_other(given: str | os.PathLike[str] | bytes, findings: Findings, message: str) -> None:
    """Report a file that is not an ONNX model by its kind, if that is known, or as one whose end is missing."""
    hint = None
    if isinstance(given, bytes):
        data = given
    else:
        with open_regular(given, "the model") as stream:
            data = stream.read()
    if (known := misplaced(data)) is not None:
        kind, hint = known
        message = f"the file is {kind}, not an ONNX model"
    elif (missing := cut_off(memoryview(data))) is not None:
        message = f"the file ends in the middle of the model: {missing}"
        hint = "it may have been cut off when it was copied or downloaded"
    findings.add("F002", message, place=Place(file=findings.file), hint=hint)


def _parsed(stream: IO[bytes]) -> OnnxFile:
    if os.fstat(stream.fileno()).st_size > _SMALL:
        mapped = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        try:
            rest, places = without_large_tensors(memoryview(mapped))
        except Unusual:
            pass
        else:
            proto = onnx.ModelProto.FromString(rest)
            raw = {i: np.frombuffer(mapped, np.uint8, stop - start, start) for i, (start, stop) in places.items()}
            return OnnxFile(proto, raw)
    return OnnxFile(onnx.ModelProto.FromString(stream.read()), {})
