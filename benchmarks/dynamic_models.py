"""Models with dynamic dimensions for benchmarks/shapes.py, by the relation between the sizes that they accept."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import irexec
from irexec import opset15 as op

MODELS: dict[str, Callable[[], irexec.Model]] = {}


def kind(name: str) -> Callable[[Callable[[], irexec.Model]], Callable[[], irexec.Model]]:
    """Register a model under `kind/name of the function`."""

    def register(make: Callable[[], irexec.Model]) -> Callable[[], irexec.Model]:
        MODELS[f"{name}/{make.__name__}"] = make
        return make

    return register


def open_input(name: str, shape: list[Any], type: Any = np.float32) -> Any:
    node = op.parameter(irexec.PartialShape(shape), type, name=name)
    node.output(0).get_tensor().set_names({name})
    return node


def weights(*shape: int) -> Any:
    return op.constant(np.linspace(-1, 1, math.prod(shape), dtype=np.float32).reshape(shape))


def whole(*values: int) -> Any:
    return op.constant(np.array(values, np.int64))


def scalar(value: int) -> Any:
    return op.constant(np.int64(value))


def zero() -> Any:
    return op.constant(np.float32(0))


def joined_as_equals(one: Any, other: Any) -> Any:
    """Join two tensors along a new axis, so that all their sizes must be equal."""
    return op.concat([op.unsqueeze(one, whole(0)), op.unsqueeze(other, whole(0))], 0)


def model(results: Any, inputs: list[Any]) -> irexec.Model:
    return irexec.Model(results if isinstance(results, list) else [results], inputs)


def extent(data: Any, axis: int) -> Any:
    """Return the extent of an axis, as a tensor with one element."""
    return op.gather(op.shape_of(data), whole(axis), scalar(0))


def convolved(data: Any, channels: int, made: int, kernel: int = 3, stride: int = 1, pad: int = 1) -> Any:
    return op.convolution(data, weights(made, channels, kernel, kernel), [stride] * 2, [pad] * 2, [pad] * 2, [1, 1])


def pooled(data: Any, size: int = 2) -> Any:
    return op.max_pool(data, [size] * 2, [1, 1], [0, 0], [0, 0], [size] * 2).output(0)


@kind("products")
def classifier_of_flat_image() -> irexec.Model:
    image = open_input("image", [-1, 3, -1, -1])
    data = pooled(op.relu(convolved(image, 3, 4)), 4)
    return model(op.matmul(op.reshape(data, whole(0, -1), True), weights(4 * 24, 5), False, False), [image])


@kind("products")
def rows_of_twelve() -> irexec.Model:
    data = open_input("data", [-1, -1])
    return model(op.reshape(data, whole(-1, 12), False), [data])


@kind("products")
def flat_equals_other() -> irexec.Model:
    data, other = open_input("data", [-1, -1]), open_input("other", [-1])
    return model(
        op.concat([op.unsqueeze(op.reshape(data, whole(-1), False), whole(0)), op.unsqueeze(other, whole(0))], 0),
        [data, other],
    )


@kind("products")
def patches_plus_table() -> irexec.Model:
    image = open_input("image", [-1, 3, -1, -1])
    data = convolved(image, 3, 8, 8, 8, 0)
    flat = op.transpose(op.reshape(data, whole(0, 8, -1), True), whole(0, 2, 1))
    return model(
        op.concat(
            [
                op.add(
                    op.concat([op.broadcast(weights(1, 1, 8), op.concat([extent(image, 0), whole(1, 8)], 0)), flat], 1),
                    weights(1, 17, 8),
                )
            ],
            1,
        ),
        [image],
    )


@kind("products")
def heads_of_open_width() -> irexec.Model:
    data = open_input("data", [-1, -1, -1])
    return model(op.reshape(data, whole(0, 0, 4, -1), True), [data])


@kind("products")
def groups_of_batch_and_channels() -> irexec.Model:
    data = open_input("data", [-1, -1, 4])
    return model(op.reshape(data, whole(-1, 6, 4), False), [data])


@kind("sums")
def joined_plus_whole() -> irexec.Model:
    one, other, all_ = open_input("one", [2, -1]), open_input("other", [2, -1]), open_input("all", [2, -1])
    joined = op.concat([one, other], 1)
    return model(op.concat([joined, all_], 0), [one, other, all_])


@kind("sums")
def joined_with_table() -> irexec.Model:
    one, other = open_input("one", [-1, -1, 4]), open_input("other", [-1, -1, 4])
    joined = op.concat([one, other], 1)
    rows = op.slice(weights(1, 24, 4), whole(0), extent(joined, 1), whole(1), whole(1))
    return model(op.concat([joined, op.broadcast(rows, op.shape_of(joined))], 1), [one, other])


@kind("sums")
def sum_is_ten() -> irexec.Model:
    one, other = open_input("one", [-1, 3]), open_input("other", [-1, 3])
    return model(op.matmul(weights(2, 10), op.concat([one, other], 0), False, False), [one, other])


@kind("sums")
def double_and_single() -> irexec.Model:
    one, other, all_ = open_input("one", [-1]), open_input("other", [-1]), open_input("all", [-1])
    joined = op.concat([one, one, other, weights(3)], 0)
    return model(op.concat([op.unsqueeze(joined, whole(0)), op.unsqueeze(all_, whole(0))], 0), [one, other, all_])


@kind("sums")
def cached_attention() -> irexec.Model:
    data, past, mask = (
        open_input("data", [-1, -1, 8]),
        open_input("past", [-1, 2, -1, 4]),
        open_input("mask", [-1, 1, -1, -1]),
    )
    new = op.transpose(op.reshape(data, whole(0, 0, 2, 4), True), whole(0, 2, 1, 3))
    keys = op.concat([past, new], 2)
    scores = op.softmax(op.add(op.matmul(new, keys, False, True), mask), -1)
    return model([op.matmul(scores, keys, False, False), keys], [data, past, mask])


@kind("periods")
def network_of_halvings() -> irexec.Model:
    image = open_input("image", [-1, 3, -1, -1])
    data, skipped = image, []
    for channels in (3, 4, 4):
        data = op.relu(convolved(data, channels, 4))
        skipped.append(data)
        data = pooled(data)
    for channels in (4, 8, 8):
        up = op.convolution_backprop_data(data, weights(channels, 4, 2, 2), [2, 2])
        data = op.concat([up, skipped.pop()], 1)
    return model(data, [image])


@kind("periods")
def valid_and_back() -> irexec.Model:
    image = open_input("image", [-1, 3, -1, -1])
    down = convolved(image, 3, 4, 5, 3, 0)
    up = op.convolution_backprop_data(down, weights(4, 3, 5, 5), [3, 3])
    return model(op.concat([up, image], 1), [image])


@kind("periods")
def windows_of_seven() -> irexec.Model:
    image = open_input("image", [-1, -1, -1, 6])
    parts = [
        extent(image, 0),
        op.divide(extent(image, 1), whole(7)),
        whole(7),
        op.divide(extent(image, 2), whole(7)),
        whole(7),
        whole(6),
    ]
    data = op.transpose(op.reshape(image, op.concat(parts, 0), False), whole(0, 1, 3, 2, 4, 5))
    return model(op.reshape(data, whole(-1, 49, 6), False), [image])


@kind("periods")
def padded_to_windows() -> irexec.Model:
    image = open_input("image", [-1, -1, 6])
    rest = op.mod(op.subtract(whole(8), op.mod(extent(image, 1), whole(8))), whole(8))
    data = op.pad(
        image, whole(0, 0, 0), op.concat([whole(0), rest, whole(0)], 0), "constant", op.constant(np.float32(0))
    )
    return model(op.reshape(data, whole(0, -1, 8, 6), True), [image])


@kind("periods")
def space_to_depth() -> irexec.Model:
    image = open_input("image", [-1, 3, -1, -1])
    return model(op.space_to_depth(image, "blocks_first", 4), [image])


@kind("periods")
def depth_to_space() -> irexec.Model:
    image = open_input("image", [-1, -1, -1, -1])
    return model(op.depth_to_space(image, "depth_first", 3), [image])


@kind("periods")
def odd_sizes() -> irexec.Model:
    data = open_input("data", [-1, -1])
    half = op.divide(extent(data, 1), whole(2))
    one = op.slice(data, whole(0), half, whole(1), whole(1))
    other = op.slice(data, op.add(half, whole(1)), extent(data, 1), whole(1), whole(1))
    return model(op.concat([one, other], 0), [data])


@kind("periods")
def upsampled_and_joined() -> irexec.Model:
    image = open_input("image", [1, 3, -1, -1])
    down = op.avg_pool(image, [2, 2], [0, 0], [0, 0], [2, 2], True, "ceil")
    sizes = op.multiply(op.gather(op.shape_of(down), whole(2, 3), scalar(0)), whole(2))
    up = op.interpolate(down, sizes, "nearest", "sizes", axes=whole(2, 3))
    return model(op.concat([up, image], 1), [image])


@kind("periods")
def scaled_and_joined() -> irexec.Model:
    image = open_input("image", [1, 3, -1, -1])
    down = convolved(image, 3, 4, 3, 2, 1)
    up = op.interpolate(down, op.constant(np.array([2, 2], np.float32)), "nearest", "scales", axes=whole(2, 3))
    return model(op.concat([up, image], 1), [image])


@kind("periods")
def batches_to_space() -> irexec.Model:
    data = open_input("data", [-1, 4, -1])
    return model(op.batch_to_space(data, whole(1, 1, 2), whole(0, 0, 1), whole(0, 0, 0)), [data])


@kind("periods")
def spaces_to_batch() -> irexec.Model:
    data = open_input("data", [-1, 4, -1])
    return model(op.space_to_batch(data, whole(1, 2, 5), whole(0, 0, 1), whole(0, 0, 0)), [data])


@kind("periods")
def shuffled_channels() -> irexec.Model:
    data = open_input("data", [-1, -1, 4])
    return model(op.shuffle_channels(data, 1, 6), [data])


@kind("unions")
def broadcast_pair() -> irexec.Model:
    one, other = open_input("one", [-1, -1]), open_input("other", [-1, -1])
    return model(op.add(one, other), [one, other])


@kind("unions")
def broadcast_three() -> irexec.Model:
    inputs = [open_input(name, [-1, 4]) for name in ("one", "other", "third")]
    return model(op.multiply(op.add(inputs[0], inputs[1]), inputs[2]), inputs)


@kind("unions")
def eight_or_one() -> irexec.Model:
    data = open_input("data", [-1, -1])
    return model(op.add(data, weights(6, 8)), [data])


@kind("unions")
def matmul_of_batches() -> irexec.Model:
    one, other = open_input("one", [-1, -1, -1]), open_input("other", [-1, -1, -1])
    return model(op.matmul(one, other, False, True), [one, other])


@kind("unions")
def branches_of_sizes() -> irexec.Model:
    data = open_input("data", [-1, 4])
    inner = [open_input(f"inner{n}", [-1, 4]) for n in range(2)]
    pairs = model(op.reshape(inner[0], whole(-1, 8), False), [inner[0]])
    added = model(op.add(inner[1], weights(3, 4)), [inner[1]])
    choice = op.if_op(op.greater(op.gather(op.shape_of(data), scalar(0), scalar(0)), scalar(3)))
    choice.set_then_body(pairs)
    choice.set_else_body(added)
    choice.set_input(data.output(0), *inner)
    return model(choice.set_output(pairs.results[0], added.results[0]), [data])


@kind("unions")
def selected_by_mask() -> irexec.Model:
    mask, one, other = open_input("mask", [-1, 1], bool), open_input("one", [-1, -1]), open_input("other", [1, -1])
    return model(op.select(mask, one, other), [mask, one, other])


@kind("unions")
def squeezed() -> irexec.Model:
    data, other = open_input("data", [-1, -1, 4]), open_input("other", [-1, 4])
    return model(op.matmul(op.reduce_max(data, whole(1), True), other, False, True), [data, other])


@kind("unions")
def target_three_or_one() -> irexec.Model:
    data = open_input("data", [-1, -1])
    return model(op.broadcast(data, whole(3, 5)), [data])


@kind("equalities")
def inner_products() -> irexec.Model:
    one, other = open_input("one", [-1, -1]), open_input("other", [-1, -1])
    return model(op.matmul(one, other, False, False), [one, other])


@kind("equalities")
def without_broadcast() -> irexec.Model:
    one, other = open_input("one", [-1, -1]), open_input("other", [-1, -1])
    return model(op.add(one, other, "none"), [one, other])


@kind("equalities")
def two_images() -> irexec.Model:
    image, mask = open_input("image", [-1, 3, -1, -1]), open_input("mask", [-1, 1, -1, -1])
    return model(convolved(op.concat([image, mask], 1), 4, 4), [image, mask])


@kind("equalities")
def square() -> irexec.Model:
    data = open_input("data", [-1, -1])
    return model(op.concat([data, op.transpose(data, whole(1, 0))], 1), [data])


@kind("equalities")
def half_equals_other() -> irexec.Model:
    image, small = open_input("image", [1, 3, -1, -1]), open_input("small", [1, 4, -1, -1])
    return model(op.concat([convolved(image, 3, 4, 3, 2, 1), small], 1), [image, small])


@kind("equalities")
def recurrent() -> irexec.Model:
    data, state = open_input("data", [-1, -1, 4]), open_input("state", [-1, 1, 5])
    lengths = open_input("lengths", [-1], np.int32)
    return model(
        op.gru_sequence(
            data, state, lengths, weights(1, 15, 4), weights(1, 15, 5), weights(1, 15), 5, "forward"
        ).output(0),
        [data, state, lengths],
    )


@kind("equalities")
def contraction() -> irexec.Model:
    one, other = open_input("one", [-1, -1, -1]), open_input("other", [-1, -1, -1])
    return model(op.einsum([one, other], "bij,bjk->bik"), [one, other])
