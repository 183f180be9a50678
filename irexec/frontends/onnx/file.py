"""From a file to ONNX's ModelProto, with a finding for what is none."""

from __future__ import annotations

import os

import onnx
from google.protobuf.message import DecodeError

from irexec.diagnostics import Place
from irexec.diagnostics.findings import Findings
from irexec.frontends.onnx.texts import not_text
from irexec.ir.files import open_regular


def read_proto(path: str | os.PathLike[str], findings: Findings) -> onnx.ModelProto | None:
    """What an ONNX file holds; None, with a finding, where that is no ONNX model."""
    place = Place(file=os.fspath(path))
    try:
        with open_regular(path) as stream:
            data = stream.read()
    except (OSError, ValueError) as error:
        findings.add("U001", f"cannot read the file: {getattr(error, 'strerror', None) or error}", place=place)
        return None
    proto = onnx.ModelProto()
    try:
        proto.ParseFromString(data)
    except DecodeError:
        findings.add("F002", "the file is no protocol buffer of an ONNX model", place=place)
        return None
    if not proto.HasField("graph"):
        findings.add("F002", "the file holds no ONNX graph", place=place)
        return None
    if (field := not_text(proto)) is not None:
        findings.add("F002", f"a {field} in the file is not UTF-8", place=place)
        return None
    return proto
