"""Layers of whole numbers as one layer in bytes: ONNX's MatMulInteger, ConvInteger, QLinearMatMul and QLinearConv.

Such a layer is stored as several: bytes converted to f64, less a zero point; their MatMul or Convolution with constant
weights, whose sums are exact; perhaps a bias in f64; and a conversion to i32 or to f32, after which the sums are
scaled, rounded, limited and converted to bytes again. Compiled code reads the bytes, and stores the result of the last
layer: the same numbers, because the sums are exact in 32 bits as well, and all later operations are the same in f32.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irexec.lowering.byte_products import WholeProduct
from irexec.lowering.convolution import WholeConvolution
from irexec.lowering.follow import Link, Operands, after_sums, along_axis
from irexec.lowering.fusion import Finder, Group
from irexec.lowering.levels import stored_bytes
from irexec.lowering.llvm.after import After
from irexec.lowering.llvm.arithmetic import Source
from irexec.lowering.table import Lowered, Site
from irexec.lowering.work import F32, Work
from irexec.types import F32 as F32_TYPE
from irexec.types import F64, I8, I32, U8, Array, ElementType

_SOURCES: dict[ElementType, Source] = {U8: "unsigned", I8: "signed"}
# Operations that make no nan of numbers that are not nan, with the constants that `_is_safe` takes.
_SAFE = frozenset({"add", "clamp", "divide", "maximum", "minimum", "multiply", "round", "subtract"})


class Whole(Lowered):
    """Bytes times constant whole numbers, and the layers after the product."""

    stores_its_type = True

    def __init__(self, site: Site, product: Lowered, after: tuple[After, ...], operands: Operands) -> None:
        super().__init__(site)
        self._product, self._after, self._operands = product, after, operands

    def shape(self, data: Array) -> tuple[int, ...] | None:
        return self._product.shape(data, None)

    def tasks(self, work: Work, inputs: Sequence[Any], out: Array, *_: Any) -> None:
        (data,) = inputs
        if not data.flags.c_contiguous:
            work.needs_values(False)
            data = np.ascontiguousarray(data)
        is_narrow = out.dtype.itemsize == 1
        target = work.scratch("scaled sums", out.shape) if is_narrow else out.view(F32)
        self._product.tasks(work, (data, None), target, self._after, self._operands.records(()))
        if is_narrow:
            stored_bytes(work, target, out)

    def __call__(self, *inputs: Any, out: Array | None = None) -> Any:
        shape = self.shape(*inputs)
        assert shape is not None and self.dtype is not None
        target = out if out is not None and out.flags.c_contiguous else np.empty(shape, self.dtype)
        work = Work()
        self.tasks(work, inputs, target)
        work.run()
        if out is None or target is out:
            return target
        np.copyto(out, target)
        return out


def whole_numbers(finder: Finder, first: int) -> Group | None:
    """Return the group of a step that converts bytes and of the steps after it; None if they have another form.

    Each of these steps is the only one that reads the result of the step before it, and follows it at once: so no other
    step reuses memory that the group reads.
    """
    return _Chain(finder, first).group()


class _Chain:
    def __init__(self, finder: Finder, first: int) -> None:
        self._finder, self._first, self._last = finder, first, first

    def group(self) -> Group | None:
        """Return the group that begins with the first step."""
        begin = self._finder.steps[self._first]
        given = begin.given[0]
        source = None if given is None else _SOURCES.get(given.element_type)
        if source is None or begin.types[0].element_type is not F64 or not begin.is_sure:
            return None
        self._last = self._first
        if self._next("Subtract") is not None and self._constant() is None:
            return None
        form = self._finder.forms.get(self._last + 1)
        if not isinstance(form, (WholeProduct, WholeConvolution)) or self._next() is None:
            return None
        shape, axis = self._shape(), 1 if form.along == "channel" else -1
        bias = None
        if self._next("Add") is not None:
            constant = self._constant()
            bias = None if constant is None else along_axis(constant, shape, axis % len(shape))
            if bias is None or not form.can_add(bias):
                return None
        if self._next("Convert") is None or (to := self._type()) not in (I32, F32_TYPE):
            return None
        if to is I32 and self._follows("Convert", F32_TYPE):
            to = F32_TYPE
        if to is I32:
            return self._made(form.of_bytes(source, bias, is_whole=True), (), Operands([]))
        after, operands = self._scaled(form.along)
        return self._made(form.of_bytes(source, bias, is_whole=False), after, operands)

    def _scaled(self, along: Any) -> tuple[tuple[After, ...], Operands]:
        """Take the steps that scale the sums in f32; of bytes, those that convert them again."""
        links: list[Link] = []
        start, shape = self._last, self._shape()
        while self._next() is not None:
            step = self._finder.steps[self._last]
            link = self._finder.link(self._last, step.inputs.index(self._slot(self._last - 1)), shape)
            if link is None or step.shape != shape or (link.follow.operand is not None and link.constant is None):
                break
            links.append(link)
        count, after, operands = after_sums(links, shape, along)
        self._last = start + count
        if count and all(map(_is_safe, links[:count])) and links[count - 1].follow.kind == "clamp":
            low, high = (float(number) for number in links[count - 1].follow.numbers)
            for to in (U8, I8):
                limits = np.iinfo(to.to_dtype())
                if limits.min <= low <= high <= limits.max and self._follows("Convert", to):
                    break
        return after, operands

    def _made(self, product: Lowered, after: tuple[After, ...], operands: Operands) -> Group:
        form = Whole(self._finder.sites[self._last], product, after, operands)
        source = self._finder.steps[self._first].inputs[0]
        return Group(self._last, form, absorbed=tuple(range(self._first, self._last)), source=source)

    def _follows(self, operator: str, to: ElementType) -> bool:
        """Take the next step if it has this operator and result."""
        last = self._last
        if self._next(operator) is not None and self._type() is to:
            return True
        self._last = last
        return False

    def _next(self, operator: str | None = None) -> int | None:
        """Take the next step if it alone reads the result of the last one; return its number."""
        number, steps = self._last + 1, self._finder.steps
        if self._finder.reader(self._last) != number or not steps[number].is_sure:
            return None
        if operator is not None and steps[number].operator.type != operator:
            return None
        self._last = number
        return number

    def _constant(self) -> Array | None:
        """Return the constant that the last step reads besides the result of the step before it."""
        step = self._finder.steps[self._last]
        before = self._slot(self._last - 1)
        if step.operator.type == "Subtract" and step.inputs[0] != before:
            return None
        others = [self._finder.template[slot] for slot in step.inputs if slot != before]
        return others[0] if len(others) == 1 else None

    def _slot(self, number: int) -> int:
        return self._finder.steps[number].outputs[0]

    def _shape(self) -> tuple[int, ...]:
        shape = self._finder.steps[self._last].shape
        assert shape is not None
        return shape

    def _type(self) -> ElementType:
        return self._finder.steps[self._last].types[0].element_type


def _is_safe(link: Link) -> bool:
    """Return whether an operation makes no nan of infinity or of a number."""
    is_finite = link.constant is None or bool(np.isfinite(link.constant).all())
    is_factor = link.follow.kind in ("multiply", "divide")
    return link.follow.kind in _SAFE and is_finite and not (is_factor and not np.all(link.constant))
