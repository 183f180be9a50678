"""The calls of layers that read a packed matrix: products with rows, selected rows, and convolutions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product as pairs
from math import prod

import numpy as np

from irexec.core.threads.parallel import scratch, split
from irexec.core.types import Array
from irexec.model.graph.model import Node
from irexec.ops.compute.products import settle, summing_buffer
from irexec.ops.convolution.convolution import Convolve
from irexec.ops.matrix.matmul import as_matrix
from irexec.ops.matrix.product import multiply_by_columns
from irexec.ops.movement.gather import as_index, check_range
from irexec.ops.rules.axes import into
from irexec.ops.rules.windows import Windowing, Windows
from irexec.ops.spec.operator import require
from irexec.ops.spec.traits import Convolution, MatrixProduct
from irexec.runtime.engine.packed.matrix import PackedMatrix, Turned

F32 = np.dtype(np.float32)
# The number of elements of a kernel that are unpacked at a time, in multiples of this number of output channels.
_UNPACKED, _CHANNELS = 1 << 19, 16


def packed_call(node: Node) -> Callable[..., Array]:
    """Return the call of a layer that reads a packed matrix; it takes `out`."""
    if MatrixProduct in node.traits:
        return product
    assert node.operator is not None
    if Convolution in node.traits:
        return partial(convolved, **node.operator.bind(node.all_attributes))
    return partial(selected, is_filled=node.operator.opset == "opset8")


def product(a: Array, b: PackedMatrix, /, *, out: Array | None = None) -> Array:
    """Return MatMul of rows and a packed matrix. If the rows of the packed matrix are the columns of the product, the
    result is bit-identical to the kernel's result for the unpacked matrix; otherwise the matrix is transposed, and the
    result may differ by rounding.
    """
    left, columns = as_matrix(a, False, 0), b.codes.rows
    dtype = b.dtype if b.dtype == np.float64 else F32
    target = summing_buffer((*a.shape[:-1], columns), dtype, out)
    with np.errstate(over="ignore", invalid="ignore"):
        into_rows = target.reshape(*left.shape[:-1], columns)
        multiply_by_columns(left.astype(dtype, copy=False), Turned(b), into_rows)
    return settle(target, a.dtype, out)


def selected(data: PackedMatrix, indices: Array, axis: Array, /, *, is_filled: bool, out: Array | None = None) -> Array:
    """Return the result of Gather on rows; only these rows are unpacked. `is_filled`: an index outside the matrix
    selects zeros.
    """
    rows, index = data.shape[0], as_index(indices).reshape(-1)
    if not is_filled:
        check_range(require, index, 0, rows)
    outside = (index < -rows) | (index >= rows)
    found = data.taken(np.where(outside, 0, np.where(index < 0, index + rows, index)))
    found[outside] = 0
    return into(found.reshape(*indices.shape, data.shape[1]), out)


def convolved(data: Array, kernel: PackedMatrix, /, *, windows: Windowing, out: Array | None = None) -> Array:
    """Return the result of Convolution or GroupConvolution; the kernels of some output channels are unpacked at a
    time.
    """
    groups, outputs, inputs, *taps = kernel.shape if kernel.ndim > data.ndim else (1, *kernel.shape)
    dtype = kernel.dtype if kernel.dtype == np.float64 else F32
    counts = Windows.over(data.shape[2:], taps, windows).counts
    target = summing_buffer((len(data), groups * outputs, *counts), dtype, out)
    data, many = data.astype(dtype, copy=False), max(1, _UNPACKED // prod(kernel.shape[-len(taps) - 1 :]))
    # Small groups are convolved together, large groups in parts.
    whole = max(1, many // outputs)
    parts = split(outputs, -(-outputs // many), _CHANNELS)
    for (first, last), (start, stop) in pairs(split(groups, -(-groups // whole)), parts):
        rows = slice(first * outputs + start, (last - 1) * outputs + stop)
        count = rows.stop - rows.start
        unpacked = kernel.rows(rows.start, rows.stop, scratch("unpacked", (count, kernel.codes.columns), F32))
        convolve = Convolve(unpacked.reshape(last - first, -1, inputs, *taps), dtype, windows)
        for image, result in zip(data, target, strict=True):
            convolve(image[None, first * inputs : last * inputs], result[None, rows])
    return settle(target, kernel.dtype, out)
