"""RTMap: the runtime information of a model, a layer or a port, with each value wrapped as in OpenVINO."""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from typing import Any

from irexec.api.openvino.ov_any import OVAny, unboxed, wrapped
from irexec.core.arguments import expected
from irexec.model.graph.runtime_info import InfoText


class _IsAMap(ABCMeta):
    """The metaclass of RTMap: the attribute `rt_info`, a dict, is an instance of RTMap."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, dict) or super().__instancecheck__(instance)


class RTMap(MutableMapping[str, Any], metaclass=_IsAMap):
    """A view of a dict of plain values: values are read as OVAny or dictionaries of them, and written to the dict."""

    def __init__(self, values: dict[str, Any] | None = None) -> None:
        self._values: dict[str, Any] = {} if values is None else values

    def __getitem__(self, key: str) -> Any:
        value = self._values[key]
        return wrapped(value) if isinstance(value, dict) else OVAny(value)

    def __setitem__(self, key: str, value: object) -> None:
        self._values[key] = unboxed(value)

    def __delitem__(self, key: str) -> None:
        del self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return "<RTMap>"


_INCORRECT = "Cannot get runtime attribute. Path to runtime attribute is incorrect."


class NoSuchInfo(RuntimeError):
    """Raised for a key that runtime information does not have."""


def info_at(info: Mapping[str, Any], path: str | Sequence[str]) -> Any:
    """Return the part of runtime information under a key or a path of keys. Raises RuntimeError for an unknown key."""
    found: Any = info
    for key in _keys(path):
        if key not in _entries(found):
            raise NoSuchInfo(_INCORRECT)
        found = found[key]
    return found


def set_info(info: dict[str, Any], value: object, path: str | Sequence[str]) -> None:
    """Set a part of runtime information under a key or a path of keys."""
    *outer, last = _keys(path)
    for key in outer:
        info = _entries(info).setdefault(key, {})
    _entries(info)[last] = InfoText(value) if type(value) is str else value


def _entries(info: Any) -> Any:
    """Return a part of runtime information if it has entries. Raises RuntimeError for a value."""
    if not isinstance(info, Mapping):
        raise RuntimeError(_INCORRECT)
    return info


def _keys(path: Any) -> list[str]:
    """Return a key or a path of keys as a list. Raises TypeError for other objects."""
    if not isinstance(path, Sequence):
        raise TypeError(f"rt_info: incompatible function arguments: {path!r} is not a key or path of keys")
    return [expected(key, str, "rt_info") for key in ([path] if isinstance(path, str) else path)]
