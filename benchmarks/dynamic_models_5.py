"""Models with dynamic dimensions for benchmarks/shapes.py: relations and networks that the other files do not cover."""

from __future__ import annotations

import numpy as np
from dynamic_models import (
    convolved,
    extent,
    joined_as_equals,
    kind,
    model,
    open_input,
    pooled,
    scalar,
    weights,
    whole,
    zero,
)

import irexec
from irexec import opset15 as op


@kind("relations")
def difference_of_two() -> irexec.Model:
    long, short, rest = (open_input(name, [-1, 4]) for name in ("long", "short", "rest"))
    cut = op.slice(long, extent(short, 0), extent(long, 0), whole(1), whole(0))
    return model(joined_as_equals(cut, rest), [long, short, rest])


@kind("relations")
def one_longer_than_other() -> irexec.Model:
    words, targets = open_input("words", [-1, -1, 4]), open_input("targets", [-1, -1, 4])
    return model(
        joined_as_equals(op.slice(words, whole(1), whole(2**31 - 1), whole(1), whole(1)), targets), [words, targets]
    )


@kind("relations")
def area_of_windows() -> irexec.Model:
    image, tokens = open_input("image", [-1, 3, -1, -1]), open_input("tokens", [-1, -1, 8])
    patches = op.convolution(image, weights(8, 3, 4, 4), [4, 4], [0, 0], [0, 0], [1, 1])
    flat = op.transpose(op.reshape(patches, whole(0, 8, -1), True), whole(0, 2, 1))
    return model(joined_as_equals(flat, tokens), [image, tokens])


@kind("relations")
def pairs_of_rows() -> irexec.Model:
    rows, pairs = open_input("rows", [-1, 4]), open_input("pairs", [-1, 4])
    count = extent(rows, 0)
    grid = op.broadcast(op.unsqueeze(rows, whole(0)), op.concat([count, count, whole(4)], 0))
    return model(joined_as_equals(op.reshape(grid, whole(-1, 4), False), pairs), [rows, pairs])


@kind("relations")
def half_and_third() -> irexec.Model:
    one, other = open_input("one", [-1]), open_input("other", [-1])
    pairs, triples = op.reshape(one, whole(-1, 2), False), op.reshape(other, whole(-1, 3), False)
    sums = op.reduce_sum(pairs, whole(1), False), op.reduce_sum(triples, whole(1), False)
    return model(joined_as_equals(*sums), [one, other])


@kind("relations")
def larger_of_two() -> irexec.Model:
    one, two, third = (open_input(name, [-1]) for name in ("one", "two", "third"))
    size = op.maximum(extent(one, 0), extent(two, 0))
    padded = op.pad(one, whole(0), op.subtract(size, extent(one, 0)), "constant", zero())
    return model(joined_as_equals(padded, third), [one, two, third])


@kind("relations")
def memory_and_queries() -> irexec.Model:
    """Return cross attention with a mask of both lengths, and a cache before the keys."""
    queries, memory = open_input("queries", [-1, 2, -1, 4]), open_input("memory", [-1, 2, -1, 4])
    cached, mask = open_input("cached", [-1, 2, -1, 4]), open_input("mask", [-1, 1, -1, -1])
    keys = op.concat([cached, memory], 2)
    made = op.scaled_dot_product_attention(queries, keys, keys, mask)
    return model(made, [queries, memory, cached, mask])


@kind("networks")
def network_with_odd_crops() -> irexec.Model:
    """Return a U-Net that crops skipped values to the size of upsampled ones."""
    image = open_input("image", [-1, 3, -1, -1])
    one = convolved(image, 3, 4, pad=0)
    two = convolved(pooled(one), 4, 4, pad=0)
    up = op.convolution_backprop_data(two, weights(4, 4, 2, 2), [2, 2])
    cut = op.slice(one, whole(2, 2), whole(-3, -3), whole(1, 1), whole(2, 3))
    return model(convolved(op.concat([up, cut], 1), 8, 2, pad=0), [image])


