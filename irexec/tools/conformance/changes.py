"""Changes of drafts: other attributes, extents, ranks, element types, values and numbers of inputs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, get_args, get_origin

import numpy as np

from irexec.core.types import BF16, BOOLEAN, CONTAINERS, F16, F32, F64, FOREIGN, I8, I32, I64, STRING, U8, ElementType
from irexec.ops.spec.attributes import Attribute, base_type
from irexec.tools.conformance.draft import MOST_ELEMENTS, Draft, DraftPort, draft_of, integers
from irexec.tools.conformance.seeds import calls_of

SMALL = (1, 2, 3, 4, 5, 7, 8, 9)
HUGE = (255, 256, 257, 512, 1025)
LARGE = (15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 180)
_OTHER_NAMES = frozenset({("SearchSorted", "right")})
"""Attributes that have another name in OpenVINO's files than on the operator's page."""
_FLOATS = ("0", "0.5", "1", "-1", "2", "0.1", "1.5", "-0.25", "10", "1e-6")
_SPECIAL = ("2", "3", "1", "0", "-1", "-2", "64", "9e8")
"""Numbers that runtimes compute with other code, such as powers by repeated multiplication."""
_COMMON = (F32, F32, F32, F16, BF16, I32, I64, I8, U8, BOOLEAN, F64)
_BEYOND = 0.05
"""The share of changes of a 64-bit value that make it too large for 32 bits."""
_I64_END = 2**63 - 1
Change = Callable[[np.random.Generator, Draft], None]


def pick(rng: np.random.Generator, items: Any) -> Any:
    """Return one of some items."""
    return items[int(rng.integers(len(items)))]


def extent(rng: np.random.Generator) -> int:
    """Return an extent: mostly small, sometimes around the sizes of vectors and tiles, seldom 0."""
    draw = rng.random()
    return 0 if draw < 0.03 else pick(rng, LARGE) if draw < 0.3 else pick(rng, SMALL)


def change_attribute(rng: np.random.Generator, draft: Draft) -> None:
    """Change one attribute, or several."""
    attributes = [a for a in draft.operator.attributes if (draft.operator.type, a.file_name) not in _OTHER_NAMES]
    if not attributes:
        return
    count = min(len(attributes), int(pick(rng, (1, 1, 1, 2, 3, 8))))
    for place in rng.choice(len(attributes), count, replace=False):
        attribute = attributes[int(place)]
        text = _other_value(rng, attribute, draft.attributes.get(attribute.file_name))
        if text is not None:
            draft.attributes[attribute.file_name] = text


def leave_out_attribute(rng: np.random.Generator, draft: Draft) -> None:
    """Leave an attribute at its default."""
    optional = [a.file_name for a in draft.operator.attributes if not a.required and a.file_name in draft.attributes]
    if optional:
        del draft.attributes[pick(rng, optional)]


def _other_value(rng: np.random.Generator, attribute: Attribute, now: str | None) -> str | None:
    base = base_type(attribute.annotation)
    if base is bool:
        return str(pick(rng, ("true", "false")))
    if attribute.members:
        return str(pick(rng, attribute.members))
    if base is int:
        near = int(now) if now is not None and now.lstrip("-").isdigit() else 0
        return str(pick(rng, (near + 1, near - 1, 0, 1, 2, 3, -1, -2, extent(rng))))
    if base is float:
        return str(pick(rng, _FLOATS))
    if base is ElementType:
        return str(pick(rng, ("i32", "i64", "f32", "f16", "u8", "i8", "boolean", "bf16")))
    if base is str or now is None:
        return None
    if words := _words(attribute):
        names = [part.strip() for part in now.split(",") if part.strip()] or [pick(rng, words)]
        names[int(rng.integers(len(names)))] = pick(rng, words)
        return ",".join(names)
    items = list(integers(now))
    if attribute.name.endswith("mask"):
        return ",".join(map(str, rng.integers(0, 2, len(items) or int(rng.integers(1, 4)))))
    if not items:
        return None
    if (draw := rng.random()) < 0.3:
        return ",".join([str(pick(rng, (0, 1, 2, 3)))] * len(items))
    if draw < 0.55:
        return ",".join(str(pick(rng, (0, 1, 1, 2, 3))) for _ in items)
    at = int(rng.integers(len(items)))
    items[at] = max(-4, items[at] + int(pick(rng, (-1, 1, 2))))
    return ",".join(map(str, items))


def _words(attribute: Attribute) -> tuple[str, ...]:
    """Return the words allowed in an attribute that is a list, such as the activations of a recurrent cell."""
    base = base_type(attribute.annotation)
    items = get_args(base) if get_origin(base) is tuple else ()
    word = base_type(items[0]) if items else None
    return get_args(word) if get_origin(word) is Literal else ()


def enlarge(rng: np.random.Generator, draft: Draft) -> None:
    """Give one extent a size for which runtimes use different code, such as several blocks or threads."""
    rename_extent(rng, draft, int(pick(rng, HUGE)))


def rename_extent(rng: np.random.Generator, draft: Draft, new: int | None = None) -> None:
    """Give one extent another size wherever it or a multiple of it occurs, or in one input only."""
    extents = sorted({n for port in draft.given for n in port.shape})
    if not extents:
        return
    old = pick(rng, extents)
    new = extent(rng) if new is None else new
    how = rng.random()
    if how < 0.25:
        port = pick(rng, [p for p in draft.given if old in p.shape])
        place = pick(rng, [i for i, n in enumerate(port.shape) if n == old])
        reshape(port, tuple(new if i == place else n for i, n in enumerate(port.shape)))
        return
    multiples = how < 0.6 and old > 1

    def renamed(n: int) -> int:
        if n == old:
            return new
        return n // old * new if multiples and n and n % old == 0 else n

    for port in draft.given:
        reshape(port, tuple(map(renamed, port.shape)))
    if multiples:
        for name, text in draft.attributes.items():
            if text == str(old):
                draft.attributes[name] = str(new)


def reshape(port: DraftPort, shape: tuple[int, ...]) -> None:
    """Set the shape; values are repeated or cut to fit, unless the shape is too large for a case."""
    count = math.prod(shape)
    if shape != port.shape and port.values is not None and count <= MOST_ELEMENTS:
        own = port.values or (0,)
        port.values = tuple(own[i % len(own)] for i in range(count))
    port.shape = shape


def change_rank(rng: np.random.Generator, draft: Draft) -> None:
    """Insert an axis into all inputs of the highest rank, or remove one."""
    if not draft.given:
        return
    highest = max(len(port.shape) for port in draft.given)
    chosen = [port for port in draft.given if len(port.shape) == highest]
    if rng.random() < 0.3:
        chosen = [pick(rng, draft.given)]
    place, grow, size = int(rng.integers(highest + 1)), rng.random() < 0.65, extent(rng)
    for port in chosen:
        at = min(place, len(port.shape))
        if grow:
            reshape(port, (*port.shape[:at], size, *port.shape[at:]))
        elif port.shape:
            at = min(at, len(port.shape) - 1)
            reshape(port, (*port.shape[:at], *port.shape[at + 1 :]))


def change_type(rng: np.random.Generator, draft: Draft) -> None:
    """Give the inputs of one type variable another element type."""
    signature = draft.operator.signature
    index = int(rng.integers(len(draft.ports))) if draft.ports else 0
    if not draft.ports or draft.ports[index] is None:
        return
    elements = signature.input(index).elements
    allowed = [t for t in _COMMON if t in elements.types] or sorted(_whole(elements.types), key=str)
    if rng.random() < 0.15:
        allowed = sorted(_whole(elements.types), key=str)
    new = pick(rng, allowed)
    for number, port in enumerate(draft.ports):
        own = signature.input(number).elements
        if (
            port is None
            or STRING in (new, port.kind)
            or not (number == index or (own.name and own.name == elements.name))
        ):
            continue
        if new in own.types:
            port.kind = new
            if port.values is not None and new.is_integral_number:
                port.values = tuple(int(v) for v in port.values)


def _whole(types: frozenset[ElementType]) -> list[ElementType]:
    """Return the types that inputs and results of runtimes may have: not packed, and known to OpenVINO."""
    return [t for t in types - FOREIGN - CONTAINERS if not t.is_packed] or list(types)


def change_value(rng: np.random.Generator, draft: Draft) -> None:
    """Change one of the values that an input states."""
    stated = [port for port in draft.given if port.values and port.kind is not STRING]
    if not stated:
        return
    change_values(rng, draft, pick(rng, stated))


def change_values(rng: np.random.Generator, draft: Draft, port: DraftPort) -> None:
    """Change one of the values that this input states, or their order."""
    if not port.values or port.kind is STRING:
        return
    values = list(port.values)
    at = int(rng.integers(len(values)))
    if port.kind.is_real:
        values[at] = float(pick(rng, _FLOATS))
    elif rng.random() < 0.2:
        ranks = [len(p.shape) for p in draft.given]
        values[at] = int(pick(rng, (0, -1, 1, max(ranks) - 1, -max(ranks))))
    elif rng.random() < 0.1:
        values = list(rng.permutation(values).tolist())
    elif rng.random() < _BEYOND and port.kind.bitwidth == 64:
        values[at] = int(values[at] + pick(rng, (2**31, 2**32, 2**33)))
    else:
        values[at] = int(values[at] + pick(rng, (-1, 1, -2, 2)))
    if port.kind.kind == "u" or port.kind is BOOLEAN:
        values = [abs(v) for v in values]
    port.values = tuple(min(v, _I64_END) if port.kind.bitwidth == 64 and port.kind.is_integral else v for v in values)


def change_length(rng: np.random.Generator, draft: Draft) -> None:
    """Add a value to the inputs that state as many integers as one of them, or remove one, or all."""
    stated = [p for p in draft.given if p.values and len(p.shape) == 1 and p.kind.is_integral_number]
    if not stated:
        return
    count = stated[int(rng.integers(len(stated)))].shape[0]
    new = pick(rng, (0, count - 1, count + 1))
    for port in stated:
        if port.shape[0] == count:
            values = (port.values or ()) + (int(pick(rng, SMALL)),)
            port.values, port.shape = values[:new], (new,)


def scale_values(rng: np.random.Generator, draft: Draft) -> None:
    """Multiply all stated 64-bit values, so that 32 bits cannot hold the larger ones."""
    factor = int(pick(rng, (2**29, 2**31, 2**33)))
    for port in draft.given:
        if port.values and port.kind.is_integral_number and port.kind.bitwidth == 64:
            port.values = tuple(min(int(v) * factor, _I64_END) for v in port.values)


def state_scalar(rng: np.random.Generator, draft: Draft) -> None:
    """Give all elements of an input one stated value, such as a neutral element: runtimes have special code for 0, 1
    and 2."""
    ports = [
        p
        for p in draft.given[1:]
        if p.kind.is_real and p.values is None and p.name not in draft.operator.oracle.generators
    ]
    if ports:
        port = pick(rng, ports)
        port.shape = pick(rng, ((), (1,), (1,) * len(draft.given[0].shape)))
        port.values = (float(pick(rng, (*_FLOATS, *_SPECIAL))),)


def draw_instead(rng: np.random.Generator, draft: Draft) -> None:
    """Let the seed determine the values of an input that has a generator, instead of stating them."""
    stated = [p for p in draft.given if p.values is not None and p.name in draft.operator.oracle.generators]
    if stated:
        pick(rng, stated).values = None


def leave_out_input(rng: np.random.Generator, draft: Draft) -> None:
    """Omit the last input if it is optional, or one input of a variadic list."""
    if draft.ports and len(draft.ports) > draft.operator.signature.min_inputs:
        draft.ports.pop()


def add_input(rng: np.random.Generator, draft: Draft) -> None:
    """Add inputs to a variadic list, or the next optional input, copied from a longer call of the operator."""
    signature = draft.operator.signature
    if not signature.is_variadic:
        longer = [line for line in calls_of()[str(draft.operator)] if len(line[1]) > len(draft.ports)]
        if longer:
            draft.ports.append(draft_of(draft.operator, pick(rng, longer)).ports[len(draft.ports)])
        return
    if not draft.ports or draft.ports[-1] is None:
        return
    for _ in range(int(pick(rng, (1, 1, 2, 3)))):
        last = draft.ports[-1]
        draft.ports.append(DraftPort(signature.port_name(len(draft.ports)), last.kind, last.shape, last.values))


CHANGES: tuple[tuple[Change, float], ...] = (
    (change_attribute, 7.0),
    (leave_out_attribute, 1.5),
    (rename_extent, 5.0),
    (change_rank, 2.0),
    (change_type, 2.5),
    (change_value, 3.0),
    (change_length, 1.0),
    (draw_instead, 0.7),
    (state_scalar, 1.0),
    (scale_values, 0.3),
    (leave_out_input, 0.7),
    (add_input, 0.7),
)
WEIGHTS = np.array([weight for _, weight in CHANGES]) / sum(weight for _, weight in CHANGES)


def changed(rng: np.random.Generator, draft: Draft, steps: int, *, types: bool = True) -> Draft:
    """Return the draft after some changes, without those that would make it illegal.

    `types`: often begin with one or two changes of the element types.
    """
    first = [change_type] * int(rng.choice((0, 0, 1, 2))) if types else []
    chosen = [CHANGES[int(number)][0] for number in rng.choice(len(CHANGES), steps, p=WEIGHTS)]
    for change in (*first, *chosen):
        trial = draft.copy()
        change(rng, trial)
        found = trial if trial.is_legal() else repaired(rng, trial) if change in _REPAIRED else None
        draft = draft if found is None else found
    return draft


def repaired(rng: np.random.Generator, draft: Draft) -> Draft | None:
    """Return the draft made legal by one or two further changes of shapes or values, which an attribute often requires;
    None if none of the tried changes does.
    """
    for _ in range(_REPAIRS):
        trial = draft.copy()
        for _ in range(int(pick(rng, (1, 1, 2)))):
            pick(rng, (swap_axes, swap_axes, rename_extent, change_rank, one_extent, change_value))(rng, trial)
        if trial.is_legal():
            return trial
    return None


def swap_axes(rng: np.random.Generator, draft: Draft) -> None:
    """Exchange two axes of one input."""
    ports = [port for port in draft.given if len(port.shape) > 1]
    if ports:
        port = pick(rng, ports)
        i, j = rng.choice(len(port.shape), 2, replace=False)
        shape = list(port.shape)
        shape[i], shape[j] = shape[j], shape[i]
        reshape(port, tuple(shape))


def one_extent(rng: np.random.Generator, draft: Draft) -> None:
    """Give one axis of an input the extent of another axis."""
    ports = [port for port in draft.given if port.shape]
    if ports:
        port = pick(rng, ports)
        at, new = int(rng.integers(len(port.shape))), pick(rng, [n for p in ports for n in p.shape])
        reshape(port, tuple(new if i == at else n for i, n in enumerate(port.shape)))


_REPAIRED = frozenset({change_attribute, leave_out_attribute, change_rank, rename_extent, change_value, add_input})
_REPAIRS = 4
