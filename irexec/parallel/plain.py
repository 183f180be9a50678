"""Results as JSON values and back, exactly: strings, numbers, lists, and objects with one key, the name of a class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from irexec.diagnostics import Diagnostic, Place, Report, Severity
from irexec.diagnostics.diagnostic import At, LayerRef, Related
from irexec.diagnostics.fix import Edit, Fix, Safety

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
            raise TypeError(f"{kind.__name__} is not in the vocabulary of the log")
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
