"""Windows and shape rules that the pooling operators share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irexec.core.types import Array, PartialShape, TensorType
from irexec.ops.rules.shapes import has_rank
from irexec.ops.rules.windows import Rounding, Windowing, Windows, check_windows, output_dims
from irexec.ops.spec.attributes import PositiveInts
from irexec.ops.spec.groups import group
from irexec.ops.spec.operator import Check, Operator
from irexec.ops.spec.oracle import Undefined


@group
class PoolWindowing(Windowing):
    """Windows of the size `kernel`; `rounding_type` determines whether the last window may exceed the end."""

    dilations: PositiveInts = ()
    kernel: PositiveInts
    rounding_type: Rounding = "floor"

    def over(self, extents: Sequence[int]) -> Windows:
        """Return the windows at run time."""
        return Windows.over(extents, self.kernel, self, self.rounding_type)


def pooled_shape(check: Check, data: TensorType, *, windows: PoolWindowing) -> PartialShape:
    """Return the output shape. Check C1 (data has rank 3, 4 or 5), C2 (one value per spatial axis) and C3 (the kernel
    fits).
    """
    kernel, strides = windows.kernel, windows.strides
    if not has_rank(check, "C1", data, (3, 4, 5), "data"):
        return PartialShape.dynamic()
    spatial = len(kernel) if data.rank is None else data.rank - 2
    fits = check_windows(check, "C2", spatial, windows)
    fits &= check(
        "C2",
        len(strides) > 0,
        f"strides is empty, expected one value for each of the {spatial} spatial axes",
        attribute="strides",
    )
    message = f"kernel has {len(kernel)} values, expected one for each of the {spatial} spatial axes"
    if not check("C2", len(kernel) == spatial, message, attribute="kernel", allowed=str(spatial)) or not fits:
        return PartialShape.dynamic(spatial + 2)
    if data.rank is None:
        return PartialShape.dynamic(spatial + 2)
    extents = output_dims(check, "C3", data.shape.dims[2:], kernel, windows, windows.rounding_type)
    return PartialShape([*data.shape[:2], *extents])


def undefined_windows(pool: Operator) -> None:
    """Declare that the page does not define the result of a window without an element of the data."""

    def rule(data: Array, **attributes: Any) -> Undefined:
        found = pool.compute(np.ones(data.shape, np.float32), **attributes)
        return bool((np.asarray(found[0] if isinstance(found, tuple) else found) <= 0).any())

    pool.oracle.undefined_for(rule)
