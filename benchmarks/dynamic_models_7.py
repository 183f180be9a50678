"""Models with dynamic dimensions for benchmarks/shapes.py: constraints on several sizes that apply to one layer."""

from __future__ import annotations

from typing import Any

import numpy as np
from dynamic_models import convolved, extent, joined_as_equals, kind, model, open_input, pooled, scalar, weights, whole

import irexec
from irexec import opset15 as op


def flat(data: Any) -> Any:
    return op.reshape(data, whole(-1), False)


def counted(stop: Any, step: int = 1) -> Any:
    """Return the numbers from 0 up to the only element of a tensor, in f32."""
    return op.range(scalar(0), op.squeeze(stop, whole(0)), scalar(step), np.float32)


def floats(data: Any) -> Any:
    return op.convert(data, np.float32)


def integers(data: Any) -> Any:
    return op.convert(data, np.int64)


@kind("adverse")
def two_areas() -> irexec.Model:
    data, other = open_input("data", [-1, -1]), open_input("other", [-1, -1])
    return model(joined_as_equals(flat(data), flat(other)), [data, other])


@kind("adverse")
def thirds_and_halves() -> irexec.Model:
    """Return a model in which a floor of one size must equal a ceiling of another size."""
    data, other = open_input("data", [-1, 2, -1]), open_input("other", [-1, 2, -1])
    thirds = op.max_pool(data, [3], [1], [0], [0], [3]).output(0)
    halves = op.max_pool(other, [2], [1], [0], [0], [2], "ceil").output(0)
    return model(joined_as_equals(thirds, halves), [data, other])


@kind("adverse")
def ceiled_and_doubled() -> irexec.Model:
    image = open_input("image", [-1, 3, -1, -1])
    small = op.avg_pool(image, [2, 2], [0, 0], [0, 0], [2, 2], True, "ceil")
    large = op.convolution_backprop_data(small, weights(3, 3, 2, 2), [2, 2], None, [0, 0], [0, 0], [1, 1])
    return model(op.concat([large, image], 1), [image])


@kind("adverse")
def three_of_four() -> irexec.Model:
    """Return a model that requires sizes with a remainder of 3."""
    image = open_input("image", [-1, 3, -1, -1])
    small = convolved(image, 3, 4, 3, 4, 0)
    large = op.convolution_backprop_data(small, weights(4, 3, 3, 3), [4, 4], None, [0, 0], [0, 0], [1, 1])
    return model(op.add(large, image, "none"), [image])


@kind("adverse")
def branches_of_lengths() -> irexec.Model:
    """Return an If that requires long rows in multiples of 16, short rows in multiples of 5."""
    data = open_input("data", [-1])
    inner = [open_input(f"inner{n}", [-1]) for n in range(2)]
    bodies = [
        model(op.reshape(each, whole(-1, size), False), [each]) for each, size in zip(inner, (16, 5), strict=True)
    ]
    choice = op.if_op(op.squeeze(op.greater(extent(data, 0), whole(40)), whole(0)))
    choice.set_then_body(bodies[0])
    choice.set_else_body(bodies[1])
    choice.set_input(data.output(0), *inner)
    return model(choice.set_output(bodies[0].results[0], bodies[1].results[0]), [data])


@kind("adverse")
def table_behind_a_past() -> irexec.Model:
    past, data = open_input("past", [-1, -1, 4]), open_input("data", [-1, -1, 4])
    end = op.add(extent(past, 1), extent(data, 1))
    rows = op.slice(weights(32, 4), extent(past, 1), end, whole(1), whole(0))
    added = op.add(data, op.broadcast(rows, op.shape_of(data)))
    return model(op.concat([past, added], 1), [past, data])


@kind("adverse")
def gathered_by_a_range() -> irexec.Model:
    data, short = open_input("data", [-1, -1, 4]), open_input("short", [-1, 4])
    places = op.range(scalar(0), op.squeeze(extent(data, 1), whole(0)), scalar(2), np.int64)
    rows = op.gather(weights(64, 4), places, scalar(0))
    return model(
        [op.concat([op.gather(data, scalar(0), scalar(0)), rows], 0), joined_as_equals(rows, short)], [data, short]
    )


