"""Calls of operators with hostile arguments, made from the legal calls in calls.py, as a fuzzer or a broken exporter
would pass them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from irexec.core.types import ElementType
from support.calls import Call

INTEGERS = [0, 1, -1, 2, 3, 7, -2, 64, 65, 1 << 31, -(1 << 31), 1 << 40, -(1 << 40), (1 << 63) - 1, -(1 << 63)]
FLOATS = [0.0, -0.0, -1.0, 0.5, 1e-45, 1e-30, 1e10, -1e10, 3e38, 1e300, -1e300, np.inf, -np.inf, np.nan]
TYPES = [t for t in ElementType.by_name.values() if t.dtype is not None and not t.is_carried]
DTYPES = {t.dtype for t in TYPES}
OBJECTS: list[Any] = [
    [[1, 2], [3]], "abc", {}, 10**400, -(10**30), 1j, object(), b"x", [None], float("nan"), True, [], [[]],
    np.zeros(3, "M8[s]"), np.zeros(3, [("a", "f4")]), np.array([1, "x"], object), np.ma.masked_array([1, 2], [0, 1]),
    np.array([1, 2], np.longdouble), np.float32(1), np.array("text"),
]  # fmt: skip

Rng = np.random.Generator
Mutation = Callable[[Rng, list[Any], dict[str, Any]], None]


def pick(rng: Rng, choices: Any) -> Any:
    return choices[int(rng.integers(len(choices)))]


def _an_array(rng: Rng, arrays: list[Any]) -> int | None:
    places = [i for i, a in enumerate(arrays) if type(a) is np.ndarray and a.dtype in DTYPES]
    return pick(rng, places) if places else None


def other_rank(rng: Rng, arrays: list[Any], attributes: dict[str, Any]) -> None:
    i = _an_array(rng, arrays)
    if i is None:
        return
    a = arrays[i]
    ways: list[Callable[[], Any]] = [
        lambda: a[None],
        lambda: a[..., None],
        lambda: a.reshape(-1),
        lambda: a[0] if a.ndim and len(a) else a,
        lambda: a.T,
        lambda: a.reshape(-1)[:1].reshape(()) if a.size else a,
        lambda: a.reshape((1,) * int(rng.integers(1, 60)) + a.shape) if a.ndim < 5 else a,
    ]
    arrays[i] = np.asarray(pick(rng, ways)())


def other_extent(rng: Rng, arrays: list[Any], attributes: dict[str, Any]) -> None:
    i = _an_array(rng, arrays)
    if i is None or not arrays[i].ndim:
        return
    a, axis = arrays[i], int(rng.integers(arrays[i].ndim))
    n = pick(rng, [0, 0, 1, a.shape[axis] + 1, 2 * a.shape[axis], max(a.shape[axis] - 1, 0)])
    if a.shape[axis] and a.size // a.shape[axis] * n < 1 << 16:
        arrays[i] = np.take(a, np.arange(n) % a.shape[axis], axis)


def hostile_values(rng: Rng, arrays: list[Any], attributes: dict[str, Any]) -> None:
    i = _an_array(rng, arrays)
    if i is None or not arrays[i].size or arrays[i].dtype.kind not in "iufbV":
        return
    a = arrays[i] = arrays[i].copy()
    kind = ElementType.of(a.dtype)
    values: Any = INTEGERS if kind.is_integral_number else FLOATS
    if kind.is_integral_number:
        limits = ml_dtypes.iinfo(a.dtype)
        values = [v for v in values if limits.min <= v <= limits.max] + [int(limits.min), int(limits.max)]
    count = pick(rng, [1, 1, 2, a.size])
    where = rng.integers(0, a.size, count)
    with np.errstate(all="ignore"):
        a.reshape(-1)[where] = np.array([pick(rng, values) for _ in range(count)]).astype(a.dtype)


def other_type(rng: Rng, arrays: list[Any], attributes: dict[str, Any]) -> None:
    i = _an_array(rng, arrays)
    kind = pick(rng, TYPES)
    if i is None or arrays[i].dtype.kind in "TUO":
        return
    with np.errstate(all="ignore"):
        plain = arrays[i].astype(np.float64)
        arrays[i] = plain.astype("U").astype(kind.dtype) if kind.name == "string" else plain.astype(kind.dtype)


def other_layout(rng: Rng, arrays: list[Any], attributes: dict[str, Any]) -> None:
    i = _an_array(rng, arrays)
    if i is None:
        return
    a = arrays[i]
    swapped = a.dtype.kind in "iuf" and a.dtype.isbuiltin == 1
    ways: list[Callable[[], Any]] = [
        lambda: np.asfortranarray(a),
        lambda: np.repeat(a, 2, axis=-1)[..., ::2] if a.ndim else a,
        lambda: a[::-1].copy()[::-1] if a.ndim else a,
        lambda: np.broadcast_to(a[:1], a.shape) if a.ndim else a,
        lambda: np.broadcast_to(a.reshape(-1)[0], a.shape) if a.size else a,
        lambda: a.astype(a.dtype.newbyteorder(">")) if swapped else a,
        lambda: np.frombuffer(b"\0" + a.tobytes(), a.dtype, a.size, 1).reshape(a.shape) if swapped else a,
    ]
    arrays[i] = pick(rng, ways)()
    if rng.integers(2) and isinstance(arrays[i], np.ndarray) and arrays[i].flags.writeable:
        arrays[i] = arrays[i].view()
        arrays[i].flags.writeable = False


def no_array(rng: Rng, arrays: list[Any], attributes: dict[str, Any]) -> None:
    i = int(rng.integers(len(arrays) + 1))
    value = pick(rng, OBJECTS)
    if i == len(arrays):
        arrays.append(value)
    elif rng.integers(4) == 0:
        del arrays[i]
    else:
        arrays[i] = pick(rng, [None, value])


def hostile_attribute(rng: Rng, arrays: list[Any], attributes: dict[str, Any]) -> None:
    if not attributes:
        return
    name = pick(rng, sorted(attributes))
    text = str(attributes[name])
    items = text.split(",")
    number = pick(rng, INTEGERS)
    changed = list(items)
    changed[int(rng.integers(len(items)))] = str(number)
    attributes[name] = pick(
        rng,
        [
            ",".join(changed),
            ",".join(changed),
            ",".join(map(str, [number] * len(items))),
            ",".join(items + items[:1]),
            ",".join(items[1:]),
            str(number),
            number,
            pick(rng, FLOATS),
            str(pick(rng, FLOATS)),
            pick(rng, OBJECTS),
            [number] * int(rng.integers(5)),
        ],
    )


def other_attribute(rng: Rng, arrays: list[Any], attributes: dict[str, Any]) -> None:
    if attributes and rng.integers(2):
        attributes.pop(pick(rng, sorted(attributes)))
    elif attributes and rng.integers(2):
        one, two = pick(rng, sorted(attributes)), pick(rng, sorted(attributes))
        attributes[one] = attributes[two]
    else:
        attributes["no_attribute"] = 1


MUTATIONS: list[Mutation] = [
    other_rank, other_extent, other_extent, hostile_values, hostile_values, hostile_values, other_type, other_layout,
    other_layout, hostile_attribute, hostile_attribute, hostile_attribute, other_attribute, no_array,
]  # fmt: skip


def hostile(rng: Rng, call: Call) -> Call:
    """Return the call with one to three errors or unusual values."""
    arrays: list[Any] = list(call.arrays)
    attributes = dict(call.attributes)
    for _ in range(int(rng.integers(1, 4))):
        pick(rng, MUTATIONS)(rng, arrays, attributes)
    return Call(call.operator, arrays, attributes)
