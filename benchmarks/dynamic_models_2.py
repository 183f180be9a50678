"""Further models with dynamic dimensions for benchmarks/shapes.py: bodies, states, values, bounds, operators."""

from __future__ import annotations

import numpy as np
from dynamic_models import convolved, extent, kind, model, open_input, pooled, scalar, weights, whole

import irexec
from irexec import opset15 as op


@kind("bodies")
def loop_of_concat() -> irexec.Model:
    data, other = open_input("data", [-1, 4]), open_input("other", [-1, 4])
    inner = [open_input(f"inner{n}", [-1, 4]) for n in range(2)]
    body = irexec.Model([op.constant(np.bool_(True)), op.add(inner[0], inner[1])], inner)
    loop = op.loop(scalar(3), op.constant(np.bool_(True)))
    loop.set_function(body)
    loop.set_special_body_ports([-1, 0])
    loop.set_merged_input(inner[0], data.output(0), body.results[1].input(0).get_source_output())
    loop.set_invariant_input(inner[1], other.output(0))
    return model(loop.get_iter_value(body.results[1].input(0).get_source_output(), -1), [data, other])


@kind("bodies")
def iterated_steps() -> irexec.Model:
    data, state = open_input("data", [-1, -1, 4]), open_input("state", [-1, 4])
    step, hidden = open_input("step", [-1, 1, 4]), open_input("hidden", [-1, 4])
    made = op.tanh(op.concat([op.squeeze(step, whole(1)), hidden], 1))
    next_ = op.matmul(made, weights(8, 4), False, False)
    body = irexec.Model([next_], [step, hidden])
    iterator = op.tensor_iterator()
    iterator.set_body(body)
    iterator.set_sliced_input(step, data.output(0), 0, 1, 1, -1, 1)
    iterator.set_merged_input(hidden, state.output(0), body.results[0].input(0).get_source_output())
    return model(iterator.get_iter_value(body.results[0].input(0).get_source_output(), -1), [data, state])


@kind("bodies")
def branches_of_values() -> irexec.Model:
    data, flag = open_input("data", [-1, -1]), open_input("flag", [], bool)
    inner = [open_input(f"inner{n}", [-1, -1]) for n in range(2)]
    one, other = (
        model(op.reshape(inner[0], whole(-1, 6), False), [inner[0]]),
        model(op.add(inner[1], weights(6)), [inner[1]]),
    )
    choice = op.if_op(flag)
    choice.set_then_body(one)
    choice.set_else_body(other)
    choice.set_input(data.output(0), *inner)
    return model(choice.set_output(one.results[0], other.results[0]), [data, flag])


@kind("states")
def remembered() -> irexec.Model:
    data = open_input("data", [-1, 4])
    start = op.broadcast(weights(1, 4), op.shape_of(data))
    read = op.read_value(start, "memory", "f32", irexec.PartialShape([-1, 4]))
    added = op.add(read, data)
    return irexec.Model([added], [op.assign(added, "memory")], [data])


@kind("values")
def chosen() -> irexec.Model:
    data, other = open_input("data", [-1, -1]), open_input("other", [-1, -1])
    return model(op.non_zero(op.add(data, other, "none")), [data, other])


@kind("values")
def suppressed() -> irexec.Model:
    boxes, scores = open_input("boxes", [-1, -1, 4]), open_input("scores", [-1, 3, -1])
    limits = op.constant(np.int64(10)), op.constant(np.float32(0.5)), op.constant(np.float32(0.1))
    return model(op.non_max_suppression(boxes, scores, *limits).output(0), [boxes, scores])


@kind("values")
def unique_rows() -> irexec.Model:
    data = open_input("data", [-1, -1])
    return model(op.unique(op.reshape(data, whole(-1, 4), False), scalar(0)).output(0), [data])


@kind("bounds")
def bounded_image() -> irexec.Model:
    image = open_input("image", [irexec.Dimension(1, 8), 3, irexec.Dimension(16, 100), -1])
    return model(pooled(convolved(image, 3, 4), 8), [image])


