"""Convert lowered: elements of f32 and of integer types to any of these types and to f64."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from irexec.core.types import BOOLEAN, F32, F64, U32, Array, ElementType
from irexec.ops.spec.operator import NodeTypes
from irexec.ops.type.convert import convert_1
from irexec.runtime.lowering.llvm.converting import ELEMENTS
from irexec.runtime.lowering.narrow import computes_in_f32, converted
from irexec.runtime.lowering.table import Lowered, Site, lowers
from irexec.runtime.lowering.work import LEAST_SIZE, Work


@lowers(convert_1)
def _(site: Site) -> Lowered | None:
    given, result = site.types.inputs[0], site.types.outputs[0].element_type
    return None if given is None or not _converts(given.element_type, result) else Converted(site)


def _converts(source: ElementType, target: ElementType) -> bool:
    """Return whether compiled code supports a conversion; the NumPy kernel converts between all types."""
    if not all(map(_is_known, (source, target))) or source is target or target is BOOLEAN:
        return False
    if source is F64:
        return target is F32
    return bool(target.is_real or not source.is_real or (target.bitwidth <= 32 and target is not U32))


def _is_known(type: ElementType) -> bool:
    return type.name in ELEMENTS and (not type.is_real or type is F64 or computes_in_f32(type))


class Converted(Lowered):
    """The elements of contiguous data in another type."""

    stores_its_type = True

    def __call__(self, *inputs: Any, out: Array | None = None) -> Any:
        return self.by_kernel(inputs, out) if inputs[0].size < LEAST_SIZE else super().__call__(*inputs, out=out)

    def takes(self, types: NodeTypes) -> bool:
        return True

    def shape(self, data: Array) -> tuple[int, ...] | None:
        return data.shape if data.size and data.flags.c_contiguous and data.flags.aligned else None

    def tasks(self, work: Work, inputs: Sequence[Any], out: Array, *_: Any) -> None:
        converted(work, inputs[0], out)
