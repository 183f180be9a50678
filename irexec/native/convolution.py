"""A convolution as a sum of products whose columns are never made: each kernel tap is a place in the padded input.

`result[m, p] = Σ_k weights[k, m] · input[offsets[k] + p]` over runs of pixels p. The pixels of a block of rows are one
run, because the rows of the padded input follow one another at the same distance as those of the sums; what lies
between the rows of the sums is left out when they are copied to the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from irexec.native.after import After
from irexec.native.code import Code, Fields, Run, clear_run, copy_every_second, copy_run
from irexec.native.epilogue import epilogue

# The fields of what `convolve` is given, each a number of 64 bits. Lengths and places count elements of f32.
LAYER = (
    "input", "result", "operands", "weights",  # addresses; the operands are those of the layers that follow
    "pad",  # the address of `write_pad`'s function, which all convolutions share
    "depth", "depth_step",  # products per sum, and how many of them are summed before they are added to the others
    "group_input", "channel_input", "inputs",  # of one group, of one channel; channels per group
    "group_result", "channel_result", "outputs", "blocks",  # likewise; channels per group and tiles of them
    "stride",  # of the windows along a row
    "row_length",  # of the sums of one channel
    "padded",  # the elements of scratch memory for the padded input; the sums come behind it
)  # fmt: skip
TASK = (
    "first_group", "last_group", "first_block", "last_block",
    "input", "result",  # where they begin
    "offsets",  # an address: where in the padded input each product finds its pixels
    "lines", "line_count", "channel_padded",  # an address: how the input is padded; 0 lines where it isn't
    "pixels", "last_tile",  # of the sums, gaps between rows included; where the last tile may begin
    "rows", "pitch", "width",  # of the result, and how far apart its rows are in the sums
)  # fmt: skip
# For what is padded before, once for all tasks.
PADDING = ("input", "padded", "pad", "channel_input", "channel_padded", "lines", "line_count", "stride")
CHANNELS = ("first", "last")
LINE = ("target", "before", "source", "count", "after")


def write_convolve(module: Any, name: str, lanes: int, height: int, width: int, after: Sequence[After] = ()) -> Code:
    """`convolve(layer, task, scratch, round)`: one task. Tiles are `height` channels by `width` vectors of pixels."""
    tile = _tile(module, f"{name}_tile", lanes, height, width)
    code = Code(module, name, 4, lanes)
    layer, task = Fields(code.parameters[0], LAYER), Fields(code.parameters[1], TASK)
    scratch = code.parameters[2].floats()
    sums = scratch + layer.padded
    first_input = layer.input.floats() + task.input
    step = lanes * width
    with code.loop(task.first_group, task.last_group) as group:
        source = first_input + group * layer.group_input
        is_padded = code.number(0) < task.line_count
        with code.when(is_padded), code.loop(0, layer.inputs) as channel:
            code.run_at(
                layer.pad,
                (source + channel * layer.channel_input).address,
                (scratch + channel * task.channel_padded).address,
                task.lines,
                task.line_count,
                layer.stride,
            )
        base = Run(code, code.builder.select(is_padded, scratch.pointer, source.pointer))
        with code.loop(task.first_block, task.last_block) as block:
            weights = layer.weights.floats() + (group * layer.blocks + block) * layer.depth * height
            with code.loop(0, task.pixels, step) as pixel, code.loop(0, layer.depth, layer.depth_step) as k:
                # The last tile may overlap the one before: then both make the same sums of the same products, each of
                # them all of its sums before the next one begins.
                start = pixel.at_most(task.last_tile)
                code.run(
                    tile,
                    (weights + k * height).address,
                    (base + start).address,
                    (task.offsets.numbers() + k).address,
                    (layer.depth - k).at_most(layer.depth_step),
                    (sums + start).address,
                    layer.row_length,
                    k,
                )
            channel = block * height
            count = (layer.outputs - channel).at_most(height)
            first = task.result + group * layer.group_result + channel * layer.channel_result
            with code.loop(0, count) as m, code.loop(0, task.rows) as y:
                place = first + m * layer.channel_result + y * task.width
                change = epilogue(code, after, layer.operands, group * layer.outputs + channel + m, place)
                row = sums + (m * layer.row_length + y * task.pitch)
                copy_run(row, layer.result.floats() + place, task.width, change)
    return code.end()


def write_padding(module: Any, name: str, lanes: int) -> Code:
    """`pad(padding, channels, scratch, round)`: some channels of an input, copied with their padding."""
    code = Code(module, name, 4, lanes)
    padding, task = Fields(code.parameters[0], PADDING), Fields(code.parameters[1], CHANNELS)
    with code.loop(task.first, task.last) as channel:
        source = padding.input.floats() + channel * padding.channel_input
        target = padding.padded.floats() + channel * padding.channel_padded
        code.run_at(padding.pad, source.address, target.address, padding.lines, padding.line_count, padding.stride)
    return code.end()


def _tile(module: Any, name: str, lanes: int, height: int, width: int) -> Code:
    """`tile(weights, input, offsets, depth, sums, row_length, added)`: sums of products that stay in registers."""
    code = Code(module, name, 7, lanes)
    weights, data, offsets, depth, sums, row_length, added = code.parameters
    places = offsets.numbers()
    with code.folding(0, depth, [code.zeros()] * (height * width)) as fold:
        pixels = data.floats() + places.number(fold.index)
        vectors = [pixels.vector(x * lanes) for x in range(width)]
        column = weights.floats() + fold.index * height
        for m in range(height):
            weight = code.splat(column.scalar(m))
            for x in range(width):
                fold.values[m * width + x] = code.call("fmuladd", weight, vectors[x], fold.values[m * width + x])
    is_first = added < 1
    for m in range(height):
        row = sums.floats() + row_length * m
        for x in range(width):
            before = code.builder.select(is_first, code.zeros(), row.vector(x * lanes))
            row.put_vector(x * lanes, code.builder.fadd(before, fold.values[m * width + x]))
    return code.end()


def write_pad(module: Any, name: str, lanes: int) -> Code:
    """`pad(source, target, lines, line_count, stride)`: one channel's lines, with zeros before and after."""
    code = Code(module, name, 5, lanes)
    source, target = code.parameters[0].floats(), code.parameters[1].floats()
    lines, line_count, stride = code.parameters[2:]
    with code.loop(0, line_count) as number:
        line = Fields((lines.numbers() + number * len(LINE)).address, LINE)
        begin = target + line.target
        clear_run(begin, line.before)
        pixels, row = begin + line.before, source + line.source
        with code.when(stride < 2):
            copy_run(row, pixels, line.count)
        with code.when(code.number(1) < stride):
            with code.when(stride < 3):
                copy_every_second(row, pixels, line.count)
            with code.when(code.number(2) < stride), code.loop(0, line.count) as x:
                pixels.put(x, row.scalar(x * stride))
        clear_run(pixels + line.count, line.after)
    return code.end()
