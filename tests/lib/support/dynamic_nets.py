"""Small models with dynamic dimensions whose accepted sizes are known."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import irexec
from irexec import opset13 as op


def _input(name: str, shape: list[int], type: Any = np.float32) -> Any:
    node = op.parameter(irexec.PartialShape(shape), type, name=name)
    node.output(0).get_tensor().set_names({name})
    return node


def _weights(*shape: int) -> Any:
    return op.constant(np.linspace(-1, 1, math.prod(shape), dtype=np.float32).reshape(shape))


def _whole(*values: int) -> Any:
    return op.constant(np.array(values, np.int64))


def _convolution(data: Any, channels: int, made: int) -> Any:
    return op.convolution(data, _weights(made, channels, 3, 3), [1, 1], [1, 1], [1, 1], [1, 1])


def _halved(data: Any) -> Any:
    return op.max_pool(data, [2, 2], [1, 1], [0, 0], [0, 0], [2, 2]).output(0)


def unet() -> irexec.Model:
    image, mask = _input("image", [-1, 3, -1, -1]), _input("mask", [-1, 1, -1, -1])
    data, skipped = op.concat([image, mask], 1), []
    for channels in (4, 8, 8, 8):
        data = op.relu(_convolution(data, channels, 8))
        skipped.append(data)
        data = _halved(data)
    for channels in (8, 8, 8, 8):
        data = op.concat([op.convolution_backprop_data(data, _weights(channels, 8, 2, 2), [2, 2]), skipped.pop()], 1)
        data = op.relu(_convolution(data, 16, 8))
    return irexec.Model([data], [image, mask], "unet")


def tokens() -> irexec.Model:
    """Return a position table of 32 rows, sliced to the number of tokens, and a mask that is broadcast."""
    ids, mask = _input("ids", [-1, -1], np.int64), _input("mask", [-1, -1], np.int64)
    count = op.gather(op.shape_of(ids), _whole(1), _whole(0))
    rows = op.slice(op.constant(np.arange(32, dtype=np.int64)[None]), _whole(0), count, _whole(1), _whole(1))
    data = op.add(op.gather(_weights(50, 8), ids, _whole(0)), op.gather(_weights(32, 8), rows, _whole(0)))
    scores = op.matmul(data, data, False, True)
    masked = op.add(scores, op.convert(op.unsqueeze(mask, _whole(1)), "f32"))
    return irexec.Model([op.matmul(op.softmax(masked, -1), data, False, False)], [ids, mask], "tokens")


def cache() -> irexec.Model:
    ids, mask = _input("ids", [-1, -1], np.int64), _input("mask", [-1, -1], np.int64)
    past = _input("past", [-1, 2, -1, 4])
    new = op.transpose(
        op.reshape(op.gather(_weights(50, 8), ids, _whole(0)), _whole(0, 0, 2, 4), True), _whole(0, 2, 1, 3)
    )
    keys = op.concat([past, new], 2)
    added = op.convert(op.unsqueeze(op.unsqueeze(mask, _whole(1)), _whole(1)), "f32")
    scores = op.softmax(op.add(op.matmul(new, keys, False, True), added), -1)
    return irexec.Model([op.matmul(scores, keys, False, False), keys], [ids, mask, past], "cache")


def flattened() -> irexec.Model:
    image = _input("image", [-1, 3, -1, -1])
    data = op.avg_pool(image, [4, 4], [0, 0], [0, 0], [4, 4], True)
    data = op.matmul(op.reshape(data, _whole(0, -1), True), _weights(72, 10), False, False)
    return irexec.Model([data], [image], "flattened")


def exported() -> irexec.Model:
    """Return a model in which an exporter wrote the batch of 1 into the targets of Reshape."""
    ids = _input("ids", [-1, -1], np.int64)
    found = op.gather(_weights(50, 8), ids, _whole(0))
    data = op.transpose(op.reshape(found, _whole(1, -1, 2, 4), True), _whole(0, 2, 1, 3))
    data = op.reshape(op.transpose(data, _whole(0, 2, 1, 3)), _whole(1, -1, 8), True)
    return irexec.Model([op.add(data, found)], [ids], "exported")


def windows() -> irexec.Model:
    image = _input("image", [-1, -1, -1, 6])
    shape, seven = op.shape_of(image), _whole(7)
    batch, height, width = (op.gather(shape, _whole(axis), _whole(0)) for axis in range(3))
    parts = [batch, op.divide(height, seven), seven, op.divide(width, seven), seven, _whole(6)]
    data = op.transpose(op.reshape(image, op.concat(parts, 0), False), _whole(0, 1, 3, 2, 4, 5))
    return irexec.Model([op.reshape(data, _whole(-1, 49, 6), False)], [image], "windows")


def halves() -> irexec.Model:
    data = _input("data", [-1, -1])
    split = op.split(data, op.constant(np.int64(1)), 2)
    return irexec.Model([op.multiply(split.output(0), split.output(1))], [data], "halves")


def added() -> irexec.Model:
    one, other = _input("one", [-1]), _input("other", [-1])
    return irexec.Model([op.add(one, other)], [one, other], "added")


def joined() -> irexec.Model:
    one, other, whole = (_input(name, [4, -1]) for name in ("one", "other", "whole"))
    return irexec.Model([op.multiply(op.concat([one, other], 1), whole)], [one, other, whole], "joined")


def ranged() -> irexec.Model:
    ids = _input("ids", [-1, -1], np.int64)
    count = op.squeeze(op.gather(op.shape_of(ids), _whole(1), _whole(0)), _whole(0))
    rows = op.range(op.constant(np.int64(0)), count, op.constant(np.int64(1)), "i64")
    data = op.add(op.gather(_weights(50, 8), ids, _whole(0)), op.gather(_weights(20, 8), rows, _whole(0)))
    return irexec.Model([data], [ids], "ranged")


def chosen() -> irexec.Model:
    """Return a model whose number of results depends on values."""
    data = _input("data", [-1])
    return irexec.Model([op.non_zero(data)], [data], "chosen")


def branches() -> irexec.Model:
    """Return an If: more than three rows are joined in pairs; up to three are added to a constant of three rows."""
    data = _input("data", [-1, 4])
    condition = op.greater(op.gather(op.shape_of(data), np.int64(0), np.int64(0)), np.int64(3))
    inner = [op.parameter(irexec.PartialShape([-1, 4]), np.float32) for _ in range(2)]
    pairs = irexec.Model([op.reshape(inner[0], _whole(-1, 8), False)], [inner[0]])
    added = irexec.Model([op.add(inner[1], _weights(3, 4))], [inner[1]])
    choice = op.if_op(condition)
    choice.set_then_body(pairs)
    choice.set_else_body(added)
    choice.set_input(data.output(0), *inner)
    return irexec.Model([choice.set_output(pairs.results[0], added.results[0])], [data], "branches")


MODELS: dict[str, Callable[[], irexec.Model]] = {
    make.__name__: make
    for make in (unet, tokens, cache, flattened, exported, windows, halves, added, joined, ranged, chosen, branches)
}
