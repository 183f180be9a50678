"""Growing a graph: each new layer reads existing values that the rules of its operator accept."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np

from irexec.core.records import field, record
from irexec.core.types import Array, ElementType, TensorType
from irexec.ops.spec.contents import category_of
from irexec.ops.spec.operator import Operator
from irexec.ops.spec.traits import Random
from irexec.tools.conformance.case import operator_named
from irexec.tools.conformance.changes import changed, pick
from irexec.tools.conformance.draft import MOST_AXES, Draft, draft_of
from irexec.tools.conformance.drawing import operators
from irexec.tools.conformance.seeds import calls_of
from irexec.tools.conformance.values import draw_inputs, draw_values

_GROUPS = {
    "elementwise": ("arithmetic", "activation"),
    "moving": ("movement", "shape", "infrastructure"),
    "summing": ("convolution", "matrix", "reduction", "normalization", "pooling", "quantization"),
    "others": ("image", "type", "comparison", "logical", "condition", "sort", "bitwise", "generation", "sequence",
               "sparse", "signals"),
}  # fmt: skip
FORMS = {
    "chain": ("any", "any", "any", "any", "any"),
    "fused": ("summing", "elementwise", "elementwise", "elementwise"),
    "moved": ("moving", "moving", "elementwise", "moving", "moving"),
    "mixed": ("elementwise", "summing", "elementwise", "moving", "summing"),
}
"""The operator groups of a graph's layers, in order."""
_BROADCASTS = frozenset({"arithmetic", "comparison", "logical", "condition", "bitwise", "activation", "quantization"})
_SHARES = {"elementwise": 0.35, "moving": 0.3, "summing": 0.25, "others": 0.1}
_TRIES, _FITS = 8, 10
_MOST_ELEMENTS, _LARGEST = 1 << 13, 1e4
_NUDGE, _GAIN = 1e-4, 12.0


@cache
def groups() -> dict[str, tuple[Operator, ...]]:
    """Return the operators of each group, except for random ones and those that `Allowed.composes` excludes."""
    found: dict[str, list[Operator]] = {name: [] for name in _GROUPS}
    for operator in operators():
        category = category_of(operator.type)
        for name, categories in _GROUPS.items():
            if category in categories and Random not in operator.traits and operator.oracle.allowed.composes:
                found[name].append(operator)
    return {name: tuple(items) for name, items in found.items()}


def choose(rng: np.random.Generator, form: str, length: int) -> Iterator[Operator]:
    """Yield operators for the layers of a graph."""
    kinds = FORMS[form]
    for position in range(length):
        kind = kinds[min(position, len(kinds) - 1)]
        if kind == "any" or rng.random() < 0.12:
            kind = str(rng.choice(list(_SHARES), p=list(_SHARES.values())))
        yield pick(rng, groups()[kind])


class Constant(NamedTuple):
    """A constant input of a layer."""

    array: Array
    kind: ElementType


class Ref(NamedTuple):
    """Another layer's output, or an input of the model (`layer` -1)."""

    layer: int
    output: int


@record
class Layer:
    """One layer: its operator, attributes and inputs, and its results for the first call."""

    operator: Operator
    attributes: dict[str, str]
    inputs: list[Ref | Constant | None]
    results: list[Array]
    kinds: list[ElementType]


