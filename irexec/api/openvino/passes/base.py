"""The base of all passes: a name, and `run_on_model` for passes over whole models."""

from __future__ import annotations

from typing import Any


class PassBase:
    """A transformation with a name, by default that of its class."""

    _name: str | None = None

    def get_name(self) -> str:
        return type(self).__name__ if self._name is None else self._name

    def set_name(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class ModelPass(PassBase):
    """A transformation of a whole model: override `run_on_model`, which returns whether anything was changed."""

    def run_on_model(self, model: Any) -> Any:
        """Raise RuntimeError unless a subclass overrides this method."""
        raise RuntimeError(f"{type(self).__name__} has no run_on_model: override it")
