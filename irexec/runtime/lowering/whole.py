"""Chains of layers on integers, computed as one layer in bytes: ONNX's MatMulInteger, ConvInteger, QLinearMatMul
and QLinearConv.

The graph contains several layers for such an operator: bytes are converted to f64, minus a zero point; MatMul or
Convolution with constant weights computes exact sums; an optional bias is added in f64; and the sums are converted to
i32, or to f32, in which they are scaled, rounded, clamped and converted to bytes again. Compiled code reads the bytes,
and stores the result of the last layer. It computes the same numbers: sums are exact in 32 bits as well, and all later
operations in f32 are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irexec.core.structure import CONVERT
from irexec.core.types import F32 as F32_TYPE
from irexec.core.types import F64, I8, I32, U8, Array, ElementType
from irexec.ops.spec.traits import ConversionTo, Difference, MatrixProduct, Sum
from irexec.runtime.lowering.byte_products import WholeProduct, whole_product
from irexec.runtime.lowering.chains import Chain
from irexec.runtime.lowering.convolution import WholeConvolution
from irexec.runtime.lowering.follow import Operands, after_sums, along_axis
from irexec.runtime.lowering.followers import can_follow
from irexec.runtime.lowering.fusion import Finder, Group
from irexec.runtime.lowering.grids import BYTES
from irexec.runtime.lowering.llvm.after import After
from irexec.runtime.lowering.llvm.arithmetic import Source
from irexec.runtime.lowering.narrow import converted
from irexec.runtime.lowering.table import Lowered, Site
from irexec.runtime.lowering.work import F32, Work

_SOURCES: dict[ElementType, Source] = {U8: "unsigned", I8: "signed"}


class Whole(Lowered):
    """A product of bytes and constant integers, with the layers after it. The inputs are the bytes, the zero point
    (one f64) if it is not constant, and the operands of the later layers, each a single f32, such as a scale.
    """

    stores_its_type = True

    def __init__(
        self, site: Site, product: Lowered, after: tuple[After, ...], operands: Operands, zeros: int = 0
    ) -> None:
        super().__init__(site)
        self._product, self._after, self._operands, self._zeros = product, after, operands, zeros

    def shape(self, data: Array, *others: Array) -> tuple[int, ...] | None:
        return self._product.shape(data, None)

    def tasks(self, work: Work, inputs: Sequence[Any], out: Array, *_: Any) -> None:
        data, *others = inputs
        zero, numbers = others[: self._zeros], others[self._zeros :]
        copies = [work.scratch(f"number {place}", (1,)) for place in range(len(numbers))]
        for number, copy in zip(numbers, copies, strict=True):
            # The result may share memory with one of these operands.
            work.copied(number.reshape(1), copy)
        if not data.flags.c_contiguous:
            work.needs_values(False)
            data = np.ascontiguousarray(data)
        is_narrow = out.dtype.itemsize == 1
        target = work.scratch("scaled sums", out.shape) if is_narrow else out.view(F32)
        self._product.tasks(work, (data, None, *zero), target, self._after, self._operands.records(copies))
        if is_narrow:
            converted(work, target, out)


class Quantized(Lowered):
    """Elementwise layers in f32 whose results are clamped to the range of bytes, and stored as bytes."""

    stores_its_type = True

    def __init__(self, site: Site, form: Lowered) -> None:
        super().__init__(site)
        self._form = form

    def shape(self, *inputs: Any) -> tuple[int, ...] | None:
        return self._form.shape(*inputs)

    def tasks(self, work: Work, inputs: Sequence[Any], out: Array, *_: Any) -> None:
        target = work.scratch("levels to store", out.shape)
        self._form.tasks(work, inputs, target)
        converted(work, target, out)


def chain_of(finder: Finder, first: int) -> Group | None:
    """Return the group that computes the chain beginning with a step; None if no such chain begins there."""
    step = finder.steps[first]
    if step.operator.type == CONVERT:
        return _Product(finder, first).whole_numbers()
    return _quantized(Chain(finder, first)) if step.dtype == F32 and can_follow(step.operator) else None


def _quantized(chain: Chain) -> Group | None:
    """Return the group of elementwise layers whose result is converted to bytes, as in ONNX's QuantizeLinear; None if
    there is no such conversion.
    """
    finder, first, step = chain.finder, chain.taken[0], chain.last
    if not step.is_sure or step.shape is None or (leader := finder.pointwise(first)) is None:
        return None
    operand = leader.own.follow.operand
    if operand is not None and leader.own.constant is None and not chain.is_number(step.inputs[operand]):
        return None
    links, slots = chain.links()
    if not chain.is_stored(links or [leader.own]):
        return None
    found = leader.leads(links, step.types[0])
    if found is None or found[0] != len(links):
        return None
    return chain.group(Quantized(finder.sites[chain.taken[-1]], found[1]), (*step.inputs, *filter(None, slots)))


class _Product(Chain):
    """A chain: bytes are converted to f64, a zero point is subtracted, and constant weights are multiplied."""

    def __init__(self, finder: Finder, first: int) -> None:
        super().__init__(finder, first)
        # The slot of a zero point that is computed at run time.
        self._zero: list[int] = []

    def whole_numbers(self) -> Group | None:
        begin = self.last
        given = begin.given[0]
        source = None if given is None else _SOURCES.get(given.element_type)
        if source is None or given is None or begin.types[0].element_type is not F64 or not begin.is_sure:
            return None
        if (form := self._product(given.element_type)) is None:
            return None
        shape, bias = self.shape, None
        if self.next(Sum):
            constant, axis = self.constant(), 1 if form.along == "channel" else len(shape) - 1
            bias = None if constant is None else along_axis(constant, shape, axis)
            if bias is None or not form.can_add(bias):
                return None
        if not self.next(ConversionTo) or self.type not in (I32, F32_TYPE):
            return None
        if self.type is I32 and not self.next(ConversionTo, F32_TYPE):
            return self._made(form.of_bytes(source, bias, is_whole=True), (), Operands([]), [])
        start = len(self.taken)
        links, slots = self.links()
        count, after, operands = after_sums(links, shape, "channel" if form.along == "channel" else "column")
        self.drop(start + count)
        self.is_stored(links[:count])
        return self._made(form.of_bytes(source, bias, is_whole=False), after, operands, slots[:count])

    def _product(self, given: ElementType) -> WholeProduct | WholeConvolution | None:
        """Append the steps up to the product, and return its lowered form; None if the steps do not form such a
        product.
        """
        if self.next(Difference):
            if self.port != 0:
                return None
            if self.constant() is None and not self._has_zero():
                return None
        if not self.next():
            return None
        number = self.taken[-1]
        if self._zero:
            return (
                whole_product(self.finder.sites[number], BYTES[given])
                if MatrixProduct in self.last.operator.traits
                else None
            )
        form = self.finder.forms.get(number)
        return form if isinstance(form, (WholeProduct, WholeConvolution)) else None

    def _has_zero(self) -> bool:
        """Return whether the zero point is a single 8-bit number that is computed at run time."""
        maker = self.finder.made.get(self.other)
        step = None if maker is None else self.finder.steps[maker]
        if step is None or step.operator.type != CONVERT or step.shape not in ((), (1,)):
            return False
        self._zero = [self.other]
        return step.given[0] is not None and step.given[0].element_type in _SOURCES

    def _made(
        self, product: Lowered, after: tuple[After, ...], operands: Operands, slots: Sequence[int | None]
    ) -> Group | None:
        form = Whole(self.finder.sites[self.taken[-1]], product, after, operands, len(self._zero))
        source = self.finder.steps[self.taken[0]].inputs[0]
        return self.group(form, (source, *self._zero, *filter(None, slots)))
