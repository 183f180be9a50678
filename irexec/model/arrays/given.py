"""The caller's choices for a run: values, element types and shapes of inputs, and the seed of random values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum, auto
from typing import Any

import numpy as np

from irexec.core.arguments import expected
from irexec.core.diagnostics.findings import Findings
from irexec.core.diagnostics.nearest import likely_names
from irexec.core.records import field, record
from irexec.core.types import STRING, Array, ElementType

FIRST_GROUP = ""
"""The key of a precision that is given without a name."""


class Origin(Enum):
    """The source of an input's values."""

    PAGE = auto()
    SUPPLIED = auto()
    DRAWN = auto()


@record
class Given:
    """The input values that the caller supplies, by port name or number, and how to draw the others.

    `inputs`: arrays, or values as nested lists. A precision under FIRST_GROUP applies to the first port and to the
    ports that share its type, unless a type is declared. `duplicates`: some drawn indices occur more than once.
    `typical`: draw typical values for the inputs of a model (see tools/run/typical.py). `past`: the number of tokens in
    earlier steps. `python`: the caller is a Python program, so messages name arguments, not options. `archives`: the
    .npz files whose keys are names in `inputs`.
    """

    inputs: Mapping[str, Any] = field(default_factory=dict)
    precisions: Mapping[str, ElementType] = field(default_factory=dict)
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    seed: int = 0
    duplicates: bool = False
    typical: bool = False
    past: int = 0
    python: bool = False
    archives: Mapping[str, str] = field(default_factory=dict)

    def asked(self, kind: str, name: str) -> str:
        """Return the caller's notation for an "input" or a "shape" by name: `--shape x`, or in Python `shapes['x']`."""
        return f"{kind}s[{name!r}]" if self.python else f"--{kind} {name}"

    def origin_text(self, origin: Origin | None) -> str:
        """Return an origin as text for JSON and tables; empty for None, an input without values."""
        texts = {Origin.PAGE: "page", Origin.SUPPLIED: "--input", Origin.DRAWN: f"random (seed {self.seed})"}
        return "" if origin is None else texts[origin]


def extents_of(shapes: Mapping[str, Sequence[int]] | None) -> dict[str, tuple[int, ...]]:
    """Return the shapes that a Python program gives by name. Raises TypeError for any other object than a mapping."""
    return {name: tuple(shape) for name, shape in expected({} if shapes is None else shapes, Mapping, "shapes").items()}


def convert(value: Any, kind: ElementType) -> Array | None:
    """Return nested lists, or an array of another type, as an array of type `kind`; None if that is impossible."""
    try:
        if kind is STRING:
            return np.array(value, dtype=np.dtypes.StringDType())
        plain = np.asarray(value)
        if plain.dtype == kind.dtype or kind.dtype is None:
            return plain
        if plain.size == 0:
            return np.zeros(plain.shape, kind.dtype)
        if plain.dtype.kind == "V" and plain.dtype.itemsize == kind.dtype.itemsize and plain.dtype.names is None:
            # NumPy loads bf16, f8 and the like as raw bytes (kind "V") unless ml_dtypes is imported.
            return plain.view(kind.dtype)
        if plain.dtype.kind in "USTOVmM" or (plain.dtype.kind == "c" and kind.kind != "c"):
            return None
        with np.errstate(all="ignore"):
            array = plain.astype(kind.dtype)
            exact = not kind.is_integral_number or np.array_equal(plain, array.astype(plain.dtype))
        return array if exact else None
    except (ValueError, TypeError, OverflowError):
        return None


def check_names(
    given: Mapping[str, str],
    inputs: Mapping[str, Iterable[str]],
    findings: Findings,
    archives: Mapping[str, str] | None = None,
) -> None:
    """Report every name that is not the name of an input.

    `given`: each name, and the caller's notation for it. `inputs`: the names with their alternatives. `archives`: see
    `Given`.
    """
    known = {n for name, more in inputs.items() for n in (name, *more)}
    shown = list(inputs)
    for name, asked in given.items():
        if name in known or name == FIRST_GROUP:
            continue
        message = f"{asked}: no input has this name"
        hint = likely_names(name, known)
        if archives and name in archives:
            key = shown[0] if len(shown) == 1 else "NAME"
            hint = hint or f"choose an array for an input with --input {key}=@{archives[name]}:KEY"
        findings.add("U005", message, hint=hint, allowed=", ".join(shown))
