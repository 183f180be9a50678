"""RTMap: the runtime information of a model, a layer or a port, with each value wrapped as in OpenVINO."""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Iterator, MutableMapping
from typing import Any

from irexec.openvino.ov_any import OVAny, unboxed, wrapped


class _IsAMap(ABCMeta):
    """The attribute `rt_info` is the dict itself, which counts as an RTMap."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, dict) or super().__instancecheck__(instance)


class RTMap(MutableMapping[str, Any], metaclass=_IsAMap):
    """A view of a dict of plain values: values are read as OVAny or dictionaries of them, and written to the dict."""

    def __init__(self, values: dict[str, Any] | None = None) -> None:
        self._values: dict[str, Any] = {} if values is None else values

    def __getitem__(self, key: str) -> Any:
        value = self._values[key]
        return wrapped(value) if isinstance(value, dict) else OVAny(value)

    def __setitem__(self, key: str, value: Any) -> None:
        self._values[key] = unboxed(value)

    def __delitem__(self, key: str) -> None:
        del self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return "<RTMap>"
