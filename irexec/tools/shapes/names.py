"""Symbols: readable names of dynamic dimensions, shared by dimensions that are equal in every case."""

from __future__ import annotations

import re
from collections.abc import Sequence

from irexec.model.graph.ports import port_name
from irexec.tools.shapes.case import Case
from irexec.tools.shapes.declared import declared_name
from irexec.tools.shapes.expressions import size_of
from irexec.tools.shapes.probe import OpenDim, Prober, Sizes


def equal_groups(cases: Sequence[Case], count: int) -> list[int]:
    """Return for each dimension the first dimension that it equals in every case."""
    groups = list(range(count))
    if not cases:
        return groups
    for later in range(count):
        for earlier in range(later):
            if groups[earlier] == earlier and all(_are_equal(case, earlier, later) for case in cases):
                groups[later] = earlier
                break
    return groups


def _are_equal(case: Case, one: int, other: int) -> bool:
    if case.following.get(other) == size_of(one):
        return True
    if one in case.broadcast or other in case.broadcast:
        return False
    if _single(case, one) is not None:
        return False
    left, right = _terms(case, one), _terms(case, other)
    return left is not None and left == right


def _single(case: Case, dim: int) -> int | None:
    accepted = case.choices.get(dim)
    return accepted.singles[0] if accepted is not None and accepted.is_single and accepted.singles else None


def _terms(case: Case, dim: int) -> tuple[tuple[tuple[int, int], ...], int] | None:
    if dim in case.choices:
        return ((1, dim),), 0
    linear = case.following.get(dim)
    return None if linear is None else (linear.terms, linear.constant)


def symbols(prober: Prober, groups: Sequence[int]) -> list[str]:
    """Return the symbol of each dimension."""
    found: list[str] = []
    for number, dim in enumerate(prober.dims):
        if groups[number] != number:
            found.append(found[groups[number]])
        else:
            found.append(_free_name(_name(prober, dim), found))
    return found


def _free_name(name: str, taken: Sequence[str]) -> str:
    if name not in taken:
        return name
    number = 2
    while f"{name}_{number}" in taken:
        number += 1
    return f"{name}_{number}"


_PLANES = {3: ("T",), 4: ("H", "W"), 5: ("D", "H", "W")}


def _name(prober: Prober, dim: OpenDim) -> str:
    """Return the usual name of an axis: batch, H and W of images, seq of tokens, past of a cache."""
    value = prober.model.inputs[dim.input]
    declared = declared_name(prober.model, prober.shapes[dim.input], dim.input, dim.axis)
    if declared is not None:
        return declared
    shape, rank = prober.shapes[dim.input], len(prober.shapes[dim.input])
    label = (port_name(value) or "").lower()
    if dim.axis == 0 and rank > 1:
        return "batch"
    if rank == 2 and value.element_type.is_integral_number:
        return "total" if "mask" in label else "seq"
    if rank == 4 and ("past" in label or "key" in label or "value" in label or "cache" in label):
        return "past" if dim.axis in (1, 2) and shape[3].is_static else f"dim_{dim.id.replace('.', '_')}"
    if rank in _PLANES and rank > 3:
        planes = _PLANES[rank]
        if dim.axis >= 2 and not (shape[rank - 1].is_static and shape[1].is_dynamic):
            return planes[dim.axis - 2]
        if shape[rank - 1].is_static and 1 <= dim.axis < rank - 1:
            return planes[dim.axis - 1]
    if rank == 3 and dim.axis in (1, 2):
        return "length" if shape[3 - dim.axis].is_static else ("rows", "columns")[dim.axis - 1]
    if rank <= 2 and re.fullmatch(r"[a-z]\w*", label):
        return f"{label}_{dim.axis}" if rank > 1 else label
    return f"dim_{dim.input}_{dim.axis}"


def assignment(prober: Prober, symbols: Sequence[str], sizes: Sizes) -> dict[str, int]:
    """Return sizes by symbol; a dimension that does not have the size of its symbol has its own entry."""
    found: dict[str, int] = {}
    for dim, name, size in zip(prober.dims, symbols, sizes, strict=True):
        if found.setdefault(name, size) != size:
            found[f"{name} of {port_name(prober.model.inputs[dim.input])}"] = size
    return found
