"""irexec compare with a runtime that computes with fewer bits: rounding is explained, and a fault is still named."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import ml_dtypes
import numpy as np
import pytest
from support.failing import reference
from support.mocks import Wrong, wrong
from support.verdicts import named

import irexec
from irexec import Model, Value
from irexec import opset15 as ops
from irexec.core.types import BF16, F16, F32, Array
from irexec.model.graph.copies import copied
from irexec.model.graph.order import ordered
from irexec.model.inference import infer_types
from irexec.tools.compare.align import align
from irexec.tools.compare.compare import compare
from irexec.tools.compare.noise import GROUP, Noise
from irexec.tools.compare.runtimes.runtime import Aligned, Loaded, Steps
from irexec.tools.run.record import Reference

HALVES = {"bf16": ml_dtypes.bfloat16, "f16": np.float16}


def rounded_to(kind: str) -> Callable[[Array], Array]:
    return lambda array: array.astype(HALVES[kind]).astype(array.dtype) if array.dtype == np.float32 else array


class Lower(Wrong):
    """irexec as a runtime that rounds every result to a half type; `layer` additionally has a fault."""

    def __init__(self, kind: str, layer: str = "", distort: Callable[[Array], Array] = lambda a: a) -> None:
        super().__init__(layer, distort)
        self.kind = kind

    def load(self, model: Model) -> Loaded:
        other = copied(model)
        self.plant(other)
        for node in other.walk():
            if node.operator is not None and node.inputs and not node.bodies and node.type != "Result":
                node.operator = wrong(node.operator, rounded_to(self.kind))
        return _Lower(Aligned(align(model, other)), self.kind, {})


class _Lower(Loaded):
    def __init__(self, inner: Aligned, precision: str, about: dict[str, str]) -> None:
        self._inner, self.precision, self.about = inner, precision, about

    def results(self, steps: Steps) -> list[list[Array]]:
        return self._inner.results(steps)

    def observe(self, steps: Steps, values: Sequence[Value]) -> Sequence[Mapping[Value, Array]]:
        return self._inner.observe(steps, values)


@pytest.mark.by_hand(1)
@pytest.mark.parametrize("kind", ["bf16", "f16"])
@pytest.mark.parametrize("name", ["classifier", "transformer"])
def test_rounding_alone_agrees(name: str, kind: str) -> None:
    found = compare(reference(name), Lower(kind))
    assert found.agrees, found.verdict
    assert f"within the rounding of {kind}: " in found.verdict
    assert any("INFERENCE_PRECISION_HINT=f32" in hint for hint in found.hints)


@pytest.mark.parametrize("kind", ["bf16", "f16"])
@pytest.mark.parametrize("factor", [0.25, 0.26, 0.5])
def test_a_layer_that_compensates_for_another_among_the_rounding(factor: float, kind: str) -> None:
    """If the results differ by more than rounding, the first layer is wrong."""

    class Both(Lower):
        def plant(self, model: Model) -> None:
            for node in model.walk():
                if node.friendly_name in ("first", "second"):
                    by = np.float32(4 if node.friendly_name == "first" else factor)
                    assert node.operator is not None
                    node.operator = wrong(node.operator, lambda array, by=by: array * by)

    x = ops.parameter([64], np.float32, name="x")
    first = ops.multiply(x, np.float32(3), name="first")
    second = ops.multiply(first, np.float32(0.1), name="second")
    run = Reference(Model([ops.tanh(second)], [x], "scaled"), [[np.linspace(-2, 2, 64, dtype=np.float32)]])
    found = compare(run, Both(kind))
    assert named(found) == ["first"] * (factor != 0.25), found.verdict


@pytest.mark.parametrize("factor", [1.0, 1.2])
def test_numbers_that_determine_a_shape_are_not_rounded(factor: float) -> None:
    """Other scales would lead to another shape. The runtime rounds the values that Interpolate reads."""

    class OnlyThere(Wrong):
        def load(self, model: Model) -> Loaded:
            return _Lower(super().load(model), "bf16", {})

    x = ops.parameter([1, 1, 30, 400], np.float32, name="x")
    up = ops.interpolate(
        x, np.float32([2, 2]), "nearest", "scales", axes=np.int64([2, 3]), nearest_mode="floor", name="up"
    )
    run = Reference(
        Model([ops.tanh(up)], [x], "larger"), [[np.linspace(-2, 2, 12000, dtype=np.float32).reshape(1, 1, 30, 400)]]
    )
    found = compare(run, OnlyThere("up", lambda array: rounded_to("bf16")(array * np.float32(factor))))
    assert named(found) == ["up"] * (factor != 1), found.verdict


def test_a_wrong_boolean_is_named_before_a_number_that_is_off_by_more() -> None:
    """Results computed without real numbers are not rounded, so any error of them counts."""

    class Two(Lower):
        def plant(self, model: Model) -> None:
            for node in model.walk():
                if node.friendly_name in ("visible", "bent"):
                    assert node.operator is not None
                    node.operator = wrong(node.operator)

    ids, x = ops.parameter([8], np.int64, name="ids"), ops.parameter([8], np.float32, name="x")
    chosen = ops.select(ops.greater(ids, np.int64(3), name="visible"), x, ops.negative(x), name="chosen")
    model = Model([ops.tanh(chosen, name="bent")], [ids, x], "masked")
    inputs: list[Array] = [np.arange(8), np.linspace(-2, 2, 8, dtype=np.float32)]
    assert named(compare(Reference(model, [inputs]), Two("bf16"))) == ["visible"]


@pytest.mark.parametrize("masked", [True, False])
def test_a_mask_becomes_the_largest_number_instead_of_infinity(masked: bool) -> None:
    """The nearest bf16 value of the mask is infinity. A missing mask is found nevertheless."""

    def saturated(array: Array) -> Array:
        largest = np.float32(ml_dtypes.finfo(ml_dtypes.bfloat16).max)
        clipped = np.clip(array, -largest, largest) if array.dtype == np.float32 else array
        return rounded_to("bf16")(clipped)

    class Saturating(Lower):
        def load(self, model: Model) -> Loaded:
            other = copied(model)
            for node in other.walk():
                if node.operator is not None and node.inputs and node.type != "Result":
                    is_wrong = node.type == "Select" and not masked
                    node.operator = wrong(node.operator, np.zeros_like if is_wrong else saturated)
            return _Lower(Aligned(align(model, other)), "bf16", {})

    x, seen = ops.parameter([4, 8], np.float32, name="x"), ops.parameter([4, 8], bool, name="seen")
    mask = ops.select(seen, np.float32(0), np.float32(-3.4e38), name="mask")
    model = Model([ops.softmax(ops.add(x, mask, name="sum"), 1, name="weights")], [x, seen], "masked")
    rng = np.random.default_rng(0)
    inputs: list[Array] = [rng.normal(size=(4, 8)).astype(np.float32), rng.random((4, 8)) < 0.7]
    found = compare(Reference(model, [inputs]), Saturating("bf16"))
    assert named(found) == ([] if masked else ["mask"]), found.verdict


def test_activations_are_mentioned_only_where_they_may_be_quantized() -> None:
    x = ops.parameter([4, 8], np.float32, name="x")
    part = Model([ops.tanh(x)], [x], "bent")
    value = np.linspace(-1, 1, 32, dtype=np.float32).reshape(4, 8)
    judged = Noise(BF16, 32).judge(part, [value], [np.tanh(value)])
    assert judged is not None and judged.tolerance.endswith("for rounding in bf16")


@pytest.mark.by_hand(1)
@pytest.mark.parametrize("layer", ["block1/pointwise/conv", "head", "block2/depthwise/relu"])
def test_a_fault_among_the_rounding_is_named(layer: str) -> None:
    found = compare(reference("classifier"), Lower("bf16", layer, lambda a: (a * 1.1).astype(a.dtype)))
    assert named(found) == [layer], found.verdict
    assert "for rounding in bf16" in found.verdict
    assert not found.agrees


@pytest.mark.by_hand(1)
@pytest.mark.parametrize(("factor", "culprit"), [(1.2, []), (10, ["block1/pointwise/conv"])])
def test_one_wrong_channel_among_the_rounding(factor: float, culprit: list[str]) -> None:
    """The layer is wrong by itself; it is blamed if the results differ by more than rounding to bf16 explains."""

    def distort(array: Array) -> Array:
        made = array.copy()
        made[:, 3] *= factor
        return made

    found = compare(reference("classifier"), Lower("bf16", "block1/pointwise/conv", distort))
    assert named(found) == culprit, found.verdict
    assert found.others == ([] if culprit else ["block1/pointwise/conv"])


def test_the_same_rounding_in_f32_is_a_fault() -> None:
    found = compare(reference("classifier"), Wrong("stem/conv", rounded_to("bf16")))
    assert named(found) == ["stem/conv"], found.verdict


# Dynamic quantization


def packed() -> Reference:
    """Return x [16,64] times weights in i8, with a scale for each channel."""
    rng = np.random.default_rng(0)
    x = ops.parameter([16, 64], "f32", name="x")
    weights = ops.convert(ops.constant(rng.integers(-127, 128, (32, 64)).astype(np.int8)), "f32")
    scaled = ops.multiply(weights, ops.constant(rng.uniform(0.01, 0.02, (32, 1)).astype(np.float32)))
    product = ops.matmul(x, scaled, False, True, name="product")
    model = irexec.Model([ops.relu(product, name="last")], [x], "packed")
    return Reference(model, [[rng.normal(0, 1, (16, 64)).astype(np.float32)]])


class Quantizing(Wrong):
    """irexec with a product whose activations are quantized in groups of 32."""

    def __init__(self, group: str, factor: float = 1.0) -> None:
        super().__init__("product")
        self.group, self.factor = group, factor

    def load(self, model: Model) -> Loaded:
        other = copied(model)
        for node in other.nodes:
            if node.friendly_name == "product" and node.inputs and (x := node.inputs[0]) is not None:
                node.operator = wrong(node.operator, lambda a: (a * self.factor).astype(a.dtype))
                node.replace_input_with(0, _quantized(x))
        other.nodes = ordered([*other.parameters, *other.results])
        infer_types(other)
        return _Lower(Aligned(align(model, other)), "f32", {GROUP: self.group})


def _quantized(x: Value) -> Value:
    parts = ops.reshape(x, np.array([16, 2, 32]), False)
    steps = ops.divide(ops.reduce_max(ops.abs(parts), np.array([2]), True), np.float32(127))
    levels = ops.multiply(ops.round(ops.divide(parts, steps), "half_to_even"), steps)
    return ops.reshape(levels, np.array([16, 64]), False).outputs[0]


def test_quantized_activations_agree() -> None:
    found = compare(packed(), Quantizing("32"))
    assert found.agrees, found.verdict


def test_quantized_activations_that_nothing_reports_are_a_fault() -> None:
    assert named(compare(packed(), Quantizing("0"))) == ["product"]


def test_a_fault_among_quantized_activations() -> None:
    found = compare(packed(), Quantizing("32", 1.1))
    assert named(found) == ["product"]
    assert "for rounding in activations in groups of 32" in found.verdict


def test_what_a_runtime_reports() -> None:
    assert Noise.of("bf16", {}) == Noise(BF16)
    assert Noise.of("f16", {GROUP: "32"}) == Noise(F16, 32)
    assert Noise.of("f32", {GROUP: "128"}) == Noise(F32, 128)
    assert Noise.of("f32", {GROUP: "0"}) is None
    assert Noise.of("", {}) is None
