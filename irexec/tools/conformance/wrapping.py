"""Integers that wrap: whether a layer's results differ from those computed in 64 bits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from irexec.core.types import Array
from irexec.model.graph.model import Node
from irexec.ops.spec.contents import category_of

_SUMMING = {"arithmetic", "reduction", "matrix", "convolution", "activation", "movement"}


def exceeds(node: object, inputs: Sequence[Array | None]) -> bool:
    """Return whether a layer's integer results differ from those computed in 64 bits, so that they wrap."""
    assert isinstance(node, Node)
    if node.operator is None or not node.outputs or category_of(node.type) not in _SUMMING:
        return False
    kinds = {value.element_type for value in node.outputs}
    if not any(kind.is_integral_number and kind.bitwidth < 64 for kind in kinds):
        return False
    wide = [a.astype(np.int64) if a is not None and a.dtype.kind in "iu" else a for a in inputs]
    try:
        both = [node.operator.compute(*given, **node.all_attributes) for given in (inputs, wide)]
    except (TypeError, ValueError, ArithmeticError):
        return False
    narrow, exact = ([*made] if isinstance(made, (tuple, list)) else [made] for made in both)
    return any(
        a.shape != b.shape or bool((a.astype(np.float64) != b.astype(np.float64)).any())
        for a, b in zip(map(np.asarray, narrow), map(np.asarray, exact), strict=True)
        if a.dtype.kind in "iu"
    )
