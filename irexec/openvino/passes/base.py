"""What all passes have: a name, and for those over whole models `run_on_model`."""

from __future__ import annotations

from typing import Any

from irexec.graph import model as graph


class PassBase:
    """A transformation with a name, which is that of its class unless it is given another."""

    _name: str | None = None

    def get_name(self) -> str:
        return type(self).__name__ if self._name is None else self._name

    def set_name(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class ModelPass(PassBase):
    """A transformation of a whole model: override `run_on_model`, which says whether anything was changed."""

    def run_on_model(self, model: Any) -> Any:
        """Raises RuntimeError where a caller's class has not overridden it."""
        raise RuntimeError(f"{type(self).__name__} has no run_on_model: override it")


def checked_model(given: Any) -> graph.Model:
    """What was given, if it is a model. Raises TypeError."""
    if not isinstance(given, graph.Model):
        raise TypeError("Incompatible `model` argument. Please provide a valid openvino.Model instance.")
    return given