@kind("adverse")
def batch_in_reshape_and_tile() -> irexec.Model:
    data = open_input("data", [-1, -1, 8])
    heads = op.reshape(data, whole(2, -1, 2, 4), False)
    token = op.reshape(op.tile(weights(1, 1, 8), whole(2, 1, 1)), whole(2, 1, 2, 4), False)
    return model(op.concat([token, heads], 1), [data])


@kind("adverse")
def states_of_two_widths() -> irexec.Model:
    data, other = open_input("data", [-1, -1]), open_input("other", [-1, -1])
    reads = [
        op.read_value(op.multiply(each, each), name, "f32", irexec.PartialShape([-1, -1]))
        for each, name in ((data, "one"), (other, "two"))
    ]
    joined = op.concat([reads[0], reads[1]], 1)
    half = op.split(joined, scalar(1), 2).outputs()
    sinks = [op.assign(half[0], "one"), op.assign(half[1], "two")]
    return irexec.Model([op.add(half[0], op.matmul(data, weights(6, 1), False, False))], sinks, [data, other])


@kind("adverse")
def loop_as_long_as_other() -> irexec.Model:
    """Return a Loop whose trip count is the number of rows of an input; each iteration adds a row."""
    data, other = open_input("data", [1, -1]), open_input("other", [-1, -1])
    inner = open_input("inner", [1, -1])
    body = irexec.Model([op.constant(np.bool_(True)), op.tanh(inner)], [inner])
    loop = op.loop(op.squeeze(extent(other, 0), whole(0)), op.constant(np.bool_(True)))
    loop.set_function(body)
    loop.set_special_body_ports([-1, 0])
    made = body.results[1].input(0).get_source_output()
    loop.set_merged_input(inner, data.output(0), made)
    rows = loop.get_concatenated_slices(made, 0, 1, 1, -1, 0)
    return model(joined_as_equals(rows, other), [data, other])


@kind("adverse")
def suppressed_and_reshaped() -> irexec.Model:
    boxes, scores = open_input("boxes", [-1, -1, 4]), open_input("scores", [-1, 3, -1])
    limits = [op.constant(np.float32(each)) for each in (0.5, 0.1)]
    kept = op.non_max_suppression(boxes, scores, scalar(5), *limits).output(0)
    places = op.gather(kept, whole(2), scalar(1))
    return model(op.gather(op.reshape(boxes, whole(-1, 2, 2), False), flat(places), scalar(0)), [boxes, scores])


@kind("adverse")
def three_equal_parts() -> irexec.Model:
    data = open_input("data", [-1, -1, -1])
    query, key, value = op.split(data, scalar(2), 3).outputs()
    weighed = op.matmul(op.softmax(op.matmul(query, key, False, True), 2), value, False, False)
    return model(op.reshape(weighed, whole(0, 0, 4, -1), True), [data])


@kind("adverse")
def depth_to_space_beside_skip() -> irexec.Model:
    data, skip = open_input("data", [-1, -1, -1, -1]), open_input("skip", [-1, 2, -1, -1])
    return model(op.concat([op.depth_to_space(data, "blocks_first", 3), skip], 1), [data, skip])


@kind("adverse")
def dilated_and_strided() -> irexec.Model:
    image, other = open_input("image", [-1, 3, -1, -1]), open_input("other", [-1, 4, -1, -1])
    small = op.convolution(image, weights(4, 3, 3, 3), [2, 2], [1, 1], [1, 1], [3, 3])
    large = op.convolution_backprop_data(
        other, weights(4, 4, 3, 3), [2, 2], None, [1, 1], [1, 1], [1, 1], "explicit", [1, 1]
    )
    return model(op.add(small, large, "none"), [image, other])


