"""Texts of an ONNX file: this kind of protobuf message accepts bytes that are not UTF-8 in text fields."""

from __future__ import annotations

from collections.abc import Iterable

from google.protobuf.message import Message


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
