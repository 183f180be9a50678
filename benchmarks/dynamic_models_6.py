"""Models with dynamic dimensions for benchmarks/shapes.py: baked sizes, operators, bodies, values and states."""

from __future__ import annotations

import numpy as np
from dynamic_models import convolved, extent, joined_as_equals, kind, model, open_input, scalar, weights, whole, zero

import irexec
from irexec import opset15 as op


@kind("baked")
def broadcast_of_traced_batch() -> irexec.Model:
    data = open_input("data", [-1, -1, 4])
    token = op.broadcast(weights(1, 1, 4), whole(2, 1, 4))
    return model(op.concat([token, data], 1), [data])


@kind("baked")
def mask_of_traced_length() -> irexec.Model:
    data = open_input("data", [-1, -1, 4])
    scores = op.matmul(data, data, False, True)
    return model(op.add(scores, op.broadcast(weights(1, 6, 6), whole(2, 6, 6))), [data])


@kind("baked")
def sliced_to_traced_length() -> irexec.Model:
    data, other = open_input("data", [-1, -1, 4]), open_input("other", [-1, -1, 4])
    return model(op.add(op.slice(data, whole(0), whole(9), whole(1), whole(1)), other), [data, other])


@kind("baked")
def target_of_mixed_sizes() -> irexec.Model:
    """Return a Reshape whose target has the batch read from the data and the length 5 from tracing."""
    data = open_input("data", [-1, -1, 8])
    target = op.concat([extent(data, 0), whole(5, 2, 4)], 0)
    return model(op.transpose(op.reshape(data, target, False), whole(0, 2, 1, 3)), [data])


@kind("operators")
def every_second_from_the_end() -> irexec.Model:
    data, other = open_input("data", [-1, -1]), open_input("other", [-1, -1])
    back = op.slice(data, whole(-2), whole(-(2**31)), whole(-2), whole(1))
    return model(op.add(back, op.slice(other, whole(10), whole(1), whole(-3), whole(1)), "none"), [data, other])


@kind("operators")
def strided_from_the_end() -> irexec.Model:
    data, other = open_input("data", [-1, -1]), open_input("other", [-1, -1])
    none = [0, 0]
    part = op.strided_slice(data, whole(0, -1), whole(0, 2), whole(1, -2), [1, 0], [1, 0], none, none, none)
    return model(op.concat([part, other], 0), [data, other])


@kind("operators")
def tiled_to_other() -> irexec.Model:
    one, other = open_input("one", [-1, 1]), open_input("other", [-1, -1])
    repeats = op.concat([whole(1), extent(other, 1)], 0)
    return model(op.add(op.tile(one, repeats), other, "none"), [one, other])


@kind("operators")
def tiled_and_cut() -> irexec.Model:
    table, other = open_input("table", [-1, 4]), open_input("other", [-1, 4])
    times = op.add(op.divide(extent(other, 0), extent(table, 0)), whole(1))
    long = op.tile(table, op.concat([times, whole(1)], 0))
    return model(op.add(op.slice(long, whole(0), extent(other, 0), whole(1), whole(0)), other), [table, other])


@kind("operators")
def lengths_of_a_split() -> irexec.Model:
    data = open_input("data", [-1, -1])
    half = op.divide(extent(data, 1), whole(2))
    parts = op.variadic_split(data, scalar(1), op.concat([half, whole(-1)], 0)).outputs()
    return model(op.multiply(parts[0], op.sigmoid(parts[1])), [data])


@kind("operators")
def split_of_batch_and_joined() -> irexec.Model:
    data = open_input("data", [-1, -1, 4])
    parts = op.split(data, scalar(0), 3).outputs()
    return model(op.concat([parts[0], op.add(parts[1], parts[2])], 1), [data])


@kind("operators")
def blocks_with_crops() -> irexec.Model:
    data = open_input("data", [-1, -1, -1, 2])
    apart = op.space_to_batch(data, whole(1, 3, 2, 1), whole(0, 1, 0, 0), whole(0, 1, 1, 0))
    back = op.batch_to_space(op.relu(apart), whole(1, 3, 2, 1), whole(0, 1, 0, 0), whole(0, 1, 1, 0))
    return model(op.add(back, data), [data])


@kind("operators")
def image_of_columns() -> irexec.Model:
    columns, size = open_input("columns", [-1, -1, -1]), whole(6, 8)
    return model(op.col2im(columns, size, whole(2, 2), [2, 2], [1, 1], [0, 0], [0, 0]), [columns])


