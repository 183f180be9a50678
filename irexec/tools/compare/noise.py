"""Noise: the error of a layer that is explained if the other side computes with fewer bits than the model declares.

A runtime may compute in bf16 or f16, and quantize the activations of products whose weights have few bits. The effect
on a layer is measured: the layer is run with its inputs, constants and results rounded at random.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from irexec.core.diagnostics import IRError
from irexec.core.structure import RESULT
from irexec.core.types import BF16, F16, F32, Array, ElementType, PartialShape, TensorType
from irexec.model.arrays.units import apart, unit, widened
from irexec.model.graph.copies import copy_with_map
from irexec.model.graph.model import Model, Node
from irexec.ops.spec.operator import Operator
from irexec.ops.spec.traits import MatrixProduct, Unpacking
from irexec.runtime.engine import CompiledModel
from irexec.tools.compare.errors import Error, Run, measure, percent, worst
from irexec.tools.compare.numbers import DRAWS, ENOUGH, MARGIN, multiple
from irexec.tools.cut.extract import MAX_STRUCTURE

GROUP = "DYNAMIC_QUANTIZATION_GROUP_SIZE"
"""The property of OpenVINO for the number of activations that are quantized together; 0 for none."""
_LOWER = {"bf16": BF16, "f16": F16}
# Arrays with more elements, such as weights, are not perturbed; the values multiplied with them are perturbed more.
_LARGE = 1 << 18
# The largest magnitude of a quantized activation.
_LEVELS = 127.0


@dataclass(frozen=True, slots=True)
class Judged:
    """The error of a layer; `limit` and `tolerance`: the error that noise explains, in units in the last place and as
    a text."""

    own: Error
    agrees: bool
    limit: float
    tolerance: str


@dataclass(frozen=True, slots=True)
class Noise:
    """The rounding of the other side. `kind`: the element type in which it computes. `group`: the number of
    activations that it quantizes together, where a product has weights of few bits; 0 for none."""

    kind: ElementType = F32
    group: int = 0

    @classmethod
    def of(cls, precision: str, about: Mapping[str, str]) -> Noise | None:
        """Return the noise of a runtime with this precision and these properties; None if it adds no noise."""
        group = about.get(GROUP, "")
        found = cls(_LOWER.get(precision, F32), int(group) if group.isdecimal() else 0)
        return found if found != cls() else None

    def applies(self, nodes: Sequence[Node]) -> bool:
        """Return whether these layers may be computed with fewer bits."""
        lower = self.kind is not F32 and any(v.element_type is F32 for node in nodes for v in node.outputs)
        return lower or bool(self.group and any(map(packed, nodes)))

    def judge(self, model: Model, inputs: Sequence[Array], other: Sequence[Array | None]) -> Judged | None:
        """Return the error of the results `other` of a small model, and the error that noise explains; None if the
        noise cannot be measured.
        """
        right = _run(model)(inputs)
        runs = list(self._runs(model, inputs))
        runs = [found for found in runs if all(a.shape == b.shape for a, b in zip(right, found, strict=True))]
        if not runs:
            return None
        own, agrees, limit, level = Error(0.0, 0.0, 0.0), True, 0.0, 0.0
        for index, (expected, found) in enumerate(zip(right, other, strict=True)):
            if found is None:
                continue
            error = measure(expected, found)
            own = worst((own, error))
            noise = [measure(expected, run[index]) for run in runs]
            limit = max(limit, 2 * max(e.ulp for e in noise))
            level = max(level, *(e.relative for e in noise))
            agrees &= not error or _explains([run[index] for run in runs], expected, found)
        names = [str(self.kind)] if self.kind is not F32 else []
        if self.group and any(map(packed, model.nodes)):
            names.append(f"activations in groups of {self.group}")
        return Judged(own, agrees, limit, f"{percent(level)} for rounding in {' and '.join(names)}")

    def _runs(self, model: Model, inputs: Sequence[Array]) -> Iterator[list[Array]]:
        for seed in range(DRAWS):
            try:
                yield _run(self._disturbed(model, np.random.default_rng(seed)))(inputs)
            except IRError:  # A value was close to the limit of a shape or an index.
                continue

    def _disturbed(self, model: Model, rng: np.random.Generator) -> Model:
        made, copies = copy_with_map(model)
        for node, other in copies.items():
            if other.operator is not None and other.inputs and not other.bodies and other.type != RESULT:
                group = self.group if packed(node) else 0
                other.operator = _rounding(other.operator, other.all_attributes, self.kind, group, rng)
        return made


def packed(node: Node) -> bool:
    """Return whether a MatMul reads a large constant that is not a float, through layers that depend on constants."""
    if MatrixProduct not in node.traits:
        return False
    stack, seen = [value.node for value in node.inputs if value is not None], set[Node]()
    while stack:
        source = stack.pop()
        if source.constant is not None:
            if source.constant.dtype.kind != "f" and source.constant.size > MAX_STRUCTURE:
                return True
        elif Unpacking in source.traits and source not in seen:
            seen.add(source)
            stack += [value.node for value in source.inputs if value is not None]
    return False


def _run(model: Model) -> Run:
    compiled = CompiledModel(model)
    return lambda arrays: list(compiled.infer_new_request(list(arrays)).to_tuple())


def _rounding(
    operator: Operator, known: dict[str, Any], kind: ElementType, group: int, rng: np.random.Generator
) -> Operator:
    """Return the operator with inputs and results that are rounded at random; `known`: the layer's attributes."""
    made = copy.copy(operator)
    right = operator.kernel

    def kernel(*inputs: Any, out: Any = None, **attributes: Any) -> Any:
        arrays = [None if array is None else np.asarray(array) for array in inputs]
        exact = _determining_shapes(operator, known, arrays)
        large = [array is not None and array.size > _LARGE for array in arrays]
        least = min((array.size for array in arrays if array is not None), default=0)
        scale = math.sqrt(2) if any(large) and least <= _LARGE else 1.0
        given = [
            a if a is None or n in exact or (large[n] and scale > 1) else _rounded(a, kind, rng, scale)
            for n, a in enumerate(arrays)
        ]
        if group and given and given[0] is not None:
            given[0] = _quantized(given[0], group, -2 if attributes.get("transpose_a") else -1, rng)
        results = right(*given, **attributes)
        if isinstance(results, (tuple, list)):
            return [_rounded(np.asarray(result), kind, rng) for result in results]
        return _rounded(np.asarray(results), kind, rng)

    made.kernel, made.opset, made.specializer, made.view, made.inplace = kernel, "noisy", None, (), ()
    return made


