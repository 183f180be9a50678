"""ONNX models with one change each: a field of the file set, removed, repeated, or copied from elsewhere in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
from google.protobuf.message import Message

import irexec
from support.onnx_cases import node_cases

_NUMBERS = [0, 1, -1, 2, 7, 13, 255, 2**31 - 1, 2**40, -(2**63), 2**63 - 1]
_REALS = [0.0, -1.0, 1e-30, 1e30, float("nan"), float("inf")]
_TEXTS = ["", "x", "a\0b", "é" * 50, "../../x", "ai.onnx", "NOTSET", "1"]


class Outcome(NamedTuple):
    """The outcome of a mutant: codes of findings, or "ran"; findings about nodes that name none; failed kernels."""

    codes: frozenset[str]
    nameless: list[str]
    failed: tuple[str, ...] = ()


def seeds(count: int, seed: int) -> list[bytes]:
    """Return this number of small models from ONNX's node tests."""
    models = [case.model.SerializeToString() for case in node_cases()]
    small = [model for model in models if len(model) < 4000]
    chosen = np.random.default_rng(seed).choice(len(small), min(count, len(small)), replace=False)
    return [small[i] for i in chosen]


def mutants(models: list[bytes], count: int, seed: int) -> Iterator[bytes]:
    """Yield changed models, made from the given models in turn."""
    rng = np.random.default_rng(seed)
    for number in range(count):
        proto = onnx.ModelProto.FromString(models[number % len(models)])
        places = list(_places(proto))
        message, field = places[int(rng.integers(len(places)))]
        _change(message, field, places, rng)
        yield proto.SerializePartialToString()


def _places(message: Message) -> Iterator[tuple[Message, Any]]:
    """Yield every field that is set in a message or its children, and for each message a field that is not set."""
    unset = [field for field in message.DESCRIPTOR.fields if not _is_set(message, field)]
    if unset:
        yield message, unset[0]
    for field, value in message.ListFields():
        yield message, field
        if field.type == field.TYPE_MESSAGE:
            for inner in value if field.is_repeated else [value]:
                yield from _places(inner)


def _is_set(message: Message, field: Any) -> bool:
    return bool(getattr(message, field.name)) if field.is_repeated else message.HasField(field.name)


def _change(message: Message, field: Any, places: list[tuple[Message, Any]], rng: np.random.Generator) -> None:
    if rng.random() < 0.2:
        message.ClearField(field.name)
        return
    value = getattr(message, field.name)
    if field.type == field.TYPE_MESSAGE:
        others = [v for m, f in places if f.message_type is field.message_type for v in _listed(getattr(m, f.name), f)]
        other = _copy(others[int(rng.integers(len(others)))]) if others else None
        if not field.is_repeated:
            value.CopyFrom(other) if other is not None else message.ClearField(field.name)
        elif value and rng.random() < 0.5:
            del value[int(rng.integers(len(value)))]
        elif other is not None:
            value.insert(int(rng.integers(len(value) + 1)), other)
        return
    scalar = _scalar(field, rng, places)
    try:
        if not field.is_repeated:
            setattr(message, field.name, scalar)
        elif value and rng.random() < 0.7:
            value[int(rng.integers(len(value)))] = scalar
        else:
            value.append(scalar)
    except (ValueError, TypeError):
        message.ClearField(field.name)


def _copy(message: Message) -> Message:
    """Return an independent copy of a message, which may be inside of its target."""
    copy = type(message)()
    copy.CopyFrom(message)
    return copy


def _listed(value: Any, field: Any) -> list[Any]:
    return list(value) if field.is_repeated else [value]


def _scalar(field: Any, rng: np.random.Generator, places: list[tuple[Message, Any]]) -> Any:
    """Return another value of a field's type; texts often occur elsewhere in the model."""
    pick = lambda items: items[int(rng.integers(len(items)))]  # noqa: E731
    if field.cpp_type in (field.CPPTYPE_DOUBLE, field.CPPTYPE_FLOAT):
        return pick(_REALS)
    if field.type == field.TYPE_BYTES:
        return rng.bytes(int(rng.integers(0, 12)))
    if field.cpp_type == field.CPPTYPE_STRING:
        texts = [t for m, f in places if f.type == f.TYPE_STRING for t in _listed(getattr(m, f.name), f)]
        return pick(_TEXTS if not texts or rng.random() < 0.4 else texts)
    if field.cpp_type == field.CPPTYPE_INT32:
        return int(np.clip(pick(_NUMBERS), -(2**31), 2**31 - 1))
    return max(pick(_NUMBERS), 0) if field.cpp_type in (field.CPPTYPE_UINT32, field.CPPTYPE_UINT64) else pick(_NUMBERS)


# Findings about the file, its graph or one of its tensors do not name a node.
_OF_NO_NODE = {"F001", "F002", "F005", "F006", "F007", "F008", "F010", "F011", "F012", "F015", "U001"}
_MOST_ELEMENTS = 1 << 16


def judged(data: bytes, path: Path) -> Outcome:
    """Validate a mutant, and run it if it is valid. Any exception other than a finding escapes."""
    path.write_bytes(data)
    report = irexec.validate(path)
    assert report.to_json()
    nameless = [d.message for d in report.errors if d.layer is None and d.code not in _OF_NO_NODE]
    if not report.ok:
        return Outcome(frozenset(d.code for d in report.errors), nameless)
    try:
        model = irexec.read_model(path)
        inputs = [_array(value) for value in model.inputs]
        if all(array is not None for array in inputs):
            irexec.compile_model(model)(inputs)
    except irexec.IRError as error:
        found = error.report.errors
        nameless += [d.message for d in found if d.layer is None and d.code not in _OF_NO_NODE]
        failed = tuple(f"{d.code} {d.layer}: {d.message}" for d in found if d.code in ("O006", "O007"))
        return Outcome(frozenset(d.code for d in found), nameless, failed)
    return Outcome(frozenset({"ran"}), nameless)


def _array(value: Any) -> Any:
    """Return ones of a value's type; None if it is not a small tensor."""
    dtype = value.element_type.dtype
    if value.partial_shape.rank.is_dynamic or dtype is None or dtype.hasobject:
        return None
    shape = [d.min for d in value.partial_shape]
    # A tensor with an extent of 0 may lead to a large result: a sum over the empty axis has all other extents.
    if np.prod([float(max(d, 1)) for d in shape]) > _MOST_ELEMENTS:
        return None
    return np.full(shape, "a", dtype) if dtype.kind == "T" else np.ones(shape, dtype)