@kind("networks")
def network_padded_to_skip() -> irexec.Model:
    """Return a U-Net that pads upsampled values to the size of skipped ones, as users of torchvision do."""
    image = open_input("image", [-1, 3, -1, -1])
    skipped = convolved(image, 3, 4)
    up = op.convolution_backprop_data(convolved(pooled(skipped), 4, 4), weights(4, 4, 2, 2), [2, 2])
    missing = op.subtract(op.shape_of(skipped), op.shape_of(up))
    before = op.divide(missing, whole(2))
    same = op.pad(up, before, op.subtract(missing, before), "constant", zero())
    return model(op.concat([skipped, same], 1), [image])


@kind("networks")
def pyramid_by_scales_and_sizes() -> irexec.Model:
    image = open_input("image", [1, 3, -1, -1])
    levels = [convolved(image, 3, 4, stride=2)]
    for _ in range(2):
        levels.append(convolved(levels[-1], 4, 4, stride=2))
    double = op.constant(np.array([2, 2], np.float32))
    middle = op.add(levels[1], op.interpolate(levels[2], double, "nearest", "scales", axes=whole(2, 3)))
    sizes = op.gather(op.shape_of(levels[0]), whole(2, 3), scalar(0))
    return model(
        [op.add(levels[0], op.interpolate(middle, sizes, "nearest", "sizes", axes=whole(2, 3))), middle], [image]
    )


@kind("networks")
def scales_of_computed_floats() -> irexec.Model:
    """Return scales as a frontend writes them: the quotient of two sizes in f32."""
    image, small = open_input("image", [1, 4, -1, -1]), open_input("small", [1, 4, -1, -1])
    sizes = [op.convert(op.gather(op.shape_of(each), whole(2, 3), scalar(0)), "f32") for each in (image, small)]
    made = op.interpolate(small, op.divide(*sizes), "linear_onnx", "scales", axes=whole(2, 3))
    return model(op.add(image, made), [image, small])


@kind("networks")
def rounded_up_half() -> irexec.Model:
    """Return a size that is computed by floats: ceil(H * 0.5)."""
    image, other = open_input("image", [1, -1, 4]), open_input("other", [1, -1, 4])
    half = op.ceiling(op.multiply(op.convert(extent(image, 1), "f32"), op.constant(np.float32(0.5))))
    part = op.slice(image, whole(0), op.convert(half, "i64"), whole(1), whole(1))
    return model(op.concat([part, other], 0), [image, other])


@kind("networks")
def windows_with_padding() -> irexec.Model:
    """Return Swin's windows of 7: the image is padded, partitioned, reassembled and cropped."""
    image = open_input("image", [-1, -1, -1, 4])
    height, width = extent(image, 1), extent(image, 2)
    more = [op.mod(op.subtract(whole(7), op.mod(size, whole(7))), whole(7)) for size in (height, width)]
    padded = op.pad(image, whole(0, 0, 0, 0), op.concat([whole(0), *more, whole(0)], 0), "constant", zero())
    rows, columns = (op.divide(op.add(size, rest), whole(7)) for size, rest in zip((height, width), more, strict=True))
    parts = op.reshape(padded, op.concat([extent(image, 0), rows, whole(7), columns, whole(7, 4)], 0), False)
    windows = op.reshape(op.transpose(parts, whole(0, 1, 3, 2, 4, 5)), whole(-1, 49, 4), False)
    back = op.reshape(windows, op.concat([extent(image, 0), rows, columns, whole(7, 7, 4)], 0), False)
    whole_image = op.reshape(op.transpose(back, whole(0, 1, 3, 2, 4, 5)), op.shape_of(padded), False)
    cut = op.slice(whole_image, whole(0, 0), op.concat([height, width], 0), whole(1, 1), whole(1, 2))
    return model(op.add(cut, image), [image])


@kind("networks")
def normalized_in_groups_by_reshape() -> irexec.Model:
    """Return GroupNorm as PyTorch exports it: groups by Reshape, MVN, and a Reshape to the shape of the input."""
    image = open_input("image", [-1, -1, -1, -1])
    grouped = op.reshape(image, op.concat([extent(image, 0), whole(3, -1)], 0), False)
    normal = op.mvn(grouped, whole(2), True, 1e-5, "inside_sqrt")
    return model(op.multiply(op.reshape(normal, op.shape_of(image), False), weights(6, 1, 1)), [image])


