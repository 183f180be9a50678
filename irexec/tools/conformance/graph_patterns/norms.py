"""Normalizations, attention and activations written as several layers, and near misses of them."""

from __future__ import annotations

import numpy as np

from irexec.core.types import F32
from irexec.model.graph.model import Value
from irexec.tools.conformance.builder import Graph
from irexec.tools.conformance.registry import pattern


def _axes(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


@pattern(
    near=("none", "power -1", "axis beside", "other axis for variance", "exponent 3", "epsilon outside",
          "no square root", "gamma of rows", "keep_dims false", "subtract reversed", "sum instead of mean"),
    root=("sqrt divide", "power -0.5", "power 0.5", "reciprocal"),
    affine=("gamma and beta", "none", "gamma", "beta"),
    rank=("3", "2", "4"),
)  # fmt: skip
def layer_norm(g: Graph, *, near: str, root: str, affine: str, rank: str) -> None:
    """Build LayerNorm written as several layers."""
    width = g.channels(4, 8, 16, 17, 33)
    dims: list[int | str] = {"2": ["S", width], "3": ["N", "S", width], "4": ["N", 3, "S", width]}[rank]  # type: ignore[assignment]
    x = g.input(dims)
    axis = -2 if near == "axis beside" else -1
    reduce = "ReduceSum-1" if near == "sum instead of mean" else "ReduceMean-1"
    mean = g.op(reduce, [x, _axes(axis)], {"keep_dims": "true"})
    centred = g.op("Subtract-1", [mean, x] if near == "subtract reversed" else [x, mean])
    exponent = 3.0 if near == "exponent 3" else 2.0
    square = g.op("Power-1", [centred, g.number(exponent)])
    if near == "exponent 3":
        square = g.op("Abs-1", [square])
    other = -2 if near == "other axis for variance" else axis
    variance = g.op(
        "ReduceMean-1", [square, _axes(other)], {"keep_dims": "false" if near == "keep_dims false" else "true"}
    )
    if near == "keep_dims false":
        variance = g.op("Unsqueeze-1", [variance, _axes(-1)])
    y = _divided(g, centred, variance, root, near)
    g.result(_affine(g, y, affine, width, near))


def _divided(g: Graph, x: Value, variance: Value, root: str, near: str) -> Value:
    """Return a value divided by the square root of a variance."""
    epsilon = g.number(1e-3)
    if near == "epsilon outside":
        return g.op("Divide-1", [x, g.op("Add-1", [g.op("Sqrt-1", [variance]), epsilon])])
    shifted = g.op("Add-1", [variance, epsilon])
    if near == "no square root":
        return g.op("Divide-1", [x, shifted])
    if near == "power -1":
        return g.op("Multiply-1", [x, g.op("Power-1", [shifted, g.number(-1.0)])])
    if root == "power -0.5":
        return g.op("Multiply-1", [x, g.op("Power-1", [shifted, g.number(-0.5)])])
    if root == "power 0.5":
        return g.op("Divide-1", [x, g.op("Power-1", [shifted, g.number(0.5)])])
    if root == "reciprocal":
        return g.op("Multiply-1", [x, g.op("Divide-1", [g.number(1.0), g.op("Sqrt-1", [shifted])])])
    return g.op("Divide-1", [x, g.op("Sqrt-1", [shifted])])


def _affine(g: Graph, y: Value, affine: str, width: int, near: str) -> Value:
    if affine.startswith("gamma"):
        y = g.op("Multiply-1", [y, g.array(*((1, 1) if near == "gamma of rows" else (width,)))])
    return g.op("Add-1", [y, g.array(width)]) if affine.endswith("beta") else y


@pattern(
    near=("none", "power -1", "axis beside", "exponent 3", "epsilon outside", "no square root", "other input"),
    root=("sqrt divide", "power -0.5", "power 0.5", "reciprocal"),
    affine=("gamma", "none", "gamma and beta"),
    square=("power", "multiply"),
)
def rms_norm(g: Graph, *, near: str, root: str, affine: str, square: str) -> None:
    """Build RMSNorm written as several layers."""
    width = g.channels(4, 8, 16, 17, 33)
    x = g.input(["N", "S", width])
    squared = g.op("Multiply-1", [x, x]) if square == "multiply" else g.op("Power-1", [x, g.number(2.0)])
    if near == "exponent 3":
        squared = g.op("Abs-1", [g.op("Power-1", [x, g.number(3.0)])])
    axis = -2 if near == "axis beside" else -1
    mean = g.op("ReduceMean-1", [squared, _axes(axis)], {"keep_dims": "true"})
    other = g.input(["N", "S", width]) if near == "other input" else x
    g.result(_affine(g, _divided(g, other, mean, root, near), affine, width, near))


@pattern(
    mask=("none", "rows", "full", "boolean select", "scalar"),
    near=(
        "none",
        "axis beside",
        "scale after softmax",
        "softmax twice",
        "no scale",
        "log softmax",
        "negative scale",
        "capped",
        "capped after the mask",
    ),
    heads=("1", "2", "4"),
    kv=("same", "longer", "transposed"),
)
def attention(g: Graph, *, mask: str, near: str, heads: str, kv: str) -> None:
    """Build attention written as several layers: products, scale, mask, SoftMax."""
    count, width = int(heads), g.channels(4, 8, 16)
    keys: str = "S" if kv != "longer" else "H"
    q, v = g.input(["N", count, "S", width]), g.input(["N", count, keys, width])
    k = g.input(["N", count, width, keys]) if kv == "transposed" else g.input(["N", count, keys, width])
    scores = g.op("MatMul-1", [q, k], {"transpose_b": "false" if kv == "transposed" else "true"})
    scale = g.number(-0.5 if near == "negative scale" else 0.35)
    if near not in ("no scale", "scale after softmax"):
        scores = g.op("Multiply-1", [scores, scale])
    if near == "capped":
        scores = _capped(g, scores)
    if mask in ("rows", "full", "scalar"):
        shape: list[int | str] = {"rows": ["N", 1, 1, keys], "full": ["N", 1, "S", keys], "scalar": [1]}[mask]  # type: ignore[assignment]
        scores = g.op("Add-1", [scores, g.input(shape)])
    elif mask == "boolean select":
        scores = g.op("Select-1", [g.input(["N", 1, "S", keys], "boolean"), scores, g.number(-100.0)])
    if near == "capped after the mask":
        scores = _capped(g, scores)
    axis = "-2" if near == "axis beside" else "-1"
    weights = g.op("LogSoftmax-5" if near == "log softmax" else "SoftMax-8", [scores], {"axis": axis})
    if near == "softmax twice":
        weights = g.op("SoftMax-8", [weights], {"axis": axis})
    if near == "scale after softmax":
        weights = g.op("Multiply-1", [weights, scale])
    g.result(g.op("MatMul-1", [weights, v]))


def _capped(g: Graph, scores: Value) -> Value:
    """Return scores limited by a scaled hyperbolic tangent."""
    return g.op("Multiply-1", [g.op("Tanh-1", [g.op("Divide-1", [scores, g.number(3.0)])]), g.number(3.0)])


@pattern(
    form=("swish", "swish beta", "hswish", "gelu erf", "gelu tanh", "mish", "softplus", "hsigmoid", "relu max",
          "softsign", "leaky", "abs"),
    near=("none", "constant", "other input", "one minus", "order"),
    then=("none", "converted", "converted and reduced", "compared"),
)  # fmt: skip
def activation(g: Graph, *, form: str, near: str, then: str) -> None:
    """Build activations written as several layers, and layers with integer or boolean results after them."""
    n, miss = g.number, 1.25 if near == "constant" else 1.0
    x = g.input(["N", 3, "S"])
    y = g.input(["N", 3, "S"]) if near == "other input" else x
    if form.startswith("swish"):
        inner = g.op("Multiply-1", [x, n(1.7 * miss)]) if form.endswith("beta") else x
        found = g.op("Multiply-1", [y, g.op("Sigmoid-1", [inner])])
    elif form in ("hswish", "hsigmoid"):
        six = g.op("Clamp-1", [g.op("Add-1", [x, n(3.0 * miss)])], {"min": "0", "max": "6"})
        if form == "hswish":
            six = g.op("Multiply-1", [y, six])
        found = g.op("Multiply-1", [six, n(1 / 6)]) if near == "order" else g.op("Divide-1", [six, n(6.0)])
    elif form == "gelu erf":
        erf = g.op("Erf-1", [g.op("Divide-1", [x, n(1.4142135 * miss)])])
        found = g.op("Multiply-1", [g.op("Multiply-1", [y, n(0.5)]), g.op("Add-1", [erf, n(1.0)])])
    elif form == "gelu tanh":
        cube = g.op("Multiply-1", [g.op("Power-1", [x, n(3.0)]), n(0.044715 * miss)])
        tanh = g.op("Tanh-1", [g.op("Multiply-1", [g.op("Add-1", [x, cube]), n(0.7978846)])])
        found = g.op("Multiply-1", [g.op("Multiply-1", [y, n(0.5)]), g.op("Add-1", [tanh, n(1.0)])])
    elif form in ("mish", "softplus"):
        soft = g.op("Log-1", [g.op("Add-1", [g.op("Exp-1", [x]), n(miss)])])
        found = g.op("Multiply-1", [y, g.op("Tanh-1", [soft])]) if form == "mish" else soft
    elif form == "softsign":
        found = g.op("Divide-1", [y, g.op("Add-1", [g.op("Abs-1", [x]), n(miss)])])
    elif form == "leaky":
        found = g.op("Maximum-1", [g.op("Multiply-1", [x, n(0.1 if near == "none" else 1.5)]), y])
    else:
        found = g.op("Maximum-1", [x, n(0.0 if near == "none" else 0.5)]) if form == "relu max" else g.op("Abs-1", [x])
    if near == "one minus":
        found = g.op("Subtract-1", [n(1.0), found])
    # In types of 16 bits, rounding at another place changes which side of a limit a value is on.
    g.result(_without_fraction(g, found, then) if g.base is F32 else found)


def _without_fraction(g: Graph, found: Value, then: str) -> Value:
    """Return integers or truth values computed from a value. The limits are not among the results of activations."""
    if then == "none":
        return found
    if then == "compared":
        return g.op("Greater-1", [found, g.number(0.37)])
    whole = g.op("Convert-1", [g.op("Add-1", [found, g.number(0.37)])], {"destination_type": "i32"})
    return g.op("ReduceSum-1", [whole, np.array([1], np.int64)]) if then == "converted and reduced" else whole


@pattern(
    form=("gated", "gated reversed", "two products"),
    act=("swish", "gelu", "relu", "sigmoid", "swish on the other half"),
    split=("variadic", "slices", "even"),
)
def gated(g: Graph, *, form: str, act: str, split: str) -> None:
    """Build a gated MLP."""
    width, inner = g.channels(8, 16, 17), g.channels(8, 16, 32)
    x = g.input(["N", "S", width])
    if form == "two products":
        a, b = (g.op("MatMul-1", [x, g.array(width, inner, scale=0.3)]) for _ in range(2))
    else:
        both = g.op("MatMul-1", [x, g.array(width, 2 * inner, scale=0.3)])
        if split == "slices":
            ends = ((0, inner), (inner, 2 * inner))
            a, b = (g.op("Slice-8", [both, _axes(lo), _axes(hi), _axes(1), _axes(-1)]) for lo, hi in ends)
        elif split == "even":
            a, b = g.ops("Split-1", [both, np.int64(-1)], {"num_splits": "2"})
        else:
            a, b = g.ops("VariadicSplit-1", [both, np.int64(-1), _axes(inner, inner)])
    if form == "gated reversed" or act.endswith("half"):
        a, b = b, a
    types = {"swish": "Swish-4", "gelu": "Gelu-7", "relu": "ReLU-1", "sigmoid": "Sigmoid-1"}
    y = g.op("Multiply-1", [g.op(types[act.split(" ", maxsplit=1)[0]], [a]), b])
    g.result(g.op("MatMul-1", [y, g.array(inner, width, scale=0.3)]))


@pattern(near=("none", "not negated", "halves exchanged", "interleaved", "other width"), tables=("inputs", "constants"))
def rotary(g: Graph, *, near: str, tables: str) -> None:
    """Build rotary position embedding."""
    width = g.channels(4, 8, 16)
    half = width // 2 if near != "other width" else max(1, width // 4)
    x = g.input(["N", 2, "S", width])
    first = g.op("Slice-8", [x, _axes(0), _axes(half), _axes(1), _axes(3)])
    second = g.op("Slice-8", [x, _axes(half), _axes(width), _axes(1), _axes(3)])
    if near != "not negated":
        second = g.op("Multiply-1", [second, g.number(-1.0)])
    if near == "interleaved":
        first = g.op("Slice-8", [x, _axes(0), _axes(width), _axes(2), _axes(3)])
        second = g.op("Slice-8", [x, _axes(1), _axes(width), _axes(2), _axes(3)])
    turned = g.op("Concat-1", [first, second] if near == "halves exchanged" else [second, first], {"axis": "-1"})
    dims: list[int | str] = [1, 1, "S", width]
    cos, sin = (g.input(dims) if tables == "inputs" else g.array(1, 1, 1, width) for _ in range(2))
    g.result(g.op("Add-1", [g.op("Multiply-1", [x, cos]), g.op("Multiply-1", [turned, sin])]))
