"""The values of a case's inputs, drawn from its seed so that they reveal errors of a kernel."""

from __future__ import annotations

import math
import zlib

import numpy as np

from irexec.core.types import BOOLEAN, STRING, Array, ElementType, PartialShape, TensorType
from irexec.model.arrays.draw import draw_for
from irexec.ops.spec.operator import Operator
from irexec.tools.conformance.names import CaseName, Port

PROFILES = ("plain", "edges", "ties", "large", "tails", "tiny", "far", "sparse", "wide", "beyond", "denormal", "pixels")
"""plain: numbers of both signs and several magnitudes; edges: infinities, signed zeros, halves; ties: few different
values; large: integers above 2**24, floats of large magnitude; tails: small and large magnitudes; tiny: magnitudes from
2**-60 to 2**-8; far: magnitudes from 2 to 120; sparse: few infinities and NaN; wide: integers above 2**24 beside small
ones; beyond: numbers that a signed integer of 32 bits cannot hold; denormal: numbers below the normal range, infinities
and NaN; pixels: numbers from 0 to 255."""

_EDGES = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, math.inf, -math.inf, math.nan, 3.0, -7.0, 1e-30, 65504.0)
_DENORMAL = (1e-40, -1e-42, 1e-45, 1e-6, -3e-7, 0.0, math.inf, -math.inf, math.nan, 3e38)


def draw_inputs(name: CaseName, operator: Operator, attributes: dict[str, object], call: int) -> list[Array | None]:
    """Return the arrays of all inputs in a call. Constants have the values of the first call."""
    types: dict[str, TensorType] = {}
    for port in name.ports:
        if port is not None:
            types[port.name] = TensorType(port.kind, PartialShape(list(port.shape(0 if port.constant else call))))
    found: list[Array | None] = []
    for number, port in enumerate(name.ports):
        if port is None:
            found.append(None)
            continue
        shape = port.shape(0 if port.constant else call)
        at = zlib.crc32(f"{port.name}:{number}".encode())
        rng = np.random.default_rng([name.seed, at, 0 if port.constant else call])
        array = None if port.values is None else given(port, shape, call)
        if array is None:
            array = draw_for(rng, operator, port.name, types, attributes)
            if array is not None and array.dtype != port.kind.dtype:
                array = array.astype(port.kind.dtype)
        if array is None or array.shape != shape:
            # A NaN in a kernel is also multiplied with padding, which runtimes omit.
            # Only images have pixels: positions and sizes are other inputs.
            mixed = number and (
                name.data == "sparse"
                or (name.data == "wide" and rng.random() < 0.6)
                or (name.data == "pixels" and not _is_alike(operator, number))
            )
            profile = "plain" if mixed else name.data
            array = draw_values(rng, port.kind, shape, profile)
        types[port.name] = TensorType(port.kind, PartialShape(list(shape)), array)
        found.append(array)
    last = name.ports[-1] if name.ports else None
    drawn = last is not None and last.values is None and last.name not in operator.oracle.generators
    if last is not None and drawn and last.kind.is_integral_number:
        found[-1] = _with_result(operator, found, attributes)
    return found


def _is_alike(operator: Operator, number: int) -> bool:
    """Return whether an input always has the element type of the first input."""
    first, own = (operator.signature.input(place).elements for place in (0, number))
    return bool(own.name) and own.name == first.name


def _with_result(operator: Operator, inputs: list[Array | None], attributes: dict[str, object]) -> Array | None:
    """Return the last input without zeros, or without negative numbers, if the operator has no result for them."""
    array = inputs[-1]
    if array is None or any(given is None for given in inputs):
        return array
    settings = {a.name: attributes.get(a.name, a.default) for a in operator.attributes}
    ways = (array, np.where(array == 0, 1, array), np.abs(array))
    changed = [way.astype(array.dtype) for way in ways]
    return next(
        (way for way in changed if operator.oracle.undefined(*inputs[:-1], way, **settings) != "no result"), array
    )


