"""Models with dynamic dimensions for benchmarks/shapes.py: parts of networks, operators whose sizes follow others."""

from __future__ import annotations

import numpy as np
from dynamic_models import convolved, extent, kind, model, open_input, pooled, scalar, weights, whole

import irexec
from irexec import opset15 as op


@kind("parts")
def pyramid_joined_at_strides() -> irexec.Model:
    image = open_input("image", [-1, 3, -1, -1])
    one = convolved(image, 3, 4, stride=2)
    two = convolved(one, 4, 4, stride=2)
    three = convolved(two, 4, 4, stride=2)
    back = op.interpolate(three, _scales(4.0, 4.0), "nearest", "scales", axes=whole(2, 3))
    return model(op.concat([one, back], 1), [image])


def _scales(*values: float) -> object:
    return op.constant(np.array(values, np.float32))


@kind("parts")
def pyramid_resized_to_sizes() -> irexec.Model:
    image = open_input("image", [-1, 3, -1, -1])
    fine = convolved(image, 3, 4, stride=2)
    coarse = pooled(convolved(fine, 4, 4, stride=2))
    sizes = op.gather(op.shape_of(fine), whole(2, 3), scalar(0))
    back = op.interpolate(coarse, sizes, "linear_onnx", "sizes", axes=whole(2, 3))
    return model(op.concat([fine, back], 1), [image])


@kind("parts")
def pixel_shuffle_by_reshape() -> irexec.Model:
    image = open_input("image", [-1, 8, -1, -1])
    height, width = extent(image, 2), extent(image, 3)
    apart = op.reshape(image, op.concat([whole(-1, 2, 2, 2), height, width], 0), False)
    moved = op.transpose(apart, whole(0, 1, 4, 2, 5, 3))
    target = op.concat([whole(-1, 2), op.multiply(height, whole(2)), op.multiply(width, whole(2))], 0)
    return model(op.reshape(moved, target, False), [image])


@kind("parts")
def pixel_unshuffle_by_reshape() -> irexec.Model:
    image = open_input("image", [-1, 3, -1, -1])
    height, width = op.divide(extent(image, 2), whole(2)), op.divide(extent(image, 3), whole(2))
    apart = op.reshape(image, op.concat([extent(image, 0), whole(3), height, whole(2), width, whole(2)], 0), False)
    return model(op.transpose(apart, whole(0, 1, 3, 5, 2, 4)), [image])


@kind("parts")
def shuffled_groups() -> irexec.Model:
    image = open_input("image", [-1, -1, -1, -1])
    channels = op.divide(extent(image, 1), whole(4))
    rest = op.gather(op.shape_of(image), whole(2, 3), scalar(0))
    apart = op.reshape(image, op.concat([extent(image, 0), whole(4), channels, rest], 0), False)
    return model(op.reshape(op.transpose(apart, whole(0, 2, 1, 3, 4)), op.shape_of(image), False), [image])


@kind("parts")
def windows_shifted() -> irexec.Model:
    """Return shifted windows of 4 rows, with a mask for 16 windows."""
    image = open_input("image", [-1, -1, -1, 8])
    height, width = op.divide(extent(image, 1), whole(4)), op.divide(extent(image, 2), whole(4))
    apart = op.reshape(image, op.concat([extent(image, 0), height, whole(4), width, whole(4, 8)], 0), False)
    windows = op.reshape(op.transpose(apart, whole(0, 1, 3, 2, 4, 5)), whole(-1, 16, 8), False)
    scores = op.matmul(windows, windows, False, True)
    masked = op.add(op.reshape(scores, whole(-1, 16, 2, 16, 16), False), weights(1, 16, 1, 16, 16))
    return model(op.reshape(masked, whole(-1, 16, 16), False), [image])


@kind("parts")
def squeeze_excitation() -> irexec.Model:
    image = open_input("image", [-1, 4, -1, -1])
    scale = op.sigmoid(convolved(op.reduce_mean(image, whole(2, 3), True), 4, 4, 1, pad=0))
    return model(op.multiply(convolved(image, 4, 4), scale), [image])


@kind("parts")
def residual_without_padding() -> irexec.Model:
    image = open_input("image", [-1, 3, -1, -1])
    size = op.subtract(op.shape_of(image), whole(0, 0, 4, 4))
    inner = op.slice(image, whole(2, 2), whole(-2, -2), whole(1, 1), whole(2, 3))
    made = convolved(convolved(image, 3, 3, pad=0), 3, 3, pad=0)
    return model([op.add(made, inner), size], [image])


