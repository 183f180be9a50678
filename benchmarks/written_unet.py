"""A U-Net of a diffusion model (time steps, skips, attention in the middle), written for written_pairs.py: see
written_nets.py."""

from __future__ import annotations

from typing import Any

import numpy as np
from written_nets import FAULTS, HARMLESS, F, L, Weights, c, done, net

from irexec import Model
from irexec import opset15 as ops

FAULTS["unet"] = {
    "sines first": "embedding",
    "frequencies of another base": "angles",
    "skip after the upsampled": "joined1",
    "skip before the block": "joined1",
    "groups of one channel": "middle/norm1",
    "another epsilon": "middle/norm2",
    "no time in the middle": "middle/timed middle/norm2",
    "attention without scale": "scores scaled attention",
    "keys and values swapped": "scores mixed",
    "softmax over queries": "attention",
    "residual of the normalized": "attended",
    "nearest rounded up": "up2",
    "maximum pool": "down2",
    "gain and bias swapped": "out/norm",
    "steeper swish": "out/bent",
}
HARMLESS["unet"] = [
    "group norm written out",
    "swish by sigmoid",
    "attention fused",
    "nearest by tiles",
    "skips as sums",
    "pointwise as products",
    "pool as convolution",
    "time in the bias",
]
S = 16