def given(port: Port, shape: tuple[int, ...], call: int = 0) -> Array:
    """Return the values that a name states."""
    texts = port.second if call and port.second is not None and not port.constant else port.values
    assert texts is not None
    if port.kind is STRING:
        return np.array(texts, np.dtypes.StringDType()).reshape(shape)
    dtype = port.kind.dtype
    numbers = [float(v) if "." in v or "n" in v or "e" in v else int(v) for v in texts]
    if len(numbers) != math.prod(shape):
        raise ValueError(f"{port.name} has {len(numbers)} values, expected {math.prod(shape)} for shape {list(shape)}")
    with np.errstate(all="ignore"):
        return np.array(numbers).reshape(shape).astype(dtype)


def draw_values(rng: np.random.Generator, kind: ElementType, shape: tuple[int, ...], profile: str) -> Array:
    """Return values of an element type."""
    count = math.prod(shape)
    if kind is BOOLEAN:
        return rng.integers(0, 2, shape).astype(np.bool_)
    if kind is STRING:
        words = np.array(["", "a", "bc", "déf", "ghij", "the quick"], dtype=np.dtypes.StringDType())
        return words[rng.integers(0, len(words), shape)]
    if kind.is_integral_number:
        return _integers(rng, kind, shape, profile)
    if kind.is_carried:
        return rng.integers(0, 1 << kind.bitwidth, shape).astype(np.uint8)
    values = rng.standard_normal(count) * rng.choice([0.5, 1.0, 4.0], count)
    if profile == "ties":
        values = rng.integers(-2, 3, count) * 0.5
    elif profile == "tails":
        values = values * np.exp2(rng.integers(-12, 8, count))
    elif profile == "tiny":
        values = rng.choice((-1.0, 1.0), count) * np.exp2(rng.uniform(-60.0, -8.0, count))
    elif profile == "large":
        values = values * 100.0
    elif profile == "beyond":
        values = np.where(rng.random(count) < 0.5, values * np.exp2(rng.integers(24, 40, count)), values)
    elif profile == "far":
        values = rng.choice((-1.0, 1.0), count) * np.exp2(rng.uniform(0.0, 7.0, count))
    elif profile == "sparse":
        values = np.where(rng.random(count) < 0.04, rng.choice((math.inf, -math.inf, math.nan), count), values)
    elif profile == "edges":
        values = np.where(rng.random(count) < 0.6, rng.choice(_EDGES, count), values)
    elif profile == "pixels":
        values = rng.uniform(0.0, 255.0, count)
    elif profile == "denormal":
        values = np.where(rng.random(count) < 0.6, rng.choice(_DENORMAL, count), values)
    with np.errstate(all="ignore"):
        return np.asarray(values.astype(np.float32).reshape(shape), kind.dtype)


def _integers(rng: np.random.Generator, kind: ElementType, shape: tuple[int, ...], profile: str) -> Array:
    signed = kind.kind == "i"
    top = 2 ** (kind.bitwidth - signed)
    if profile == "ties":
        return rng.integers(0, min(3, top), shape).astype(kind.dtype)
    if profile == "wide" and kind.bitwidth >= 32:
        small = rng.integers(-9 if signed else 1, 10, shape)
        big = rng.integers(2**24, 2**27, shape) * (rng.choice((-1, 1), shape) if signed else 1)
        return np.where(rng.random(shape) < 0.7, big, small).astype(kind.dtype)
    if profile == "beyond" and kind.bitwidth >= 32:
        small = rng.integers(0, 10, shape)
        big = rng.integers(2**31, 2 ** (kind.bitwidth if kind.bitwidth == 32 else 40), shape)
        big = big * (rng.choice((-1, 1), shape) if signed and kind.bitwidth > 32 else 1)
        return np.where(rng.random(shape) < 0.6, big, small).astype(kind.dtype)
    if profile == "pixels":
        return rng.integers(0, min(256, top), shape).astype(kind.dtype)
    if profile in ("large", "edges"):
        # CPU plugins keep 32 of 64 bits, which is a property of the device and not of an operator.
        high = min(top, 2**30)
        low = -high if signed else 0
        return rng.integers(low, high, shape).astype(kind.dtype)
    low = -min(9, top) if signed else 0
    return rng.integers(low, min(10, top), shape).astype(kind.dtype)
