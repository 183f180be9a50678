"""A network of integers, states, bodies and random values, written for written_pairs.py: see written_nets.py."""

from __future__ import annotations

from typing import Any

import numpy as np
from written_nets import FAULTS, HARMLESS, F, L, Weights, c, done, net

import irexec
from irexec import Model
from irexec import opset15 as ops

FAULTS["counts"] = {
    "ids wrap": "scaled ids",
    "remainder of negatives": "remainder",
    "division of negatives": "quotient",
    "half is true": "is_set",
    "not to": "wanted",
    "branches swapped": "chosen inner/exp inner/negative",
    "one iteration fewer": "repeated",
    "condition of the loop": "repeated body/go",
    "initial state": "past",
    "state of the step before": "past assigned",
    "seed": "noise",
    "operation seed": "noise",
    "ties from the back": "best",
    "pad with zero before maximum": "padded",
    "index from the end": "row",
    "one of two readers rounded": "total",
    "infinite instead of largest": "masked",
    "select swapped": "picked",
    "sum in f16": "total",
    "nan is not skipped": "zero",
    "cumulative from the end": "running",
    "bucket border": "bucket",
    "equal within": "same",
}
HARMLESS["counts"] = [
    "ids in 32 bits",
    "unused nan",
    "noise times zero",
    "inputs in another order",
    "unrolled",
    "select as where of the opposite",
    "gather as slice",
    "remainder written out",
    "boolean as numbers",
    "iterations as condition",
    "convert twice",
    "branch hoisted",
]


def _repeated(f: str, x: Any, w: np.ndarray) -> Any:
    """Return the result of applying the same layers four times, with or without a loop."""
    if f == "unrolled":
        for number in range(4):
            x = ops.tanh(ops.matmul(x, c(w), False, False, name=f"turn.{number}"), name=f"bend.{number}")
        return x
    body_x = ops.parameter([2, 8], F, name="body/x")
    step = ops.parameter([], L, name="body/step")
    y = ops.tanh(ops.matmul(body_x, c(w), False, False, name="body/turn"), name="body/bend")
    following = ops.add(step, c(L(1)), name="body/next")
    least = 3 if f in ("condition of the loop",) else 4 if f == "iterations as condition" else 99
    go = ops.less(following, c(L(least)), name="body/go")
    body = irexec.Model([ops.result(y), ops.result(following), ops.result(go)], [body_x, step], "body")
    count = 3 if f == "one iteration fewer" else 9 if f == "iterations as condition" else 4
    loop = ops.loop(c(np.int32(count)), c(np.array(True)), name="repeated")
    loop.set_function(body)
    loop.set_special_body_ports([-1, 2])
    loop.set_merged_input(body_x, x, body.results[0])
    loop.set_merged_input(step, c(L(0)), body.results[1])
    return loop.get_iter_value(body.results[0], -1)


def _chosen(f: str, condition: Any, x: Any) -> Any:
    """Return the result of one of two bodies."""
    bodies = []
    for kind in (ops.exp, ops.negative):
        inner = ops.parameter([2, 8], F, name="inner")
        bodies.append(Model([ops.result(kind(inner, name=f"inner/{kind.__name__}"))], [inner], kind.__name__))
    if f == "branch hoisted":
        return ops.select(condition, ops.exp(x), ops.negative(x), name="chosen")
    chosen = ops.if_op(condition, name="chosen")
    first, second = bodies[::-1] if f == "branches swapped" else bodies
    chosen.set_then_body(first)
    chosen.set_else_body(second)
    chosen.set_input(x, first.parameters[0], second.parameters[0])
    return chosen.set_output(first.results[0], second.results[0])


