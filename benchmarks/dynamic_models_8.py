"""Models with dynamic dimensions for benchmarks/shapes.py: sizes that are compared, counted and rounded by layers."""

from __future__ import annotations

import numpy as np
from dynamic_models import extent, joined_as_equals, kind, model, open_input, pooled, scalar, weights, whole
from dynamic_models_7 import flat, floats, integers

import irexec
from irexec import opset15 as op


@kind("adverse")
def even_sum_of_batches() -> irexec.Model:
    one, other = open_input("one", [-1, 4]), open_input("other", [-1, 4])
    halves = op.split(op.concat([one, other], 0), scalar(0), 2).outputs()
    return model(op.add(*halves), [one, other])


@kind("adverse")
def centre_of_an_image() -> irexec.Model:
    image = open_input("image", [-1, 3, -1, -1])
    starts = [op.divide(op.subtract(extent(image, axis), whole(16)), whole(2)) for axis in (2, 3)]
    ends = [op.add(start, whole(16)) for start in starts]
    part = op.slice(image, op.concat(starts, 0), op.concat(ends, 0), whole(1, 1), whole(2, 3))
    return model(joined_as_equals(part, op.broadcast(weights(1, 3, 16, 16), op.shape_of(part))), [image])


@kind("adverse")
def half_as_large_again() -> irexec.Model:
    data, other = open_input("data", [1, 2, -1]), open_input("other", [1, 2, -1])
    large = op.interpolate(data, op.constant(np.float32([1.5])), "nearest", "scales", axes=whole(2))
    return model(op.concat([large, other], 1), [data, other])


@kind("adverse")
def padded_to_a_square() -> irexec.Model:
    image = open_input("image", [1, 1, -1, -1])
    sizes = op.slice(op.shape_of(image), whole(2), whole(4), whole(1), whole(0))
    rest = op.subtract(op.reduce_max(sizes, whole(0), True), sizes)
    square = op.pad(image, whole(0, 0, 0, 0), op.concat([whole(0, 0), rest], 0), "constant", op.constant(np.float32(0)))
    return model(op.matmul(square, square, False, False), [image])


@kind("adverse")
def squares_are_shuffled() -> irexec.Model:
    """Return a model that puts images into blocks of four, and accepts only square images."""
    image = open_input("image", [1, 4, -1, -1])
    inner = [open_input(f"inner{n}", [1, 4, -1, -1]) for n in range(2)]
    bodies = [model(op.space_to_depth(inner[0], "blocks_first", 2), [inner[0]]), model(op.relu(inner[1]), [inner[1]])]
    choice = op.if_op(op.squeeze(op.equal(extent(image, 2), extent(image, 3)), whole(0)))
    choice.set_then_body(bodies[0])
    choice.set_else_body(bodies[1])
    choice.set_input(image.output(0), *inner)
    return model(choice.set_output(bodies[0].results[0], bodies[1].results[0]), [image])


@kind("adverse")
def target_by_scatter() -> irexec.Model:
    data, other = open_input("data", [-1, -1, 6]), open_input("other", [-1, -1])
    target = op.scatter_update(op.shape_of(data), whole(2), whole(-1), scalar(0))
    pairs = op.scatter_update(target, whole(1), whole(3), scalar(0))
    return model(op.concat([op.reduce_sum(op.reshape(data, pairs, False), whole(1), False), other], 0), [data, other])


@kind("adverse")
def expanded_with_ones() -> irexec.Model:
    """Return an expansion with a target as exporters write it: -1 keeps a size."""
    data, other = open_input("data", [-1, 1, -1]), open_input("other", [-1, -1])
    target = op.concat([whole(-1), extent(other, 0), extent(other, 1)], 0)
    chosen = op.select(op.equal(target, whole(-1)), whole(1, 1, 1), target)
    return model(op.broadcast(data, chosen, broadcast_spec="bidirectional"), [data, other])


@kind("adverse")
def grid_of_centres() -> irexec.Model:
    """Return the centres of cells, computed by counting in f32."""
    image, boxes = open_input("image", [-1, 3, -1, -1]), open_input("boxes", [-1, -1])
    small = pooled(image, 8)
    rows, columns = (
        op.range(np.float32(0.5), op.squeeze(floats(extent(small, axis)), whole(0)), np.float32(1), np.float32)
        for axis in (2, 3)
    )
    cells = flat(op.add(op.unsqueeze(rows, whole(1)), op.unsqueeze(columns, whole(0))))
    return model(joined_as_equals(op.unsqueeze(cells, whole(0)), boxes), [image, boxes])


@kind("adverse")
def next_power_of_two() -> irexec.Model:
    data = open_input("data", [1, -1])
    size = floats(extent(data, 1))
    exponent = op.ceiling(op.divide(op.log(size), op.constant(np.float32([np.log(2)]))))
    rest = op.subtract(integers(op.power(op.constant(np.float32([2])), exponent)), extent(data, 1))
    longer = op.pad(data, whole(0, 0), op.concat([whole(0), rest], 0), "constant", op.constant(np.float32(0)))
    return model(op.reshape(longer, whole(4, -1), False), [data])
