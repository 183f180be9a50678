"""Attention of a few queries, such as the newest token of a language model: keys and values are read where they are."""

from __future__ import annotations

from typing import Any

from irexec.runtime.lowering.llvm.attention import (
    DEPTH_STEP,
    HEAD,
    LAYER,
    TASK,
    Mask,
    divided,
    masked,
    powers,
)
from irexec.runtime.lowering.llvm.code import Code, Fields, Number, Run, begun, copy_run, fill_run
from irexec.runtime.lowering.llvm.rows import across_lanes

# The numbers of vectors of a result that are summed at a time, and of keys that are added to separate sums.
WIDTH, APART = 4, 2


def write_few_queries(module: Any, name: str, lanes: int, mask: Mask) -> Code:
    """Write `few_queries(layer, task, scratch, round)`: compute some queries of some heads, one after the other.

    The rows of keys and values are contiguous. Scratch memory holds the scaled query, then the scores of all keys.
    """
    code, layer, task = begun(module, name, lanes, LAYER, TASK)
    query = code.parameters[2].floats()
    scores = query + layer.scores
    scale = code.splat(layer.scale.floats().scalar(0))
    with code.loop(task.first_head, task.last_head) as number:
        head = Fields(layer.heads + number * (8 * len(HEAD)), HEAD)
        keys, values = layer.key.floats() + head.key, layer.value.floats() + head.value
        with code.loop(task.first_row, task.last_row) as row:
            given = layer.query.floats() + head.query + row * layer.query_row
            copy_run(given, query, layer.depth, lambda _, vector, mask: code.builder.fmul(vector, scale))
            with code.loop(0, layer.keys) as key:
                scores.put(key, _product(code, query, keys + key * layer.key_row, layer.depth))
            masks = layer.mask.floats() + head.mask * layer.mask_step + row * layer.mask_row
            copy_run(scores, scores, layer.keys, masked(code, mask, masks, row))
            total = code.splat(powers(code, scores, layer.keys))
            result = layer.result.floats() + head.result + row * layer.columns
            fill_run(result, layer.columns, code.zeros())
            with code.loop(0, layer.keys, DEPTH_STEP) as key:
                count = (layer.keys - key).at_most(DEPTH_STEP)
                _add_products(code, layer, scores + key, values + key * layer.value_row, count, result)
            copy_run(result, result, layer.columns, divided(code, total))
    return code.end()


def _product(code: Code, one: Run, other: Run, count: Number) -> Any:
    """Return the sum of the products of `count` elements."""
    whole = count & -code.lanes
    with code.folding(0, whole, [code.zeros()], code.lanes) as fold:
        x = fold.index
        fold.values = [code.call("fmuladd", one.vector(x), other.vector(x), fold.values[0])]
    mask = code.mask(count - whole)
    rest = code.call("fmuladd", one.vector(whole, mask), other.vector(whole, mask), fold.values[0])
    return across_lanes(code, rest, code.builder.fadd)


def _add_products(code: Code, layer: Fields, factors: Run, values: Run, count: Number, result: Run) -> None:
    """Add the sum of `count` rows of values, each times its factor, to the result."""
    across = WIDTH * code.lanes
    whole = layer.columns // across * across

    def add(column: Number, width: int, mask: Any) -> None:
        def row(number: Number, sums: list[Any]) -> list[Any]:
            factor, place = code.splat(factors.scalar(number)), values + number * layer.value_row + column
            found = [place.vector(n * code.lanes, mask) for n in range(width)]
            return [code.call("fmuladd", factor, vector, sum) for vector, sum in zip(found, sums, strict=True)]

        pairs = count & -APART
        with code.folding(0, pairs, [code.zeros()] * (APART * width), APART) as fold:
            index, sums = fold.index, fold.values
            fold.values = [each for n in range(APART) for each in row(index + n, sums[n * width : (n + 1) * width])]
        with code.folding(pairs, count, fold.values[:width]) as rest:
            rest.values = row(rest.index, rest.values)
        for n in range(width):
            place = result + column + n * code.lanes
            sum = code.builder.fadd(rest.values[n], fold.values[width + n])
            place.put_vector(0, code.builder.fadd(place.vector(0, mask), sum), mask)

    with code.loop(0, whole, across) as column:
        add(column, WIDTH, None)
    with code.loop(whole, layer.columns, code.lanes) as column:
        add(column, 1, code.mask(layer.columns - column))
