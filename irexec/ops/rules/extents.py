"""Named extents: matching shapes against a page's patterns, such as `[batch_size, num_directions, hidden_size]`."""

from __future__ import annotations

from irexec.core.types import ANY_DIMENSION, Dimension, PartialShape, TensorType, as_dimension
from irexec.ops.spec.checks import holds
from irexec.ops.spec.operator import Check


class Extents:
    """The known extents by name, narrowed by each shape that is matched against a pattern."""

    def __init__(self, check: Check, **known: int) -> None:
        self.check = check
        self.found: dict[str, Dimension] = {name: as_dimension(extent) for name, extent in known.items()}

    def match(self, constraint: str, port: str, tensor: TensorType | None, *pattern: str | int) -> bool:
        """Match a port's shape with names and numbers; report a breach of `constraint` if it does not fit.

        An absent port and a dynamic rank fit every pattern.
        """
        if tensor is None or tensor.rank is None:
            return True
        expected = PartialShape([self[p] if isinstance(p, str) else p for p in pattern])
        merged = expected.merge(tensor.shape)
        form = f"[{', '.join(map(str, pattern))}]"
        if merged is None:
            text = f"{port} has shape {tensor.shape}, expected {form}"
            if str(expected) != form and "?" not in str(expected):
                text += f" = {expected}"
            return self.check(constraint, False, text, port=port, found=str(tensor.shape), allowed=str(expected))
        holds(constraint)
        self.found.update((p, d) for p, d in zip(pattern, merged, strict=True) if isinstance(p, str))
        return True

    def __getitem__(self, name: str) -> Dimension:
        return self.found.get(name, ANY_DIMENSION)

    def shape(self, *pattern: str | int) -> PartialShape:
        """Return the shape of a pattern with the extents known so far."""
        return PartialShape([self[p] if isinstance(p, str) else p for p in pattern])
