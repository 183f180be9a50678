"""OVAny: a value of any type in a box."""

from __future__ import annotations

from typing import Any


class OVAny:
    """A value of any type. It compares and indexes as what it holds."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def get(self) -> Any:
        return self.value

    def set(self, value: Any) -> None:
        self.value = value

    def astype(self, kind: type) -> Any:
        """The value as `kind`. Raises TypeError when it cannot be."""
        if kind is bool and isinstance(self.value, str):
            return {"YES": True, "TRUE": True, "NO": False, "FALSE": False}[self.value.upper()]
        return kind(self.value)

    def aslist(self, kind: type | None = None) -> list[Any]:
        """The values of a list, a text of words being one."""
        items = self.value.split(" ") if isinstance(self.value, str) else list(self.value)
        return [kind(item) for item in items] if kind is not None else items

    def __getitem__(self, key: Any) -> Any:
        return self.value[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.value[key] = value

    def __len__(self) -> int:
        return len(self.value)

    def __eq__(self, other: object) -> bool:
        return bool(self.value == (other.value if isinstance(other, OVAny) else other))

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return "<OVAny class>"