@record
class Growth:
    """A graph under construction: `layers` are its layers, `given` the model's inputs with their element types."""

    seed: int
    base: ElementType
    given: list[tuple[Array, ElementType]] = field(default_factory=list)
    layers: list[Layer] = field(default_factory=list)

    def begin(self) -> None:
        """Add the first input of the model."""
        rng = np.random.default_rng([self.seed, 1])
        rank = int(pick(rng, (4, 4, 3, 3, 2, 1, 5)))
        extents = (1, 2, 3, 4, 5, 6, 8, 8, 16, 17) if rank < 4 else (1, 2, 3, 4, 6, 8)
        shape = [int(pick(rng, extents)) for _ in range(rank)]
        if rank >= 4 and rng.random() < 0.4:
            shape[1] = int(pick(rng, (8, 16, 17, 32)))
        self.given.append((draw_values(rng, self.base, tuple(shape), "plain"), self.base))

    def value(self, ref: Ref) -> tuple[Array, ElementType]:
        """Return the value of a reference in the first call."""
        if ref.layer < 0:
            return self.given[ref.output]
        layer = self.layers[ref.layer]
        return layer.results[ref.output], layer.kinds[ref.output]

    def refs(self) -> list[Ref]:
        """Return all values, the newest last."""
        found = [Ref(-1, index) for index in range(len(self.given))]
        for number, layer in enumerate(self.layers):
            found += [Ref(number, index) for index in reversed(range(len(layer.results)))]
        return found

    def unread(self) -> list[Ref]:
        """Return the results of layers that no layer reads."""
        read = {ref for layer in self.layers for ref in layer.inputs if isinstance(ref, Ref)}
        return [ref for ref in self.refs() if ref.layer >= 0 and ref not in read]

    def add(self, operator: Operator, number: int) -> bool:
        """Add a layer; False if the rules of its operator accept none of the values."""
        rng = np.random.default_rng([self.seed, zlib.crc32(str(operator).encode()), number])
        for _ in range(_TRIES):
            line = pick(rng, calls_of()[str(operator)])
            draft = changed(rng, draft_of(operator, line), int(rng.integers(0, 4)), types=False)
            if self._attached(rng, draft):
                return True
        return False

    def _attached(self, rng: np.random.Generator, draft: Draft) -> bool:
        spots = [i for i, p in enumerate(draft.ports) if p is not None and p.values is None and not p.kind.is_packed]
        refs, before = self.refs(), len(self.layers)
        if not spots:
            return False
        spot = spots[0] if rng.random() < 0.8 else pick(rng, spots)
        ref = self._converted(draft, spot, refs[-1] if rng.random() < 0.7 else pick(rng, refs))
        if ref is None:
            return False
        array, kind = self.value(ref)
        port = draft.ports[spot]
        assert port is not None
        trial = None
        if len(port.shape) == array.ndim or rng.random() < 0.5:
            trial = _fitted(rng, draft, spot, array.shape, kind)
        if trial is None and len(port.shape) != array.ndim and port.shape:
            ref = self._reshaped(ref, len(port.shape))
            trial = _fitted(rng, draft, spot, self.value(ref)[0].shape, kind)
        if trial is not None and self._made(rng, trial, spot, ref):
            return True
        del self.layers[before:]
        return False

    def _converted(self, draft: Draft, spot: int, ref: Ref) -> Ref | None:
        """Return the value converted to an element type that the port accepts; None if the conversion is impossible."""
        array, kind = self.value(ref)
        elements = draft.operator.signature.input(spot).elements
        if kind in elements.types:
            return ref
        if self.base not in elements.types or not np.isfinite(array.astype(np.float64)).all():
            return None
        wide = array.astype(self.base.dtype)
        self._append("Convert-1", {"destination_type": self.base.name}, [ref], wide, self.base)
        return Ref(len(self.layers) - 1, 0)

    def _reshaped(self, ref: Ref, rank: int) -> Ref:
        """Return the value reshaped to another rank: the last axes are merged, or axes of 1 are added."""
        array, kind = self.value(ref)
        merged = [0] * (rank - 1) + [-1], (*array.shape[: rank - 1], -1)
        added = [1] * (rank - array.ndim)
        target, shape = merged if array.ndim > rank else ([0] * array.ndim + added, (*array.shape, *added))
        pattern = Constant(np.array(target, np.int64), ElementType.by_name["i64"])
        self._append("Reshape-1", {"special_zero": "true"}, [ref, pattern], array.reshape(shape), kind)
        return Ref(len(self.layers) - 1, 0)

    def _append(
        self,
        name: str,
        attributes: dict[str, str],
        inputs: list[Ref | Constant | None],
        array: Array,
        kind: ElementType,
    ) -> None:
        self.layers.append(Layer(operator_named(name), attributes, inputs, [array], [kind]))

    def _made(self, rng: np.random.Generator, draft: Draft, spot: int, ref: Ref) -> bool:
        """Add the layer if its results are finite, and small changes of its inputs do not change them much."""
        operator = draft.operator
        attributes, _ = operator.parse_attributes(draft.attributes)
        name = draft.name((None if p is None else p.named() for p in draft.ports), int(rng.integers(1 << 30)))
        try:
            arrays = draw_inputs(name, operator, attributes, 0)
        except (ValueError, OverflowError):
            return False
        inputs: list[Ref | Constant | None] = []
        added: list[tuple[Array, ElementType]] = []
        for number, (port, array) in enumerate(zip(draft.ports, arrays, strict=True)):
            if port is None or array is None:
                inputs.append(None)
                continue
            if number == spot:
                inputs.append(ref)
                arrays[number] = self.value(ref)[0]
                continue
            like = [r for r in self.refs() if self.value(r)[1] is port.kind and self.value(r)[0].shape == array.shape]
            plain = port.values is None and port.name not in operator.oracle.generators and port.kind.is_real
            if plain and like and rng.random() < 0.4:
                chosen = pick(rng, like)
                inputs.append(chosen)
                arrays[number] = self.value(chosen)[0]
            elif plain and rng.random() < 0.35 and len(self.given) + len(added) < 4:
                inputs.append(Ref(-1, len(self.given) + len(added)))
                added.append((array, port.kind))
            else:
                inputs.append(Constant(array, port.kind))
        results = _computed(operator, attributes, arrays)
        if results is None or not _is_calm(rng, operator, attributes, arrays, results):
            return False
        types = operator.infer(draft.types(), attributes, [])
        kinds = [t.element_type for t in types]
        if [k.dtype for k in kinds] != [r.dtype for r in results] or any(k.is_packed for k in kinds):
            return False
        self.given += added
        self.layers.append(Layer(operator, dict(draft.attributes), inputs, results, kinds))
        return True


