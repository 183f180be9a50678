"""Traces of models, formulas and guards in normal form, and descriptions that follow from them."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
from support.dynamic_nets import MODELS, _input, _weights, _whole

import irexec
from irexec import opset15 as op
from irexec.core.types.traced import Tape, larger, smaller
from irexec.tools.shapes.formulas import Formulas
from irexec.tools.shapes.guards import guards
from irexec.tools.shapes.probe import Prober
from irexec.tools.shapes.tracing import trace

pytestmark = pytest.mark.any_python

NAMES = ["x", "y", "z"]


def joined(one, other):  # type: ignore[no-untyped-def]
    """Join two tensors, so that their sizes must be equal."""
    return op.concat([op.unsqueeze(one, _whole(0)), op.unsqueeze(other, _whole(0))], 0)


def formula(compute) -> str:  # type: ignore[no-untyped-def]
    tape = Tape()
    made = compute(*(tape.size(number, value, 1, None) for number, value in enumerate((37, 22, 5))))
    found = Formulas(tape).of(made.entry)
    assert found is not None and found.value((37, 22, 5)) == made.number
    text = found.text(NAMES)
    assert eval(text, {"x": 37, "y": 22, "z": 5}) == made.number
    return text


@pytest.mark.parametrize(
    ("compute", "text"),
    [
        (lambda x, y, z: ((x - 2) // 2 + 1 - 2) // 2 + 1, "x // 4"),
        (lambda x, y, z: -(-x // 2), "(x + 1) // 2"),
        (lambda x, y, z: (4 * x + 8 * y + 9) // 4, "x + 2*y + 2"),
        (lambda x, y, z: (x * y * 64) // (y * 64), "x"),
        (lambda x, y, z: (x * y * 12) // (y * 48), "x // 4"),
        (lambda x, y, z: (x + y) * z - y * z, "x*z"),
        (lambda x, y, z: 3 * x - 2 * y + 1 - x, "2*x - 2*y + 1"),
        (lambda x, y, z: x - x // 2, "x - x // 2"),
        (lambda x, y, z: 0 - x // 2, "-(x // 2)"),
        (lambda x, y, z: -(x // -2), "(x + 1) // 2"),
        (lambda x, y, z: x % -4 + x, "2*x - 4*((x + 3) // 4)"),
    ],
)
def test_formulas_have_one_form(compute, text: str) -> None:  # type: ignore[no-untyped-def]
    assert formula(compute) == text


def test_a_formula_that_divides_by_zero_has_a_value() -> None:
    tape = Tape()
    one, other = (tape.size(number, value, 1, None) for number, value in enumerate((37, 22)))
    found = Formulas(tape).of((one % (other // 4)).entry)
    assert found is not None and found.value((9, 8)) == 1 and found.value((9, 3)) == 0
    assert found.text(NAMES) == "x % max(y // 4, 1)"
    assert found.value([np.array([9, 9]), np.array([8, 3])]).tolist() == [1, 0]


@pytest.mark.parametrize(
    ("compare", "text"),
    [
        (lambda x, y: x // 2 * 2 == x - 1, "x % 2 == 1"),
        (lambda x, y: -(-(x * y) // 11) <= (x * y) // 11, "(x*y) % 11 == 0"),
        (lambda x, y: (32 * x * y) % (32 * y * y) == 0, "x % y != 0"),
        (lambda x, y: x // 4 >= 3, "x >= 12"),
        (lambda x, y: (x - 5) // 3 + 1 < 4, "x >= 14"),
        (lambda x, y: x == y + 15, "x == y + 15"),
        (lambda x, y: x * 3 == y, "y != 3*x"),
        (lambda x, y: smaller(x, 40) == x, "x <= 40"),
        (lambda x, y: smaller(x, 30) == x, "x >= 31"),
        (lambda x, y: larger(x, y) <= x, "x >= y"),
        (lambda x, y: larger(x, y) == y, "x >= y + 1"),
        (lambda x, y: smaller(x, 50) == 1, "x != 1"),
        (lambda x, y: larger(x - 2, 5) < 9, "x >= 11"),
        (lambda x, y: smaller(x, 20) == y - 2, "y == min(x, 20) + 2"),
    ],
)
def test_guards_have_one_form(compare, text: str) -> None:  # type: ignore[no-untyped-def]
    tape = Tape()
    compare(*(tape.size(number, value, 1, None) for number, value in enumerate((37, 22))))
    (guard,) = guards(tape)
    assert guard.holds((37, 22))
    assert guard.text(["x", "y"]) == text


@pytest.mark.by_hand(2)
@pytest.mark.parametrize("name", sorted(set(MODELS) - {"branches"}))
def test_a_trace_applies_where_plain_inference_has_the_same_outcome(name: str) -> None:
    model = MODELS[name]()
    shapes = irexec.shapes(model)
    prober = Prober(model, [value.type.shape for value in model.inputs])
    made = trace(prober, shapes.base_sizes)
    assert made.outcome.accepted and not made.is_pinned
    chance = np.random.default_rng(4)
    rows = np.maximum(1, np.array(shapes.base_sizes) + chance.integers(-3, 20, (400, len(shapes.dims))))
    for sizes in rows[made.tape.holds(rows)].tolist()[:40]:
        assert prober.accepts(tuple(sizes))


def answer(results, inputs) -> dict:  # type: ignore[no-untyped-def, type-arg]
    return irexec.shapes(irexec.Model(results if isinstance(results, list) else [results], inputs)).to_dict()


def test_windows_of_a_baked_mask_are_one_product() -> None:
    """Shifted windows: a mask for 16 windows fits an image if the number of windows of all images is a multiple
    of 16.
    """
    image = _input("image", [-1, -1, -1, 8])
    sizes = [op.gather(op.shape_of(image), _whole(axis), np.int64(0)) for axis in range(3)]
    height, width = (op.divide(size, _whole(4)) for size in sizes[1:])
    apart = op.reshape(image, op.concat([sizes[0], height, _whole(4), width, _whole(4, 8)], 0), False)
    windows = op.reshape(op.transpose(apart, _whole(0, 1, 3, 2, 4, 5)), _whole(-1, 16, 16, 8), False)
    found = answer(op.add(windows, _weights(1, 16, 1, 8)), [image])
    assert found["accepts"] == [["(batch*(H // 4)*(W // 4)) % 16 == 0", "H % 4 == 0", "W % 4 == 0"]]
    assert found["evidence"] == "proved"


def test_a_product_is_derived_from_the_comparisons() -> None:
    data = _input("data", [-1, -1])
    found = answer(op.reshape(data, _whole(-1, 12), False), [data])
    assert found["accepts"] == [["(batch*data_1) % 12 == 0"]]
    assert found["certainty"] == [["proved"]] and found["evidence"] == "proved"
    assert found["because"][0]["type"] == "Reshape"


@pytest.mark.by_hand(0)
def test_a_sum_within_a_table_is_derived_from_the_comparisons() -> None:
    one, other = _input("one", [-1, -1, 4]), _input("other", [-1, -1, 4])
    joined = op.concat([one, other], 1)
    count = op.gather(op.shape_of(joined), _whole(1), np.int64(0))
    rows = op.slice(_weights(1, 24, 4), _whole(0), count, _whole(1), _whole(1))
    found = answer(op.concat([joined, op.broadcast(rows, op.shape_of(joined))], 1), [one, other])
    assert found["accepts"] == [["length + length_2 <= 24"]]
    assert found["evidence"] == "proved"
    assert irexec.shapes(irexec.Model([joined], [one, other])).conditions == [[]]


def test_outputs_are_sums_of_products() -> None:
    image = _input("image", [-1, 3, -1, -1])
    parts = []
    for size in (1, 2):
        pooled = op.max_pool(image, [size] * 2, [1, 1], [0, 0], [0, 0], [size] * 2).output(0)
        parts.append(op.reshape(pooled, _whole(0, 3, -1), True))
    (output,) = answer(op.concat(parts, 2), [image])["outputs"]
    assert output == ["batch", 3, "(H // 2)*(W // 2) + H*W"]


@pytest.mark.by_hand(0)
def test_contents_that_no_layer_reads_pin_no_size() -> None:
    """Positions from a Range of another type, and their table: not even the number of positions is fixed."""
    ids = _input("ids", [-1, -1], np.int64)
    count = op.gather(op.shape_of(ids), _whole(1), np.int64(0))
    rows = op.range(np.int64(0), op.squeeze(op.floor(count), _whole(0)), np.int64(1), "i64")
    places = op.convert(op.unsqueeze(rows, _whole(0)), "i32")
    found = answer(op.add(op.gather(_weights(30, 8), ids, np.int64(0)), op.gather(_weights(20, 8), places, 0)), [ids])
    assert found["accepts"] == [[]] and found["evidence"] == "proved"


def test_a_clamped_size_is_one_condition() -> None:
    data, other = _input("data", [-1, -1]), _input("other", [-1])
    size = op.minimum(op.maximum(op.gather(op.shape_of(data), _whole(1), np.int64(0)), _whole(4)), _whole(20))
    part = op.slice(_weights(20), _whole(0), size, _whole(1), _whole(0))
    found = answer(op.concat([op.unsqueeze(part, _whole(0)), op.unsqueeze(other, _whole(0))], 0), [data, other])
    assert found["accepts"] == [["other == min(max(data_1, 4), 20)"]]
    assert found["outputs"] == [[2, "other"]]


def test_a_reshape_to_open_rows_is_one_product() -> None:
    """A mask that is reshaped to [batch, -1] and added: products must be equal, not quotients."""
    data, mask = _input("data", [-1, -1]), _input("mask", [-1, -1])
    batch = op.gather(op.shape_of(data), _whole(0), np.int64(0))
    seen = op.reshape(mask, op.concat([batch, _whole(-1)], 0), False)
    found = answer(op.concat([op.unsqueeze(seen, _whole(0)), op.unsqueeze(data, _whole(0))], 0), [data, mask])
    assert found["accepts"] == [["batch*data_1 == batch_2*mask_1"]]


def test_a_size_that_broadcasts_is_the_larger_one() -> None:
    data, other = _input("data", [-1, -1]), _input("other", [-1])
    length = op.squeeze(op.multiply(op.gather(op.shape_of(data), _whole(1), np.int64(0)), _whole(2)), _whole(0))
    found = answer(op.add(op.range(np.int64(0), length, np.int64(3), "f32"), other), [data, other])
    assert found["outputs"] == [["max((2*data_1 + 2) // 3, other)"]]


@pytest.mark.by_hand(0)
def test_a_sum_of_many_inputs_has_the_largest_of_their_sizes() -> None:
    inputs = [_input(f"x{number}", [-1]) for number in range(5)]
    total = reduce(op.add, inputs)
    assert answer(total, inputs)["outputs"] == [["max(x0, x1, x2, x3, x4)"]]


def test_few_sizes_are_proved_where_all_of_them_are_decided() -> None:
    """Four combinations are accepted, fewer than are tried for the conditions of other models."""
    data = op.parameter([-1, -1, 4], np.float32, name="data")
    mask = op.broadcast(np.ones((1, 6, 6), np.float32), np.array([2, 6, 6]))
    shapes = irexec.shapes(irexec.Model([op.add(op.matmul(data, data, False, True), mask)], [data], "masked"))
    assert shapes.conditions == [["batch in [1, 2]", "length in [1, 6]"]]
    assert shapes.evidence == "proved"
    assert shapes.certainty == [["proved", "proved"]]


def _floats(data, axis: int):  # type: ignore[no-untyped-def]
    return op.convert(op.gather(op.shape_of(data), _whole(axis), np.int64(0)), np.float32)


@pytest.mark.by_hand(0)
def test_sizes_computed_in_floats_are_proved() -> None:
    """A remainder, and a rounded-up quotient, both in f32."""
    data, other = _input("data", [-1, -1]), _input("other", [-1])
    rest = op.convert(op.mod(_floats(data, 1), np.float32([6])), np.int64)
    longer = op.pad(data, _whole(0, 0), op.concat([_whole(0), rest], 0), "constant", np.float32(0))
    parts = op.convert(op.ceiling(op.divide(_floats(data, 0), np.float32([3]))), np.int64)
    rows = op.range(np.int64(0), op.squeeze(parts, _whole(0)), np.int64(1), "f32")
    found = answer([joined(longer, data), joined(rows, other)], [data, other])
    assert found["accepts"] == [["other == (batch + 2) // 3", "data_1 % 6 == 0"]]
    assert found["certainty"] == [["proved", "proved"]] and found["evidence"] == "proved"


def test_scales_of_floats_are_proved() -> None:
    image = _input("image", [1, 3, -1])
    small = op.max_pool(image, [2], [1], [0], [0], [3], "ceil").output(0)
    large = op.interpolate(small, np.float32([2]), "nearest", "scales", axes=_whole(2))
    found = answer(op.concat([large, image], 1), [image])
    assert found["accepts"] == [["length % 2 == 0", "length >= 4"]] and found["evidence"] == "proved"


@pytest.mark.by_hand(0)
def test_a_rounding_of_floats_is_an_exception_that_is_shown() -> None:
    """254.99998 rows become 254: the quotient of two sizes in f32 times one of them."""
    data, other = _input("data", [1, 1, -1]), _input("other", [1, 1, -1])
    scale = op.divide(_floats(data, 2), _floats(other, 2))
    found = answer(op.add(data, op.interpolate(other, scale, "linear", "scales", axes=_whole(2))), [data, other])
    assert found["evidence"] == "proved" or any(
        "refused although all conditions hold" in each for each in found["limits"]
    )


@pytest.mark.by_hand(0)
def test_a_bound_that_grows_with_another_size_is_one_condition() -> None:
    """Detectors scale an image so that its longer side has 24 pixels; the other side keeps one pixel or more."""
    image = _input("image", [1, 1, -1, -1])
    sides = op.concat([_floats(image, 2), _floats(image, 3)], 0)
    scale = op.divide(np.float32([24]), op.reduce_max(sides, _whole(0), True))
    small = op.convert(op.floor(op.multiply(sides, scale)), np.int64)
    resized = op.interpolate(image, small, "nearest", "sizes", axes=_whole(2, 3))
    found = answer(op.max_pool(resized, [1, 1], [1, 1], [0, 0], [0, 0], [1, 1]).output(0), [image])
    assert found["accepts"] == [["H <= 24*W", "W <= 24*H"]]


def test_a_sum_that_is_fixed_names_a_layer() -> None:
    one, other = _input("one", [-1, 4]), _input("other", [-1, 4])
    joined = op.matmul(op.transpose(op.concat([one, other], 0), _whole(1, 0)), _weights(10, 2), False, False)
    found = answer(joined, [one, other])
    assert found["accepts"] == [["batch + batch_2 == 10"]]
    assert {each["symbol"]: each["type"] for each in found["because"]} == {"batch": "MatMul"}


def test_an_unknown_content_is_not_taken_for_minus_one() -> None:
    """Inference keeps no remainder of a negative number, here -1 for 4 rows."""
    data = _input("data", [-1, 2])
    rest = op.subtract(_whole(3), op.gather(op.shape_of(data), _whole(0), np.int64(0)))
    rows = op.add(op.subtract(op.floor_mod(rest, _whole(4)), op.mod(rest, _whole(4))), _whole(2))
    found = answer(op.reshape(data, op.concat([rows, _whole(-1)], 0), False), [data])
    assert found["accepts"] == [["batch <= 3"], ["batch % 12 in [0, 3, 6, 7, 9, 11]"]]
    assert found["evidence"] == "proved"


def test_a_divisor_that_may_be_negative_has_one_meaning() -> None:
    data = _input("data", [-1, 2])
    less = op.subtract(op.gather(op.shape_of(data), _whole(0), np.int64(0)), _whole(7))
    rows = op.abs(op.divide(less, _whole(2)))
    shapes = irexec.shapes(irexec.Model([op.reshape(data, op.concat([rows, _whole(-1)], 0), False)], [data], "rows"))
    text = shapes.to_dict()["outputs"][0][1]
    for batch in (3, 4, 12, 40):
        assert [eval(text, {"batch": batch})] == [shape[1].value for shape in shapes.outputs([(batch, 2)])]


def test_a_square_root_has_no_expression() -> None:
    data = _input("data", [-1, 4])
    side = op.convert(op.sqrt(_floats(data, 0)), np.int64)
    found = answer(op.reshape(data, op.concat([side, side, _whole(4)], 0), False), [data])
    assert found["outputs"] == [["?", "?", 4]] and found["evidence"] == "incomplete"


def test_the_trip_count_of_a_loop_and_the_branch_of_an_if_are_proved() -> None:
    data, other = _input("data", [1, -1]), _input("other", [-1, -1])
    inner = _input("inner", [1, -1])
    body = irexec.Model([op.constant(np.bool_(True)), op.tanh(inner)], [inner])
    loop = op.loop(op.squeeze(op.gather(op.shape_of(other), _whole(0), np.int64(0)), _whole(0)), np.bool_(True))
    loop.set_function(body)
    loop.set_special_body_ports([-1, 0])
    made = body.results[1].input(0).get_source_output()
    loop.set_merged_input(inner, data.output(0), made)
    found = answer(joined(loop.get_concatenated_slices(made, 0, 1, 1, -1, 0), other), [data, other])
    assert found["accepts"] == [[]] and found["evidence"] == "proved"
    assert found["outputs"] == [[2, "batch", "data_1"]]


def chosen(data, condition, one, other):  # type: ignore[no-untyped-def]
    """Return an If whose branches compute a result from the same data."""
    inner = [_input(f"inner{number}", [-1, 6]) for number in range(2)]
    bodies = [irexec.Model([make(each)], [each]) for make, each in zip((one, other), inner, strict=True)]
    choice = op.if_op(op.squeeze(condition, _whole(0)))
    choice.set_then_body(bodies[0])
    choice.set_else_body(bodies[1])
    choice.set_input(data.output(0), *inner)
    return choice.set_output(bodies[0].results[0], bodies[1].results[0])


def test_an_output_of_branches_is_a_sum_in_which_comparisons_choose() -> None:
    data = _input("data", [-1, 6])
    rows = op.gather(op.shape_of(data), _whole(0), np.int64(0))
    pairs = chosen(
        data,
        op.greater(rows, _whole(20)),
        lambda each: op.reshape(each, _whole(-1, 12), False),
        lambda each: op.concat([each, _weights(2, 6)], 0),
    )
    shapes = irexec.shapes(irexec.Model([op.relu(pairs)], [data]))
    ((height, width),) = shapes.to_dict()["outputs"]
    assert width.count("*") == 2
    for batch in (1, 7, 20, 22, 64):
        expected = [batch // 2, 12] if batch > 20 else [batch + 2, 6]
        assert [eval(each, {"batch": batch}) for each in (height, width)] == expected
        assert list(shapes.outputs([(batch, 6)])[0].to_shape()) == expected
    assert not shapes.accepts([(21, 6)]) and shapes.evidence == "proved"


def test_outputs_have_the_sizes_of_variables_after_a_reset() -> None:
    data = _input("data", [-1, 4])
    start = op.broadcast(_weights(1, 4), op.shape_of(data))
    added = op.add(op.read_value(start, "memory", "f32", irexec.PartialShape([-1, 4])), data)
    shapes = irexec.shapes(irexec.Model([added], [op.assign(added, "memory")], [data]))
    assert shapes.to_dict()["outputs"] == [["batch", 4]]


def test_the_widened_state_of_a_loop_is_proved() -> None:
    data, other = _input("data", [-1, 4]), _input("other", [-1, 4])
    inner = [_input(f"inner{number}", [-1, 4]) for number in range(2)]
    body = irexec.Model([op.constant(np.bool_(True)), op.add(*inner)], inner)
    loop = op.loop(np.int64(3), np.bool_(True))
    loop.set_function(body)
    loop.set_special_body_ports([-1, 0])
    made = body.results[1].input(0).get_source_output()
    loop.set_merged_input(inner[0], data.output(0), made)
    loop.set_invariant_input(inner[1], other.output(0))
    found = answer(loop.get_iter_value(made, -1), [data, other])
    assert found["evidence"] == "proved" and found["outputs"] == [["max(batch, batch_2)", 4]]


def test_masks_larger_than_the_scores_are_mentioned() -> None:
    query, mask = _input("query", [1, 2, -1, 4]), _input("mask", [1, 1, -1, -1])
    found = answer(op.scaled_dot_product_attention(query, query, query, mask), [query, mask])
    assert any("rejects a mask with more rows or columns than the scores" in each for each in found["limits"])


@pytest.mark.by_hand(0)
def test_many_dimensions_are_decided() -> None:
    inputs = [_input(f"x{number}", [-1, -1]) for number in range(30)]
    rows = op.concat([op.reshape(each, _whole(-1), False) for each in inputs], 0)
    shapes = irexec.shapes(irexec.Model([rows, op.relu(inputs[7])], inputs))
    assert shapes.conditions == [[]] and shapes.evidence == "proved"
    assert shapes.to_dict()["outputs"][1] == ["batch_8", "x7_1"]


def test_sizes_that_broadcast_are_tried_together_beyond_the_end_of_a_table() -> None:
    data, mask = _input("data", [1, -1, 4]), _input("mask", [1, -1, 1])
    count = op.gather(op.shape_of(data), _whole(1), np.int64(0))
    rows = op.slice(_weights(1, 24, 4), _whole(0), count, _whole(1), _whole(1))
    shapes = irexec.shapes(irexec.Model([op.add(op.add(data, rows), mask)], [data, mask]))
    for length in (1, 2, 17, 24, 25, 64, 300):
        assert [shapes.accepts([(1, length, 4), (1, other, 1)]) for other in (length, 1)] == [length <= 24] * 2
