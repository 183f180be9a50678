"""irexec run --sanitize: each suspicious value is reported at the layer where it first occurs, with its location."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.failing import reference
from support.nets import Net

import irexec
from irexec import Node
from irexec import opset15 as ops
from irexec.cli.main import main
from irexec.tools.run.sanitize import Sanitizer, sanitize

Make = Callable[[Node], Node]
F = np.float32


def said(make: Make, given: Any) -> list[tuple[str, str]]:
    """Return the codes and layers of the findings about one layer for these inputs."""
    array = np.asarray(given)
    x = ops.parameter(array.shape, array.dtype, name="x")
    report = sanitize(irexec.Model([make(x)], [x], "m"), [array])
    return [(finding.code, finding.layer.name) for finding in report if finding.layer is not None]


BOXES = F([[[0, 0, 2, 2], [0, 0, 2, 2.1], [5, 5, 6, 6]]])


def suppressed(scores: Node, most: int) -> Node:
    """Return suppressed boxes: the first two of three boxes overlap, the third is elsewhere."""
    rows = ops.reshape(scores, [1, 1, 3], False)
    return ops.non_max_suppression(BOXES, rows, np.int64(most), F(0.5), F(0), name="it").output(0)


CASES: dict[str, tuple[Make, Any, Any, str]] = {
    "log of a negative number": (lambda x: ops.log(x, name="it"), F([-1, 2]), F([1, 2]), "A001"),
    "0 / 0": (lambda x: ops.power(x, x, name="it"), F([-0.5, 1]), F([2, 1]), "A001"),
    "overflow of exp": (lambda x: ops.exp(x, name="it"), F([100]), F([80]), "A002"),
    "duplicate indices": (
        lambda x: ops.scatter_nd_update(np.zeros(4, F), ops.reshape(x, [2, 1], False), F([1, 2]), name="it"),
        np.int32([1, 1]),
        np.int32([1, 2]),
        "A003",
    ),
    "duplicate indices of elements": (
        lambda x: ops.scatter_elements_update(np.zeros(4, F), x, F([1, 2]), 0, name="it"),
        np.int32([1, 1]),
        np.int32([1, 2]),
        "A003",
    ),
    "ties": (lambda x: ops.topk(x, 2, 0, "max", "value", name="it").output(1), F([1, 3, 3]), F([1, 2, 3]), "A003"),
    "a tie at the edge": (
        lambda x: ops.topk(x, 1, 0, "min", "value", name="it").output(1),
        F([1, 1, 3]),
        F([1, 3, 3]),
        "A003",
    ),
    "a tie at the edge, by index": (
        lambda x: ops.topk(x, 2, 0, "min", "index", name="it").output(1),
        F([1, 3, 3]),
        F([1, 1, 3]),
        "A003",
    ),
    "ties of boxes that overlap": (lambda x: suppressed(x, 3), F([0.5, 0.5, 0.9]), F([0.5, 0.4, 0.9]), "A003"),
    "ties of boxes at the edge": (lambda x: suppressed(x, 1), F([0.9, 0.5, 0.9]), F([0.9, 0.5, 0.4]), "A003"),
    "ties of boxes with their classes": (
        lambda x: ops.multiclass_nms(
            BOXES,
            ops.reshape(x, [1, 1, 3], False),
            sort_result_type="score",
            iou_threshold=0.5,
            background_class=-1,
            name="it",
        ).output(0),
        F([0.5, 0.5, 0.9]),
        F([0.5, 0.4, 0.9]),
        "A003",
    ),
    "negative indices": (lambda x: ops.gather(F([1, 2]), x, 0, name="it"), np.int64([0, -1]), np.int64([0, 1]), "A004"),
    "indices that nothing is at": (
        lambda x: ops.gather(F([1, 2]), x, 0, name="it"),
        np.int64([0, 2]),
        np.int64([0, 1]),
        "A004",
    ),
    "a negative index that nothing is at": (
        lambda x: ops.gather(F([1, 2]), x, 0, name="it"),
        np.int64([0, -3]),
        np.int64([0, 1]),
        "A004",
    ),
    "a strided slice beyond the end": (
        lambda x: ops.strided_slice(F([1, 2, 3]), [0], x, [1], [0], [0], name="it"),
        np.int64([5]),
        np.int64([2**31 - 1]),
        "A004",
    ),
    "a strided slice before the beginning": (
        lambda x: ops.strided_slice(np.ones((2, 3), F), x, [0, 3], [1, 1], [0, 0], [1, 0], [0, 0], [0, 0], name="it"),
        np.int64([0, -7]),
        np.int64([0, -3]),
        "A004",
    ),
    "an update of a slice beyond the end": (
        lambda x: ops.slice_scatter(F([1, 2, 3]), F([9]), [2], x, [1], name="it"),
        np.int64([5]),
        np.int64([3]),
        "A004",
    ),
    "a slice beyond the end": (
        lambda x: ops.slice(F([1, 2, 3]), [0], x, [1], name="it"),
        np.int64([5]),
        np.int64([3]),
        "A004",
    ),
    "no class": (lambda x: ops.one_hot(x, 3, F(1), F(0), 0, name="it"), np.int64([0, 3]), np.int64([0, 2]), "A004"),
    "sum of bytes": (lambda x: ops.add(x, np.uint8(10), name="it"), np.uint8([250]), np.uint8([240]), "A005"),
    "product of 64 bits": (
        lambda x: ops.multiply(x, np.int64(2**62), name="it"),
        np.int64([2]),
        np.int64([1]),
        "A005",
    ),
    "the least number": (lambda x: ops.abs(x, name="it"), np.int8([-128]), np.int8([-127]), "A005"),
    "sum of absolute values": (
        lambda x: ops.reduce_l1(x, [0], name="it"),
        np.int8([-100, 100]),
        np.int8([-100, 20]),
        "A005",
    ),
    "scattered sum": (
        lambda x: ops.scatter_elements_update(np.int8([100, 1]), np.int32([0]), x, 0, reduction="sum", name="it"),
        np.int8([100]),
        np.int8([20]),
        "A005",
    ),
    "reduced sum": (lambda x: ops.reduce_sum(x, [0], name="it"), np.int8([100, 100]), np.int8([100, 20]), "A005"),
    "product of matrices": (
        lambda x: ops.matmul(x, np.int32([[2**20], [2**20]]), name="it"),
        np.int32([[2**11, 1]]),
        np.int32([[2**9, 1]]),
        "A005",
    ),
    "too large for a byte": (lambda x: ops.convert(x, "u8", name="it"), F([-1, 3]), F([1.5, 3]), "A006"),
    "no f32": (lambda x: ops.convert(x, "f32", name="it"), np.int64([2**24 + 1]), np.int64([2**24]), "A006"),
    "zero in f16": (lambda x: ops.convert(x, "f16", name="it"), F([1e-9]), F([1e-3]), "A006"),
    "division of integers": (
        lambda x: ops.floor_mod(np.int32([7]), x, name="it"),
        np.int32([0]),
        np.int32([2]),
        "A007",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_suspicion_is_reported_where_it_begins(name: str) -> None:
    make, wrong, right, code = CASES[name]
    assert (code, "it") in said(make, wrong)
    assert {layer for _, layer in said(make, wrong)} == {"it"}
    assert said(make, right) == []


def test_the_largest_values_are_the_same_in_any_order() -> None:
    """Only the indices of equal values are undefined."""
    assert said(lambda x: ops.topk(x, 2, 0, "max", "value").output(0), F([1, 3, 3])) == []


def test_boxes_of_equal_scores_that_have_nothing_to_do_with_each_other() -> None:
    """By class and position: the order of these boxes does not affect the result."""

    def make(x: Node) -> Node:
        rows = ops.reshape(x, [1, 1, 3], False)
        return ops.multiclass_nms(BOXES, rows, iou_threshold=0.5, score_threshold=0.6, background_class=-1).output(0)

    assert said(make, F([0.5, 0.5, 0.9])) == []


def test_bounds_after_masks_are_open() -> None:
    def make(x: Node) -> Node:
        data = np.ones((2, 3), F)
        return ops.strided_slice(data, x, [9, 9, 9], [1, 1, 1], [1, 0, 1], [1, 0, 1], [0, 1, 0], [0, 0, 0], [0, 0, 1])

    assert said(make, np.int64([9, 9, 9])) == []


def test_nan_is_reported_only_where_it_first_occurs() -> None:
    def make(x: Node) -> Node:
        return ops.add(ops.relu(ops.sqrt(x, name="born")), F(1), name="seen")

    assert said(make, F([-1, 4])) == [("A001", "born")]


def test_what_follows_from_constants_alone_is_looked_at() -> None:
    """Such layers run when the model is compiled, including layers of bodies."""

    def make(x: Node) -> Node:
        root = ops.sqrt(ops.constant(F([4, -1])), name="root")
        share = ops.divide(np.int32([1, 2]), np.int32([0, 2]), name="share")
        whole = ops.add(ops.constant(np.uint8([200, 3])), np.uint8([100, 4]), name="sum")
        near = ops.convert(ops.constant(F([1e-9, 1])), destination_type="f16", name="near")
        parts = (ops.convert(value, destination_type="f32") for value in (share, whole, near))
        for part in parts:
            x = ops.add(x, part)
        return ops.add(ops.relu(root), x, name="end")

    found = said(make, F([1, 2]))
    assert {*found} == {("A001", "root"), ("A007", "share"), ("A005", "sum"), ("A006", "near")}


def test_what_the_caller_gives_is_not_the_layers() -> None:
    assert said(lambda x: ops.add(x, F(1)), F([np.nan, np.inf])) == []


def test_a_result_that_takes_the_place_of_its_input() -> None:
    """Inputs are examined before the layer may overwrite them."""

    def make(x: Node) -> Node:
        return ops.log(ops.multiply(ops.add(x, F(0), name="a"), F(-1), name="b"), name="c")

    assert said(make, F([1, 2])) == [("A001", "c")]


def test_a_variable_that_is_read_first() -> None:
    x = ops.parameter([2], F, name="x")
    past = ops.read_value("past", "f32", [2])
    model = irexec.Model([ops.add(past, x)], [ops.assign(ops.add(past, x), "past")], [x])
    sanitizer = Sanitizer(model)
    request = irexec.compile_model(model).create_infer_request([sanitizer])
    for _ in range(2):
        request.infer([F([1, 2])])
    assert [finding.code for finding in sanitizer.report] == ["A008"]


def test_a_body_is_looked_into() -> None:
    body = Net()
    body.result(body.layer("Log", [body.parameter("row", "1,2")], "1,2", name="inner"), "rows")
    net = Net("iterating")
    maps = (
        '<port_map><input external_port_id="0" internal_layer_id="0" axis="0" part_size="1" stride="1"/>'
        '<output external_port_id="1" internal_layer_id="2" axis="0" part_size="1" stride="1"/></port_map>'
    )
    x = net.parameter("x", "3,2")
    net.result(net.layer("TensorIterator", [x], "3,2", name="outer", more=f"{maps}<body>{body.inside}</body>"))
    model = irexec.read_model(net.text.encode())
    (finding,) = sanitize(model, [F([[1, 1], [1, 1], [1, -1]])])
    assert finding.layer is not None
    assert (finding.code, finding.layer.name) == ("A001", "inner")
    assert finding.line is not None
    assert "in call 3" in finding.message


@pytest.mark.parametrize("name", ["classifier", "loop"])
def test_models_that_are_right(name: str) -> None:
    run = reference(name)
    assert list(sanitize(run.model, run.steps[0])) == []


def test_the_command_shows_the_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    net = Net("logarithm")
    net.result(net.layer("Log", [net.parameter("x", "2")], "2", name="born"))
    (tmp_path / "m.xml").write_text(net.text)
    assert main(["run", str(tmp_path / "m.xml"), "--input", "x=[1, -1]", "--sanitize"]) == 0
    text = capsys.readouterr().out
    assert "warning[A001] 4:1" in text and "): 1 of 2 values are NaN although the inputs are finite" in text
    assert main(["run", str(tmp_path / "m.xml"), "--input", "x=[1, -1]", "--sanitise"]) == 0
    assert "warning[A001] 4:1" in capsys.readouterr().out
    assert main(["run", str(tmp_path / "m.xml"), "--input", "x=[1, -1]"]) == 0
    assert "A001" not in capsys.readouterr().out
