"""The results of a model, for comparison with those of another model."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np

import irexec
from irexec.core.types import Array


def computed(data: bytes, path: Path | None) -> list[Array]:
    """Return the results of a model for inputs that are always the same. Raises IRError and MemoryError."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = irexec.compile_model(irexec.read_model(data, path.with_suffix(".bin") if path else None))
        rng = np.random.default_rng(0)
        given = []
        for port in compiled.inputs:
            shape = [2 if extent.is_dynamic else extent.get_length() for extent in port.partial_shape]
            # Small integers are valid for inputs that may be indices.
            values = rng.integers(0, 3, shape) if port.element_type.is_integral_number else rng.random(shape)
            given.append(values.astype(port.element_type.dtype))
        return list(compiled(given).to_tuple())


def same(a: list[Array], b: list[Array]) -> bool:
    """Return True if the results are equal, bit for bit."""
    return len(a) == len(b) and all(
        x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes() for x, y in zip(a, b, strict=True)
    )
