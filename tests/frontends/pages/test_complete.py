"""Completing examples: the sources of element types, shapes and values, and values that may not be supplied."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from irexec.core.types import BF16, I32, U8
from irexec.frontends.pages.evaluate import evaluate, evaluated_report, read_examples
from irexec.frontends.pages.example import Example
from irexec.model.arrays.given import FIRST_GROUP, Given, Origin


def scatter(data: str = "", indices: str = "", updates: str = "", output: str = "", extra: str = "") -> str:
    return f"""<layer id="0" name="n" type="ScatterNDUpdate" version="opset15">
    <input>
        <port id="0"{data}><dim>4</dim></port>
        <port id="1"{indices}><dim>3</dim><dim>1</dim></port>
        <port id="2"{updates}><dim>3</dim>{extra}</port>
    </input>
    <output><port id="3"{output}><dim>4</dim></port></output>
</layer>"""


def kind(name: str) -> str:
    return f' precision="{name}"'


def run(text: str, **given: Any) -> tuple[Example, list[str]]:
    snippet = read_examples(text)
    (example,) = evaluate(snippet, Given(**given))
    return example, [finding.code for finding in evaluated_report(snippet).errors]


def types(example: Example) -> list[tuple[str, str]]:
    return [(str(entry.type.element_type), str(entry.type_from)) for entry in example.inputs]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (scatter(), [("f32", "default"), ("i64", "default"), ("f32", "default")]),
        (scatter(data=kind("FP16")), [("f16", "declared"), ("i64", "default"), ("f16", "as data")]),
        (scatter(updates=kind("FP16")), [("f16", "as updates"), ("i64", "default"), ("f16", "declared")]),
        (scatter(output=kind("I8")), [("i8", "as the output"), ("i64", "default"), ("i8", "as the output")]),
        (
            scatter(extra="<!-- int values: [1, 2, 3] -->"),
            [("i64", "as updates"), ("i64", "default"), ("i64", "values")],
        ),
        (
            scatter(data=kind("FP16"), extra="<!-- values: [1.5, 2, 3] -->"),
            [("f16", "declared"), ("i64", "default"), ("f16", "as data")],
        ),
    ],
)
def test_where_element_types_are_from(text: str, expected: list[tuple[str, str]]) -> None:
    example, _ = run(text)
    assert types(example) == expected
    assert example.executed


def test_precisions_by_name_by_port_and_for_the_first_group() -> None:
    example, _ = run(scatter(), precisions={"indices": I32, FIRST_GROUP: BF16})
    assert types(example) == [("bf16", "--precision"), ("i32", "--precision"), ("bf16", "--precision")]
    example, _ = run(scatter(), precisions={"1": I32})
    assert types(example)[1] == ("i32", "--precision")
    example, _ = run(scatter(data=kind("FP16")), precisions={FIRST_GROUP: BF16})
    assert types(example)[0] == ("f16", "declared")
    example, _ = run(scatter(extra="<!-- values: [1, 2, 3] -->"), precisions={FIRST_GROUP: U8})
    assert types(example)[2] == ("u8", "--precision")


def test_supplied_values_take_the_place_of_the_pages() -> None:
    example, found = run(
        scatter(extra="<!-- values: [1, 2, 3] -->"),
        inputs={"data": [1, 2, 3, 4], "1": [0, 1, 2], "2": np.array([7, 8, 9], np.float32)},
    )
    assert found == []
    assert [entry.origin for entry in example.inputs] == [Origin.SUPPLIED] * 3
    assert example.inputs[1].type.shape == [3, 1]
    assert example.outputs[0].array is not None
    np.testing.assert_array_equal(example.outputs[0].array, [7, 8, 9, 4])


@pytest.mark.parametrize("value", [[1, [2]], ["a"], [1.5, 2, 3], [2**70, 0, 0]])
def test_supplied_values_that_are_none(value: Any) -> None:
    example, found = run(scatter(indices=kind("I64")), inputs={"indices": value})
    assert found == ["U004"]
    assert str(example.not_executed) == "the values of indices cannot be read"


def test_a_supplied_shape() -> None:
    text = '<layer type="Abs" version="opset1"><input><port id="0">...</port></input><output/></layer>'
    example, _ = run(text, shapes={"x": (2, 3)})
    assert example.inputs[0].type.shape == [2, 3]
    assert example.executed


def test_random_values_are_the_seeds() -> None:
    arrays = [run(scatter(), seed=seed)[0].inputs[0].array for seed in (0, 0, 1)]
    assert arrays[0] is not None and arrays[1] is not None and arrays[2] is not None
    np.testing.assert_array_equal(arrays[0], arrays[1])
    assert not np.array_equal(arrays[0], arrays[2])


def test_indices_repeat_only_when_asked() -> None:
    once, _ = run(scatter())
    often, _ = run(scatter(), duplicates=True)
    assert once.inputs[1].array is not None and often.inputs[1].array is not None
    assert len(np.unique(once.inputs[1].array)) == 3
    assert len(np.unique(often.inputs[1].array)) < 3
    assert often.executed