def _determining_shapes(operator: Operator, known: dict[str, Any], arrays: Sequence[Array | None]) -> set[int]:
    """Return the inputs of floats whose values determine shapes, such as scales: runtimes do not round these."""
    types = [None if array is None else TensorType.of(array) for array in arrays]

    def shapes(given: Sequence[TensorType | None]) -> list[PartialShape]:
        return [type.shape for type in operator.infer(given, known, [])]

    found, right = set[int](), None
    for number, type in enumerate(types):
        if type is not None and type.has_value and type.element_type.is_real:
            right = shapes(types) if right is None else right
            if shapes([*types[:number], type.without_value(), *types[number + 1 :]]) != right:
                found.add(number)
    return found


def _rounded(array: Array, kind: ElementType, rng: np.random.Generator, scale: float = 1.0) -> Array:
    """Return f32 values with random errors of up to half a unit of another type, or `scale` times as much.

    Zeros are unchanged.
    """
    if array.dtype != np.float32 or kind is F32 or not array.size:
        return array
    with np.errstate(all="ignore"):
        moved: Array = (array + unit(array, kind) * rng.uniform(-scale / 2, scale / 2, array.shape)).astype(np.float32)
    # Values such as those of masks, which would round to infinity, may become the largest finite value.
    largest = np.float32(ml_dtypes.finfo(kind.dtype).max)  # type: ignore[no-untyped-call]
    moved = np.where(np.isfinite(moved), moved, np.copysign(largest, array))
    return np.where((array == 0) | ~np.isfinite(array), array, moved)


def _quantized(array: Array, group: int, axis: int, rng: np.random.Generator) -> Array:
    """Return activations with random errors of up to half a level of 8 bits, relative to the largest in their group."""
    if array.dtype.kind != "f" or not array.ndim or not array.size:
        return array
    last = np.moveaxis(array, axis, -1).astype(np.float32)
    width = last.shape[-1]
    parts = [last[..., begin : begin + group] for begin in range(0, width, group)]
    steps = [np.broadcast_to(np.abs(part).max(-1, keepdims=True) / _LEVELS, part.shape) for part in parts]
    moved = last + np.concatenate(steps, -1) * rng.uniform(-0.5, 0.5, last.shape)
    return np.moveaxis(moved, -1, axis).astype(array.dtype)


def _explains(runs: Sequence[Array], right: Array, found: Array) -> bool:
    """Return whether the errors of disturbed runs explain an error: of all elements, of every slice, and of each
    element.
    """
    if right.shape != found.shape:
        return False
    error = apart(right, found)
    noise = np.sqrt(np.mean([np.square(apart(right, run)) for run in runs], axis=0))
    least = unit(np.abs(widened(right)), ElementType.of(right.dtype)) if ElementType.of(right.dtype).is_real else 0.0
    if not np.isfinite(error).all():
        return bool(np.all(np.isfinite(error) | ~np.isfinite(noise)))
    noise = np.where(np.isfinite(noise), noise, 0.0) + least
    levels = [np.broadcast_to(_root(noise), noise.shape)]
    if _root(error) > multiple(error.size) * _root(noise):
        return False
    for axis, extent in enumerate(right.shape):
        if right.size >= ENOUGH * extent:
            others = tuple(k for k in range(right.ndim) if k != axis)
            level = _root(noise, others)
            if np.any(_root(error, others) > multiple(right.size // extent) * level):
                return False
            levels.append(np.broadcast_to(level, noise.shape))
    return bool(np.all(error <= MARGIN * np.maximum(noise, np.min(levels, axis=0))))


def _root(array: Any, axes: tuple[int, ...] | None = None) -> Any:
    return np.sqrt(np.mean(np.square(array), axis=axes, keepdims=axes is not None))