@kind("parts")
def patches_with_class_token() -> irexec.Model:
    image = open_input("image", [-1, 3, -1, -1])
    patches = op.convolution(image, weights(8, 3, 16, 16), [16, 16], [0, 0], [0, 0], [1, 1])
    flat = op.transpose(op.reshape(patches, whole(0, 8, -1), True), whole(0, 2, 1))
    token = op.broadcast(weights(1, 1, 8), op.concat([extent(image, 0), whole(1, 8)], 0))
    return model(op.add(op.concat([token, flat], 1), weights(1, 17, 8)), [image])


@kind("parts")
def positions_interpolated() -> irexec.Model:
    image = open_input("image", [-1, 3, -1, -1])
    patches = op.convolution(image, weights(8, 3, 8, 8), [8, 8], [0, 0], [0, 0], [1, 1])
    sizes = op.gather(op.shape_of(patches), whole(2, 3), scalar(0))
    table = op.interpolate(weights(1, 8, 5, 5), sizes, "cubic", "sizes", axes=whole(2, 3))
    return model(op.add(patches, table), [image])


@kind("parts")
def relative_positions() -> irexec.Model:
    """Return distances of queries and keys, looked up by Range in a table of 31."""
    data = open_input("data", [-1, -1, 8])
    count = op.squeeze(extent(data, 1), whole(0))
    places = op.range(scalar(0), count, scalar(1), "i64")
    distances = op.subtract(op.unsqueeze(places, whole(0)), op.unsqueeze(places, whole(1)))
    bias = op.gather(weights(31), op.add(distances, scalar(15)), scalar(0))
    return model(op.add(op.matmul(data, data, False, True), bias), [data])


@kind("parts")
def causal_mask_of_a_buffer() -> irexec.Model:
    ids = open_input("ids", [-1, -1], np.int64)
    data = op.gather(weights(50, 8), ids, scalar(0))
    count = extent(ids, 1)
    mask = op.slice(weights(1, 24, 24), whole(0, 0), op.concat([count, count], 0), whole(1, 1), whole(1, 2))
    return model(op.softmax(op.add(op.matmul(data, data, False, True), mask), -1), [ids])


@kind("parts")
def grouped_queries() -> irexec.Model:
    data, keys = open_input("data", [-1, -1, 16]), open_input("keys", [-1, 2, -1, 4])
    queries = op.transpose(op.reshape(data, whole(0, 0, 4, 4), True), whole(0, 2, 1, 3))
    wide = op.concat([whole(1), whole(1), whole(2), whole(1), whole(1)], 0)
    repeated = op.reshape(op.tile(op.unsqueeze(keys, whole(2)), wide), whole(0, 4, -1, 4), True)
    return model(op.matmul(queries, repeated, False, True), [data, keys])


@kind("parts")
def two_texts_and_a_mask() -> irexec.Model:
    words, other = open_input("words", [-1, -1, 8]), open_input("other", [-1, -1, 8])
    mask = open_input("mask", [-1, 1, -1, -1])
    scores = op.add(op.unsqueeze(op.matmul(words, other, False, True), whole(1)), mask)
    return model(op.matmul(op.squeeze(scores, whole(1)), other, False, False), [words, other, mask])


@kind("operators")
def repeated_by_tile() -> irexec.Model:
    one, other = open_input("one", [-1, -1]), open_input("other", [-1, -1])
    return model(op.add(op.tile(one, whole(1, 3)), other), [one, other])


@kind("operators")
def broadcast_to_other() -> irexec.Model:
    one, other = open_input("one", [-1, 1, -1]), open_input("other", [-1, -1, -1])
    return model(op.multiply(op.broadcast(one, op.shape_of(other)), other), [one, other])


@kind("operators")
def broadcast_both_ways() -> irexec.Model:
    one, other = open_input("one", [-1, -1]), open_input("other", [-1, -1, -1])
    return model(op.broadcast(one, op.shape_of(other), broadcast_spec="BIDIRECTIONAL"), [one, other])


@kind("operators")
def strided_with_masks() -> irexec.Model:
    data = open_input("data", [-1, -1, -1])
    part = op.strided_slice(
        data,
        whole(0, 1, 0, 2),
        whole(0, -1, 0, 20),
        whole(1, 2, 1, 3),
        [1, 0, 0, 0],
        [1, 0, 0, 0],
        [0, 0, 1, 0],
        [0, 0, 0, 0],
        [0, 0, 0, 0],
    )
    return model(op.squeeze(part, whole(2)), [data])


@kind("operators")
def halves_added() -> irexec.Model:
    data = open_input("data", [-1, -1])
    one, other = op.split(data, scalar(1), 2).outputs()
    return model(op.matmul(op.multiply(one, op.sigmoid(other)), weights(6, 3), False, False), [data])


