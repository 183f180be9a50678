"""Windows that slide over each channel separately (depthwise convolution, pooling), with sums or maxima in registers.

Several rows of the result are computed at once: a vector that is read is used for all taps in one column of the kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from irexec.runtime.lowering.llvm.after import After
from irexec.runtime.lowering.llvm.code import Code, Number, begun
from irexec.runtime.lowering.llvm.epilogue import epilogue

# The fields of `sliding`'s record, each a 64-bit number. Lengths and positions count elements of f32.
LAYER = (
    "input", "result", "operands", "weights",  # addresses; [channels, taps] of weights
    "pad",  # the address of `llvm.convolution.write_pad`'s function
    "channel_input", "channel_result", "stride",
)  # fmt: skip
TASK = (
    "first", "last",  # the range of channels
    "first_weights",  # the number of the weights of channel 0
    "input", "result",  # the start of the image
    "offsets",  # an address: starts of the columns of taps in the padded input
    "lines", "line_count",  # an address: the padding of the input
    "rows", "width", "pitch",  # the extents of the result, and the distance between rows of the padded input
)  # fmt: skip
# A tap: the number of its column, and the number of the row that it reads, relative to the first row of the window.
Taps = Sequence[tuple[int, int]]


def write_sliding(
    module: Any,
    name: str,
    lanes: int,
    height: int,
    width: int,
    taps: Taps,
    after: Sequence[After] = (),
    is_largest: bool = False,
) -> Code:
    """Write `sliding(layer, task, scratch, round)`: compute one task of at least `height` rows, `height` rows at a
    time. The task computes sums of products with a kernel for each channel, or the largest element of each window. The
    `width` of rows matters only for whether a row has complete vectors and whether it has a remainder.
    """
    code, layer, task = begun(module, name, lanes, LAYER, TASK)
    scratch = code.parameters[2].floats()
    columns = sorted({column for column, _ in taps})
    begins = [scratch + task.offsets.numbers().number(column) for column in columns]
    with code.loop(task.first, task.last) as channel:
        source = layer.input.floats() + task.input + channel * layer.channel_input
        # The padding is written only for the first channel: the lines of all channels are at the same positions.
        fills = (task.first + 1 - channel).at_least(0)
        code.run_at(layer.pad, source.address, scratch.address, task.lines, task.line_count, layer.stride, fills)
        kernel = layer.weights.floats() + (task.first_weights + channel) * len(taps)
        weights = [] if is_largest else [code.splat(kernel.scalar(number)) for number in range(len(taps))]
        plane = task.result + channel * layer.channel_result
        with code.loop(0, task.rows, height) as row:
            # The last block of rows may overlap the block before it; both then compute the same sums.
            first = row.at_most(task.rows - height)
            places = [plane + (first + number) * task.width for number in range(height)]
            changes = [epilogue(code, after, layer.operands, task.first_weights + channel, place) for place in places]

            def fold(number: int, pixels: Any, before: Any) -> Any:
                if is_largest:
                    return code.call("maximum", pixels, before)
                return code.call("fmuladd", weights[number], pixels, before)

            def store(x: Number, mask: Any) -> None:
                results = [code.constant(float("-inf")) if is_largest else code.zeros()] * height
                for column in columns:
                    of_column = [(number, shift) for number, (own, shift) in enumerate(taps) if own == column]
                    for line in sorted({number + shift for number in range(height) for _, shift in of_column}):
                        pixels = (begins[column] + (first + line) * task.pitch).vector(x)
                        for number, shift in of_column:
                            if 0 <= line - shift < height:
                                results[line - shift] = fold(number, pixels, results[line - shift])
                for place, change, result in zip(places, changes, results, strict=True):
                    (layer.result.floats() + place).put_vector(x, change(x, result, mask), mask)

            code.in_vectors(task.width, store, width)
    return code.end()