@kind("bounds")
def bounds_of_table() -> irexec.Model:
    data = open_input("data", [irexec.Dimension(2, 5), irexec.Dimension(0, 64), 4])
    rows = op.slice(weights(1, 20, 4), whole(0), extent(data, 1), whole(1), whole(1))
    return model(op.concat([data, op.broadcast(rows, op.shape_of(data))], 0), [data])


@kind("bounds")
def only_three() -> irexec.Model:
    image = open_input("image", [-1, -1, -1, -1])
    return model(convolved(image, 3, 4), [image])


@kind("operators")
def reflected() -> irexec.Model:
    data = open_input("data", [-1, -1])
    return model(op.pad(data, whole(0, 3), whole(0, 5), "reflect", op.constant(np.float32(0))), [data])


@kind("operators")
def cropped() -> irexec.Model:
    data = open_input("data", [-1, -1])
    return model(op.pad(data, whole(-1, -2), whole(0, -3), "constant", op.constant(np.float32(0))), [data])


@kind("operators")
def largest_of_rows() -> irexec.Model:
    data = open_input("data", [-1, -1])
    return model(op.topk(data, scalar(5), 1, "max", "value").output(0), [data])


@kind("operators")
def split_in_three() -> irexec.Model:
    data = open_input("data", [-1, -1])
    parts = op.split(data, scalar(1), 3)
    return model(op.multiply(op.add(parts.output(0), parts.output(1)), parts.output(2)), [data])


@kind("operators")
def split_by_lengths() -> irexec.Model:
    data = open_input("data", [-1, -1])
    parts = op.variadic_split(data, scalar(1), whole(4, -1, 3))
    return model([parts.output(0), parts.output(1), parts.output(2)], [data])


@kind("operators")
def grouped() -> irexec.Model:
    image = open_input("image", [-1, -1, -1, -1])
    return model(op.group_convolution(image, weights(4, 2, 3, 3, 3), [1, 1], [0, 0], [0, 0], [1, 1]), [image])


@kind("operators")
def attention() -> irexec.Model:
    query, key = open_input("query", [-1, 2, -1, 4]), open_input("key", [-1, 2, -1, 4])
    mask = open_input("mask", [-1, 1, -1, -1])
    return model(op.scaled_dot_product_attention(query, key, key, mask), [query, key, mask])


@kind("operators")
def columns_to_image() -> irexec.Model:
    data = open_input("data", [-1, -1, -1])
    return model(op.col2im(data, whole(8, 8), whole(2, 2), [2, 2], [1, 1], [0, 0], [0, 0]), [data])


@kind("operators")
def sampled_grid() -> irexec.Model:
    image, grid = open_input("image", [-1, 3, -1, -1]), open_input("grid", [-1, -1, -1, 2])
    return model(op.grid_sample(image, grid, {}), [image, grid])


@kind("operators")
def spectrum() -> irexec.Model:
    data = open_input("data", [-1, -1])
    return model(op.irdft(op.rdft(data, whole(1)), whole(1)), [data])


@kind("operators")
def gathered() -> irexec.Model:
    data, indices = open_input("data", [-1, -1, 4]), open_input("indices", [-1, -1], np.int64)
    return model(op.gather(data, indices, scalar(1), 1), [data, indices])


@kind("operators")
def gathered_elements() -> irexec.Model:
    data, indices = open_input("data", [-1, -1]), open_input("indices", [-1, -1], np.int64)
    return model(op.gather_elements(data, indices, 1), [data, indices])


@kind("operators")
def reversed_sequences() -> irexec.Model:
    data, lengths = open_input("data", [-1, -1, 3]), open_input("lengths", [-1], np.int64)
    return model(op.reverse_sequence(data, lengths, 0, 1), [data, lengths])


@kind("operators")
def scattered() -> irexec.Model:
    data, indices, updates = (
        open_input("data", [-1, 4]),
        open_input("indices", [-1, 1], np.int64),
        open_input("updates", [-1, 4]),
    )
    return model(op.scatter_nd_update(data, indices, updates), [data, indices, updates])


