"""The nesting of IR elements: used by the tolerant reader to infer the positions of missing tags."""

from __future__ import annotations

from irexec.core.diagnostics.nearest import nearest
from irexec.ir.document import PORT_MAPS

MAPS, BODIES = zip(*PORT_MAPS, strict=True)
"""The elements of the bodies of a layer: their port maps and their nets."""
_SECTIONS = {"layers", "edges", "rt_info", "meta_data", "quantization_parameters", "pre-process", "statistics"}

CHILDREN: dict[str, frozenset[str]] = {
    "": frozenset({"net", "layers", "layer", "edges"}),
    "net": frozenset(_SECTIONS),
    **{body: frozenset(_SECTIONS) for body in BODIES},
    "layers": frozenset({"layer"}),
    "layer": frozenset({"data", "input", "output", "rt_info", "back_edges", *BODIES, *MAPS}),
    "input": frozenset({"port"}),
    "output": frozenset({"port"}),
    "port": frozenset({"dim", "rt_info"}),
    **{port_map: frozenset({"input", "output"}) for port_map in MAPS},
    "edges": frozenset({"edge"}),
    "back_edges": frozenset({"edge"}),
    "data": frozenset(),
    "dim": frozenset(),
    "edge": frozenset(),
}
"""Names of parents ("" for the text itself), with the names of the children that they may have."""

NAMES = frozenset(CHILDREN) - {""} | _SECTIONS
"""Every element name of the grammar."""

LAYER_ATTRIBUTES = ("id", "name", "type", "version", "output_names")
"""The attributes of `<layer>` itself; an operator's attributes belong in `<data>`."""


def is_free(name: str) -> bool:
    """Return True for an element whose content the grammar does not define: rt_info, meta_data, unknown elements."""
    return name not in CHILDREN


def spelt_like(name: str, candidates: frozenset[str]) -> str | None:
    """Return the candidate of which `name` is a misspelling: another letter case, or one or two letters wrong."""
    if name in candidates:
        return name
    return next(iter(nearest(name, sorted(candidates), 1, 0.75)), None)
