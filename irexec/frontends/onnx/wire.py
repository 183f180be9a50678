"""Leaving the large tensors of an ONNX file in the file: protobuf would copy them twice.

Source: the encoding page of protocol buffers, and the numbers of fields in ONNX's onnx.proto.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

# ModelProto.graph, GraphProto.initializer, TensorProto.raw_data.
_GRAPH, _INITIALIZER, _RAW_DATA = 7, 5, 9
_BYTES = 2
"""The wire type of fields with a length: messages, texts, bytes."""
_LARGE = 1 << 12


class Unusual(ValueError):
    """Raised for an encoding that writers of ONNX files do not produce; a parser may still accept it."""


class Field(NamedTuple):
    """A field at `begin` of the data, whose content, without number and length, is in `start` to `stop`."""

    number: int
    wire: int
    begin: int
    start: int
    stop: int


def without_large_tensors(data: memoryview) -> tuple[bytes, dict[int, tuple[int, int]]]:
    """Return the file without the bytes of the large initializers, and the location of these bytes: number of the
    initializer → start, stop.

    Raises Unusual.
    """
    kept: list[bytes | memoryview] = []
    places: dict[int, tuple[int, int]] = {}
    graphs = 0
    for field in _fields(data, 0, len(data)):
        if (field.number, field.wire) != (_GRAPH, _BYTES):
            kept.append(data[field.begin : field.stop])
            continue
        graphs += 1
        graph = b"".join(_graph(data, field, places))
        kept += [_head(_GRAPH, len(graph)), graph]
    if graphs != 1:
        raise Unusual("the model has more than one graph")
    return b"".join(kept), places


def _graph(data: memoryview, graph: Field, places: dict[int, tuple[int, int]]) -> Iterator[bytes | memoryview]:
    count = 0
    for field in _fields(data, graph.start, graph.stop):
        if (field.number, field.wire) != (_INITIALIZER, _BYTES):
            yield data[field.begin : field.stop]
            continue
        raw = [f for f in _fields(data, field.start, field.stop) if (f.number, f.wire) == (_RAW_DATA, _BYTES)]
        if len(raw) == 1 and raw[0].stop - raw[0].start >= _LARGE:
            (cut,) = raw
            places[count] = cut.start, cut.stop
            yield _head(_INITIALIZER, cut.begin - field.start + field.stop - cut.stop)
            yield data[field.start : cut.begin]
            yield data[cut.stop : field.stop]
        else:
            yield data[field.begin : field.stop]
        count += 1


def _fields(data: memoryview, begin: int, end: int) -> Iterator[Field]:
    """Yield the fields of a message in `begin` to `end`."""
    at = begin
    while at < end:
        key, start = _varint(data, at, end)
        wire = key & 7
        if wire == _BYTES:
            length, start = _varint(data, start, end)
            stop = start + length
        elif wire == 0:
            _, stop = _varint(data, start, end)
        elif wire in (1, 5):
            stop = start + (8 if wire == 1 else 4)
        else:
            raise Unusual(f"wire type {wire}")
        if stop > end:
            raise Unusual("a field extends beyond its message")
        yield Field(key >> 3, wire, at, start, stop)
        at = stop


def cut_off(data: memoryview) -> str | None:
    """Return how much of a file is missing at its end, if its last field is longer than the rest of the file."""
    at, end = 0, len(data)
    try:
        while at < end:
            key, start = _varint(data, at, end)
            length, start = _varint(data, start, end) if key & 7 == _BYTES else (0, start)
            if start + length > end:
                return f"{start + length - end:,} of {start + length:,} bytes or more are missing"
            at = next(_fields(data, at, end)).stop
    except Unusual:
        return None
    return None


def _varint(data: memoryview, at: int, end: int) -> tuple[int, int]:
    """Return a number that is encoded in 7 bits per byte, lowest bits first, and the position after it."""
    value = shift = 0
    while at < end and shift < 64:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise Unusual("a number is not terminated")


def _head(number: int, length: int) -> bytes:
    """Return the bytes that precede the content of a field with a length."""
    return _encoded(number << 3 | _BYTES) + _encoded(length)


def _encoded(value: int) -> bytes:
    written = bytearray()
    while value >= 0x80:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*written, value])