@kind("operators")
def padded_by_the_other() -> irexec.Model:
    data, other = open_input("data", [-1, -1]), open_input("other", [-1, -1])
    missing = op.subtract(extent(other, 1), extent(data, 1))
    padded = op.pad(data, whole(0, 0), op.concat([whole(0), missing], 0), "constant", zero())
    return model(op.concat([padded, other], 0), [data, other])


@kind("operators")
def reflected_by_a_third() -> irexec.Model:
    data = open_input("data", [-1, -1])
    third = op.concat([whole(0), op.divide(op.add(extent(data, 1), whole(5)), whole(3))], 0)
    return model(op.pad(data, third, whole(0, 1), "reflect"), [data])


@kind("operators")
def pooled_to_computed_size() -> irexec.Model:
    image, other = open_input("image", [-1, 4, -1, -1]), open_input("other", [-1, 4, -1, -1])
    sizes = op.gather(op.shape_of(other), whole(2, 3), scalar(0))
    return model(op.add(op.adaptive_avg_pool(image, sizes), other, "none"), [image, other])


@kind("operators")
def best_of_a_third() -> irexec.Model:
    data = open_input("data", [-1, -1])
    count = op.squeeze(op.divide(extent(data, 1), whole(3)), whole(0))
    best = op.topk(data, count, 1, "max", "value").output(0)
    return model(op.matmul(best, weights(4, 2), False, False), [data])


@kind("operators")
def identity_added() -> irexec.Model:
    data = open_input("data", [-1, -1, -1])
    size = op.squeeze(extent(data, 1), whole(0))
    return model(op.add(data, op.eye(size, size, scalar(0), "f32")), [data])


@kind("operators")
def transformed_and_back() -> irexec.Model:
    data, gains = open_input("data", [-1, -1]), open_input("gains", [-1, 2])
    made = op.multiply(op.rdft(data, whole(1)), gains)
    return model(op.irdft(made, whole(1)), [data, gains])


@kind("operators")
def bags_of_words() -> irexec.Model:
    words, offsets = open_input("words", [-1], np.int64), open_input("offsets", [-1], np.int64)
    dense = open_input("dense", [-1, 4])
    return model(
        op.concat([op.embedding_bag_offsets_sum(weights(50, 4), words, offsets), dense], 1), [words, offsets, dense]
    )


@kind("operators")
def scattered_elements() -> irexec.Model:
    data, places = open_input("data", [-1, -1]), open_input("places", [-1, -1], np.int64)
    updates = open_input("updates", [-1, -1])
    return model(op.scatter_elements_update(data, places, updates, scalar(1), "sum"), [data, places, updates])


@kind("operators")
def sorted_and_searched() -> irexec.Model:
    table, values = open_input("table", [-1, -1]), open_input("values", [-1, -1])
    return model(op.search_sorted(table, values), [table, values])


@kind("operators")
def deformed() -> irexec.Model:
    image, offsets = open_input("image", [-1, 4, -1, -1]), open_input("offsets", [-1, 18, -1, -1])
    return model(
        op.deformable_convolution(image, offsets, weights(4, 4, 3, 3), [2, 2], [1, 1], [1, 1], [1, 1]),
        [image, offsets],
    )


@kind("operators")
def patches_of_an_image() -> irexec.Model:
    image = open_input("image", [-1, 3, -1, -1])
    made = op.extract_image_patches(image, [3, 3], [5, 5], [1, 1], "valid")
    return model(op.reshape(made, whole(0, 27, -1), True), [image])


@kind("flow")
def loop_over_rows() -> irexec.Model:
    """Return a Loop over the rows of a table, with a state of the same width; the results are concatenated."""
    rows, start = open_input("rows", [-1, -1]), open_input("start", [1, -1])
    row, state = open_input("row", [1, -1]), open_input("state", [1, -1])
    next_ = op.add(row, state)
    body = irexec.Model([op.constant(np.bool_(True)), next_], [row, state])
    loop = op.loop(op.squeeze(extent(rows, 0), whole(0)), op.constant(np.bool_(True)))
    loop.set_function(body)
    loop.set_special_body_ports([-1, 0])
    loop.set_sliced_input(row, rows.output(0), 0, 1, 1, -1, 0)
    source = body.results[1].input(0).get_source_output()
    loop.set_merged_input(state, start.output(0), source)
    return model(joined_as_equals(loop.get_concatenated_slices(source, 0, 1, 1, -1, 0), rows), [rows, start])


