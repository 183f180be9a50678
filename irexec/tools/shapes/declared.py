"""Names that a model itself gives to the dynamic dimensions of its inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from keyword import iskeyword

from irexec.core.types import PartialShape
from irexec.model.graph.model import Model

# Words that conditions use, so that no symbol can have these names.
_WORDS = frozenset({"max", "min"})


def declared_name(model: Model, shape: PartialShape, input: int, axis: int) -> str | None:
    """Return the name that an ONNX model gives to a dimension, if conditions can use it as a symbol."""
    named = model.rt_info.get("dimensions")
    names = named.get(model.parameters[input].friendly_name) if isinstance(named, dict) else None
    parts = names.split(",") if isinstance(names, str) else []
    if axis >= len(parts) or len(parts) != len(shape):
        return None
    name: str = parts[axis].strip()
    return name if name.isidentifier() and not iskeyword(name) and name not in _WORDS else None


def open_places(model: Model, shapes: Sequence[PartialShape]) -> Iterator[list[tuple[int, int]]]:
    """Yield the dynamic dimensions as (input, axis); dimensions with the same name are yielded together, at the
    position of the first.
    """
    together: dict[str | tuple[int, int], list[tuple[int, int]]] = {}
    for number, shape in enumerate(shapes):
        for axis, extent in enumerate(shape):
            if extent.is_dynamic:
                name = declared_name(model, shape, number, axis)
                together.setdefault(name or (number, axis), []).append((number, axis))
    yield from together.values()