class _Net:
    def __init__(self, f: str) -> None:
        self.f, self.w, self.time = f, Weights(31), None

    def norm(self, x: Any, channels: int, name: str) -> Any:
        gain, bias = 1 + self.w(channels), self.w(channels)
        if self.f == "gain and bias swapped" and name == "out/norm":
            gain, bias = bias, gain
        groups = channels if self.f == "groups of one channel" and name == "middle/norm1" else 4
        epsilon = 0.01 if self.f == "another epsilon" and name == "middle/norm2" else 1e-5
        if self.f != "group norm written out":
            return ops.group_normalization(x, c(gain), c(bias), groups, epsilon, name=name)
        shape = ops.shape_of(x)
        y = ops.reshape(x, c(np.array([1, groups, -1], L)), False)
        y = ops.subtract(y, ops.reduce_mean(y, c(np.array([2], L)), True))
        square = ops.reduce_mean(ops.multiply(y, y), c(np.array([2], L)), True)
        y = ops.reshape(ops.divide(y, ops.sqrt(ops.add(square, c(F(epsilon))))), shape, False)
        return ops.add(ops.multiply(y, c(gain[None, :, None, None])), c(bias[None, :, None, None]))

    def swish(self, x: Any, name: str) -> Any:
        if self.f == "swish by sigmoid":
            return ops.multiply(x, ops.sigmoid(x))
        return (
            ops.swish(x, c(F(1.7)), name=name)
            if self.f == "steeper swish" and name == "out/bent"
            else (ops.swish(x, name=name))
        )

    def conv(self, x: Any, rows: int, columns: int, size: int, name: str, stride: int = 1) -> Any:
        kernel, pad = self.w(rows, columns, size, size, scale=0.6 / size), [size // 2] * 2
        if self.f == "pointwise as products" and size == 1:
            flat = ops.reshape(x, c(np.array([0, 0, -1], L)), True)
            return ops.reshape(ops.matmul(c(kernel[:, :, 0, 0]), flat, False, False), self._like(x, rows), False)
        return ops.convolution(x, c(kernel), [stride] * 2, pad, pad, [1, 1], name=name)

    def _like(self, x: Any, channels: int) -> Any:
        extents = ops.gather(ops.shape_of(x), c(np.array([2, 3], L)), c(L(0)))
        return ops.concat([c(np.array([1, channels], L)), extents], 0)

    def block(self, x: Any, columns: int, rows: int, name: str, parts: list[Any] | None = None) -> Any:
        y = self.swish(self.norm(x, columns, f"{name}/norm1"), f"{name}/bent1")
        y = self.conv(y, rows, columns, 3, f"{name}/conv1")
        bias, product = self.w(rows), self.w(S, rows)
        time = ops.matmul(self.time, c(product), False, False, name=f"{name}/time")
        time = ops.reshape(time, c(np.array([1, rows, 1, 1], L)), False)
        if self.f == "time in the bias":
            y = ops.add(y, ops.add(time, c(bias[None, :, None, None])))
        else:
            y = ops.add(y, c(bias[None, :, None, None]), name=f"{name}/biased")
            if not (self.f == "no time in the middle" and name == "middle"):
                y = ops.add(y, time, name=f"{name}/timed")
        y = self.swish(self.norm(y, rows, f"{name}/norm2"), f"{name}/bent2")
        y = self.conv(y, rows, rows, 3, f"{name}/conv2")
        if columns != rows:
            kernel = self.w(rows, columns, 1, 1)
            if self.f == "skips as sums" and parts is not None:
                counts = [int(part.shape[1]) for part in parts]
                cut = np.split(kernel, [counts[0]], 1)
                pieces = (
                    ops.convolution(p, c(k), [1, 1], [0, 0], [0, 0], [1, 1]) for p, k in zip(parts, cut, strict=True)
                )
                x = ops.add(*pieces)
            else:
                x = ops.convolution(x, c(kernel), [1, 1], [0, 0], [0, 0], [1, 1], name=f"{name}/skip")
        return ops.add(y, x, name=f"{name}/sum")

    def attention(self, x: Any, n: int, d: int) -> Any:
        y = self.norm(x, d, "attention/norm")
        made = self.conv(y, 3 * d, d, 1, "qkv")
        made = ops.reshape(made, c(np.array([1, 3 * d, n], L)), False, name="rows")
        q, k, v = ops.split(made, c(L(1)), 3, name="three").outputs()
        if self.f == "keys and values swapped":
            k, v = v, k
        if self.f == "attention fused":
            rows = [ops.transpose(part, c(np.array([0, 2, 1], L))) for part in (q, k, v)]
            mixed = ops.transpose(ops.scaled_dot_product_attention(*rows), c(np.array([0, 2, 1], L)))
        else:
            scores = ops.matmul(q, k, True, False, name="scores")
            if self.f != "attention without scale":
                scores = ops.multiply(scores, c(F(d**-0.5)), name="scaled")
            shares = ops.softmax(scores, 1 if self.f == "softmax over queries" else 2, name="attention")
            mixed = ops.matmul(v, shares, False, True, name="mixed")
        back = ops.reshape(mixed, c(np.array([1, d, 4, 4], L)), False, name="squared")
        source = y if self.f == "residual of the normalized" else x
        return ops.add(self.conv(back, d, d, 1, "projected"), source, name="attended")

    def up(self, x: Any, name: str) -> Any:
        if self.f == "nearest by tiles":
            channels, high, wide = (int(extent) for extent in x.shape[1:])
            y = ops.reshape(x, c(np.array([1, channels, high, 1, wide, 1], L)), False)
            y = ops.tile(y, c(np.array([1, 1, 1, 2, 1, 2], L)))
            return ops.reshape(y, c(np.array([1, channels, 2 * high, 2 * wide], L)), False)
        mode = "ceil" if self.f == "nearest rounded up" and name == "up2" else "round_prefer_floor"
        scales, axes = c(np.array([2, 2], F)), c(np.array([2, 3], L))
        return ops.interpolate(x, scales, "nearest", "scales", nearest_mode=mode, axes=axes, name=name)


@net
def unet(f: str) -> tuple[Model, list[list[np.ndarray]]]:
    n = _Net(f)
    x, t = ops.parameter([1, 3, 16, 16], F, name="x"), ops.parameter([1], L, name="t")
    base = 100.0 if f == "frequencies of another base" else 1000.0
    powers = np.exp(-np.log(base) * np.arange(S // 2) / (S // 2)).astype(F)
    angles = ops.multiply(ops.unsqueeze(ops.convert(t, "f32"), c(np.array([1], L))), c(powers[None]), name="angles")
    both = [ops.cos(angles, name="cosines"), ops.sin(angles, name="sines")]
    embedding = ops.concat(both[::-1] if f == "sines first" else both, 1, name="embedding")
    n.time = n.swish(ops.matmul(embedding, c(n.w(S, S)), False, False, name="time"), "time/bent")
    first = n.conv(x, 8, 3, 3, "first")
    one = n.block(first, 8, 8, "one")
    two = n.block(n.conv(one, 8, 8, 3, "down1", 2), 8, 16, "two")
    if f == "pool as convolution":
        quarter = np.full((16, 1, 1, 2, 2), 0.25, F)
        y = ops.group_convolution(two, c(quarter), [2, 2], [0, 0], [0, 0], [1, 1])
    elif f == "maximum pool":
        y = ops.max_pool(two, [2, 2], [1, 1], [0, 0], [0, 0], [2, 2], name="down2").outputs()[0]
    else:
        y = ops.avg_pool(two, [2, 2], [0, 0], [0, 0], [2, 2], True, name="down2")
    y = n.attention(n.block(y, 16, 16, "middle"), 16, 16)
    parts = [n.up(y, "up2"), two]
    y = n.block(ops.concat(parts, 1, name="joined2"), 32, 16, "three", parts)
    skip = first if f == "skip before the block" else one
    parts = [n.up(y, "up1"), skip]
    parts = parts[::-1] if f == "skip after the upsampled" else parts
    y = n.block(ops.concat(parts, 1, name="joined1"), 24, 8, "four", parts)
    y = n.conv(n.swish(n.norm(y, 8, "out/norm"), "out/bent"), 3, 8, 3, "out")
    rng = np.random.default_rng(3)
    return done([y], [x, t]), [[rng.normal(size=(1, 3, 16, 16)).astype(F), np.array([37], L)]]