@kind("operators")
def rest_of_a_split() -> irexec.Model:
    data = open_input("data", [-1, -1, -1])
    first, rest = op.variadic_split(data, scalar(1), whole(1, -1)).outputs()
    return model([op.add(first, rest), rest], [data])


@kind("operators")
def negative_pads() -> irexec.Model:
    data, other = open_input("data", [-1, -1, -1]), open_input("other", [-1, -1, -1])
    cut = op.pad(data, whole(0, -2, 1), whole(0, -1, -3), "constant", op.constant(np.float32(0)))
    return model(op.concat([cut, other], 0), [data, other])


@kind("operators")
def padded_to_multiples_and_cut() -> irexec.Model:
    data = open_input("data", [-1, -1, 4])
    size = extent(data, 1)
    missing = op.mod(op.subtract(whole(8), op.mod(size, whole(8))), whole(8))
    ends = op.concat([whole(0), missing, whole(0)], 0)
    blocks = op.reshape(
        op.pad(data, whole(0, 0, 0), ends, "constant", op.constant(np.float32(0))), whole(0, -1, 8, 4), True
    )
    flat = op.reshape(op.relu(blocks), whole(0, -1, 4), True)
    return model(op.add(op.slice(flat, whole(0), size, whole(1), whole(1)), data), [data])


@kind("operators")
def einsum_of_three() -> irexec.Model:
    one, two = open_input("one", [-1, -1, -1]), open_input("two", [-1, -1, -1])
    return model(op.einsum([one, two, weights(5, 6)], "bik,bjk,kh->bijh"), [one, two])


@kind("operators")
def updated_rows() -> irexec.Model:
    data, updates = open_input("data", [-1, -1]), open_input("updates", [-1, -1])
    return model(op.scatter_update(data, whole(0, 2, 3), updates, scalar(0)), [data, updates])


@kind("operators")
def updated_places() -> irexec.Model:
    data, places = open_input("data", [-1, -1, -1]), open_input("places", [-1, 2], np.int64)
    updates = open_input("updates", [-1, -1])
    return model(op.scatter_nd_update(data, places, updates), [data, places, updates])


@kind("operators")
def gathered_places() -> irexec.Model:
    data, places = open_input("data", [-1, -1, -1]), open_input("places", [-1, -1, 1], np.int64)
    return model(op.gather_nd(data, places, 1), [data, places])


@kind("operators")
def one_hot_of_words() -> irexec.Model:
    words = open_input("words", [-1, -1], np.int64)
    hot = op.one_hot(words, scalar(12), op.constant(np.float32(1)), op.constant(np.float32(0)), -1)
    return model(op.matmul(hot, weights(12, 4), False, False), [words])


@kind("operators")
def strided_attention_batches() -> irexec.Model:
    one, other = open_input("one", [-1, -1, -1, -1]), open_input("other", [-1, -1, -1])
    return model(op.matmul(one, other, False, True), [one, other])


@kind("operators")
def squeezed_and_back() -> irexec.Model:
    data, other = open_input("data", [-1, -1, -1]), open_input("other", [-1, -1])
    return model(op.concat([op.squeeze(data, whole(1)), other], 1), [data, other])


@kind("operators")
def same_upper() -> irexec.Model:
    image = open_input("image", [-1, 3, -1, -1])
    made = op.convolution(image, weights(4, 3, 3, 3), [2, 2], [0, 0], [0, 0], [1, 1], "same_upper")
    other = op.avg_pool(image, [2, 2], [0, 0], [0, 0], [2, 2], True, "ceil")
    return model(op.concat([made, other], 1), [image])


@kind("operators")
def dilated_and_padded() -> irexec.Model:
    image = open_input("image", [-1, 2, -1])
    made = op.convolution(image, weights(2, 2, 5), [1], [4], [4], [3])
    return model(op.concat([made, op.slice(image, whole(2), whole(-2), whole(1), whole(2))], 1), [image])


@kind("operators")
def transposed_to_a_shape() -> irexec.Model:
    image, other = open_input("image", [-1, 4, -1, -1]), open_input("other", [-1, 2, -1, -1])
    sizes = op.gather(op.shape_of(other), whole(2, 3), scalar(0))
    made = op.convolution_backprop_data(
        image, weights(4, 2, 3, 3), [2, 2], output_shape=sizes, pads_begin=[0, 0], pads_end=[0, 0], dilations=[1, 1]
    )
    return model(op.add(made, other), [image, other])


@kind("operators")
def transposed_and_joined() -> irexec.Model:
    image = open_input("image", [-1, 4, -1, -1])
    small = convolved(image, 4, 4, stride=2)
    back = op.convolution_backprop_data(
        small, weights(4, 4, 2, 2), [2, 2], pads_begin=[0, 0], pads_end=[0, 0], dilations=[1, 1]
    )
    return model(op.concat([image, back], 1), [image])


