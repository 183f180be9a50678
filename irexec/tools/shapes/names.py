"""Symbols: readable names of dynamic dimensions, shared by dimensions that are always equal."""

from __future__ import annotations

import re
from collections.abc import Sequence

from irexec.model.graph.ports import port_name
from irexec.tools.shapes.declared import declared_name
from irexec.tools.shapes.probe import OpenDim, Prober, Sizes


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