@kind("adverse")
def resized_to_skip_in_windows() -> irexec.Model:
    data, skip = open_input("data", [-1, 4, -1, -1]), open_input("skip", [-1, 4, -1, -1])
    sizes = op.slice(op.shape_of(skip), whole(2), whole(4), whole(1), whole(0))
    large = op.interpolate(data, sizes, "linear_onnx", "sizes", [0, 0], [0, 0], axes=whole(2, 3))
    height, width = (op.divide(extent(skip, axis), whole(8)) for axis in (2, 3))
    joined = op.concat([large, skip], 1)
    windows = op.reshape(joined, op.concat([extent(joined, 0), whole(8), height, whole(8), width, whole(8)], 0), False)
    return model(op.transpose(windows, whole(0, 2, 4, 3, 5, 1)), [data, skip])


@kind("adverse")
def padded_in_floats() -> irexec.Model:
    """Return rows padded to a multiple of 8 and divided into windows; the padding is computed in f32."""
    data = open_input("data", [-1, -1, 4])
    size = floats(extent(data, 1))
    full = op.multiply(op.ceiling(op.divide(size, op.constant(np.float32([8])))), op.constant(np.float32([8])))
    rest = integers(op.subtract(full, size))
    ends = op.concat([whole(0), rest, whole(0)], 0)
    padded = op.pad(data, whole(0, 0, 0), ends, "constant", op.constant(np.float32(0)))
    windows = op.reshape(padded, whole(0, -1, 8, 4), True)
    back = op.reshape(op.softmax(windows, 2), whole(0, -1, 4), True)
    return model(op.slice(back, whole(0), extent(data, 1), whole(1), whole(1)), [data])


@kind("adverse")
def remainder_in_floats() -> irexec.Model:
    """Return a model that accepts only rows without a remainder; Mod is computed in f32."""
    data = open_input("data", [-1, -1])
    rest = op.mod(floats(extent(data, 1)), op.constant(np.float32([6])))
    longer = op.pad(data, whole(0, 0), op.concat([whole(0), integers(rest)], 0), "constant", op.constant(np.float32(0)))
    return model(joined_as_equals(longer, data), [data])


@kind("adverse")
def floor_of_a_quotient() -> irexec.Model:
    data, other = open_input("data", [-1, -1]), open_input("other", [-1])
    part = integers(op.floor(op.multiply(floats(extent(data, 1)), op.constant(np.float32([0.25])))))
    return model(joined_as_equals(counted(part), other), [data, other])


@kind("adverse")
def rows_of_another_width() -> irexec.Model:
    """Return a model in which one size must divide a product of two others."""
    data, other = open_input("data", [-1, -1]), open_input("other", [1, -1])
    return model(op.reshape(data, op.concat([whole(-1), extent(other, 1)], 0), False), [data, other])


@kind("adverse")
def tiled_by_a_quotient() -> irexec.Model:
    """Return a model in which one size must be a multiple of the other."""
    data, other = open_input("data", [-1]), open_input("other", [-1])
    times = op.divide(extent(other, 0), extent(data, 0))
    return model(joined_as_equals(op.tile(data, times), other), [data, other])


@kind("adverse")
def shorter_of_two() -> irexec.Model:
    data, other, third = (open_input(name, [-1, 2]) for name in ("data", "other", "third"))
    cut = op.slice(data, whole(0), extent(other, 0), whole(1), whole(0))
    return model(joined_as_equals(cut, third), [data, other, third])


@kind("adverse")
def at_most_sixteen() -> irexec.Model:
    """Return a model in which a Select on sizes limits a length."""
    data, other = open_input("data", [-1]), open_input("other", [-1])
    size = extent(data, 0)
    limited = op.select(op.greater(size, whole(16)), whole(16), size)
    return model(joined_as_equals(counted(limited), other), [data, other])


@kind("adverse")
def sum_is_a_double() -> irexec.Model:
    one, two, three = (open_input(name, [-1, 2]) for name in ("one", "two", "three"))
    doubled = op.reshape(op.concat([three, three], 1), whole(-1, 2), False)
    return model(joined_as_equals(op.concat([one, two], 0), doubled), [one, two, three])


