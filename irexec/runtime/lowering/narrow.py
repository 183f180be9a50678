"""The narrow types f16 and bf16 in lowered plans: layers compute in f32, and round their results once to the type.

A value that only compiled code reads is stored as f32, which represents it exactly; see irexec.runtime.lowering.wide.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from irexec.core.threads.parallel import split
from irexec.core.types import BF16, F16, F32, Array, ElementType
from irexec.runtime.lowering.elementwise import CompiledPointwise
from irexec.runtime.lowering.follow import Layout, Steps
from irexec.runtime.lowering.llvm import compiler
from irexec.runtime.lowering.llvm.after import Rounding
from irexec.runtime.lowering.llvm.converting import write_converted
from irexec.runtime.lowering.llvm.memory import Records
from irexec.runtime.lowering.tasks import tasks_for
from irexec.runtime.lowering.work import Work

# The cost of an element in multiply-adds.
WORK = 8
# The number of elements of a row: all elements are treated alike, so that rows may have any length.
ROW = 1 << 12


def rounding_of(dtype: np.dtype[Any] | None) -> Rounding | None:
    """Return the narrow type to which results of this type are rounded; None for other types, and for types to which
    the machine cannot round.
    """
    if dtype == np.float16:
        return "f16" if compiler().converts_halves else None
    return "bf16" if dtype is not None and dtype == BF16.dtype else None


def computes_in_f32(type: ElementType) -> bool:
    """Return whether compiled code can compute a layer of this type in f32."""
    return type is F32 or (type in (F16, BF16) and rounding_of(type.dtype) is not None)


def rounded(work: Work, array: Array, to: Rounding) -> None:
    """Add the job that rounds contiguous f32 in place to the numbers of a narrow type."""
    steps = Steps(to)
    steps.round()
    layout = Layout(min(array.size, ROW), 0, tuple(steps.after), tuple(steps.operands), tuple(steps.ways))
    CompiledPointwise(layout, array.size, array.size * WORK).tasks(work, array, array, ())


def converted(work: Work, source: Array, out: Array) -> None:
    """Add the job that converts contiguous elements to the type of `out`, see `llvm.converting.converted`."""
    kinds = [ElementType.of(array.dtype).name for array in (source, out)]
    function = compiler().written(write_converted, *kinds)
    work.add(function, Records.of([[source, out]]), Records.of(split(out.size, tasks_for(out.size * WORK))))
