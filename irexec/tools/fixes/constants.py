"""Fixes of a constant whose attributes and port disagree: one of them is set to the value that the others determine."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from math import prod

from irexec.core.diagnostics import Diagnostic, Fix, Safety
from irexec.core.forms import I64, INT64_MAX, read_list
from irexec.core.structure import CONST
from irexec.core.types import STRING, ElementType
from irexec.ir.document import Layer
from irexec.ir.text import listed
from irexec.model.graph.build import declared_type
from irexec.tools.fixes import spelling
from irexec.tools.fixes.written import Written, number


def attribute(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """C003, C012: set the value that agrees with all other declarations; otherwise the most similar element type."""
    at, name = finding.at, finding.attribute
    layer, _ = written.layers.get(at.element, (None, None)) if at is not None else (None, None)
    if layer is None or name is None:
        return
    found = _Declared(layer)
    # If the size is smaller than the shape requires, either of them may be wrong.
    for other in ("size", "shape") if finding.code == "C003" else (name,):
        value = found.value_of(other)
        if value is None or value == layer.data.get(other) or not _is_apart(found, other, written):
            continue
        if (edit := written.set_attribute(layer.data_at, other, value)) is not None:
            yield Fix(f'write {other}="{value}"', Safety.SAFE, (edit,))
            return
    if finding.code == "C012":
        yield from spelling.element_type(finding, written)


class _Declared:
    """The attributes and the port's shape that a constant declares; a field is None if it cannot be read."""

    def __init__(self, layer: Layer) -> None:
        self.offset, self.size = number(layer.data.get("offset")), number(layer.data.get("size"))
        self.kind = ElementType.from_attribute(layer.data.get("element_type", ""))
        items = read_list(I64, layer.data.get("shape", "?")).value
        self.shape = None if items is None or min(items, default=0) < 0 else tuple(items)
        port = declared_type(layer.outputs[0]) if len(layer.outputs) == 1 else None
        self.declared_kind = None if port is None or port.element_type.is_dynamic else port.element_type
        # A port without dims may be a scalar or undeclared: the size decides.
        self.declared = port.shape.to_shape() if port is not None and port.shape.is_static else None
        if port is not None and not layer.outputs[0].dims:
            self.declared = ()

    def value_of(self, name: str) -> str | None:
        """Return the value of an attribute that follows from the others: the port's type or shape if they fit."""
        if name == "size":
            if self.kind in (self.declared_kind, None) and self.shape == self.declared:
                needed = _bytes(self.declared_kind, self.shape)
                return None if needed is None else str(needed)
            return None
        if name == "shape":
            agrees = self.size is not None and self.size == _bytes(self.kind, self.declared)
            return listed(self.declared or ()) if agrees else None
        if name == "element_type":
            agrees = self.size is not None and self.size == _bytes(self.declared_kind, self.shape)
            return self.declared_kind.name if agrees and self.declared_kind is not None else None
        return None


def _bytes(kind: ElementType | None, shape: tuple[int, ...] | None) -> int | None:
    """Return the number of bytes of a constant; None if it is unknown or depends on the contents."""
    if kind is None or kind is STRING or kind.is_dynamic or shape is None:
        return None
    count = prod(shape)
    return kind.nbytes(count) if count <= INT64_MAX >> 8 else None


def _is_apart(found: _Declared, name: str, written: Written) -> bool:
    """Return whether a constant of the size that its shape requires would not overlap the bytes of other constants."""
    needed = _bytes(found.declared_kind, found.declared)
    if name != "size" or found.offset is None or needed is None:
        return name != "size"
    stop = found.offset + needed
    starts = written.shared("offsets", written.document.net, lambda: sorted(_offsets(written)))
    behind = bisect_right(starts, found.offset)
    return behind == len(starts) or starts[behind] >= stop


def _offsets(written: Written) -> Iterator[int]:
    for net in written.nets:
        for layer in net.layers:
            if layer.type == CONST and (offset := number(layer.data.get("offset"))) is not None:
                yield offset