@kind("adverse")
def channels_of_heads() -> irexec.Model:
    """Return a model in which a quotient is broadcast: 4 or 12 channels are accepted."""
    data = open_input("data", [-1, -1, -1])
    heads = op.reshape(data, whole(0, 4, -1), True)
    first = op.split(op.unsqueeze(data, whole(0)), scalar(2), 4).outputs()[0]
    return model([heads, op.add(first, weights(1, 1, 3, 1))], [data])


@kind("adverse")
def filter_of_an_input() -> irexec.Model:
    """Return a tracker, in which the template is the kernel for the search image."""
    image, template = open_input("image", [-1, -1, -1, -1]), open_input("template", [-1, -1, -1, -1])
    found = op.convolution(image, template, [1, 1], [0, 0], [1, 1], [1, 1])
    return model(op.concat([found, op.multiply(found, found)], 0), [image, template])


@kind("adverse")
def groups_of_an_input() -> irexec.Model:
    data, filters = open_input("data", [-1, -1, -1]), open_input("filters", [-1, 2, 3, 3])
    return model(op.group_convolution(data, filters, [2], [0], [0], [1]), [data, filters])


@kind("adverse")
def steps_of_three() -> irexec.Model:
    data, other = open_input("data", [-1]), open_input("other", [-1])
    return model(joined_as_equals(counted(extent(data, 0), 3), other), [data, other])


@kind("adverse")
def square_of_tokens() -> irexec.Model:
    """Return a model that computes the grid of a sequence of patches by a square root."""
    data = open_input("data", [-1, -1, 4])
    side = integers(op.sqrt(floats(op.subtract(extent(data, 1), whole(1)))))
    patches = op.slice(data, whole(1), whole(2**31 - 1), whole(1), whole(1))
    return model(op.reshape(patches, op.concat([extent(data, 0), side, side, whole(4)], 0), False), [data])


@kind("adverse")
def masks_of_attention() -> irexec.Model:
    query, key = open_input("query", [-1, 2, -1, 4]), open_input("key", [-1, 2, -1, 4])
    mask = open_input("mask", [-1, 1, -1, -1])
    return model(op.scaled_dot_product_attention(query, key, key, mask), [query, key, mask])


@kind("adverse")
def lengths_of_labels() -> irexec.Model:
    logits, labels = open_input("logits", [-1, -1, 6]), open_input("labels", [-1, -1], np.int32)
    lengths = [op.convert(op.reduce_sum(op.multiply(each, each), whole(1), False), np.int32) for each in (labels,)]
    frames = op.convert(op.reduce_sum(op.reduce_sum(logits, whole(2), False), whole(1), False), np.int32)
    return model(op.ctc_loss(logits, frames, labels, lengths[0], op.constant(np.int32(5))), [logits, labels])


@kind("adverse")
def merged_patches_of_odd_images() -> irexec.Model:
    """Return merged patches of 2 by 2; an odd image is padded by its remainder."""
    image = open_input("image", [-1, -1, -1, 3])
    rests = [op.mod(extent(image, axis), whole(2)) for axis in (1, 2)]
    ends = op.concat([whole(0), *rests, whole(0)], 0)
    even = op.pad(image, whole(0, 0, 0, 0), ends, "constant", op.constant(np.float32(0)))
    parts = [
        op.slice(even, whole(down, right), whole(2**31 - 1, 2**31 - 1), whole(2, 2), whole(1, 2))
        for down in (0, 1)
        for right in (0, 1)
    ]
    return model(op.matmul(op.concat(parts, 3), weights(12, 5), False, False), [image])


@kind("adverse")
def two_towers_of_strides() -> irexec.Model:
    """Return a model that compares the grids after five halvings and after a pooling by 24."""
    image = open_input("image", [-1, 3, -1, -1])
    halved = image
    for _ in range(3):
        halved = pooled(halved)
    return model(op.concat([pooled(halved, 3), pooled(pooled(image, 3), 8)], 1), [image])
