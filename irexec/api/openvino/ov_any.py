"""OVAny: a wrapper around a value of any type."""

from __future__ import annotations

from typing import Any

from irexec.core.arguments import expected

_BOOLEANS = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


class OVAny:
    """A value of any type. It compares and indexes like the wrapped value."""

    def __init__(self, value: object) -> None:
        self.value = unboxed(value)

    def get(self) -> Any:
        """Return the value."""
        return self.value

    def set(self, value: object) -> None:
        """Replace the value."""
        self.value = unboxed(value)

    def astype(self, kind: type) -> Any:
        """Return the value as a bool, int, float, str or dict. Raises RuntimeError if it cannot be converted.

        The text of a list is its items separated by blanks, that of a bool is YES or NO, as OpenVINO writes them to
        files.
        """
        if expected(kind, type, "astype()") is str:
            return _text(self.value)
        if kind is bool and isinstance(self.value, str) and self.value.lower() in _BOOLEANS:
            return _BOOLEANS[self.value.lower()]
        if kind is bool and isinstance(self.value, bool):
            return self.value
        if kind is dict and isinstance(self.value, dict):
            return wrapped(self.value)
        if kind in (int, float) and isinstance(self.value, (int, float, str)) and not isinstance(self.value, bool):
            try:
                return kind(self.value)
            except ValueError:
                pass
        raise RuntimeError(f"Could not convert {self.value!r} to {kind.__name__}")

    def aslist(self, dtype: type | None = None) -> list[Any]:
        """Return the items of a list, or the words of a text as `dtype`; without `dtype`, an empty list.

        Raises RuntimeError for a value of another type, and for words that cannot be converted.
        """
        if dtype is None:
            return []
        if isinstance(self.value, list):
            if len({type(item) for item in self.value}) > 1:
                raise RuntimeError("Incorrect attribute. Mixed types in the container are not allowed.")
            return list(self.value)
        if not isinstance(self.value, str):
            raise RuntimeError(f"Could not convert {self.value!r} to a list")
        return [OVAny(word).astype(dtype) for word in self.value.split()]

    def __getitem__(self, key: str | int) -> Any:
        return self.value[key]

    def __setitem__(self, key: str | int, value: object) -> None:
        self.value[key] = value

    def __len__(self) -> int:
        return len(self.value)

    def __eq__(self, other: object) -> bool:
        return bool(self.value == unboxed(other))

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return "<OVAny class>"


def unboxed(value: object) -> Any:
    """Return the value in an OVAny; any other value unchanged."""
    return value.value if isinstance(value, OVAny) else value


def wrapped(values: dict[str, Any]) -> dict[str, Any]:
    """Return a dictionary of values as OVAny; nested dictionaries are converted in the same way."""
    return {key: wrapped(value) if isinstance(value, dict) else OVAny(value) for key, value in values.items()}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "YES" if value else "NO"
    if isinstance(value, (list, tuple)):
        return " ".join(str(int(item)) if isinstance(item, bool) else _text(item) for item in value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{_text(item)}" for key, item in value.items()) + "}"
    return "" if value is None else str(value)