@kind("flow")
def loop_that_doubles() -> irexec.Model:
    """Return a Loop of three iterations, each of which concatenates the state with itself."""
    data, other = open_input("data", [-1, 2]), open_input("other", [-1, 2])
    inner = open_input("inner", [-1, 2])
    body = irexec.Model([op.constant(np.bool_(True)), op.concat([inner, inner], 0)], [inner])
    loop = op.loop(scalar(3), op.constant(np.bool_(True)))
    loop.set_function(body)
    loop.set_special_body_ports([-1, 0])
    source = body.results[1].input(0).get_source_output()
    loop.set_merged_input(inner, data.output(0), source)
    return model(joined_as_equals(loop.get_iter_value(source, -1), other), [data, other])


@kind("flow")
def pairs_of_steps() -> irexec.Model:
    """Return a TensorIterator that takes two steps at a time."""
    data = open_input("data", [-1, -1, 4])
    step = open_input("step", [-1, 2, 4])
    body = irexec.Model([op.reduce_sum(op.reshape(step, whole(0, 8), True), whole(1), True)], [step])
    iterator = op.tensor_iterator()
    iterator.set_body(body)
    iterator.set_sliced_input(step, data.output(0), 0, 2, 2, -1, 1)
    source = body.results[0].input(0).get_source_output()
    return model(iterator.get_concatenated_slices(source, 0, 1, 1, -1, 1), [data])


@kind("flow")
def branch_of_an_even_size() -> irexec.Model:
    data = open_input("data", [-1, 6])
    inner = [open_input(f"inner{n}", [-1, 6]) for n in range(2)]
    even = model(op.reshape(inner[0], whole(-1, 12), False), [inner[0]])
    odd = model(op.concat([inner[1], weights(2, 6)], 0), [inner[1]])
    rest = op.mod(op.squeeze(extent(data, 0), whole(0)), scalar(2))
    choice = op.if_op(op.equal(rest, scalar(0)))
    choice.set_then_body(even)
    choice.set_else_body(odd)
    choice.set_input(data.output(0), *inner)
    made = choice.set_output(even.results[0], odd.results[0])
    return model(op.relu(made), [data])


@kind("flow")
def branch_that_cannot_run() -> irexec.Model:
    """Return an If with a branch for zero rows, whose Reshape fits multiples of three only."""
    data = open_input("data", [-1, 5])
    inner = [open_input(f"inner{n}", [-1, 5]) for n in range(2)]
    none = model(op.reshape(inner[0], whole(3, -1), False), [inner[0]])
    some = model(op.reduce_max(inner[1], whole(0), True), [inner[1]])
    choice = op.if_op(op.equal(op.squeeze(extent(data, 0), whole(0)), scalar(0)))
    choice.set_then_body(none)
    choice.set_else_body(some)
    choice.set_input(data.output(0), *inner)
    return model(choice.set_output(none.results[0], some.results[0]), [data])


@kind("values")
def masked_rows() -> irexec.Model:
    """Return the rows that a mask selects, by NonZero and Gather; the mask is as long as the rows."""
    rows, mask = open_input("rows", [-1, 4]), open_input("mask", [-1])
    places = op.squeeze(op.non_zero(op.multiply(mask, op.reduce_sum(rows, whole(1), False), "none")), whole(0))
    return model(op.gather(rows, places, scalar(0)), [rows, mask])


@kind("values")
def target_from_an_input() -> irexec.Model:
    """Return a Reshape whose target is an input, so that the result's size is known only when the model runs."""
    image, size = open_input("image", [1, 3, -1, -1]), open_input("size", [2], np.int64)
    made = op.interpolate(convolved(image, 3, 4), size, "nearest", "sizes", axes=whole(2, 3))
    return model(convolved(made, 4, 2, stride=2), [image, size])


@kind("states")
def ring_of_states() -> irexec.Model:
    """Return a state that keeps the last six steps of its input."""
    data = open_input("data", [-1, -1, 4])
    start = op.broadcast(zero(), op.concat([extent(data, 0), whole(6, 4)], 0))
    past = op.read_value(start, "ring", "f32", irexec.PartialShape([-1, 6, 4]))
    last = op.slice(op.concat([past, data], 1), whole(-6), whole(2**31 - 1), whole(1), whole(1))
    made = op.convolution(op.transpose(last, whole(0, 2, 1)), weights(2, 4, 6), [1], [0], [0], [1])
    return irexec.Model([op.result(made)], [op.assign(last, "ring")], [data])