def _fitted(
    rng: np.random.Generator, draft: Draft, spot: int, shape: tuple[int, ...], kind: ElementType
) -> Draft | None:
    """Return the draft with a port of this shape and type, and with other ports that match it."""
    signature = draft.operator.signature
    own = signature.input(spot).elements
    category = category_of(draft.operator.type)
    for _ in range(_FITS):
        trial = draft.copy()
        port = trial.ports[spot]
        assert port is not None
        old, port.shape, port.kind = port.shape, shape, kind
        renamed = dict(zip(old, shape, strict=False)) if len(old) == len(shape) else {}
        for number, other in enumerate(trial.ports):
            if other is None or number == spot:
                continue
            elements = signature.input(number).elements
            if own.name and elements.name == own.name and kind in elements.types:
                other.kind = kind
                if other.values is not None and kind.is_integral:
                    other.values = tuple(int(v) for v in other.values)
            if other.values is not None and len(other.shape) > 0:
                continue
            if category in _BROADCASTS and rng.random() < 0.7:
                cut = int(pick(rng, (0, 0, 0, 1, 2, len(shape))))
                other.shape = tuple(n if rng.random() < 0.6 else 1 for n in shape[min(cut, len(shape)) :])
                other.values = None
            elif rng.random() < 0.8:
                other.shape = tuple(renamed.get(n, n) if rng.random() < 0.8 else n for n in other.shape)
        if trial.size() <= _MOST_ELEMENTS and trial.is_legal():
            return trial
    return None


def _computed(operator: Operator, attributes: dict[str, object], arrays: list[Array | None]) -> list[Array] | None:
    """Return the results of a call; None if further layers cannot read them."""
    given = {a.name: attributes.get(a.name, a.default) for a in operator.attributes}
    try:
        # Input values, such as the repeats of Tile, may result in outputs of any size.
        types = operator.infer([None if a is None else TensorType.of(a) for a in arrays], given, [])
        if any(t.shape.is_static and math.prod(t.shape.to_shape()) > _MOST_ELEMENTS for t in types):
            return None
        made = operator.compute(*[None if a is None else a.copy() for a in arrays], **given)
    except Exception:
        return None
    results = [np.asarray(a) for a in (made if isinstance(made, (tuple, list)) else [made])]
    for array in results:
        if array.dtype.kind in "TUSO" or not 0 < array.size <= _MOST_ELEMENTS or array.ndim > MOST_AXES:
            return None
        wide = array.astype(np.float64)
        if not np.isfinite(wide).all() or float(np.abs(wide).max()) > _LARGEST:
            return None
    return results


def _is_calm(
    rng: np.random.Generator,
    operator: Operator,
    attributes: dict[str, object],
    arrays: list[Array | None],
    results: list[Array],
) -> bool:
    """Return whether small changes of the inputs change the results little: then the order of sums does not matter."""
    if all(a is None or a.dtype.kind in "iub" for a in arrays):
        return True
    moved: list[Array | None] = []
    for array in arrays:
        if array is None or array.dtype.kind in "iub" or not array.size:
            moved.append(array)
            continue
        top = float(np.abs(array.astype(np.float32)).max()) or 1.0
        noise = rng.choice((-1.0, 1.0), array.shape) * _NUDGE * top
        moved.append((array.astype(np.float32) + noise).astype(array.dtype))
    again = _computed(operator, attributes, moved)
    if again is None or [a.shape for a in again] != [a.shape for a in results]:
        return False
    for right, other in zip(results, again, strict=True):
        a, b = right.astype(np.float64), other.astype(np.float64)
        if right.dtype.kind in "iub":
            if not np.array_equal(a, b):
                return False
        elif float(np.abs(a - b).max()) > _GAIN * _NUDGE * max(float(np.abs(a).max()), 1e-3) + _halves(right):
            return False
    return True


def _halves(array: Array) -> float:
    """Return the additional change of results that rounding to 16 bits may cause."""
    return 0.0 if array.dtype.itemsize > 2 else 0.02 * float(np.abs(array.astype(np.float64)).max(initial=0.0))
