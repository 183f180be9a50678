"""Models with dynamic dimensions for benchmarks/shapes.py: constants that equal sizes, are tables, or fix sizes."""

from __future__ import annotations

import numpy as np
from dynamic_models import extent, kind, model, open_input, scalar, weights, whole

import irexec
from irexec import opset15 as op


@kind("coincide")
def eight_heads_of_eight() -> irexec.Model:
    data = open_input("data", [-1, -1, 64])
    heads = op.transpose(op.reshape(data, whole(0, 0, 8, 8), True), whole(0, 2, 1, 3))
    scores = op.softmax(op.matmul(heads, heads, False, True), -1)
    made = op.reshape(op.transpose(op.matmul(scores, heads, False, False), whole(0, 2, 1, 3)), whole(0, 0, 64), True)
    return model(made, [data])


@kind("coincide")
def batch_and_length_of_eight() -> irexec.Model:
    data = open_input("data", [-1, -1])
    return model(op.add(op.matmul(data, data, False, True), weights(8, 8)), [data])


@kind("coincide")
def channels_equal_positions() -> irexec.Model:
    data = open_input("data", [-1, -1, -1])
    return model(op.matmul(op.add(data, weights(1, 16, 16)), weights(16, 4), False, False), [data])


@kind("tables")
def positions_sliced() -> irexec.Model:
    ids = open_input("ids", [-1, -1], np.int64)
    rows = op.slice(op.constant(np.arange(40, dtype=np.int64)[None]), whole(0), extent(ids, 1), whole(1), whole(1))
    found = op.add(op.gather(weights(50, 8), ids, scalar(0)), op.gather(weights(40, 8), rows, scalar(0)))
    return model(found, [ids])


@kind("tables")
def positions_ranged() -> irexec.Model:
    ids = open_input("ids", [-1, -1], np.int64)
    rows = op.range(scalar(0), op.squeeze(extent(ids, 1), whole(0)), scalar(1), "i64")
    return model(op.add(op.gather(weights(50, 8), ids, scalar(0)), op.gather(weights(20, 8), rows, scalar(0))), [ids])


@kind("tables")
def positions_of_exact_length() -> irexec.Model:
    data = open_input("data", [-1, -1, 8])
    return model(
        op.add(
            op.concat([data, op.broadcast(weights(1, 1, 8), op.concat([extent(data, 0), whole(1, 8)], 0))], 1),
            weights(1, 13, 8),
        ),
        [data],
    )


@kind("tables")
def strided_positions() -> irexec.Model:
    data = open_input("data", [-1, -1, 8])
    rows = op.strided_slice(
        weights(1, 30, 8),
        whole(0, 2),
        op.concat([whole(1), op.add(extent(data, 1), whole(2))], 0),
        whole(1, 1),
        [1, 0],
        [1, 0],
        [0, 0],
        [0, 0],
        [0, 0],
    )
    return model(op.add(data, rows), [data])


@kind("baked")
def batch_of_one() -> irexec.Model:
    data = open_input("data", [-1, -1, 8])
    heads = op.transpose(op.reshape(data, whole(1, -1, 2, 4), False), whole(0, 2, 1, 3))
    made = op.reshape(op.transpose(heads, whole(0, 2, 1, 3)), whole(1, -1, 8), False)
    return model(op.concat([made, data], 2), [data])


@kind("baked")
def batch_leaks() -> irexec.Model:
    data = open_input("data", [-1, -1, 8])
    return model(op.reshape(data, whole(1, -1, 2, 4), False), [data])


@kind("baked")
def token_of_batch_four() -> irexec.Model:
    data = open_input("data", [-1, -1, 8])
    return model(op.concat([op.broadcast(weights(1, 1, 8), whole(4, 1, 8)), data], 1), [data])


@kind("baked")
def length_of_traced_size() -> irexec.Model:
    data = open_input("data", [-1, -1, 8])
    return model(op.add(op.reshape(data, whole(0, 16, 2, 4), True), weights(1, 16, 2, 4)), [data])