@kind("operators")
def normalized_groups() -> irexec.Model:
    data, scale = open_input("data", [-1, -1, -1]), open_input("scale", [-1])
    return model(op.group_normalization(data, scale, scale, 4, 1e-5), [data, scale])


@kind("operators")
def framed() -> irexec.Model:
    data, window = open_input("data", [-1, -1]), open_input("window", [-1])
    return model(op.stft(data, window, scalar(16), scalar(8), True), [data, window])


@kind("operators")
def dilated_windows() -> irexec.Model:
    image = open_input("image", [-1, 3, -1, -1])
    return model(op.convolution(image, weights(2, 3, 3, 3), [2, 1], [0, 1], [1, 0], [3, 2]), [image])


@kind("operators")
def aligned_regions() -> irexec.Model:
    image, boxes, batches = (
        open_input("image", [-1, 3, -1, -1]),
        open_input("boxes", [-1, 4]),
        open_input("batches", [-1], np.int64),
    )
    return model(op.roi_align(image, boxes, batches, 3, 3, 2, 1.0, "avg"), [image, boxes, batches])


@kind("networks")
def pyramid() -> irexec.Model:
    image = open_input("image", [-1, 3, -1, -1])
    levels, data = [], image
    for channels in (3, 4, 4):
        data = op.relu(convolved(data, channels, 4, 3, 2, 1))
        levels.append(data)
    top = levels.pop()
    while levels:
        below = levels.pop()
        sizes = op.gather(op.shape_of(below), whole(2, 3), scalar(0))
        top = op.add(op.interpolate(top, sizes, "nearest", "sizes", axes=whole(2, 3)), below)
    return model(top, [image])


@kind("networks")
def pooled_pyramid() -> irexec.Model:
    image = open_input("image", [-1, 3, -1, -1])
    made = [op.reshape(op.adaptive_avg_pool(image, whole(n, n)), whole(0, -1), True) for n in (1, 2, 3)]
    return model(op.matmul(op.concat(made, 1), weights(42, 5), False, False), [image])


@kind("networks")
def merged_patches() -> irexec.Model:
    image = open_input("image", [-1, -1, -1, 4])
    step = whole(1, 2, 2, 1)
    parts = [
        op.strided_slice(
            image,
            whole(0, row, column, 0),
            whole(0, 0, 0, 0),
            step,
            [1, 0, 0, 1],
            [1, 1, 1, 1],
            [0] * 4,
            [0] * 4,
            [0] * 4,
        )
        for column in (0, 1)
        for row in (0, 1)
    ]
    return model(op.matmul(op.concat(parts, 3), weights(16, 8), False, False), [image])


@kind("networks")
def twin_towers() -> irexec.Model:
    one, other = open_input("one", [-1, -1, 8]), open_input("other", [-1, -1, 8])
    pooled_ = [op.reduce_mean(data, whole(1), False) for data in (one, other)]
    return model(op.concat([*pooled_, op.multiply(*pooled_)], 1), [one, other])


@kind("networks")
def detector_heads() -> irexec.Model:
    image = open_input("image", [-1, 3, -1, -1])
    data, made = image, []
    for channels in (3, 4, 4):
        data = op.relu(convolved(data, channels, 4, 3, 2, 1))
        made.append(op.reshape(op.transpose(data, whole(0, 2, 3, 1)), whole(0, -1, 4), True))
    return model(op.concat(made, 1), [image])


@kind("networks")
def rotary() -> irexec.Model:
    data, cosines = open_input("data", [-1, 2, -1, 8]), open_input("cosines", [-1, 1, -1, 8])
    halves = op.split(data, scalar(3), 2)
    turned = op.concat([op.negative(halves.output(1)), halves.output(0)], 3)
    return model(op.add(op.multiply(data, cosines), op.multiply(turned, cosines)), [data, cosines])