@net
def counts(f: str) -> tuple[Model, list[list[np.ndarray]]]:
    w = Weights(12)
    ids = ops.parameter([2, 4], L, name="ids")
    x = ops.parameter([2, 8], F, name="x")
    y = ops.parameter([2, 8], F, name="y")
    # Integers
    if f == "ids wrap":
        scaled = ops.convert(ops.multiply(ops.convert(ids, "i8"), c(np.int8(40))), "i64", name="scaled")
    elif f == "ids in 32 bits":
        scaled = ops.convert(ops.multiply(ops.convert(ids, "i32"), c(np.int32(40))), "i64", name="scaled")
    else:
        scaled = ops.multiply(ids, c(L(40)), name="scaled")
    if f == "remainder written out":
        quotient = ops.floor_mod(scaled, c(L(7)))
        remainder = ops.subtract(scaled, ops.subtract(scaled, quotient), name="remainder")
    else:
        kind = ops.mod if f == "remainder of negatives" else ops.floor_mod
        remainder = kind(scaled, c(L(7)), name="remainder")
    # OpenVINO truncates the quotient of negative numbers: here truncation and floor give the same.
    quotient = ops.divide(ops.subtract(scaled, ops.floor_mod(scaled, c(L(9)))), c(L(9)), name="quotient")
    if f == "division of negatives":
        quotient = ops.convert(ops.divide(ops.convert(scaled, "f32"), c(F(9))), "i64", name="quotient")
    table, places = w(7, 8), w(64, 8)
    rows = ops.gather(c(table), remainder, c(L(0)), name="rows")
    far = ops.gather(c(places), ops.floor_mod(quotient, c(L(64))), c(L(0)), name="far")
    words = ops.add(rows, far, name="words")
    if f == "gather as slice":
        row = ops.slice(words, c(np.array([3], L)), c(np.array([4], L)), c(np.array([1], L)), c(np.array([1], L)))
        row = ops.squeeze(row, c(np.array([1], L)), name="row")
    else:
        row = ops.gather(words, c(L(-2 if f == "index from the end" else 3)), c(L(1)), name="row")
    # Booleans
    border = ops.greater_equal if f == "half is true" else ops.greater
    is_set = border(x, c(F(0.5)), name="is_set")
    wanted = ops.logical_not(is_set, name="wanted") if f != "not to" else ops.logical_and(is_set, is_set, name="wanted")
    if f == "boolean as numbers":
        product = ops.multiply(ops.convert(wanted, "f32"), ops.convert(is_set, "f32"))
        wanted = ops.logical_or(wanted, ops.greater(product, c(F(0))))
    # NaN in values that are not used
    log = ops.log(y, name="log")
    usable = ops.greater(y, c(F(0)), name="usable")
    zero = (
        ops.multiply(y, c(F(0)), name="zero") if f != "nan is not skipped" else ops.multiply(log, c(F(0)), name="zero")
    )
    if f == "select as where of the opposite":
        picked = ops.select(ops.logical_not(usable), zero, log, name="picked")
    else:
        picked = ops.select(usable, *((zero, log) if f == "select swapped" else (log, zero)), name="picked")
    both = ops.add(ops.select(wanted, row, picked), picked, name="both")
    if f == "unused nan":
        wide = ops.concat([both, ops.log(c(np.full((2, 2), -1, F)))], 1)
        both = ops.gather(wide, c(np.arange(8, dtype=L)), c(L(1)))
    # A variable
    past = ops.read_value(c(np.full((2, 8), 1 if f == "initial state" else 0, F)), "kept", "f32", [2, 8], name="past")
    now = ops.add(ops.multiply(past, c(F(0.5)), name="faded"), both, name="now")
    sinks = [ops.assign(past if f == "state of the step before" else now, "kept", name="assigned")]
    # Random values
    seeds = (8 if f == "seed" else 7, 4 if f == "operation seed" else 3)
    noise = ops.random_uniform(c(np.array([2, 8], L)), c(F(0)), c(F(1)), "f32", *seeds, name="noise")
    value = ops.add(now, ops.multiply(noise, c(F(0.1)), name="weak"), name="noisy")
    if f == "noise times zero":
        second = ops.random_uniform(c(np.array([2, 8], L)), c(F(0)), c(F(1)), "f32", 5, 5)
        value = ops.add(value, ops.multiply(second, c(F(0))))
    value = _repeated(f, value, w(8, 8))
    value = _chosen(f, ops.greater(ops.reduce_sum(x, c(np.array([0, 1], L)), False), c(F(0)), name="positive"), value)
    # Order
    sort = "index" if f == "ties from the back" else "value"
    steps = ops.round(ops.multiply(value, c(F(2))), "half_to_even", name="steps")
    best = ops.topk(steps, c(L(3)), L(1), "max", sort, "i64", name="best")
    if f == "ties from the back":
        reverse = ops.gather(steps, c(np.arange(8, dtype=L)[::-1].copy()), c(L(1)))
        best = ops.topk(reverse, c(L(3)), L(1), "max", "value", "i64", name="best")
    padding = F(0) if f == "pad with zero before maximum" else F(-np.inf)
    padded = ops.pad(
        ops.negative(ops.exp(value)),
        c(np.array([0, 1], L)),
        c(np.array([0, 1], L)),
        "constant",
        c(padding),
        name="padded",
    )
    pooled = ops.max_pool(ops.unsqueeze(padded, c(np.array([1], L))), [1], [1], [0], [0], [3], name="pooled").output(0)
    least = F(-np.inf) if f == "infinite instead of largest" else np.finfo(F).min
    masked = ops.select(c(np.tri(8, dtype=bool)[[0, 4]] & (f != "never")), value, c(least), name="masked")
    fine = ops.multiply(masked, c(F(0.5)), name="fine")
    rounded = ops.convert(ops.convert(value, "f16"), "f32") if f == "one of two readers rounded" else value
    rounded = ops.convert(ops.convert(value, "f64"), "f32") if f == "convert twice" else rounded
    total = ops.reduce_sum(rounded, c(np.array([1], L)), False, name="total")
    if f == "one of two readers rounded":
        total = ops.reduce_sum(rounded, c(np.array([1], L)), False, name="total")
    if f == "sum in f16":
        narrow = ops.reduce_sum(ops.convert(value, "f16"), c(np.array([1], L)), False)
        total = ops.convert(narrow, "f32", name="total")
    running = ops.cum_sum(remainder, c(L(1)), False, f == "cumulative from the end", name="running")
    borders = np.array([0, 3, 6], L)
    bucket = ops.bucketize(remainder, c(borders), "i64", f == "bucket border", name="bucket")
    same = (ops.less_equal if f == "equal within" else ops.equal)(remainder, bucket, name="same")
    ends = [*best.outputs(), pooled, fine, total, running, bucket, ops.convert(same, "i32", name="numbers")]
    inputs = [y, ids, x] if f == "inputs in another order" else [ids, x, y]
    rng = np.random.default_rng(4)
    given = [
        [
            rng.integers(-9, 9, (2, 4)).astype(L),
            np.round(rng.normal(0.4, 1, (2, 8)) * 2).astype(F) / 2,
            rng.normal(0, 1, (2, 8)).astype(F),
        ]
        for _ in range(3)
    ]
    return done(ends, inputs, sinks), given
