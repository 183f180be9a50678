"""Attention, head by head: scores, their softmax and the product with the values, for a few queries at a time.

The scores of these queries stay in the caches; the scores of all queries are never in memory together.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

from llvmlite import ir

from irexec.runtime.lowering.llvm.code import Change, Code, Fields, Number, Run, begun, copy_run
from irexec.runtime.lowering.llvm.functions import exp_below_0
from irexec.runtime.lowering.llvm.products import write_tile
from irexec.runtime.lowering.llvm.rows import across_lanes, larger

# Kinds of masks: added to the scores, below 0 where a score is excluded, or causal (by the order of the keys).
Mask = Literal["none", "added", "forbidding", "causal"]
# The fields of `attention`'s record, each a 64-bit number. Lengths, positions and strides count elements of f32.
LAYER = (
    "query", "key", "value", "mask", "result", "scale",  # addresses
    "keys",  # the number of keys
    "mask_step",  # the stride of which the starts of masks are multiples
    "depth", "columns",  # extents of keys [keys, depth] and values [keys, columns]
    "heads",  # an address: HEAD of each
    "query_row", "key_row", "key_column", "value_row", "mask_row",  # strides; all strides not listed here are 1
    "scores", "pitch", "key_panels", "value_panels",  # positions in scratch memory; the stride between rows of scores
)  # fmt: skip
# The fields of a head: the start of each of its operands.
HEAD = ("query", "key", "value", "mask", "result")
TASK = ("first_head", "last_head", "first_row", "last_row")
# The number of products that are added to a sum at a time: see `llvm.products`.
DEPTH_STEP = 512


def write_attention(module: Any, name: str, lanes: int, height: int, width: int, mask: Mask) -> Code:
    """Write `attention(layer, task, scratch, round)`: compute some queries, at least `height`, of some heads.

    Keys, scaled, and values are laid out in panels of `width` vectors, as for `llvm.products`.
    """
    tile = write_tile(module, f"{name}_tile", lanes, height, width)
    code, layer, task = begun(module, name, lanes, LAYER, TASK)
    scratch, across = code.parameters[2].floats(), lanes * width
    sums, scores = scratch, scratch + layer.scores
    key_panels, value_panels = scratch + layer.key_panels, scratch + layer.value_panels

    def products(left: Run, row_length: Number, depth: Number, panel: Run) -> None:
        with code.loop(0, depth, DEPTH_STEP) as k:
            part = (depth - k).at_most(DEPTH_STEP)
            code.run(tile, (left + k).address, (panel + k * across).address, part, row_length, sums.address, k)

    with code.loop(task.first_head, task.last_head) as number:
        head = Fields(layer.heads + number * (8 * len(HEAD)), HEAD)
        _lay_out_keys(code, layer, layer.key.floats() + head.key, key_panels, across)
        _lay_out_values(code, layer, layer.value.floats() + head.value, value_panels, across)
        with code.loop(task.first_row, task.last_row, height) as row:
            # The last block of queries may overlap the block before it; both then compute the same results.
            first = row.at_most(task.last_row - height)
            queries = layer.query.floats() + head.query + first * layer.query_row
            with code.loop(0, layer.keys, across) as key:
                products(queries, layer.query_row, layer.depth, key_panels + key * layer.depth)
                count = (layer.keys - key).at_most(across)
                with code.loop(0, height) as m:
                    masks = layer.mask.floats() + head.mask * layer.mask_step + (first + m) * layer.mask_row + key
                    change = masked(code, mask, masks, first + m - key)
                    copy_run(sums + m * across, scores + m * layer.pitch + key, count, change)
            totals = scores + layer.pitch * height
            with code.loop(0, height) as m:
                totals.put(m, powers(code, scores + m * layer.pitch, layer.keys))
            with code.loop(0, layer.columns, across) as column:
                products(scores, layer.pitch, layer.keys, value_panels + column * layer.keys)
                count = (layer.columns - column).at_most(across)
                with code.loop(0, height) as m:
                    result = layer.result.floats() + head.result + (first + m) * layer.columns + column
                    copy_run(sums + m * across, result, count, divided(code, code.splat(totals.scalar(m))))
    return code.end()


def _lay_out_keys(code: Code, layer: Fields, keys: Run, panels: Run, across: int) -> None:
    """Generate code that copies the scaled keys to panels `[depth, across]`, padded with 0."""
    scale = layer.scale.floats().scalar(0)
    with code.loop(0, layer.keys, across) as key:
        count = (layer.keys - key).at_most(across)
        panel = panels + key * layer.depth
        with code.loop(0, count) as j:
            source = keys + (key + j) * layer.key_row
            with code.loop(0, layer.depth) as k:
                panel.put(k * across + j, code.builder.fmul(source.scalar(k * layer.key_column), scale))
        with code.loop(count, across) as j, code.loop(0, layer.depth) as k:
            panel.put(k * across + j, ir.Constant(scale.type, 0.0))


def _lay_out_values(code: Code, layer: Fields, values: Run, panels: Run, across: int) -> None:
    """Generate code that copies the values to panels `[keys, across]`, padded with 0."""
    with code.loop(0, layer.columns, across) as column:
        count = (layer.columns - column).at_most(across)
        panel = panels + column * layer.keys
        with code.loop(0, layer.keys) as key, code.loop(0, across, code.lanes) as x:
            within = (count - x).at_least(0)
            place = values + key * layer.value_row + column + x
            panel.put_vector(key * across + x, place.vector(0, code.mask(within)))


def masked(code: Code, mask: Mask, masks: Run, diagonal: Number) -> Change:
    """Return the function that applies a mask to a row of scores; keys after the position `diagonal` are excluded if
    the mask is causal.
    """
    b, lowest = code.builder, code.constant(float("-inf"))

    def change(index: Number, vector: Any, lanes: Any) -> Any:
        if mask == "none":
            return vector
        if mask == "causal":
            return b.select(code.mask(diagonal + 1 - index), vector, lowest)
        own = masks.vector(index, lanes)
        if mask == "added":
            return b.fadd(vector, own)
        return b.select(b.fcmp_ordered("<", own, code.zeros()), lowest, vector)

    return change


def powers(code: Code, row: Run, count: Number) -> Any:
    """Replace each element x of a row by e to the power of (x - the row's maximum); return the sum of the new
    elements.
    """
    b, lanes = code.builder, code.lanes
    most, whole = code.constant(float("-inf")), count & -lanes

    def folded(start: Any, fold: Callable[[Number, Any, Any], Any]) -> Any:
        with code.folding(0, whole, [start], lanes) as loop:
            loop.values = [fold(loop.index, loop.values[0], None)]
        return fold(whole, loop.values[0], code.mask(count - whole))

    def of_all(x: Number, before: Any, mask: Any) -> Any:
        vector = row.vector(x, mask)
        return larger(code, before, vector if mask is None else b.select(mask, vector, before))

    highest = code.splat(across_lanes(code, folded(most, of_all), partial(larger, code)))

    def power(x: Number, before: Any, mask: Any) -> Any:
        high, scale = exp_below_0(code, b.fsub(row.vector(x, mask), highest))
        made = b.fmul(high, scale)
        row.put_vector(x, made, mask)
        return b.fadd(before, made if mask is None else b.select(mask, made, code.zeros()))

    return across_lanes(code, folded(code.zeros(), power), b.fadd)


def divided(code: Code, divisor: Any) -> Change:
    return lambda index, vector, mask: code.builder.fdiv(vector, divisor)
