"""Formulas of operation pages in plain Python, which rows may name."""

from __future__ import annotations

import math
import re
from itertools import groupby
from itertools import product as every_one
from typing import Any

import numpy as np

from irexec.core.types import ElementType


def i32s(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


def followed(steps: np.ndarray, parents: np.ndarray, lengths: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Return what the pseudocode of GatherTree returns."""
    found = np.full_like(steps, end)
    times, batches, beams = steps.shape
    for batch in range(batches):
        for beam in range(beams):
            last = min(times, int(lengths[batch]))
            parent = beam
            for level in reversed(range(last)):
                found[level, batch, beam] = steps[level, batch, parent]
                parent = int(parents[level, batch, parent])
            ends = np.flatnonzero(found[:, batch, beam] == end)
            found[ends[0] if len(ends) else times :, batch, beam] = end
    return found


def uniques(data: np.ndarray, axis: int | None = None, *, is_sorted: bool = True) -> list[Any]:
    """Return the results of Unique: the values, their first places, the place of each element, and the counts."""
    slices = list(data.ravel()) if axis is None else list(np.moveaxis(data, axis, 0))
    keys = [np.ravel(s).tolist() for s in slices]
    first = [n for n, key in enumerate(keys) if key not in keys[:n]]
    if is_sorted:
        first.sort(key=lambda n: keys[n])
    places = [[keys[n] for n in first].index(key) for key in keys]
    values = np.take(data.ravel() if axis is None else data, np.array(first, np.intp), axis or 0)
    counts = [places.count(n) for n in range(len(first))]
    return [values, *(np.array(numbers, np.int64) for numbers in (first, places, counts))]


def space_to_batch(data: np.ndarray, blocks: np.ndarray, begin: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Return what SpaceToBatch returns: each element of the padded array, found by the place of the result."""
    padded = np.pad(data, list(zip(begin, end, strict=True)), constant_values="" if data.dtype.kind == "T" else 0)
    return np.concatenate([padded[_every(place, blocks)] for place in np.ndindex(*blocks[1:])])


def batch_to_space(data: np.ndarray, blocks: np.ndarray, begin: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Return what BatchToSpace returns."""
    parts = np.split(data, np.prod(blocks))
    whole = np.zeros([n * b for n, b in zip(parts[0].shape, [1, *blocks[1:]], strict=True)], data.dtype)
    for place, part in zip(np.ndindex(*blocks[1:]), parts, strict=True):
        whole[_every(place, blocks)] = part
    return whole[tuple(slice(b, n - e) for b, e, n in zip(begin, end, whole.shape, strict=True))]


def _every(first: tuple[int, ...], blocks: np.ndarray) -> tuple[slice, ...]:
    return (slice(None), *(slice(f, None, b) for f, b in zip(first, blocks[1:], strict=True)))


erf = np.vectorize(math.erf, otypes=[np.float64])


def softmax(data: np.ndarray, axis: int) -> np.ndarray:
    powers = np.exp(data - data.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


def reduced(operator: str, data: np.ndarray, axes: tuple[int, ...], keep_dims: bool) -> np.ndarray:
    """Return what the reductions of numbers return."""
    data = np.abs(data) if "L" in operator else data
    data = data * data if "L2" in operator else data
    function = {"Mean": np.mean, "Prod": np.prod, "Max": np.max, "Min": np.min}.get(operator[6:-2], np.sum)
    found = function(data, axis=axes, keepdims=keep_dims)
    if "Mean" in operator and data.dtype.kind == "i":
        return np.trunc(found)
    return np.sqrt(found) if "L2" in operator else found


def normalized(data: np.ndarray, axes: Any, variance: bool, eps: float, mode: str) -> np.ndarray:
    """Return what MVN returns."""
    along = tuple(axes)
    centred = data - data.mean(along, keepdims=True)
    square = (centred**2).mean(along, keepdims=True)
    root = np.sqrt(square + eps) if mode == "inside_sqrt" else np.sqrt(square) + eps
    return centred / root if variance else centred


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a matrix product, exact for integers, which wrap."""
    with np.errstate(all="ignore"):
        return (a[..., None] * b).sum(1).astype(a.dtype)


_OF_PYTHON: dict[str, Any] = {
    "Ceiling": math.ceil,
    "Sign": np.sign,
    "Negative": lambda x: -x,
    "Round": round,
    "Abs": abs,
}


def pythons(operator: str, x: np.ndarray) -> np.ndarray:
    """Return a function of one number by Python's math, in f64."""
    name = operator.partition("-")[0]
    if name == "ErfInv":
        return _inverse_of_erf(x)
    function = _OF_PYTHON.get(name) or getattr(math, name.lower())
    return np.array([function(float(value)) for value in x.ravel()], np.float64).reshape(x.shape)


def _inverse_of_erf(x: np.ndarray) -> np.ndarray:
    y = np.zeros(x.shape)
    for _ in range(60):  # Newton's steps
        y = y - (erf(y) - x.astype(np.float64)) * np.sqrt(np.pi) / 2 * np.exp(y * y)
    return y


def by_numpy(operator: str, *operands: np.ndarray) -> np.ndarray:
    """Return the result of the function of NumPy with the same name: BitwiseLeftShift is `left_shift`."""
    words = re.findall("[A-Z][a-z]+", operator)
    words = words[1:] if words[0] == "Bitwise" and words[-1] == "Shift" else words
    found: np.ndarray = getattr(np, "_".join(words).lower())(*operands)
    return found


def largest(rows: np.ndarray, k: int, mode: str, sort: str) -> list[np.ndarray]:
    """Return the results of TopK along the last axis, by sorting every row completely; the lower index comes first."""
    sign = -1 if mode == "max" else 1
    picks = [sorted(range(len(row)), key=lambda i, row=row: (sign * float(row[i]), i))[:k] for row in rows]
    places = np.array([sorted(pick) if sort == "index" else pick for pick in picks])
    return [np.take_along_axis(rows, places, 1), places]


def convolved(data: np.ndarray, filters: np.ndarray, pad: int = 1) -> np.ndarray:
    """Return a convolution with two spatial axes, strides of 1 and equal padding."""
    padded = np.pad(data, [(0, 0), (0, 0), (pad, pad), (pad, pad)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, filters.shape[2:], (2, 3))
    with np.errstate(all="ignore"):
        found: np.ndarray = np.einsum("nchwyx,ocyx->nohw", windows, filters)
    return found


def delta_steps(q: Any, k: Any, v: Any, state: Any, gate: Any, beta: Any) -> list[np.ndarray]:
    """Return what the page of GatedDeltaNet computes, in f64."""
    q, k, v, state, gate, beta = (np.asarray(x, np.float64) for x in (q, k, v, state, gate, beta))
    result, last = np.zeros(v.shape), np.zeros(state.shape)
    for b, h in np.ndindex(v.shape[0], v.shape[2]):
        shared, now = h * k.shape[2] // v.shape[2], state[b, h]
        for t in range(v.shape[1]):
            key = k[b, t, shared]
            now = now * np.exp(gate[b, t, h])
            now = now + np.outer(key, (v[b, t, h] - key @ now) * beta[b, t, h])
            result[b, t, h] = q[b, t, shared] / np.sqrt(q.shape[-1]) @ now
        last[b, h] = now
    return [result, last]


def selective_steps(a: Any, dt: Any, B: Any, x: Any, C: Any, state: Any) -> list[np.ndarray]:
    """Return what the page of SelectiveSSM computes, in f64."""
    a, dt, B, x, C, state = (np.asarray(each, np.float64) for each in (a, dt, B, x, C, state))
    result, last = np.zeros(x.shape), np.zeros(state.shape)
    for n, h in np.ndindex(x.shape[0], x.shape[2]):
        group, now = h * B.shape[2] // x.shape[2], state[n, h]
        for t in range(x.shape[1]):
            now = now * np.exp(a[h] * dt[n, t, h]) + np.outer(x[n, t, h], dt[n, t, h] * B[n, t, group])
            result[n, t, h] = now @ C[n, t, group]
        last[n, h] = now
    return [result, last]


def causal_windows(x: Any, table: Any, weight: Any, bias: Any, bounds: list[int], blocks: list[int]) -> np.ndarray:
    """Return what the page of PagedCausalConv1D computes for sequences that continue from these blocks, in f64."""
    result = np.zeros(x.shape)
    width = weight.shape[1]
    for start, stop, block in zip(bounds[:-1], bounds[1:], blocks, strict=True):
        state = np.asarray(table[block], np.float64)
        for t in range(start, stop):
            state = np.concatenate([state[:, 1:], np.asarray(x[t], np.float64)[:, None]], 1)
            for channel in range(len(weight)):
                first = channel // width * width
                result[t, channel] = (weight[channel].astype(np.float64) * state[first : first + width]).sum()
                result[t, channel] += bias[channel] if len(bias) else 0
    return result


def experts_of(x: Any, shares: Any, expert: Any) -> np.ndarray:
    """Return the sum of what `expert(number, token)` returns for each token, by the shares [experts, tokens]."""
    tokens = np.asarray(x, np.float64).reshape(-1, x.shape[-1])
    found = [sum(share[n] * expert(e, token) for e, share in enumerate(shares)) for n, token in enumerate(tokens)]
    return np.array(found).reshape(x.shape)


def swish(x: Any) -> Any:
    return x / (1 + np.exp(-np.asarray(x, np.float64)))


def sparse_steps(query: Any, key: Any, value: Any, blocks: Any, ratio: int, scale: float) -> np.ndarray:
    """Return what the page of BlockSparseAttention computes, in f64."""
    query, key, value = (np.asarray(x, np.float64) for x in (query, key, value))
    result = np.zeros((*query.shape[:3], value.shape[-1]))
    for n, h, row in np.ndindex(*query.shape[:3]):
        shared, position = h * key.shape[1] // query.shape[1], key.shape[2] - query.shape[2] + row
        seen = {b * ratio + i for b in blocks[n, row] if b >= 0 for i in range(ratio)}
        at = sorted(seen | set(range((position + 1) // ratio * ratio, position + 1)))
        weights = np.exp(key[n, shared, at] @ query[n, h, row] * scale) if at else np.zeros(0)
        result[n, h, row] = weights @ value[n, shared, at] / max(weights.sum(), 1e-300) if at else 0
    return result


def leveled(x: Any, low: Any, high: Any, output_low: Any, output_high: Any, levels: int) -> np.ndarray:
    """Return what the page of FakeQuantize computes."""
    with np.errstate(all="ignore"):
        level = np.rint((x - low) / (high - low) * (levels - 1))
    between = level / (levels - 1) * (output_high - output_low) + output_low
    cases = [np.isnan(x), x <= np.minimum(low, high), x > np.maximum(low, high)]
    return np.select(np.broadcast_arrays(*cases), np.broadcast_arrays(x, output_low, output_high, between)[:3], between)


def in_float8(x: Any, kind: str) -> np.ndarray:
    """Return the nearest numbers of an eight-bit type, in f64."""
    return np.asarray(x, np.float32).astype(ElementType.by_name[kind].dtype).astype(np.float64)


def resized(image: np.ndarray, sizes: Any, antialias: bool) -> np.ndarray:
    """Return the result of the loop of Interpolate's page for the mode linear with half_pixel, over all axes."""
    scales = [t / s for t, s in zip(sizes, image.shape, strict=True)]
    a = [s if antialias and min(scales) < 1 else 1.0 for s in scales]
    reach = [2 if s > 1 else math.ceil(2 / x) for s, x in zip(scales, a, strict=True)]
    result = np.zeros(sizes)
    for at in np.ndindex(*sizes):
        centre = [(c + 0.5) / s - 0.5 for c, s in zip(at, scales, strict=True)]
        total = weights = 0.0
        for index in np.ndindex(*(2 * r + 1 for r in reach)):
            inner = [round(c) + i - r for c, i, r in zip(centre, index, reach, strict=True)]
            if all(0 <= i < n for i, n in zip(inner, image.shape, strict=True)):
                weight = math.prod(x * max(0, 1 - abs(x * (c - i))) for x, c, i in zip(a, centre, inner, strict=True))
                weights, total = weights + weight, total + weight * image[tuple(inner)]
        result[at] = total / weights if weights else 0
    return result


def in_nv12(image: np.ndarray) -> list[np.ndarray]:
    """Return the planes of the page of RGBtoNV12."""
    r, g, b = np.moveaxis(image, -1, 0)
    chroma = np.stack([-0.148 * r - 0.291 * g + 0.439 * b + 128, 0.439 * r - 0.368 * g - 0.071 * b + 128], -1)
    chroma = np.floor(chroma + 0.5) if image.dtype.kind == "u" else chroma
    n, h, w, _ = image.shape
    luma = 0.257 * r + 0.504 * g + 0.098 * b + 16
    return [luma[..., None], chroma.clip(0, 255).reshape(n, h // 2, 2, w // 2, 2, 2).mean((2, 4))]


def transformed(operator: str, data: np.ndarray, axes: np.ndarray, sizes: np.ndarray | None = None) -> np.ndarray:
    """Return what DFT and IDFT return, by NumPy."""
    if axes.size == 0:
        return data
    function = np.fft.ifftn if operator.startswith("I") else np.fft.fftn
    found = function(data[..., 0] + 1j * data[..., 1], sizes, axes)
    return np.stack([found.real, found.imag], -1)


def lstm_step(
    x: Any, h: Any, c: Any, w: Any, r: Any, b: Any, p: Any = None, *, coupled: bool = False
) -> list[np.ndarray]:
    """Return what the page of LSTMCell computes, in the order of gates f, i, c, o, with peepholes."""
    forget, take, new, out = np.split(x @ w.T + h @ r.T + b, 4, axis=1)
    of_forget, of_take, of_out = [0, 0, 0] if p is None else np.split(p, 3)
    kept = 1 / (1 + np.exp(-forget - of_forget * c))
    cell = kept * c + (1 - kept if coupled else 1 / (1 + np.exp(-take - of_take * c))) * np.tanh(new)
    return [np.tanh(cell) / (1 + np.exp(-out - of_out * cell)), cell]


def ctc_losses(
    logits: Any, lengths: Any, labels: Any, counts: Any, blank: Any, collapse: bool, merge: bool, unique: bool
) -> np.ndarray:
    """Return what the page of CTCLoss defines: the sum over every path that decodes to the labels."""
    losses = []
    for row, length, label, count in zip(logits, lengths, labels, counts, strict=True):
        target = [k for k, _ in groupby(label[:count])] if collapse else list(label[:count])
        target = list(dict.fromkeys(target)) if unique else target
        chances = softmax(row[:length], 1)
        total = 0.0
        for path in every_one(range(row.shape[1]), repeat=int(length)):
            decoded = [k for k, _ in groupby(path)] if merge else path
            if [c for c in decoded if c != blank] == target:
                total += chances[range(length), path].prod()
        losses.append(-math.log(total) if total else math.inf)
    return np.array(losses)


def attended(q: Any, k: Any, v: Any, bias: Any = 0.0, scale: float | None = None) -> np.ndarray:
    """Return the result of the pseudo-code of ScaledDotProductAttention's page."""
    scores = q @ k.swapaxes(-1, -2) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale) + bias
    return softmax(scores, -1) @ v


def overlap_of(a: Any, b: Any) -> float:
    """Return the common area of two boxes of corners, as a part of their union."""
    sides = [max(min(a[i + 2], b[i + 2]) - max(a[i], b[i]), 0.0) for i in (0, 1)]
    areas = [(x[2] - x[0]) * (x[3] - x[1]) for x in (a, b)]
    return float(sides[0] * sides[1] / (sum(areas) - sides[0] * sides[1]))


def picked(boxes: Any, scores: Any, most: int, iou: float, lowest: float, sigma: float, cut: bool) -> list[Any]:
    """Return the results of the steps on the page of NonMaxSuppression. `cut`: boxes are also removed if sigma > 0."""
    kept: list[Any] = []
    for image, kind in np.ndindex(scores.shape[:2]):
        left, taken = dict(enumerate(scores[image, kind])), 0
        while left and taken < most and (score := left.pop(best := max(left, key=left.__getitem__))) >= lowest:
            taken += 1
            kept.append((image, kind, best, score))
            overlaps = {i: overlap_of(boxes[image, best], boxes[image, i]) for i in left}
            left = {i: s for i, s in left.items() if overlaps[i] <= iou or (sigma > 0 and not cut)}
            left = {i: s * np.exp(-0.5 * overlaps[i] ** 2 / sigma) if sigma > 0 else s for i, s in left.items()}
    kept.sort(key=lambda pick: (-pick[3], pick))
    return [np.array([p[:3] for p in kept]), np.array([(*p[:2], p[3]) for p in kept]), np.array([len(kept)])]
