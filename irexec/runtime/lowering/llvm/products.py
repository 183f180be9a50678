"""The product of two matrices; the columns of the second are laid out in panels. A tile of sums stays in registers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from irexec.runtime.lowering.llvm.after import After
from irexec.runtime.lowering.llvm.arithmetic import (
    Arithmetic,
    add_products,
    as_floats,
    bits,
    has_starts,
    is_whole,
    no_sums,
)
from irexec.runtime.lowering.llvm.code import Code, begun, copy_run
from irexec.runtime.lowering.llvm.epilogue import epilogue

# The fields of `multiply`'s record, each a 64-bit number. Lengths and positions count elements of f32.
LAYER = (
    "left", "result", "operands", "panels",  # addresses; `operands` belong to the following layers
    "starts",  # an address: the number with which the sums of each column start, for products of bytes
    "depth", "depth_step",  # products per sum, and the number of products that are summed at a time
    "columns",  # the number of columns of the result
)  # fmt: skip
TASK = ("first_panel", "last_panel", "first_row", "last_row")
# The unroll factor of the loop over products.
UNROLLED = 8


def write_multiply(
    module: Any,
    name: str,
    lanes: int,
    height: int,
    width: int,
    after: Sequence[After] = (),
    kind: Arithmetic = "floats",
) -> Code:
    """Write `multiply(layer, task, scratch, round)`: compute one task, of at least `height` rows. A tile has `height`
    rows of `width` vectors, as wide as a panel. Sums of integers are not divided into partial sums.
    """
    tile = write_tile(module, f"{name}_tile", lanes, height, width, kind)
    code, layer, task = begun(module, name, lanes, LAYER, TASK)
    sums = code.parameters[2].floats()
    across = lanes * width
    with code.loop(task.first_panel, task.last_panel) as panel:
        weights = layer.panels.floats() + panel * layer.depth * across
        column = panel * across
        with code.loop(task.first_row, task.last_row, height) as row:
            # The last tile may overlap the tile before it; both then compute the same sums of the same products.
            first = row.at_most(task.last_row - height)
            left = layer.left.floats() + first * layer.depth
            with code.loop(0, layer.depth, layer.depth_step) as k:
                depth = (layer.depth - k).at_most(layer.depth_step)
                starts = [layer.starts + column * 4] if has_starts(kind) else []
                panel_part = (weights + k * across).address
                code.run(tile, (left + k).address, panel_part, depth, layer.depth, sums.address, k, *starts)
            count = (layer.columns - column).at_most(across)
            with code.loop(0, height) as m:
                place = (first + m) * layer.columns + column
                change = epilogue(code, after, layer.operands, column, place)
                copy_run(sums + m * across, layer.result.floats() + place, count, change)
    return code.end()


def write_tile(module: Any, name: str, lanes: int, height: int, width: int, kind: Arithmetic = "floats") -> Code:
    """Write `tile(left, panel, depth, row_length, sums, added)`: add `depth` products to each sum of a tile.

    For bytes, a further parameter `starts` is the address of the numbers with which the sums of each column start.
    """
    code = Code(module, name, 7 if has_starts(kind) else 6, lanes)
    left, panel, depth, row_length, sums, added, *starts = code.parameters
    rows = [left.floats() + row_length * m for m in range(height)]
    across = lanes * width

    def products(k: Any, before: list[Any]) -> list[Any]:
        weights = [(panel.floats() + k * across).vector(x * lanes) for x in range(width)]
        after = []
        for m in range(height):
            factor = code.splat(rows[m].scalar(k))
            after += [add_products(code, kind, before[m * width + x], factor, weights[x]) for x in range(width)]
        return after

    first = [no_sums(kind, lanes)] * width
    if has_starts(kind):
        first = [bits(code, starts[0].floats().vector(x * lanes)) for x in range(width)]
    whole = depth & -UNROLLED
    with code.folding(0, whole, first * height, UNROLLED) as fold:
        for step in range(UNROLLED):
            fold.values = products(fold.index + step, fold.values)
    with code.folding(whole, depth, fold.values) as rest:
        rest.values = products(rest.index, rest.values)
    is_first = added < 1
    for m in range(height):
        for x in range(width):
            place = m * across + x * lanes
            total = as_floats(code, kind, rest.values[m * width + x])
            if not is_whole(kind):
                before = code.builder.select(is_first, code.zeros(), sums.floats().vector(place))
                total = code.builder.fadd(before, total)
            sums.floats().put_vector(place, total)
    return code.end()
