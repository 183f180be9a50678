"""Searching inputs on which two runtimes part, with the generators of `conformance`; the smallest one is kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from irexec.core.diagnostics import IRError
from irexec.core.diagnostics.findings import Findings
from irexec.core.types import BOOLEAN, STRING, Array, ElementType
from irexec.model.arrays.brief import shown
from irexec.model.arrays.given import Given
from irexec.model.graph.model import Model, Value
from irexec.model.graph.ports import port_name
from irexec.tools.compare.compare import compare
from irexec.tools.compare.delta import fewest
from irexec.tools.compare.errors import Bounds, measure
from irexec.tools.compare.numbers import FUSED
from irexec.tools.compare.runtimes.runtime import CannotRun, Runtime
from irexec.tools.conformance.values import PROFILES, draw_values
from irexec.tools.run.record import Reference
from irexec.tools.run.run import complete
from irexec.tools.status import Progress

Places = Sequence[tuple[int, int]]
"""Elements: the number of the input, and the position in it."""
_LIMITS, _ZEROS = "limits", "zeros"
_WAYS = (*PROFILES, _LIMITS, _ZEROS)
_ONE = 0.15
"""The share of inputs in which an open dimension has one element."""
_TRIALS = 200
"""The number of smaller inputs that are tried at most."""
_POWERS = (2.0**31, -(2.0**31), 2.0**63, -(2.0**63), 2.0**24 + 2, 1e-45, 0.5, -0.5, 2.5)


@dataclass(slots=True)
class Found:
    """The outcome of a search. `inputs`: those on which the runtimes part, or None; `way`: how they were drawn;
    `number`: their position among `tried`; `left_out`: inputs that irexec does not accept. `failure`: the other
    runtime's error for these inputs.
    """

    tried: int = 0
    left_out: int = 0
    inputs: list[Array] | None = None
    number: int = 0
    way: str = ""
    names: Sequence[str] = field(default_factory=list)

    def text(self) -> str:
        """Return the outcome in a sentence."""
        out = f"; irexec does not accept {self.left_out} of them" if self.left_out else ""
        if self.inputs is None:
            return f"none of {self.tried} inputs parts the runtimes{out}"
        values = ", ".join(f"{name} = {shown(array, 60)}" for name, array in zip(self.names, self.inputs, strict=True))
        return f"input {self.number} ({self.way}) parts the runtimes; the smallest such input: {values}"


class Search:
    """Draws inputs of a model and compares two runtimes on them. `fixed`: the names of inputs that stay.

    `base`: inputs that irexec accepts. The other runtime is loaded once; only inputs whose results differ are compared
    layer by layer.
    """

    def __init__(
        self,
        model: Model,
        base: Sequence[Array],
        runtime: Runtime,
        *,
        seed: int = 0,
        fixed: Collection[str] = (),
        bounds: Bounds | None = None,
    ) -> None:
        self._model, self._base, self._runtime, self._bounds = model, list(base), runtime, bounds
        self._seed, self._loaded = seed, runtime.load(model)
        self._names = [port_name(port) for port in model.inputs]
        self._open = [number for number, name in enumerate(self._names) if name not in fixed]

    def run(self, count: int, progress: Progress = lambda done, total: None) -> Found:
        """Try `count` inputs until the runtimes part. Raises CannotRun if the other runtime cannot run the model."""
        found = Found(names=self._names)
        for number in range(count):
            progress(number, count)
            rng = np.random.default_rng([self._seed, number])
            way = _WAYS[number % len(_WAYS)]
            inputs = self._drawn(rng, way, number)
            found.tried += 1
            parts = self._parts(inputs)
            if parts is None:
                found.left_out += 1
            elif parts:
                found.number, found.way, found.inputs = number + 1, way, self._smallest(inputs)
                break
        return found

    def _drawn(self, rng: np.random.Generator, way: str, number: int) -> list[Array]:
        """Return inputs: all that are open, or one of them, drawn in this way."""
        inputs = self._others(number) if number >= len(_WAYS) else list(self._base)
        chosen = self._open if rng.random() < 0.6 else [int(rng.choice(self._open))] if self._open else []
        for place in chosen:
            kind = self._model.inputs[place].element_type
            if kind is not STRING and kind is not BOOLEAN and not kind.is_packed:
                inputs[place] = _drawn(rng, kind, inputs[place].shape, way)
        return self._with_one(rng, inputs) if rng.random() < _ONE else inputs

    def _others(self, number: int) -> list[Array]:
        """Return other typical inputs of the same shapes, if there are any."""
        findings = Findings()
        shapes = {self._names[place]: self._base[place].shape for place in self._open}
        fixed = {name: self._base[n] for n, name in enumerate(self._names) if n not in self._open}
        given = Given(inputs=fixed, shapes=shapes, seed=self._seed + number, typical=True)
        arrays = [entry.array for entry in complete(self._model, given, findings) if entry.array is not None]
        return arrays if findings.report.ok and len(arrays) == len(self._base) else list(self._base)

    def _with_one(self, rng: np.random.Generator, inputs: list[Array]) -> list[Array]:
        """Return inputs in which an open dimension, and those with the same extent, have one element."""
        pairs = zip(self._model.inputs, inputs, strict=True)
        extents = {array.shape[axis] for port, array in pairs for axis in _open_axes(port, array)} - {0, 1}
        return _cut(self._model, inputs, int(rng.choice(sorted(extents)))) if extents else inputs

    def _parts(self, inputs: Sequence[Array]) -> bool | None:
        """Return whether the runtimes part; None if irexec does not accept the inputs."""
        reference = Reference(self._model, [list(inputs)])
        try:
            ours = reference.results()
        except IRError:
            return None
        try:
            (theirs,) = self._loaded.results(reference.steps)
        except CannotRun:
            return True
        errors = [measure(a, b) for a, b in zip(ours[0], theirs, strict=True)]
        if all(not error if self._bounds is not None else error.is_rounding(FUSED) for error in errors):
            return False
        return not compare(reference, self._runtime, bounds=self._bounds).agrees

    def _smallest(self, inputs: list[Array]) -> list[Array]:
        """Return inputs with as few elements other than 0 or 1 as possible, on which the runtimes still part."""
        left = [_TRIALS]

        def parts(candidate: Sequence[Array]) -> bool:
            left[0] -= 1
            return left[0] >= 0 and bool(self._parts(candidate))

        for extent in sorted({e for array in inputs for e in array.shape} - {0, 1}):
            candidate = _cut(self._model, inputs, extent)
            if any(a is not b for a, b in zip(candidate, inputs, strict=True)) and parts(candidate):
                inputs = candidate
        for plain in (0, 1):
            places = [(number, index) for number in self._open for index in _other(inputs[number], plain)]
            make = partial(_only, inputs, self._open, plain)
            if not places or not parts(make(places)):
                continue
            kept = fewest(places, partial(_fails, parts, make))
            inputs = make(kept)
            if len(kept) < len(places):
                break
        return inputs


def _fails(
    parts: Callable[[list[Array]], bool], make: Callable[[Places], list[Array]], kept: list[tuple[int, int]]
) -> bool:
    return parts(make(kept))


def _drawn(rng: np.random.Generator, kind: ElementType, shape: tuple[int, ...], way: str) -> Array:
    count = math.prod(shape)
    if way == _ZEROS:
        zeros = np.where(rng.random(count) < 0.5, -0.0, 0.0) if kind.is_real else np.zeros(count)
        return zeros.reshape(shape).astype(kind.dtype)
    if way != _LIMITS:
        return draw_values(rng, kind, shape, way)
    if kind.is_integral_number:
        low, high = _bounds(kind)
        choices = [low, high, low + 1, high - 1, 0, 1, *(2**b for b in (24, 31, 32) if 2**b <= high)]
        return np.array(choices, object)[rng.integers(0, len(choices), count)].astype(kind.dtype).reshape(shape)
    with np.errstate(all="ignore"):
        return rng.choice(_POWERS, count).reshape(shape).astype(np.float32).astype(kind.dtype)


def _bounds(kind: ElementType) -> tuple[int, int]:
    bits = kind.bitwidth
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if kind.kind == "i" else (0, 2**bits - 1)


def _cut(model: Model, inputs: Sequence[Array], extent: int) -> list[Array]:
    """Return inputs whose open dimensions of this extent have one element."""
    found = []
    for port, array in zip(model.inputs, inputs, strict=True):
        axes = [axis for axis in _open_axes(port, array) if array.shape[axis] == extent]
        cut = tuple(slice(0, 1) if axis in axes else slice(None) for axis in range(array.ndim))
        found.append(array[cut] if axes else array)
    return found


def _open_axes(port: Value, array: Array) -> list[int]:
    shape = port.type.shape
    return [axis for axis in range(array.ndim) if shape.rank is None or not shape.dims[axis].is_static]


def _other(array: Array, plain: int) -> list[int]:
    """Return the positions of the elements that are not `plain`; the sign of a zero counts."""
    if array.dtype.kind in "TUO":
        return []
    flat, same = array.reshape(-1), np.asarray(plain).astype(array.dtype)
    return [i for i, value in enumerate(flat) if value.tobytes() != same.tobytes()]


def _only(inputs: Sequence[Array], among: Collection[int], plain: int, kept: Places) -> list[Array]:
    """Return inputs in which all elements of `among` but those in these places are `plain`."""
    found = []
    for number, array in enumerate(inputs):
        if number not in among or array.dtype.kind in "TUO":
            found.append(array)
            continue
        made = np.full(array.shape, np.asarray(plain).astype(array.dtype))
        places = [index for at, index in kept if at == number]
        made.reshape(-1)[places] = array.reshape(-1)[places]
        found.append(made)
    return found
