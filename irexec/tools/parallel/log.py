"""The log of a run: one line of JSON per completed item, from which a later run continues."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from enum import Enum
from hashlib import sha256
from types import TracebackType
from typing import IO, Any, NamedTuple

from irexec.core.diagnostics import Diagnostic, Place, Report, Severity
from irexec.core.diagnostics.diagnostic import At, LayerRef, Related
from irexec.core.diagnostics.fix import Edit, Fix, Safety
from irexec.ir.beside import read_json
from irexec.ir.io.files import open_regular
from irexec.ir.io.guard import own_files
from irexec.ir.io.writing import appended
from irexec.tools.parallel.task import Task

_FINDINGS = (Diagnostic, Place, Report, Severity, At, LayerRef, Related, Edit, Fix, Safety)
_CONTAINERS: dict[type, Any] = {tuple: list, dict: lambda d: list(d.items()), Counter: lambda d: list(d.items())}


class Vocabulary:
    """The classes that results may contain: enumerations, dataclasses and named tuples. No other class is created."""

    def __init__(self, words: Iterable[type] = ()) -> None:
        self._classes: dict[str, Any] = {word.__name__: word for word in (*_FINDINGS, *words, *_CONTAINERS)}

    def encode(self, value: Any) -> Any:
        """Return a value as JSON types. Raises TypeError for a class that is not in the vocabulary."""
        kind = type(value)
        if value is None or kind in (str, int, float, bool):
            return value
        if kind is list:
            return [self.encode(item) for item in value]
        if self._classes.get(kind.__name__) is not kind:
            raise TypeError(f"values of class {kind.__name__} cannot be written to the log")
        if kind in _CONTAINERS:
            return {kind.__name__: self.encode([list(i) if kind is not tuple else i for i in _CONTAINERS[kind](value)])}
        if isinstance(value, Enum):
            return {kind.__name__: value.value}
        names = [field.name for field in fields(kind) if field.init] if is_dataclass(kind) else kind._fields
        return {kind.__name__: {name: self.encode(getattr(value, name)) for name in names}}

    def decode(self, value: Any) -> Any:
        """Return the value that was encoded. Raises KeyError, TypeError or ValueError for any other value."""
        if isinstance(value, list):
            return [self.decode(item) for item in value]
        if not isinstance(value, dict):
            return value
        ((name, inner),) = value.items()
        kind = self._classes[name]
        if kind in _CONTAINERS:
            items = self.decode(inner)
            return kind(dict(items)) if kind is Counter else kind(items)
        return kind(inner) if issubclass(kind, Enum) else kind(**{key: self.decode(v) for key, v in inner.items()})


def _digest(entry: dict[str, Any]) -> str:
    """Return a digest of a line: the values of a line that has another one are not those that irexec wrote."""
    return sha256(json.dumps(entry).encode()).hexdigest()[:16]


_BEGINNING = b'{"item": '


class _Entry(NamedTuple):
    key: str
    result: Any


class Log:
    """The results of earlier runs by item, and the file to which new results are appended.

    A line that is incomplete, or that was changed, is ignored: a killed run loses only the result that it was writing.
    If several lines describe one item, the last is used. Raises OSError if the file cannot be read or written,
    ValueError if it is not a log.
    """

    def __init__(self, path: str | os.PathLike[str], task: Task[Any]) -> None:
        self._vocabulary = Vocabulary(task.words)
        self._entries: dict[str, _Entry] = {}
        whole = self._read(path) if os.path.exists(path) else True
        self._stream: IO[str] = appended(path)
        if not whole:
            self._stream.write("\n")

    def _read(self, path: str | os.PathLike[str]) -> bool:
        """Read the valid lines; return whether the last line is complete."""
        line = b"\n"
        with own_files(), open_regular(path) as stream:
            if not _BEGINNING.startswith(stream.read(len(_BEGINNING))):
                raise ValueError("the file exists and is not a log")
            stream.seek(0)
            for line in stream:
                try:
                    entry = read_json(line)
                    if entry.pop("digest") == _digest(entry):
                        self._entries[entry["item"]] = _Entry(entry["key"], entry["result"])
                except (ValueError, TypeError, KeyError, AttributeError):
                    continue
        return line.endswith(b"\n")

    def key(self, item: str) -> str | None:
        """Return the dependencies of the item's result when it was logged; None if it was not logged."""
        entry = self._entries.get(item)
        return None if entry is None else entry.key

    def result(self, item: str) -> Any:
        """Return the logged result of an item. Raises ValueError if the line was changed."""
        try:
            return self._vocabulary.decode(self._entries[item].result)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"the result of {item} in the log cannot be read: {error}") from error

    def add(self, item: str, key: str, result: Any) -> None:
        """Append a result; it is in the file when the method returns."""
        entry = {"item": item, "key": key, "result": self._vocabulary.encode(result)}
        self._stream.write(json.dumps(entry | {"digest": _digest(entry)}) + "\n")
        self._stream.flush()

    def __enter__(self) -> Log:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.close()
