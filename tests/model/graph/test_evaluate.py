"""Arguments of operators: every argument becomes an array, or is rejected with the name of its port."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irexec
from irexec import IRError

o: Any = irexec.opset15


def refused(*arguments: Any, function: str = "relu", **attributes: Any) -> irexec.core.diagnostics.Report:
    with pytest.raises(IRError) as raised:
        getattr(o, function)(*arguments, **attributes)
    return raised.value.report


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ([[1, 2], [3]], "the rows differ in length"),
        ({}, "value of type dict"),
        (object(), "value of type object"),
        (np.array([1, "x"], object), "value of type int"),
        (np.zeros(3, "M8[s]"), "contains dates"),
        (np.zeros(3, [("a", "f4")]), "contains records"),
        (np.ma.masked_array([1, 2], [0, 1]), "masked"),
        (b"x", "bytes"),
        (np.array([1], np.longdouble), "no element type has as many bits"),
        (10**400, "an integer has more than 64 bits"),
        (1j, "is f32: 1j is not a value of that type"),
        ("abc", "is f32: 'abc' is not a value of that type"),
    ],
)
def test_what_is_not_a_tensor_is_refused_by_the_name_of_its_port(given: Any, rule: str) -> None:
    [finding] = refused(given)
    assert (finding.code, finding.port) == ("O008", "x")
    assert finding.message.startswith("input x of ReLU-1 is ")
    assert rule in finding.message


def test_all_errors_are_reported_together() -> None:
    report = refused({}, [[1], [2, 3]], function="add")
    assert [d.port for d in report] == ["a", "b"]


def test_faults_of_attributes_and_of_types_are_reported_together() -> None:
    x = np.float32([[1]])
    node = o.parameter([1, 1], np.float32)
    for data in (x, node):
        report = refused(data, x, x, function="scatter_nd_update", reduction="add")
        assert [(d.code, d.attribute, d.port) for d in report] == [
            ("D005", "reduction", None),
            ("O002", None, "indices"),
        ]


def test_a_number_that_its_group_does_not_hold_is_refused() -> None:
    for number in (0.5, 300, -129):
        [finding] = refused(np.int8([1]), number, function="add")
        assert finding.message == f"input b of Add-1 is i8: {number} is not a value of that type"
    assert o.add(np.int8([1]), 2.0).tolist() == [3]


def test_foreign_byte_orders_are_read() -> None:
    result = o.relu(np.array([1, -2], ">f4"))
    assert (result.dtype, result.tolist()) == (np.dtype(np.float32), [1, 0])


def test_a_required_input_that_is_none_is_missing() -> None:
    [finding] = refused(None)
    assert (finding.code, finding.message) == ("P007", "ReLU-1 has 0 input ports, expected 1 (x); x is missing")
    [finding] = refused(None, np.float32([1]), function="concat", axis=0)
    assert "tensors[0] is missing" in finding.message
    [finding] = refused([], function="concat", axis=0)
    assert finding.code == "P007"
    assert o.clamp(np.float32([3]), min=0, max=1).tolist() == [1]


def test_attributes_may_be_numpys() -> None:
    assert o.softmax(np.ones((1, 2), np.float32), axis=np.int64(1)).tolist() == [[0.5, 0.5]]
    assert o.elu(np.float32([-1]), alpha=np.array(0.0)).tolist() == [0]
    [finding] = refused(np.ones((1, 1, 4), np.float32), function="reorg_yolo", stride=np.array("text"))
    assert finding.attribute == "stride"


@pytest.mark.parametrize(
    "call",
    [
        lambda: o.tile(np.ones(3, np.float32), [1 << 60]),
        lambda: o.broadcast(np.float32(1), [1 << 50]),
        lambda: o.broadcast(np.float32(1), [0, 1 << 50]),
        lambda: o.eye(1 << 40, 1 << 40, 0, output_type="f32"),
        lambda: o.reshape(np.float32([1]), [1] * 65, special_zero=False),
    ],
)
def test_results_larger_than_memory_are_refused_before_the_kernel_runs(call: Any) -> None:
    with pytest.raises(IRError) as raised:
        call()
    [finding] = raised.value.report
    assert finding.code == "O011"
    assert "output 0" in finding.message


def test_a_kernel_that_finds_no_memory_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    operator = irexec.ops.spec.contents.find("ReLU", "opset1")

    def kernel(x: Any, /) -> Any:
        raise MemoryError("no room")

    monkeypatch.setattr(operator, "kernel", kernel)
    [finding] = refused([1.0])
    assert finding.code == "O011"
    assert finding.message == "ReLU-1 needs more memory than is available: no room"