@kind("networks")
def positions_in_two_dimensions() -> irexec.Model:
    """Return embeddings of rows and columns from tables of 12 and 10 rows."""
    image = open_input("image", [-1, 4, -1, -1])
    parts = []
    for axis, rows in ((2, 12), (3, 10)):
        places = op.range(scalar(0), op.squeeze(extent(image, axis), whole(0)), scalar(1), "i64")
        parts.append(op.gather(weights(4, rows), places, scalar(1)))
    rows, columns = op.unsqueeze(parts[0], whole(2)), op.unsqueeze(parts[1], whole(1))
    return model(op.add(image, op.add(rows, columns)), [image])


@kind("networks")
def counted_positions() -> irexec.Model:
    """Return positions computed by CumSum of a mask, as in RoBERTa."""
    ids, mask = open_input("ids", [-1, -1], np.int64), open_input("mask", [-1, -1], np.int64)
    places = op.multiply(op.cum_sum(mask, scalar(1)), mask)
    words, positions = op.gather(weights(30, 4), ids, scalar(0)), op.gather(weights(40, 4), places, scalar(0))
    return model(op.add(words, positions), [ids, mask])


@kind("networks")
def detector_with_suppression() -> irexec.Model:
    image = open_input("image", [1, 3, -1, -1])
    made = pooled(convolved(pooled(convolved(image, 3, 4)), 4, 10))
    flat = op.transpose(op.reshape(made, whole(1, 10, -1), False), whole(0, 2, 1))
    boxes = op.slice(flat, whole(0), whole(4), whole(1), whole(2))
    scores = op.transpose(op.slice(flat, whole(4), whole(10), whole(1), whole(2)), whole(0, 2, 1))
    limits = op.constant(np.int64(10)), op.constant(np.float32(0.5)), op.constant(np.float32(0.1))
    chosen = op.non_max_suppression(boxes, scores, *limits).output(0)
    return model(op.gather(flat, op.gather(chosen, scalar(2), scalar(1)), scalar(1)), [image])


@kind("networks")
def regions_of_features() -> irexec.Model:
    image, regions = open_input("image", [-1, 3, -1, -1]), open_input("regions", [-1, 4])
    batches = open_input("batches", [-1], np.int32)
    features = convolved(image, 3, 4, stride=2)
    made = op.roi_align(features, regions, batches, 7, 7, 2, 0.25, "avg")
    return model(
        op.matmul(op.reshape(made, whole(0, -1), True), weights(196, 5), False, False), [image, regions, batches]
    )


@kind("networks")
def mixture_of_experts() -> irexec.Model:
    """Return a mixture of experts: TopK, OneHot and Einsum route tokens to the best two of four experts."""
    tokens = open_input("tokens", [-1, -1, 8])
    scores = op.softmax(op.matmul(tokens, weights(8, 4), False, False), -1)
    chosen = op.topk(scores, scalar(2), -1, "max", "value")
    hot = op.one_hot(chosen.output(1), scalar(4), op.constant(np.float32(1)), zero(), -1)
    gates = op.reduce_sum(op.multiply(hot, op.unsqueeze(chosen.output(0), whole(-1))), whole(2), False)
    made = op.einsum([tokens, weights(4, 8, 6)], "btd,edf->btef")
    return model(op.einsum([made, gates], "btef,bte->btf"), [tokens])


@kind("networks")
def two_directions_with_lengths() -> irexec.Model:
    data, lengths = open_input("data", [-1, -1, 4]), open_input("lengths", [-1], np.int32)
    states = [op.broadcast(zero(), op.concat([extent(data, 0), whole(2, 3)], 0)) for _ in range(2)]
    made = op.lstm_sequence(
        data, *states, lengths, weights(2, 12, 4), weights(2, 12, 3), weights(2, 12), 3, "bidirectional"
    )
    joined = op.reshape(op.transpose(made.output(0), whole(0, 2, 1, 3)), whole(0, 0, 6), True)
    return model(op.concat([joined, data], 2), [data, lengths])
