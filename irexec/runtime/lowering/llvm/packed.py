"""Products of rows with a packed (low-bit) matrix `[N, K]`, unpacked in registers or to the cache, and panels of a
packed kernel for convolutions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from irexec.runtime.lowering.llvm.after import After
from irexec.runtime.lowering.llvm.code import F32, Code, Fields, Number, Run, copy_run
from irexec.runtime.lowering.llvm.epilogue import epilogue
from irexec.runtime.lowering.llvm.products import write_tile
from irexec.runtime.lowering.llvm.rows import across_lanes
from irexec.runtime.lowering.llvm.transposing import turned
from irexec.runtime.lowering.llvm.unpacking import TABLE, Decoder, Group, Packing, load_dwords

# The fields of the record of both functions, each a 64-bit number. Lengths and positions count elements.
LAYER = (
    "left", "result", "operands",  # addresses; `operands` belong to the following layers
    "codes", "zeros", "scales",  # addresses; zeros and scales: `[groups, N]`, each row padded with one vector
    "depth", "columns",  # products per sum; columns of the result, which are rows of codes
    "group",  # the length of a group, a divisor of `depth`
    "zero_group", "scale_group",  # strides between two groups
)  # fmt: skip
FEW_TASK = ("first_column", "last_column")
MANY_TASK = ("first_column", "last_column", "first_row", "last_row")
PANEL_TASK = ("column", "place")  # the first column of a panel, and its position in the result

# The distance in bytes of the codes that are loaded ahead, about a microsecond's work, and the level of their cache:
# the second level waits for more cache lines at a time than the first, which would limit the speed.
AHEAD, AHEAD_LEVEL = 1 << 13, 2


def write_few(
    module: Any, name: str, lanes: int, rows: int, packing: Packing, is_blocked: bool, after: Sequence[After] = ()
) -> Code:
    """Write `few(layer, task, scratch, round)`: multiply `rows` rows by some columns, with sums along the depth.

    `is_blocked`: groups are multiples of the elements in a vector of dwords, whose order is permuted; the rows of the
    left matrix are brought into the same order. Scratch memory holds these rows, then the sums.
    """
    code = Code(module, name, 4, lanes)
    layer, task, scratch = fields(code, FEW_TASK)
    left, depth = layer.left.floats(), layer.depth
    if is_blocked:
        _in_block_order(code, left, scratch, depth * rows, packing.in_dword)
        left = scratch
    sums, width = scratch + depth * rows, task.last_column - task.first_column
    # In 16 registers, there is room for what the blocks of two columns need.
    height = 4 if rows == 1 and not (is_blocked and lanes < TABLE) else 2
    single = packing.least
    with code.loop(0, width, height) as start:
        columns = [(task.first_column + start + number).at_most(layer.columns - 1) for number in range(height)]
        vectors = [code.zeros()] * (height * rows)
        scalars = [ir.Constant(F32, 0.0)] * (height * rows)
        with code.folding(0, depth, [*vectors, *scalars], layer.group) as groups:
            begin = groups.index
            decoders = [
                Decoder.of_group(code, packing, group_of(layer, column, begin // layer.group), (lanes, single))
                for column in columns
            ]
            codes = [layer.codes + packing.nbytes(column * depth + begin) for column in columns]
            rows_of_left = [left + (depth * m + begin) for m in range(rows)]
            vectors, scalars = groups.values[: height * rows], groups.values[height * rows :]
            if is_blocked:
                with code.folding(0, layer.group, vectors, packing.in_dword * lanes) as blocks:
                    blocks.values = _block(code, decoders, codes, rows_of_left, blocks.index, blocks.values, packing)
                vectors = blocks.values
            else:
                whole = layer.group & -lanes
                # A cache line of codes at a time while the group contains a complete one, then a vector at a time.
                line = 64 * lanes // packing.nbytes(lanes)
                for first, last, step in ((0, layer.group & -line, line), (layer.group & -line, whole, lanes)):
                    with code.folding(first, last, vectors, step) as inner:
                        if step == line:
                            for address in codes:
                                code.prefetch(address + packing.nbytes(inner.index) + AHEAD, AHEAD_LEVEL)
                        for offset in range(0, step, lanes):
                            k = inner.index + offset
                            at = [address + packing.nbytes(k) for address in codes]
                            weights = [
                                decoder.vector(place, lanes) for decoder, place in zip(decoders, at, strict=True)
                            ]
                            inner.values = _added(code, weights, [row.vector(k) for row in rows_of_left], inner.values)
                    vectors = inner.values
                with code.folding(whole, layer.group, scalars, single) as rest:
                    at = [address + packing.nbytes(rest.index) for address in codes]
                    weights = [decoder.vector(place, single) for decoder, place in zip(decoders, at, strict=True)]
                    for number in range(single):
                        parts = [code.builder.extract_element(w, ir.Constant(ir.IntType(32), number)) for w in weights]
                        found = [row.scalar(rest.index + number) for row in rows_of_left]
                        rest.values = [
                            code.builder.fadd(value, code.builder.fmul(parts[n // rows], found[n % rows]))
                            for n, value in enumerate(rest.values)
                        ]
                scalars = rest.values
            groups.values = [*vectors, *scalars]
        for n in range(height * rows):
            total = across_lanes(code, groups.values[n], code.builder.fadd)
            total = code.builder.fadd(total, groups.values[height * rows + n])
            (sums + (width + height) * (n % rows)).put(start + n // rows, total)
    for m in range(rows):
        place = layer.columns * m + task.first_column
        change = epilogue(code, after, layer.operands, task.first_column, place)
        copy_run(sums + (width + height) * m, layer.result.floats() + place, width, change)
    return code.end()


def _in_block_order(code: Code, source: Run, target: Run, count: Number, in_dword: int) -> None:
    """Copy elements in another order: elements at equal positions in a vector of dwords become adjacent."""
    with code.loop(0, count, in_dword * code.lanes) as block, code.loop(0, code.lanes) as dword:
        for place in range(in_dword):
            value = (source + (block + dword * in_dword)).scalar(place)
            (target + (block + dword)).put(place * code.lanes, value)


def _block(
    code: Code,
    decoders: Sequence[Decoder],
    codes: Sequence[Number],
    left: Sequence[Run],
    index: Number,
    values: list[Any],
    packing: Packing,
) -> list[Any]:
    for address in codes:
        code.prefetch(address + packing.nbytes(index) + AHEAD, AHEAD_LEVEL)
    dwords = [load_dwords(code, address + packing.nbytes(index), code.lanes) for address in codes]
    for place in range(packing.in_dword):
        unpacked = [each.permuted if packing.is_looked_up else each.in_dwords for each in decoders]
        weights = [unpack(word, place) for unpack, word in zip(unpacked, dwords, strict=True)]
        values = _added(code, weights, [row.vector(index + place * code.lanes) for row in left], values)
    return values


def _added(code: Code, weights: Sequence[Any], factors: Sequence[Any], values: Sequence[Any]) -> list[Any]:
    """Return `values` plus the product of each vector of weights with each row's factors."""
    rows = len(factors)
    return [code.call("fmuladd", weights[n // rows], factors[n % rows], value) for n, value in enumerate(values)]


def write_many(
    module: Any,
    name: str,
    lanes: int,
    height: int,
    width: int,
    step: int,
    packing: Packing,
    is_whole: bool,
    dwords: int,
    after: Sequence[After] = (),
) -> Code:
    """Write `many(layer, task, scratch, round)`: multiply at least `height` rows by some columns.

    Scratch memory holds `step` elements of `width` vectors of columns, unpacked and transposed, then the sums of the
    tiles. `is_whole`: no vector has elements of two groups. `dwords`: the number of dwords that are unpacked together,
    whose elements also belong to one group (0: elements are not unpacked as dwords).
    """
    tile = write_tile(module, f"{name}_tile", lanes, height, width)
    unpack = _write_unpack(module, f"{name}_unpack", lanes, lanes * width, packing, is_whole, dwords)
    code = Code(module, name, 4, lanes)
    layer, task, panel = fields(code, MANY_TASK)
    across = lanes * width
    sums, rows = panel + step * across, task.last_row - task.first_row
    left = layer.left.floats() + task.first_row * layer.depth
    tiles = (rows + (height - 1)) // height
    with code.loop(task.first_column, task.last_column, across) as column:
        with code.loop(0, layer.depth, step) as k:
            depth = (layer.depth - k).at_most(step)
            code.run(unpack, code.parameters[0], column, k, depth, panel.address)
            with code.loop(0, tiles) as number:
                # The last tile may overlap the tile before it; both then compute the same sums of the same products.
                first = (number * height).at_most(rows - height)
                of_tile = sums + number * (height * across)
                code.run(tile, (left + (first * layer.depth + k)).address, panel.address, depth, layer.depth,
                         of_tile.address, k)  # fmt: skip
        count = (task.last_column - column).at_most(across)
        with code.loop(0, tiles) as number, code.loop(0, height) as m:
            first = (number * height).at_most(rows - height) + task.first_row
            place = (first + m) * layer.columns + column
            change = epilogue(code, after, layer.operands, column, place)
            copy_run(sums + (number * height + m) * across, layer.result.floats() + place, count, change)
    return code.end()


def write_panels(
    module: Any, name: str, lanes: int, height: int, packing: Packing, is_whole: bool, dwords: int
) -> Code:
    """Write `panels(layer, task, scratch, round)`: unpack one panel `[depth, height]` of `height` columns."""
    unpack = _write_unpack(module, f"{name}_unpack", lanes, height, packing, is_whole, dwords)
    code = Code(module, name, 4, lanes)
    layer, task, _ = fields(code, PANEL_TASK)
    panel = layer.result.floats() + task.place
    code.run(unpack, code.parameters[0], task.column, code.number(0), layer.depth, panel.address)
    return code.end()


def _write_unpack(
    module: Any, name: str, lanes: int, height: int, packing: Packing, is_whole: bool, dwords: int
) -> Code:
    """Write `unpack(layer, column, k, depth, panel)`: unpack `depth` elements of `height` columns, from element `k` on.

    Most elements are transposed as dwords, before they are unpacked; the remaining elements are transposed afterwards.
    """
    code = Code(module, name, 5, lanes)
    layer = Fields(code.parameters[0], LAYER)
    first, start, depth = code.parameters[1:4]
    panel, across = code.parameters[4].floats(), -(-height // lanes) * lanes
    block = lanes * packing.in_dword
    blocks = depth & -block if dwords else code.number(0)
    whole = depth & -lanes if is_whole else blocks

    def place(column: Number, k: Number) -> Number:
        """Return the address of the code of an element."""
        found: Number = packing.nbytes(column.at_most(layer.columns - 1) * layer.depth + start + k)
        return layer.codes + found

    with code.loop(0, across, lanes) as side:
        mask = code.mask(code.number(height) - side) if height < across else None

        def put(k: Number, vector: Any) -> None:
            (panel + (k * height + side)).put_vector(0, vector, mask)

        if dwords:
            with code.loop(0, blocks, block) as k:
                places = [place(first + side + number, k) for number in range(lanes)]
                for address in places:
                    code.prefetch(address + packing.nbytes(layer.depth * across), AHEAD_LEVEL)
                square = [load_dwords(code, address, lanes) for address in places]
                decoder = Decoder(code, packing, {})
                for number, dword in enumerate(turned(code, square)):
                    at = k + number * packing.in_dword
                    if number % dwords == 0:
                        column = (first + side).at_most(layer.columns - 1)
                        group = _groups(layer, column, (start + at) // layer.group)
                        decoder = Decoder(code, packing, {lanes: group})
                    for element in range(packing.in_dword):
                        put(at + element, decoder.in_dwords(dword, element))
        with code.loop(blocks, whole, lanes) as k:
            square = []
            for number in range(lanes):
                group = group_of(layer, (first + side + number).at_most(layer.columns - 1), (start + k) // layer.group)
                decoder = Decoder.of_group(code, packing, group, (lanes,))
                square.append(decoder.vector(place(first + side + number, k), lanes))
            for number, vector in enumerate(turned(code, square)):
                put(k + number, vector)
    single = packing.least
    with code.loop(whole, depth, single) as k, code.loop(0, height) as side:
        group = group_of(layer, (first + side).at_most(layer.columns - 1), (start + k) // layer.group)
        pair = Decoder.of_group(code, packing, group, (single,)).vector(place(first + side, k), single)
        for number in range(single):
            value = code.builder.extract_element(pair, ir.Constant(ir.IntType(32), number))
            panel.put((k + number) * height + side, value)
    return code.end()


def fields(code: Code, task: tuple[str, ...]) -> tuple[Fields, Fields, Run]:
    return Fields(code.parameters[0], LAYER), Fields(code.parameters[1], task), code.parameters[2].floats()


def group_of(layer: Fields, column: Number, group: Number) -> Group:
    """Return the zero point and scale of one column of the result as scalars."""
    return Group(*[run.scalar(0) for run in _parameters(layer, column, group)])


def _groups(layer: Fields, column: Number, group: Number) -> Group:
    """Return the zero points and scales of a vector of columns."""
    return Group(*[run.vector(0) for run in _parameters(layer, column, group)])


def _parameters(layer: Fields, column: Number, group: Number) -> tuple[Run, Run]:
    return (
        layer.zeros.floats() + (column + group * layer.zero_group),
        layer.scales.floats() + (column + group * layer.scale_group),
    )
