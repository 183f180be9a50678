"""A convolution without columns in memory (no im2col): each kernel tap is an offset into the padded input.

`result[m, p] = Σ_k weights[k, m] · input[offsets[k] + p]` over runs of pixels p: see `irexec.runtime.lowering.shifted`
for an input in which the pixels under each tap are one run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from irexec.runtime.lowering.llvm.after import DEAR, After
from irexec.runtime.lowering.llvm.arithmetic import (
    Arithmetic,
    add_products,
    as_floats,
    bits,
    has_starts,
    is_whole,
    no_sums,
)
from irexec.runtime.lowering.llvm.code import I32, Code, Fields, Number, Run, begun, copy_run, every_second, fill_run
from irexec.runtime.lowering.llvm.epilogue import epilogue
from irexec.runtime.lowering.llvm.host import Tile

# The fields of `convolve`'s record, each a 64-bit number. Lengths and positions count elements of f32.
LAYER = (
    "input", "result", "operands", "weights",  # addresses; `operands` belong to the following layers
    "absent",  # the number of tiles of channels before the first tile in `weights`
    "starts",  # an address: the number with which the sum of each channel starts, for products of bytes
    "zeros",  # an address: the sums of a tile before the first product
    "pad",  # the address of `write_pad`'s function, which all convolutions share
    "depth", "depth_step",  # products per sum, and the products that are summed at a time
    "group_input", "channel_input", "inputs",  # sizes of one group and of one channel; channels per group
    "group_result", "channel_result", "outputs", "blocks",  # the same for the result; tiles of channels per group
    "stride",  # stride of the windows along a row
    "padded", "panel",  # the elements of scratch memory for the padded input and a panel; then the sums are stored
)  # fmt: skip
TASK = (
    "first_group", "last_group", "first_block", "last_block",
    "input", "result",  # the positions at which the task starts
    "offsets",  # an address: the position in the padded input of each product's pixels
    "lines", "line_count", "channel_padded",  # an address: the padding of the input; 0 lines if it is not padded
    "pixels", "tiles", "last_tile",  # pixels of each sum; tiles without single sums; the last possible start of a tile
    "singles",  # single sums of the last tile, if any
    "narrow",  # the start of a narrow tile at the end; a negative number if there is none
)  # fmt: skip
# The products that are added to each sum in one iteration, and the elements of a cache line.
AT_ONCE, LINE_SIZE = 4, 16
# The distance in elements at which weights are loaded into the cache: a page, at whose end the processor stops to load
# lines ahead on its own.
AHEAD = 1024
LINE = ("target", "before", "source", "count", "after")


def write_convolve(
    module: Any,
    name: str,
    lanes: int,
    tile: Tile,
    after: Sequence[After] = (),
    is_short: bool = False,
    is_last: bool = False,
    kind: Arithmetic = "floats",
    has_panels: bool = False,
) -> Code:
    """Write `convolve(layer, task, scratch, round)`: compute one task of a convolution.

    A tile is a number of channels by vectors of pixels. `is_short`: there are fewer pixels than in one tile. `is_last`:
    there is only one tile, with single sums. Products of integers are not divided into partial sums.

    `has_panels`: the pixels of a tile are first copied to a panel, which stays in the first-level cache while the
    weights of all channels are read. Otherwise the weights of a tile stay there while all pixels are read.
    """

    def write(part: str, tile: Tile, is_short: bool) -> Code:
        return _write_tile(module, f"{name}_{part}", lanes, tile, is_short, after, kind, has_panels)

    plain = None if is_last else write("tile", tile._replace(extra=0), is_short)
    narrow = write("narrow", tile._replace(width=tile.narrow, extra=0), False) if tile.narrow else None
    last = write("last", tile, False) if tile.extra else None
    code, layer, task = begun(module, name, lanes, LAYER, TASK)
    scratch, height, step = code.parameters[2].floats(), tile.height, tile.width * lanes
    panel, stored = scratch + layer.padded, scratch + layer.padded + layer.panel
    with code.loop(task.first_group, task.last_group) as group:
        source = layer.input.floats() + task.input + group * layer.group_input
        is_padded = code.number(0) < task.line_count
        with code.when(is_padded), code.loop(0, layer.inputs) as channel:
            code.run_at(
                layer.pad,
                (source + channel * layer.channel_input).address,
                (scratch + channel * task.channel_padded).address,
                task.lines,
                task.line_count,
                layer.stride,
                1,
            )
        base = Run(code, code.builder.select(is_padded, scratch.pointer, source.pointer))

        def sums(function: Code, data: Run, sums: Run, block: Number, k: Number, start: Number, count: Number) -> None:
            number, channel = group * layer.blocks + block - layer.absent, block * height
            code.run(
                function,
                (layer.weights.floats() + (number * layer.depth + k) * height).address,
                data.address,
                (task.offsets.numbers() + k).address,
                (layer.depth - k).at_most(layer.depth_step),
                Number(code, code.builder.select(k < 1, layer.zeros.value, sums.address.value)),
                layer.depth - k - layer.depth_step,
                sums.address,
                code.parameters[0],
                group * layer.outputs + channel,
                (layer.outputs - channel).at_most(height),
                task.result + group * layer.group_result + channel * layer.channel_result + start,
                count,
            )

        def by_block(function: Code, tile: Tile, start: Number, count: Number) -> None:
            with code.loop(0, layer.depth, layer.depth_step) as k:
                sums(function, base + start, stored, block, k, start, count)

        def by_panel(function: Code, tile: Tile, start: Number, count: Number) -> None:
            with code.loop(0, layer.depth, layer.depth_step) as k:
                offsets = task.offsets.numbers() + k
                with code.loop(0, (layer.depth - k).at_most(layer.depth_step)) as index:
                    pixels, target = base + offsets.number(index) + start, panel + index * (tile.across * lanes)
                    for x in range(tile.width):
                        mask = code.mask(count - x * lanes) if is_short else None
                        target.put_vector(x * lanes, pixels.vector(x * lanes, mask))
                    for n in range(tile.width * lanes, tile.width * lanes + tile.extra):
                        target.put(n, pixels.scalar((count - 1).at_most(n)))
                with code.loop(task.first_block, task.last_block) as block:
                    own = stored + (block - task.first_block) * (height * tile.across * lanes)
                    sums(function, panel, own, block, k, start, count)

        def each_tile(use: Callable[[Code, Tile, Number, Number], None]) -> None:
            if plain is not None:
                with code.loop(0, task.tiles) as number:
                    # The last tile may overlap the tile before it; both then compute the same sums of the same
                    # products.
                    start = (number * step).at_most(task.last_tile)
                    use(plain, tile._replace(extra=0), start, task.pixels.at_most(step))
            if narrow is not None:
                with code.when(code.number(-1) < task.narrow):
                    use(narrow, Tile(height, tile.narrow), task.narrow, code.number(tile.narrow * lanes))
            if last is not None:
                with code.when(code.number(0) < task.singles):
                    use(last, tile, task.last_tile, task.singles + step)

        if has_panels:
            each_tile(by_panel)
        else:
            with code.loop(task.first_block, task.last_block) as block:
                each_tile(by_block)
    return code.end()


def _write_tile(
    module: Any,
    name: str,
    lanes: int,
    tile: Tile,
    is_short: bool,
    after: Sequence[After],
    kind: Arithmetic,
    has_panels: bool,
) -> Code:
    """Write the function `tile(weights, input, offsets, depth, old, left, sums, layer, channel, rows, place, count)`.

    The function adds `depth` products to each sum of a tile, which are at `old`. If more products are `left`, the
    sums are stored in `sums`, otherwise the sums of `rows` rows are finished and stored in the result: `count` pixels
    of each, from `place` on. The `input` is a panel, or the pixels are at `offsets` in it.
    """
    height, width, extra, _ = tile
    code = Code(module, name, 12, lanes)
    weights, data, offsets, depth, old, left, scratch, layer_place, channel, rows, place, count = code.parameters
    layer, before, sums, b = Fields(layer_place, LAYER), old.floats(), scratch.floats(), code.builder
    places = offsets.numbers()
    masks = [code.mask(count - x * lanes) if is_short else None for x in range(width)]
    # The single sums of all rows are computed as a vector. Lanes without a sum read the pixel of the last sum.
    pixel_of = [(count - width * lanes - 1).at_most(n) + width * lanes for n in range(extra)]

    def add(values: list[Any], index: Number) -> None:
        pixels = data.floats() + (index * (tile.across * lanes) if has_panels else places.number(index))
        vectors = [pixels.vector(x * lanes, None if has_panels else masks[x]) for x in range(width)]
        column = weights.floats() + index * height
        for m in range(height):
            weight = code.splat(column.scalar(m))
            for x in range(width):
                values[m * width + x] = add_products(code, kind, values[m * width + x], vectors[x], weight)
        for n, pixel in enumerate(pixel_of, height * width):
            factor = code.splat(pixels.scalar(pixel), height)
            values[n] = add_products(code, kind, values[n], factor, column.few(height))

    done, values = code.number(0), _first_sums(code, layer, channel, tile, kind)
    if has_panels:
        # Few instructions per product matter most if another thread shares the core.
        done = depth & -AT_ONCE
        with code.folding(0, done, values, AT_ONCE) as fold:
            following = weights.floats() + fold.index * height + layer.depth * height
            for ahead in range(0, AT_ONCE * height, LINE_SIZE):
                code.prefetch((following + ahead).address)
            for further in range(AT_ONCE):
                add(fold.values, fold.index + further)
        values = fold.values
    with code.folding(done, depth, values) as fold:
        if not has_panels:
            code.prefetch((weights.floats() + fold.index * height + AHEAD).address)
        add(fold.values, fold.index)
    fold.values = [as_floats(code, kind, sum) for sum in fold.values]
    across = tile.across
    totals: list[list[Any]] = []
    for m in range(height):
        row = fold.values[m * width : (m + 1) * width]
        if extra:
            own = [b.extract_element(vector, ir.Constant(I32, m)) for vector in fold.values[height * width :]]
            row.append(_beginning_with(code, own))
        if not is_whole(kind):
            row = [b.fadd(before.vector((m * across + x) * lanes), y) for x, y in enumerate(row)]
        totals.append(row)

    def keep() -> None:
        for m, x in ((m, x) for m in range(height) for x in range(across)):
            sums.put_vector((m * across + x) * lanes, totals[m][x])

    with b.if_else(code.number(0) < left) as (unfinished, finished):
        with unfinished:
            keep()
        with finished:
            if any(step.formula in DEAR for step in after):
                keep()
                with code.loop(0, rows) as number:
                    here = place + number * layer.channel_result
                    change = epilogue(code, after, layer.operands, channel + number, here)
                    copy_run(sums + number * (across * lanes), layer.result.floats() + here, count, change)
            else:
                masks += [code.mask(count - width * lanes)] * (extra > 0)
                for m in range(height):
                    with code.when(code.number(m) < rows):
                        here = place + layer.channel_result * m
                        change = epilogue(code, after, layer.operands, channel + m, here)
                        for x, mask in enumerate(masks):
                            index = code.number(x * lanes)
                            (layer.result.floats() + here).put_vector(index, change(index, totals[m][x], mask), mask)
    return code.end()


def _first_sums(code: Code, layer: Fields, channel: Number, tile: Tile, kind: Arithmetic) -> list[Any]:
    """Return the sums of a tile before the first product: vectors of each row, then single sums of all rows."""
    height, width, extra, _ = tile
    if not has_starts(kind):
        return [no_sums(kind, code.lanes)] * (height * width) + [no_sums(kind, height)] * extra
    starts = layer.starts.floats() + channel
    rows = [bits(code, code.splat(starts.scalar(m))) for m in range(height)]
    return [row for row in rows for _ in range(width)] + [bits(code, starts.few(height))] * extra


def _beginning_with(code: Code, scalars: Sequence[Any]) -> Any:
    """Return a vector with these values in the first lanes, and 0 in all other lanes."""
    vector = code.zeros()
    for lane, scalar in enumerate(scalars):
        vector = code.builder.insert_element(vector, scalar, ir.Constant(I32, lane))
    return vector


def write_pad(module: Any, name: str, lanes: int, padding: float | bytes = 0.0) -> Code:
    """Write `pad(source, target, lines, line_count, stride, fills)`: copy one channel's lines and, unless `fills` is 0,
    write the padding before and after each line. `padding` is a number, or the bytes of an element.

    The last vector of a line may reach beyond the line, where it contains padding: this is also right for the elements
    after the line and before the next line, whose pixels are written later.
    """
    code = Code(module, name, 6, lanes)
    source, target = code.parameters[0].floats(), code.parameters[1].floats()
    lines, line_count, stride, fills = code.parameters[2:]
    if isinstance(padding, bytes):
        elements = ir.Constant(ir.VectorType(I32, lanes), [int.from_bytes(padding, "little")] * lanes)
        fill = code.builder.bitcast(elements, code.vector)
    else:
        fill = code.constant(padding)
    with code.loop(0, line_count) as number:
        line = Fields((lines.numbers() + number * len(LINE)).address, LINE)
        begin = target + line.target
        with code.when(code.number(0) < fills):
            fill_run(begin, line.before, fill)
            fill_run(begin + line.before + line.count, line.after, fill)
        pixels, row = begin + line.before, source + line.source

        def put(x: Number, vector: Any, mask: Any) -> None:
            pixels.put_vector(x, vector if mask is None else code.builder.select(mask, vector, fill))

        with code.when(stride < 2):
            code.in_vectors(line.count, lambda x, mask: put(x, row.vector(x, mask), mask))
        with code.when(code.number(1) < stride):
            with code.when(stride < 3):
                every_second(row, line.count, put)
            with code.when(code.number(2) < stride), code.loop(0, line.count) as x:
                pixels.put(x, row.scalar(x * stride))
    return code.end()
