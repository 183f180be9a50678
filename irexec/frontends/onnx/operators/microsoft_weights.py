"""Translators of com.microsoft operators with constant low-bit weights, which are dequantized.

Source: ONNX Runtime's list of contributed operators.
"""

from __future__ import annotations

import numpy as np

from irexec.core.types import U8, Array
from irexec.frontends.onnx.op import Op
from irexec.frontends.onnx.operators.microsoft import microsoft, plus
from irexec.frontends.onnx.operators.quantization import dequantized
from irexec.model.graph.model import Value

# Values of the 4-bit codes, relative to the largest weight of a block: "FP4" and "NF4" of bitsandbytes.
_FP4 = [0, 1 / 192, 2 / 3, 1, 1 / 3, 1 / 2, 1 / 6, 1 / 4]
_BNB = {
    0: np.array([*_FP4, *(-value for value in _FP4)], np.float32),
    1: np.array(
        [
            *(-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453),
            *(-0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0),
            *(0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224),
            *(0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0),
        ],
        np.float32,
    ),
}


def codes_of(packed: Array, bits: int) -> Array:
    """Return the integers packed in a row of bytes, the lowest bits first."""
    parts = packed.reshape(-1, 1) >> np.arange(0, 8, bits, dtype=np.uint8)
    return (parts & ((1 << bits) - 1)).reshape(-1)


def unpacked(packed: Array, bits: int) -> Array:
    """Return the result of `codes_of` for each row along the last axis."""
    return codes_of(packed, bits).reshape(*packed.shape[:-1], -1)


@microsoft("MatMulNBits")
def _matmul_bits(op: Op) -> Value:
    rows, columns, bits, size = (op.integer(name) for name in ("K", "N", "bits", "block_size"))
    op.integer("accuracy_level", 0)
    op.integer("weight_prepacked", 0)
    packed, scales, zeros, places = (op.known(i) for i in range(1, 5))
    if packed is None or scales is None or any(op.get(i) is not None and op.known(i) is None for i in (3, 4)):
        op.refuse("weights, scales, zero points and g_idx must be constants")
    bits = bits or 4
    if bits not in (2, 4, 8) or size < 1 or rows < 1 or columns < 1:
        op.refuse(f"bits is {bits}, block_size {size}, K {rows} and N {columns}: such weights are not supported")
    blocks = -(-rows // size)
    known = {"blocks": blocks, "bytes": -(-size * bits // 8), "zeros": -(-blocks * bits // 8)}
    per_block, per_byte = "N blocks | N*blocks", "N zeros | N*zeros"
    op.check_shapes(
        f"A: ... K; B: N blocks bytes | N blocks*bytes; scales: {per_block};"
        f" zero_points: {per_byte if zeros is not None and zeros.dtype == np.uint8 else per_block}; g_idx: _; bias: N",
        **known,
    )
    codes = codes_of(packed, bits)
    weights = codes[: columns * blocks * size].reshape(columns, -1)[:, :rows].astype(np.float32)
    middle = np.full((columns, blocks), 1 << (bits - 1), np.float32)
    if zeros is not None and zeros.dtype == np.uint8:
        middle = codes_of(zeros, bits).reshape(columns, -1)[:, :blocks].astype(np.float32)
    elif zeros is not None:
        middle = zeros.reshape(columns, blocks).astype(np.float32)
    of_rows = np.arange(rows) // size
    if places is not None:
        of_rows = places.reshape(-1)[:rows]
        if len(of_rows) < rows or of_rows.min(initial=0) < 0 or of_rows.max(initial=0) >= blocks:
            op.refuse(
                f"g_idx must contain a block index from 0 to {blocks - 1} for each of the {rows} rows", port="g_idx"
            )
    steps = scales.reshape(columns, blocks).astype(np.float32)
    matrix = ((weights - middle[:, of_rows]) * steps[:, of_rows]).astype(op.kind().dtype)
    return plus(op, op.make("MatMul", op[0], op.constant(matrix), transpose_b=True), op.get(5))


@microsoft("MatMulBnb4")
def _matmul_bnb(op: Op) -> Value:
    rows, columns, kind, size = (op.integer(name) for name in ("K", "N", "quant_type", "block_size"))
    transposed = op.flag("transB", True)
    op.flag("training_mode")
    packed, largest = op.known(1), op.known(2)
    if packed is None or largest is None:
        op.refuse("weights and their largest values must be constants")
    if kind not in _BNB or size < 1 or rows < 1 or columns < 1:
        op.refuse(f"quant_type is {kind}, block_size {size}, K {rows} and N {columns}: such weights are not supported")
    count = rows * columns
    # The first of two codes is in the high bits.
    codes = np.stack([packed.reshape(-1) >> 4, packed.reshape(-1) & 15], 1).reshape(-1)
    if codes.size < count or largest.size < -(-count // size):
        op.refuse(f"there are {packed.size} bytes and {largest.size} largest values for {rows} by {columns} weights")
    scales = largest.reshape(-1).astype(np.float32)[np.arange(count) // size]
    matrix = (_BNB[kind][codes[:count]] * scales).reshape(columns, rows).astype(op.kind().dtype)
    return op.make("MatMul", op[0], op.constant(matrix), transpose_b=transposed)


@microsoft("GatherBlockQuantized")
def _gather_blocks(op: Op) -> Value:
    """Return rows of a table; only the gathered rows are dequantized."""
    data, rank = op[0], op.needs_rank()
    bits, packed = op.integer("bits", 4), op.known(0)
    along, axis, block = op.axis("gather_axis", 0), op.axis("quantize_axis", 1), op.integer("block_size", 128)
    if along == axis or axis != rank - 1:
        op.refuse("blocks along an axis other than the last, or along the gathered axis, are not supported")
    zeros = op.get(3)
    if data.element_type is U8:
        scales_known = op.known(2)
        if packed is None or scales_known is None or (zeros is not None and op.known(3) is None):
            op.refuse("the table, its scales and its zero points must be constants")
        if bits < 8:
            data = op.constant(unpacked(packed, bits))
        given = op.known(3)
        if given is not None:
            zeros = op.constant(unpacked(given, bits)[..., : scales_known.shape[-1]]) if bits < 8 else zeros
        else:
            zeros = op.constant(np.full(scales_known.shape, 1 << (bits - 1), np.uint8))
    taken = [None if x is None else op.make("Gather", x, op[1], along, opset=7) for x in (data, op[2], zeros)]
    numbers, scales, middle = taken
    assert numbers is not None and scales is not None
    return dequantized(op, numbers, scales, middle, -1, None, block)
