"""Products of matrices that are not constant: each run lays out the right matrix in panels, as in `llvm.products`."""

from __future__ import annotations

from typing import Any

from irexec.runtime.lowering.llvm.arithmetic import Arithmetic, has_starts, is_whole
from irexec.runtime.lowering.llvm.code import Code, Fields, Run, begun, copy_run
from irexec.runtime.lowering.llvm.products import write_tile

# The fields of `matrices`' record, each a 64-bit number. Lengths, positions and strides count elements of f32.
LAYER = (
    "left", "right", "result",  # addresses
    "places",  # an address: PLACE of each product
    "rows", "depth", "columns",  # the extents of the result, and the products per sum
    "left_row", "right_row", "right_column",  # strides; the stride of the left columns is 1
    "panels",  # position of the panels in scratch memory, after the sums
    "starts",  # an address: zeros, as many as a panel has columns
)  # fmt: skip
# The start of each matrix of a product.
PLACE = ("left", "right", "result")
TASK = ("first", "last", "first_row", "last_row")
# The number of products that are added to a sum at a time: see `llvm.products`.
DEPTH_STEP = 512


def write_matrices(module: Any, name: str, lanes: int, height: int, width: int, kind: Arithmetic = "floats") -> Code:
    """Write `matrices(layer, task, scratch, round)`: compute some rows, at least `height`, of some products."""
    tile = write_tile(module, f"{name}_tile", lanes, height, width, kind)
    code, layer, task = begun(module, name, lanes, LAYER, TASK)
    sums, across = code.parameters[2].floats(), lanes * width
    panels = sums + layer.panels
    with code.loop(task.first, task.last) as number:
        place = Fields(layer.places + number * (8 * len(PLACE)), PLACE)
        _lay_out(code, layer, layer.right.floats() + place.right, panels, across)
        with code.loop(task.first_row, task.last_row, height) as row:
            # The last tile may overlap the tile before it; both then compute the same sums of the same products.
            first = row.at_most(task.last_row - height)
            left = layer.left.floats() + place.left + first * layer.left_row
            with code.loop(0, layer.columns, across) as column:
                panel = panels + column * layer.depth
                # Sums of integers are exact in any order, so that no partial sums are needed.
                step = layer.depth if is_whole(kind) else code.number(DEPTH_STEP)
                with code.loop(0, layer.depth, step) as k:
                    depth = (layer.depth - k).at_most(step)
                    weights = (panel + k * across).address
                    starts = [layer.starts] if has_starts(kind) else []
                    code.run(tile, (left + k).address, weights, depth, layer.left_row, sums.address, k, *starts)
                count = (layer.columns - column).at_most(across)
                with code.loop(0, height) as m:
                    result = layer.result.floats() + place.result + (first + m) * layer.columns + column
                    copy_run(sums + m * across, result, count)
    return code.end()


def _lay_out(code: Code, layer: Fields, right: Run, panels: Run, across: int) -> None:
    """Generate code that copies the right matrix to panels `[depth, across]`, padded after the last column."""
    with code.loop(0, layer.columns, across) as column:
        count = (layer.columns - column).at_most(across)
        panel, source = panels + column * layer.depth, right + column * layer.right_column
        with code.builder.if_else(layer.right_column.equals(1)) as (together, apart):
            with together, code.loop(0, layer.depth) as k, code.loop(0, across, code.lanes) as x:
                vector = (source + k * layer.right_row + x).vector(0, code.mask((count - x).at_least(0)))
                panel.put_vector(k * across + x, vector)
            with apart, code.loop(0, layer.depth) as k, code.loop(0, across) as x:
                # Positions after the last column read the last column; their sums are not used.
                within = x.at_most(count - 1)
                panel.put(k * across + x, source.scalar(k * layer.right_row + within * layer.right_column))
