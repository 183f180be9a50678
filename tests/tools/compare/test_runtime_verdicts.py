"""irexec compare with a runtime: differences that rounding explains, variables whose values are not those
assigned, dumps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.mocks import Distort, Wrong
from support.nets import iterating
from support.verdicts import through_a_dump

import irexec
from irexec import Model, Value
from irexec import opset15 as ops
from irexec.core.types import Array
from irexec.model.graph.copies import copied
from irexec.tools.compare.align import align
from irexec.tools.compare.compare import compare
from irexec.tools.compare.rounding import Rounding, pairs
from irexec.tools.compare.runtimes.dumping import dump
from irexec.tools.compare.runtimes.folder import Folder
from irexec.tools.compare.runtimes.runtime import Aligned, CannotRun, Loaded, OtherModel, Steps
from irexec.tools.run.record import Reference

F = np.float32
ROWS = np.random.default_rng(0).normal(0, 1, (4, 8)).astype(F)


class Runtime(Wrong):
    """irexec as an unknown runtime: there may be noise, and it may store variables in another type."""

    def __init__(self, layer: str = "", distort: Distort = lambda a: a, states: list[dict[str, Array]] | None = None):
        super().__init__(layer, distort)
        self._states = states

    def load(self, model: Model) -> Loaded:
        other = copied(model)
        self.plant(other)
        made = _Foreign if self._states is None else _Stateful
        return made(Aligned(align(model, other)), self._states or [])


class _Foreign(Loaded):
    def __init__(self, inner: Aligned, states: list[dict[str, Array]]) -> None:
        self._inner, self._states = inner, states

    def results(self, steps: Steps) -> list[list[Array]]:
        return self._inner.results(steps)

    def observe(self, steps: Steps, values: Sequence[Value]) -> Sequence[Mapping[Value, Array]]:
        return self._inner.observe(steps, values)


class Exposing(Runtime):
    """irexec that exposes values of a layer that it does not compute with, as OpenVINO does inside of a fused layer."""

    def load(self, model: Model) -> Loaded:
        return _Exposing(Aligned(align(model, copied(model))), self.layer)


class _Exposing(_Foreign):
    def __init__(self, inner: Aligned, layer: str) -> None:
        super().__init__(inner, [])
        self._layer = layer

    def observe(self, steps: Steps, values: Sequence[Value]) -> Sequence[Mapping[Value, Array]]:
        found = super().observe(steps, values)
        wrong = self._layer
        return [{v: 9 - a if v.node.friendly_name == wrong else a for v, a in step.items()} for step in found]


class _Stateful(_Foreign):
    def states(self, steps: Steps) -> list[dict[str, Array]]:
        return self._states


def units(count: float) -> Distort:
    """Return a distortion that moves every element up or down by this number of units in the last place."""

    def distort(array: Array) -> Array:
        signs = np.where(np.arange(array.size).reshape(array.shape) % 2, 1, -1)
        return (array + count * signs * np.spacing(np.abs(array))).astype(array.dtype)

    return distort


def chain(*, last: Any = None) -> Reference:
    x = value = ops.parameter([4, 8], F, name="x")
    weights = np.random.default_rng(1).normal(0, 0.3, (3, 8, 8)).astype(F)
    for number, array in enumerate(weights):
        value = ops.tanh(ops.matmul(value, array, name=f"product{number}"), name=f"bend{number}")
    end = value if last is None else last(value)
    return Reference(Model([end], [x], "chain"), [[ROWS]])


@pytest.mark.parametrize("layer", ["product0", "product1", "product2"])
def test_rounding_agrees_and_what_is_more_does_not(layer: str) -> None:
    assert compare(chain(), Runtime(layer, units(8))).agrees
    found = compare(chain(), Runtime(layer, units(1e5)))
    assert not found.agrees
    assert found.culprit is not None and found.culprit.nodes[0].friendly_name == layer


def test_a_layer_that_slightly_exceeds_its_tolerance() -> None:
    """Tanh may be off by 8 units. A larger error counts if it changes the results, but not if later layers hide it."""
    for count in (40, 4000):
        found = compare(chain(), Runtime("bend0", units(count)))
        assert not found.agrees
        assert found.culprit is not None and found.culprit.nodes[0].friendly_name == "bend0"
        assert not found.hints
    flat = chain(last=lambda value: ops.add(ops.multiply(value, F(0.01)), F(3)))
    assert compare(flat, Runtime("bend0", units(40))).agrees


def test_values_that_the_other_side_does_not_compute_with() -> None:
    found = compare(chain(), Exposing("product1"))
    assert found.agrees and found.others == []
    assert {node.friendly_name for node in found.not_used} == {"product1"}
    assert {node.friendly_name for node in found.misleading} == {"product1", "bend1"}
    assert found.verdict == (
        "the same results as mock, which exposes a value of product1 that it does not compute with: the layers that "
        "read them have the right values, and so have the results if nothing is observed"
    )
    assert compare(chain(), Runtime()).not_used == {}


def steep(factor: float) -> Rounding:
    """Return the rounding of products whose values are multiplied by a factor before an exponential function."""
    run = chain(last=lambda value: ops.exp(ops.multiply(value, F(factor), name="steep"), name="end"))
    return Rounding(run, dict.fromkeys((node for node in run.model.nodes if node.type == "MatMul"), 16.0))


def test_rounding_follows_the_sensitivity_of_the_results() -> None:
    """A steep function propagates the same errors of a layer further than a flat one."""
    flat, large = steep(0.01), steep(100.0)
    assert large.largest.ulp > 10 * flat.largest.ulp > 0


def test_rounding_is_judged_for_each_element() -> None:
    rounding = steep(100.0)
    draw = rounding._drawn()[0]
    assert rounding.explains(draw)
    right = chain(last=lambda value: ops.exp(ops.multiply(value, F(100)))).results()
    changes = np.abs(draw[0][0] - right[0][0])
    worst, least = np.unravel_index(changes.argmax(), (4, 8)), np.unravel_index(changes.argmin(), (4, 8))
    wrong = right[0][0].copy()
    wrong[least] += changes[worst]
    assert not rounding.explains([[wrong]])


def test_whole_numbers_are_not_rounded() -> None:
    """Counts of routed tokens, as floats, become the sizes of a Split: smaller ones would make the model invalid."""
    x = ops.parameter([4, 8], F, name="x")
    gates = ops.convert(ops.constant(np.ones((4, 2), np.int64)), "f32", name="gates")
    sizes = ops.convert(ops.reduce_sum(ops.convert(gates, "i64"), np.array([0])), "i64")
    parts = ops.variadic_split(ops.exp(x, name="exp"), np.array(1), sizes)
    run = Reference(
        irexec.Model([parts.outputs[0], parts.outputs[1]], [x]), [[np.linspace(-1, 1, 32, dtype=F).reshape(4, 8)]]
    )
    rounding = Rounding(run, dict.fromkeys(run.model.nodes, 4.0))
    assert rounding.largest.ulp > 0
    assert rounding.explains([[np.nextafter(array, F(9)) for array in run.results()[0]]])


def test_layers_without_errors_explain_nothing() -> None:
    rounding, right = Rounding(chain(), {}), chain().results()
    assert rounding.explains(right)
    assert not rounding.explains([[np.nextafter(right[0][0], F(2))]])


def test_rounding_inside_bodies_is_carried_to_the_results() -> None:
    run = Reference(irexec.read_model(iterating().text.encode()), [[np.ones((3, 2), F)]])
    nodes = [node for node in run.model.nodes if node.bodies]
    draws = Rounding(run, dict.fromkeys(nodes, 16.0))._drawn()
    assert all(np.any(a != b) for draw in draws for a, b in pairs(run.results(), draw))


def test_an_error_that_no_layer_shows_is_unexplained() -> None:
    """If the runtime observes nothing, no layer can be named, but the results do not agree either."""

    class Blind(_Foreign):
        def observe(self, steps: Steps, values: Sequence[Value]) -> Sequence[Mapping[Value, Array]]:
            raise CannotRun("nothing can be observed")

    class BlindRuntime(Runtime):
        runs_parts = False

        def load(self, model: Model) -> Loaded:
            other = copied(model)
            self.plant(other)
            return Blind(Aligned(align(model, other)), [])

    found = compare(chain(), BlindRuntime("product1", lambda a: a * F(1.01)))
    assert not found.agrees
    assert found.verdict.startswith("unexplained difference: bend2 is ")


# States


def counting() -> Model:
    x = ops.parameter([1, 4], F, name="x")
    past = ops.read_value(ops.constant(np.zeros((1, 4), F)), "total", "f32", [1, 4], name="past")
    total = ops.add(past, x, name="total")
    return Model([ops.tanh(total, name="end")], [ops.assign(total, "total", name="assign")], [x], "counting")


def test_a_variable_that_is_kept_in_another_type() -> None:
    """The results of the first step agree, those of the second do not, and no observed layer is wrong."""
    steps = [[np.full((1, 4), value, F)] for value in (0.3, 0.4)]
    right = Reference(counting(), steps)
    totals = [step[node.inputs[0]] for node in right.model.sinks for step in right.record({node.inputs[0]})]

    class Narrow(Runtime):
        def load(self, model: Model) -> Loaded:
            kept = [{"total": total.astype(np.float16).astype(F)} for total in totals]
            return _Narrow(Aligned(align(model, copied(model))), kept)

    class _Narrow(_Stateful):
        def results(self, steps: Steps) -> list[list[Array]]:
            first = super().results(steps)[0]
            return [first, [np.tanh(self._states[0]["total"] + steps[1][0])]]

    found = compare(right, Narrow())
    assert not found.agrees
    assert found.culprit is not None
    assert [node.friendly_name for node in found.culprit.nodes] == ["past"]
    assert "the variable differs from the value assigned in step 0, although the results agree" in found.verdict
    assert "compared with the other side's they are then equal" in found.proof
    kept = [{"total": total} for total in totals]
    assert compare(right, Runtime(states=kept)).agrees


# Dumps


def test_a_result_that_is_another_layers_value_through_a_dump(tmp_path: Path) -> None:
    def model(other: bool) -> Model:
        x = ops.parameter([4, 8], F, name="x")
        a = ops.relu(x, name="a")
        b = ops.tanh(a, name="b")
        return Model([a if other else b, ops.exp(b, name="c")], [x], "results")

    run = Reference(model(False), [[ROWS]])
    dump(run, OtherModel("other.xml", model(True)), tmp_path)
    found = compare(run, Folder(tmp_path))
    assert not found.agrees
    assert "reads a instead of b" in found.verdict


def test_a_model_that_fails_is_dumped_and_compared_up_to_there(tmp_path: Path) -> None:
    def model(index: int) -> Model:
        x = ops.parameter([-1, -1], F, name="x")
        extents = ops.gather(ops.shape_of(x, name="shape"), np.int64([index, 1]), np.int64(0), name="extents")
        made = ops.broadcast(F(1), extents, name="made")
        return Model([ops.add(made, ops.tanh(x, name="bent"), name="sum")], [x], "failing")

    run = Reference(model(0), [[np.ones((2, 3), F)], [np.ones((2, 3), F)]])
    dump(run, OtherModel("other.xml", model(1)), tmp_path)
    found = compare(run, Folder(tmp_path))
    assert not found.agrees and found.failure is not None
    assert [node.friendly_name for node in found.culprit.nodes] == ["extents"] if found.culprit else False


# OpenVINO, live


def test_openvino_reports_how_it_runs() -> None:
    pytest.importorskip("openvino")
    from irexec.tools.compare.runtimes.openvino_runtime import OpenVINO

    found = compare(chain(), OpenVINO("CPU", {"INFERENCE_PRECISION_HINT": "f32"}))
    assert found.agrees
    assert found.about["EXECUTION_DEVICES"] == "CPU"
    assert found.about["INFERENCE_PRECISION_HINT"] == "f32"
    assert found.to_dict()["about"] == found.about


def test_a_result_of_openvino_that_is_not_what_it_reads() -> None:
    """Both are observed in one run, which may round differently than a run without observation."""
    pytest.importorskip("openvino")
    from irexec.tools.compare.runtimes.openvino_runtime import OpenVINO

    def model(factor: float) -> Model:
        x = ops.parameter([4, 8], F, name="x")
        last = ops.relu(ops.add(x, F(1), name="first"), name="last")
        return Model([ops.multiply(last, F(factor), name="more") if factor != 1 else last], [x], "m")

    class Other(OpenVINO):
        """OpenVINO running another model."""

        def load(self, _: Model) -> Loaded:
            return super().load(model(1.5))

    found = compare(Reference(model(1), [[ROWS]]), Other("CPU", {"INFERENCE_PRECISION_HINT": "f32"}))
    assert "differs from the value of last" in found.verdict
    assert compare(Reference(model(1), [[ROWS]]), OpenVINO("CPU", {"INFERENCE_PRECISION_HINT": "f32"})).agrees


def on_a_grid(lowest: float) -> Model:
    """A product of values on a grid, and the same values within limits that none exceeds."""
    x = ops.parameter([4, 8], F, name="x")
    grid = ops.fake_quantize(x, F(lowest), F(lowest + 12.75), F(lowest), F(lowest + 12.75), 256, name="grid")
    product = ops.matmul(grid, np.random.default_rng(1).normal(size=(8, 8)).astype(F), name="product")
    return Model([ops.result(product, name="end"), ops.clamp(product, -999.0, 999.0, name="limited")], [x], "grid")


@pytest.mark.by_hand(0)
def test_a_result_that_equals_several_values_reads_the_expected_one(tmp_path: Path) -> None:
    """Halves are rounded in the other direction on a grid that begins one step lower."""
    halves = ((np.arange(32) + 0.5) * 0.05).astype(F).reshape(4, 8)
    found = through_a_dump(on_a_grid(0), on_a_grid(-0.05), tmp_path, [halves])
    assert not found.agrees
    assert "reads" not in found.verdict and "and grid" in found.verdict