@kind("operators")
def grouped_channels() -> irexec.Model:
    image = open_input("image", [-1, -1, -1, -1])
    made = op.group_convolution(image, weights(6, 1, 1, 3, 3), [1, 1], [1, 1], [1, 1], [1, 1])
    return model(op.prelu(made, weights(6)), [image])


@kind("operators")
def sequence_with_lengths() -> irexec.Model:
    data, lengths = open_input("data", [-1, -1, 4]), open_input("lengths", [-1], np.int64)
    state = open_input("state", [-1, 1, 3])
    cell = open_input("cell", [-1, 1, 3])
    made = op.lstm_sequence(
        data, state, cell, lengths, weights(1, 12, 4), weights(1, 12, 3), weights(1, 12), 3, "forward"
    )
    return model(list(made.outputs()), [data, lengths, state, cell])


@kind("operators")
def range_as_long_as_other() -> irexec.Model:
    data, other = open_input("data", [-1, -1]), open_input("other", [-1])
    steps = op.range(scalar(0), op.squeeze(op.multiply(extent(data, 1), whole(2)), whole(0)), scalar(3), "f32")
    return model(op.add(steps, other), [data, other])


@kind("operators")
def product_of_all_sizes() -> irexec.Model:
    data, other = open_input("data", [-1, -1, -1]), open_input("other", [-1])
    count = op.reduce_prod(op.shape_of(data), whole(0), True)
    return model(op.reshape(other, op.concat([count, whole(2)], 0), False), [data, other])


@kind("operators")
def depth_and_batch() -> irexec.Model:
    image = open_input("image", [-1, -1, -1, -1])
    made = op.space_to_depth(op.depth_to_space(image, "depth_first", 2), "depth_first", 4)
    return model(op.space_to_batch(made, whole(1, 1, 2, 1), whole(0, 0, 0, 0), whole(0, 0, 0, 0)), [image])


@kind("operators")
def bounded_windows() -> irexec.Model:
    image = open_input("image", [irexec.Dimension(1, 8), 3, irexec.Dimension(10, 300), irexec.Dimension(32, -1)])
    return model(op.concat([op.tile(pooled(pooled(image)), whole(1, 1, 4, 4)), image], 1), [image])


@kind("operators")
def largest_and_smallest() -> irexec.Model:
    data, other = open_input("data", [-1, -1]), open_input("other", [-1])
    size = op.minimum(op.maximum(op.subtract(extent(data, 1), whole(3)), whole(4)), whole(20))
    part = op.slice(weights(20), whole(0), size, whole(1), whole(0))
    return model(op.concat([op.unsqueeze(part, whole(0)), op.unsqueeze(other, whole(0))], 0), [data, other])


@kind("operators")
def rows_of_a_flat_image() -> irexec.Model:
    image = open_input("image", [-1, -1, -1])
    return model(op.reshape(image, whole(-1, 7, 7, 2), False), [image])


@kind("operators")
def three_sums() -> irexec.Model:
    one, two, three = (open_input(name, [-1, 4]) for name in ("one", "two", "three"))
    joined = op.concat([one, two, two, three], 0)
    return model(op.reshape(joined, whole(6, -1, 4), False), [one, two, three])


@kind("flow")
def states_joined() -> irexec.Model:
    data, start = open_input("data", [-1, 1, 4]), open_input("start", [-1, -1, 4])
    past = op.read_value(start, "past", "f32", irexec.PartialShape([-1, -1, 4]))
    joined = op.concat([past, data], 1)
    return irexec.Model(
        [op.result(op.reduce_mean(joined, whole(1), False))], [op.assign(joined, "past")], [data, start]
    )


@kind("flow")
def branches_of_known_rank() -> irexec.Model:
    """Return an If with a branch that reads windows of 4, which is only taken from size 16 on."""
    data = open_input("data", [-1, -1])
    inner, other = open_input("x", [-1, -1]), open_input("y", [-1, -1])
    large = irexec.Model([op.reshape(op.reshape(inner, whole(0, -1, 4), True), whole(0, -1), True)], [inner], "large")
    small = irexec.Model([op.relu(other)], [other], "small")
    chosen = op.if_op(op.squeeze(op.greater_equal(extent(data, 1), whole(16)), whole(0)))
    chosen.set_then_body(large)
    chosen.set_else_body(small)
    chosen.set_input(data.output(0), inner, other)
    made = chosen.set_output(large.results[0], small.results[0])
    return model(made, [data])
