"""Examples evaluated: the values that the pages of the scatter family print, repairs, errata, and obstacles."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from irexec.core.diagnostics import Severity
from irexec.core.types import STRING
from irexec.frontends.pages.documented import compare
from irexec.frontends.pages.evaluate import evaluate, evaluated_report, read_examples
from irexec.frontends.pages.example import Example
from irexec.frontends.pages.reader import Snippet
from irexec.frontends.reading import read
from irexec.model.arrays.given import Given, Origin

SAMPLES = Path(__file__).parents[3] / "samples"


def sample(name: str, given: Given | None = None) -> tuple[Snippet, Example]:
    snippet = read(SAMPLES / name).snippet
    assert snippet is not None
    (example,) = evaluate(snippet, given)
    return snippet, example


def one(text: str, given: Given | None = None) -> tuple[Snippet, Example]:
    snippet = read_examples(text)
    (example,) = evaluate(snippet, given)
    return snippet, example


def errors(snippet: Snippet) -> list[str]:
    return [finding.code for finding in evaluated_report(snippet).errors]


def layer(type: str, inputs: str, outputs: str, data: str = "", version: str = "opset15") -> str:
    return (
        f'<layer id="0" name="n" type="{type}" version="{version}">{data}'
        f"<input>{inputs}</input><output>{outputs}</output></layer>"
    )


def port(number: int, dims: str, values: str = "", precision: str | None = "FP32") -> str:
    written = "".join(f"<dim>{d}</dim>" for d in dims.split(",") if d)
    kind = f' precision="{precision}"' if precision else ""
    return f'<port id="{number}"{kind}>{written}{f"<!-- values: {values} -->" if values else ""}</port>'


@pytest.mark.parametrize(
    ("number", "computed", "wrong"),
    [
        (1, [50, 40, 20, 4], ["[1] can only be 30 or 40, not 20"]),
        (2, [61, 72, 23, 4], []),
        (3, [-59, -68, -17, 4], []),
        (4, [500, 2400, 60, 4], ["[1] is 2400, not 3600", "[2] is 60, not 40"]),
    ],
)
def test_the_examples_of_scatter_nd_update(number: int, computed: list[int], wrong: list[str]) -> None:
    snippet, example = sample(f"scatter_nd_update/example_{number}.xml")
    (output,) = example.outputs
    assert output.array is not None
    np.testing.assert_array_equal(output.array.astype(np.float32), computed)
    assert errors(snippet) == (["O001", "T001"] if wrong else ["O001"])
    (illegal,) = (d for d in snippet.findings.report if d.code == "O001")
    assert illegal.message == "indices.shape[-1] is 5, but data has rank 1"
    assert (illegal.constraint, illegal.hint) == ("ScatterNDUpdate-15 C4", "did you mean [5,1]?")
    assert [d.message for d in snippet.findings.report if d.code == "Q033"] == ["indices is read as [5,1] to continue"]
    assert example.inputs[1].repaired and example.inputs[1].type.shape == [5, 1]
    assert output.agrees is not bool(wrong)
    if output.difference is not None:
        assert output.difference.words == "; ".join(wrong)
        assert output.difference.impossible is (number == 1)


@pytest.mark.by_hand(0)
def test_values_are_drawn_where_there_are_none() -> None:
    snippet, example = sample("scatter_nd_update/example_5.xml")
    assert errors(snippet) == []
    data, indices, updates = (entry.array for entry in example.inputs)
    assert data is not None and indices is not None and updates is not None
    assert {entry.origin for entry in example.inputs} == {Origin.DRAWN}
    assert (indices >= 0).all() and (indices < [1000, 256, 10]).all()
    expected = data.copy()
    expected[tuple(indices.reshape(-1, 3).T)] = updates.reshape(-1, 15)
    assert example.outputs[0].array is not None
    np.testing.assert_array_equal(example.outputs[0].array, expected)


def test_slice_scatter_declares_one_and_lists_two() -> None:
    snippet, example = sample("slice_scatter/example_3.xml")
    assert [d.message for d in snippet.findings.report.errors] == [
        f"{name} lists 2 values, but its dims [1] hold 1" for name in ("start", "stop", "step")
    ]
    assert all(d.hint == "the values have shape [2]" and d.line for d in snippet.findings.report.errors)
    assert example.outputs[0].agrees is True


@pytest.mark.parametrize("name", ["slice_scatter/example_1.xml", "slice_scatter/example_2.xml"])
def test_what_is_right_is_verified(name: str) -> None:
    snippet, example = sample(name)
    assert errors(snippet) == []
    assert example.verified == [
        "output has the declared shape [2,5]",
        "output has the declared precision f32",
        "output has the documented values",
        "constraints C1, C2, C3, C4, C5, C6, C7 of SliceScatter-15",
    ]


def test_several_layers_in_one_text() -> None:
    text = layer("Abs", port(0, "2", "[-1, 2]"), port(1, "2", "[1, 2]"), version="opset1")
    snippet = read_examples(text + text.replace("[1, 2]", "[1, 3]"))
    first, second = evaluate(snippet)
    assert (first.outputs[0].agrees, second.outputs[0].agrees) == (True, False)
    assert errors(snippet) == ["T001"]


def test_a_declared_shape_that_is_wrong_does_not_stop_the_run() -> None:
    snippet, example = one(layer("Abs", port(0, "2", "[-1, 2]"), port(1, "3"), version="opset1"))
    assert errors(snippet) == ["P005"]
    assert example.executed
    assert not any("shape" in text for text in example.verified)


def test_a_result_of_another_size_than_documented() -> None:
    snippet, example = one(layer("Abs", port(0, "2", "[-1, 2]"), port(1, "", "[1, 2, 3]"), version="opset1"))
    assert errors(snippet) == ["T001"]
    assert "output documents 3 values, but the operator computes 2" in str(snippet.findings.report.errors[0])
    assert example.outputs[0].agrees is False


def test_an_index_out_of_range_is_placed_at_its_port() -> None:
    text = layer(
        "ScatterNDUpdate",
        port(0, "4", "[1, 2, 3, 4]") + "\n" + port(1, "1,1", "[[7]]", "I64") + "\n" + port(2, "1", "[10]"),
        port(3, "4"),
    )
    snippet, example = one(text)
    assert not example.executed
    (finding,) = snippet.findings.report.errors
    assert (finding.code[0], finding.line, finding.constraint) == ("O", 2, "ScatterNDUpdate-15 C3")


def test_a_constraint_that_random_values_break_is_not_an_erratum() -> None:
    text = layer("Reshape", port(0, "4") + port(1, "2", precision="I64"), port(2, "-1"), version="opset1")
    snippet, example = one(text.replace("</layer>", '<data special_zero="false"/></layer>'))
    if not example.executed:
        assert errors(snippet) == []
        assert any(
            d.severity is Severity.NOTE and d.hint == "provide its values with --input" for d in snippet.findings.report
        )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            '<layer type="SoftMax" version="opset1"><data axis="1"/><input> ... </input></layer>',
            "inputs are missing",
        ),
        ('<layer type="Parameter" version="opset1"><data shape="1" element_type="f32"/></layer>', "computes nothing"),
        ('<layer type="Abss" version="opset1"/>', "no opset has an operator 'Abss'"),
        (layer("Abs", port(0, "2", "[[1], [2, 3]]"), port(1, "2"), version="opset1"), "values of x cannot be read"),
        (layer("Abs", port(0, "2", '["a", "b"]'), port(1, "2"), version="opset1"), "values of x cannot be read"),
        (layer("Abs", port(0, "2") + port(1, "2"), port(2, "2"), version="opset1"), "P007"),
        (layer("Abs", port(0, "99999999,99999999"), port(1, "2"), version="opset1"), "too large for random values"),
        (layer("Abs", '<port id="0">...</port>', port(1, "2"), version="opset1"), "x has no shape"),
        ('<layer type="Parameter" version="opset1"><input><port id="0"/></input></layer>', ""),
    ],
)
def test_an_example_that_is_not_executed_has_a_reason(text: str, reason: str) -> None:
    _, example = one(text)
    assert example.not_executed is not None
    assert reason in str(example.not_executed)


def test_an_operator_that_is_known_and_not_there_is_reported_without_a_version() -> None:
    snippet, example = one('<layer type="NoSuchThing"/>')
    assert errors(snippet) == ["L004"]
    assert not example.executed


def test_texts_with_zeros_at_their_end_are_compared() -> None:
    documented = np.array(["a", "b"], np.dtypes.StringDType())
    computed = np.array(["a", "b\0"], object)
    difference = compare(documented, computed, STRING, None)
    assert difference is not None and difference.count == 1
    assert compare(documented, documented, STRING, None) is None
