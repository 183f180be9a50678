"""If, Loop and TensorIterator: inputs, carried values and outputs, compared with plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import irexec
from irexec import Model, Node
from irexec.core.diagnostics.findings import Findings
from irexec.model.graph.body_maps import BodyInput, BodyOutput, Slicing
from irexec.model.graph.model import Body
from irexec.model.inference import infer, set_types
from irexec.ops.spec.contents import load

Array = np.ndarray[Any, Any]
ops: Any = irexec.opset15


def compiled(node: Node, parameters: list[Node], count: int) -> irexec.CompiledModel:
    """Return a compiled model of one node with bodies, with inferred types. Raises IRError for findings of
    inference.
    """
    node.set_outputs([irexec.opset15.constant(np.float32(0)).outputs[0].type] * count)
    model = Model(list(node.outputs), parameters)
    findings = Findings()
    set_types(model, infer(model, findings=findings))
    if not findings.report.ok:
        raise irexec.IRError(findings.report)
    return irexec.compile_model(model)


def parameter(shape: Any, dtype: Any = np.float32) -> Any:
    return ops.parameter(list(shape), dtype)


def body_of(results: list[Node], parameters: list[Node]) -> Model:
    return Model(results, parameters)


def in_parts(size: int, backward: bool) -> Slicing:
    """Return the slicing of all rows, `size` at a time."""
    return Slicing(0, -1, 0, -size, size) if backward else Slicing(0, 0, -1, size, size)


@pytest.mark.by_hand(0)
@settings(max_examples=60)
@given(
    st.integers(1, 12),
    st.integers(1, 4),
    st.booleans(),
    st.booleans(),
)
def test_slices_go_round_and_are_joined(count: int, size: int, backward: bool, join_backward: bool) -> None:
    """A running sum over slices of `size` rows: the concatenated sums, and the last one."""
    part, total = parameter([size, 3]), parameter([size, 3])
    result = ops.add(part, total)
    body = Body(
        body_of([result, result], [part, total]),
        [
            BodyInput(0, 0, in_parts(size, backward)),
            BodyInput(1, 1, back=0),
        ],
        [
            BodyOutput(0, 0, in_parts(size, join_backward)),
            BodyOutput(1, 1),
        ],
    )
    x, start = parameter([count * size, 3]), parameter([size, 3])
    node = Node(load("TensorIterator", 1), [x.outputs[0], start.outputs[0]], name="ti")
    node.bodies = [body]
    rng = np.random.default_rng(count * 10 + size)
    values = rng.integers(-9, 9, (count * size, 3)).astype(np.float32)
    first = rng.integers(-9, 9, (size, 3)).astype(np.float32)
    model = compiled(node, [x, start], 2)
    for _ in range(2):
        joined, last = model([values, first]).to_tuple()
        slices = [values[i * size : (i + 1) * size] for i in range(count)]
        sums = list(np.cumsum(slices[::-1] if backward else slices, axis=0) + first)
        np.testing.assert_array_equal(joined, np.concatenate(sums[::-1] if join_backward else sums))
        np.testing.assert_array_equal(last, sums[-1])


def sliced(extents: list[int], slicing: Slicing) -> irexec.CompiledModel:
    """Return a TensorIterator that adds slices of several inputs, and concatenates the sums."""
    parts = [parameter([1]) for _ in extents]
    total = parts[0] if len(parts) == 1 else ops.add(*parts)
    inputs = [BodyInput(number, number, slicing) for number in range(len(parts))]
    body = Body(body_of([ops.negative(total)], parts), inputs, [BodyOutput(0, 0, Slicing(0))])
    given_here = [parameter([extent]) for extent in extents]
    node = Node(load("TensorIterator", 1), [x.outputs[0] for x in given_here], name="ti")
    node.bodies = [body]
    return compiled(node, given_here, 1)


def test_parts_of_an_open_axis_are_checked_when_it_is_known() -> None:
    model = sliced([-1], Slicing(0, 1, 3))
    np.testing.assert_array_equal(model([np.arange(6, dtype=np.float32)])[0], [-1, -2, -3])
    with pytest.raises(irexec.IRError, match="a part is out of range") as caught:
        model([np.ones(3, np.float32)])
    (finding,) = caught.value.report
    assert (finding.code, finding.layer and finding.layer.name) == ("O005", "ti")


def test_sliced_inputs_have_the_same_number_of_parts() -> None:
    model = sliced([-1, -1], Slicing(0))
    assert model([np.ones(2, np.float32)] * 2)[0].tolist() == [-2, -2]
    with pytest.raises(irexec.IRError, match="different numbers of parts"):
        model([np.ones(2, np.float32), np.ones(3, np.float32)])


@pytest.mark.parametrize("extent", [-1, 3])
def test_a_loop_has_a_part_for_each_iteration(extent: int) -> None:
    rows, part = parameter([extent]), parameter([1])
    inputs = [BodyInput(0, 2, Slicing(0))]
    true = ops.constant(np.array(True))
    body = Body(body_of([true, ops.negative(part)], [part]), inputs, [BodyOutput(0), BodyOutput(1, 0)], condition=0)
    given_here = [ops.constant(np.array(v)).outputs[0] for v in (4, True)]
    node = Node(load("Loop", 5), [*given_here, rows.outputs[0]], name="loop")
    node.bodies = [body]
    with pytest.raises(irexec.IRError, match="3 parts"):
        compiled(node, [rows], 1)([np.ones(3, np.float32)])


def loop(body: Body, trips: int | None, go: bool | None = True, count: int = 1) -> irexec.CompiledModel:
    """Return a Loop over one carried value [2], with constant trip count and condition."""
    x = parameter([2])
    inputs = [
        None if trips is None else ops.constant(np.int64(trips)).outputs[0],
        None if go is None else ops.constant(np.array(go)).outputs[0],
        x.outputs[0],
    ]
    node = Node(load("Loop", 5), inputs, name="loop")
    node.bodies = [body]
    return compiled(node, [x], count)


def doubling(limit: float = 1e9) -> Body:
    """Return a body that doubles the carried value while its first element is below the limit."""
    carried = parameter([2])
    doubled = ops.multiply(carried, ops.constant(np.float32(2)))
    first = ops.gather(doubled, ops.constant(np.int64(0)), ops.constant(np.int64(0)))
    go_on = ops.less(first, ops.constant(np.float32(limit)))
    return Body(
        body_of([go_on, doubled], [carried]), [BodyInput(0, 2, back=1)], [BodyOutput(0), BodyOutput(1, 0)], condition=0
    )


@pytest.mark.parametrize(
    ("trips", "go", "limit", "expected"),
    [
        (3, True, 1e9, 8),
        (-1, True, 100, 128),
        (50, True, 10, 16),
        (0, True, 1e9, 1),
        (3, False, 1e9, 1),
        (3, None, 1e9, 8),
        (None, True, 30, 32),
    ],
)
def test_a_loop_ends_by_count_or_condition(trips: int | None, go: bool | None, limit: float, expected: float) -> None:
    model = loop(doubling(limit), trips, go)
    x = np.ones(2, np.float32)
    for _ in range(2):
        np.testing.assert_array_equal(model([x])[0], [expected, expected])
    np.testing.assert_array_equal(x, [1, 1])


def test_the_counter_counts() -> None:
    carried, counter = parameter([2]), parameter([], np.int64)
    total = ops.add(carried, ops.convert(counter, destination_type="f32"))
    body = Body(
        body_of([ops.constant(np.array(True)), total], [carried, counter]),
        [BodyInput(0, 2, back=1), BodyInput(1, iteration=True)],
        [BodyOutput(0), BodyOutput(1, 0)],
        condition=0,
    )
    np.testing.assert_array_equal(loop(body, 5)([np.zeros(2, np.float32)])[0], [10, 10])


def test_no_iteration_joins_nothing() -> None:
    carried = parameter([2])
    row = ops.unsqueeze(carried, ops.constant(np.array([0])))
    body = Body(
        body_of([ops.constant(np.array(True)), row, carried], [carried]),
        [BodyInput(0, 2, back=2)],
        [BodyOutput(0), BodyOutput(1, 0, Slicing(0)), BodyOutput(2, 1)],
        condition=0,
    )
    joined, last = loop(body, 0, count=2)([np.ones(2, np.float32)]).to_tuple()
    assert joined.shape == (0, 2)
    np.testing.assert_array_equal(last, [1, 1])
    assert loop(body, 4, count=2)([np.ones(2, np.float32)])[0].shape == (4, 2)


@pytest.mark.parametrize("shape", [(3, 8), (1, 0), (2, 5)])
def test_no_iteration_joins_nothing_of_the_extents_that_inputs_have(shape: tuple[int, int]) -> None:
    carried = parameter([-1, -1])
    plane = ops.unsqueeze(carried, ops.constant(np.array([0])))
    body = Body(
        body_of([ops.constant(np.array(True)), plane, carried], [carried]),
        [BodyInput(0, 2, back=2)],
        [BodyOutput(0), BodyOutput(1, 0, Slicing(0))],
        condition=0,
    )
    trips, x = parameter([], np.int64), parameter([-1, -1])
    node = Node(load("Loop", 5), [trips.outputs[0], ops.constant(np.array(True)).outputs[0], x.outputs[0]], name="loop")
    node.bodies = [body]
    model = compiled(node, [trips, x], 1)
    for count in (0, 3, 0):
        assert model([np.int64(count), np.ones(shape, np.float32)])[0].shape == (count, *shape)


def choosing() -> tuple[irexec.CompiledModel, Node]:
    """Return a model of `cond ? -x : x + x`, and its If."""
    cond, x = parameter([], np.bool_), parameter([-1])
    a, b = parameter([-1]), parameter([-1])
    then_body = Body(body_of([ops.negative(a)], [a]), [BodyInput(0, 1)], [BodyOutput(0, 0)])
    else_body = Body(body_of([ops.add(b, b)], [b]), [BodyInput(0, 1)], [BodyOutput(0, 0)])
    node = Node(load("If", 8), [cond.outputs[0], x.outputs[0]], name="if")
    node.bodies = [then_body, else_body]
    return compiled(node, [cond, x], 1), node


def test_if_runs_one_branch() -> None:
    model, _ = choosing()
    for shape in ((3,), (3,), (5,)):
        x = np.ones(shape, np.float32)
        np.testing.assert_array_equal(model([np.array(True), x])[0], -x)
        np.testing.assert_array_equal(model([np.array(False), x])[0], 2 * x)


def test_results_of_bodies_are_the_callers_own() -> None:
    model = loop(doubling(), 2)
    x = np.ones(2, np.float32)
    first = model([x])[0]
    second = model([x])[0]
    first[:] = 99
    np.testing.assert_array_equal(second, [4, 4])
    np.testing.assert_array_equal(model([x])[0], [4, 4])


def test_a_failure_in_a_body_names_the_inner_layer() -> None:
    carried, counter = parameter([2]), parameter([], np.int64)
    picked = ops.gather_elements(carried, ops.unsqueeze(counter, ops.constant(np.array([0]))), axis=0)
    picked.friendly_name = "inner"
    body = Body(
        body_of([ops.constant(np.array(True)), carried, picked], [carried, counter]),
        [BodyInput(0, 2, back=1), BodyInput(1, iteration=True)],
        [BodyOutput(0), BodyOutput(1, 0), BodyOutput(2, 1)],
        condition=0,
    )
    np.testing.assert_array_equal(loop(body, 2, count=2)([np.array([5, 6], np.float32)])[1], [6])
    with pytest.raises(irexec.IRError) as caught:
        loop(body, 3, count=2)([np.ones(2, np.float32)])
    (finding,) = caught.value.report
    assert (finding.code, finding.layer and finding.layer.name) == ("O005", "inner")


def test_a_constant_in_a_back_edge_is_not_used_for_the_later_values() -> None:
    """Inference knows the initial value of the carried value, and the source of the slices as a whole."""
    carried, part = parameter([1], np.int64), parameter([1], np.int64)
    body = Body(
        body_of([ops.constant(np.array(True)), ops.add(ops.add(carried, carried), part)], [carried, part]),
        [BodyInput(0, 2, back=1), BodyInput(1, 3, Slicing(0))],
        [BodyOutput(0), BodyOutput(1, 0)],
        condition=0,
    )
    x = parameter([1], np.int64)
    given_values = [ops.constant(np.array(v)).outputs[0] for v in (3, True, [1], [10, 20, 30])]
    node = Node(load("Loop", 5), given_values, name="loop")
    node.bodies = [body]
    node.set_outputs([given_values[2].type])
    total = ops.add(node, x)
    built = Model([total], [x])
    set_types(built, inference := infer(built))
    assert inference.report.ok
    model = irexec.compile_model(built)
    np.testing.assert_array_equal(model([np.array([1000])])[0], [((1 * 2 + 10) * 2 + 20) * 2 + 30 + 1000])


def test_a_parameter_that_nothing_feeds_is_a_finding_where_it_is_used() -> None:
    """OpenVINO leaves the value undefined. The other branch has all its inputs."""
    cond, x = parameter([], np.bool_), parameter([2])
    used, unused, fed = parameter([2]), parameter([2]), parameter([2])
    node = Node(load("If", 8), [cond.outputs[0], x.outputs[0]], name="if")
    node.bodies = [
        Body(body_of([ops.negative(used)], [used]), [], [BodyOutput(0, 0)]),
        Body(body_of([ops.negative(fed)], [unused, fed]), [BodyInput(1, 1)], [BodyOutput(0, 0)]),
    ]
    model, given = compiled(node, [cond, x], 1), np.ones(2, np.float32)
    assert model([np.array(False), given])[0].tolist() == [-1, -1]
    with pytest.raises(irexec.IRError, match="receives no value") as caught:
        model([np.array(True), given])
    (finding,) = caught.value.report
    assert (finding.code, finding.layer and finding.layer.name) == ("O005", "if")


def test_a_result_that_takes_nothing_is_a_finding() -> None:
    cond, x = parameter([], np.bool_), parameter([2])
    fed = parameter([2])
    node = Node(load("If", 8), [cond.outputs[0], x.outputs[0]], name="if")
    bodies = [Body(body_of([ops.negative(fed)], [fed]), [BodyInput(0, 1)], [BodyOutput(0, 0)]) for _ in range(2)]
    node.bodies = bodies
    model = compiled(node, [cond, x], 1)
    (layer,) = (node for node in model.model.nodes if node.bodies)
    layer.bodies[0].model.results[0].replace_input_with(0, None)
    with pytest.raises(irexec.IRError, match="receives no value"):
        model([np.array(True), np.ones(2, np.float32)])


def test_a_layer_of_a_body_that_lacks_an_input_is_a_finding() -> None:
    cond, x = parameter([], np.bool_), parameter([2])
    fed = parameter([2])
    total = ops.add(fed, fed)
    node = Node(load("If", 8), [cond.outputs[0], x.outputs[0]], name="if")
    body = Body(body_of([total], [fed]), [BodyInput(0, 1)], [BodyOutput(0, 0)])
    node.bodies = [body, body]
    total.replace_input_with(1, None)
    with pytest.raises(irexec.IRError, match="b is not connected"):
        compiled(node, [cond, x], 1)([np.array(True), np.ones(2, np.float32)])
