"""Names of cases: each name makes the same case again, and a text that is no name is refused with the reason."""

from __future__ import annotations

import numpy as np
import pytest

from irexec.conformance.drawing import draw, operators
from irexec.conformance.graphs import draw_graph, patterns
from irexec.conformance.made import case_named
from irexec.conformance.names import CaseName, UnreadableName
from irexec.graph.model import Model

EXPECTED = [0.3254, -0.3625]
"""The values that the seed 1 gives, in every version."""


def content(model: Model) -> list[object]:
    """What a model is made of, and its constants."""
    return [
        (n.type, n.version, str(n.attributes), [str(v.type.shape) for v in n.outputs],
         None if n.constant is None else n.constant.tobytes())
        for n in model.nodes
    ]  # fmt: skip


@pytest.mark.parametrize("start", range(8))
def test_a_name_makes_the_same_case(start: int) -> None:
    for operator in operators()[start::8]:
        case = draw(operator, 3, start)
        assert case is not None, operator
        again = case_named(case.name)
        assert again.name == case.name and again.calls == case.calls
        assert content(again.model) == content(case.model)
        for ours, theirs in zip(case.inputs, again.inputs, strict=True):
            assert [a.tolist() for a in ours] == [a.tolist() for a in theirs] or any(a.dtype.kind in "fV" for a in ours)


def test_names_of_graphs() -> None:
    for pattern in patterns():
        case = draw_graph(pattern, 5, 0)
        assert case is not None, pattern
        again = case_named(case.name)
        assert content(again.model) == content(case.model)


def test_a_name_that_is_part_of_the_interface() -> None:
    """It is stable: names are in baselines and in reports."""
    text = (
        "Gather-8/f32/batch_dims=1/data=[?2|5,5,4]@1,0,2/indices=i64[?2|5,3]/axis=const:i64[]{1}/twice/data-large/seed7"
    )
    name = CaseName.parse(text)
    assert str(name) == text
    assert name.kind == "sequence" and name.calls == (0, 1, 0) and name.data == "large"
    assert name.ports[0] is not None and str(name.ports[0].declared) == "[5,?,4]"
    case = case_named(text)
    assert [a.shape for a in case.inputs[1]] == [(5, 5, 4), (5, 3)]
    first = case_named("Abs-1/f32/x=[2]/seed1").inputs[0][0]
    np.testing.assert_array_equal(first, case_named("Abs-1/f32/x=[?2]/seed1").inputs[0][0])
    assert [round(float(x), 4) for x in first] == EXPECTED


def test_values_that_change_between_calls() -> None:
    text = "Gather-8/f32/data=[4,3]/indices=i64[2]{0,3|-1,1}/axis=const:i64[]{0}/seed7"
    name = CaseName.parse(text)
    assert str(name) == text and name.kind == "sequence" and name.calls == (0, 1, 0)
    case = case_named(text)
    assert [call[1].tolist() for call in case.inputs] == [[0, 3], [-1, 1]]
    again = case_named("Abs-1/f32/x=[2]/again/seed1")
    assert again.calls == (0, 1, 0) and again.kind == "static"
    assert again.inputs[0][0].tolist() != again.inputs[1][0].tolist()


def test_attributes_with_reserved_characters() -> None:
    name = CaseName("Einsum-7", (("equation", "a/b=c%"),), (), 1)
    assert CaseName.parse(str(name)) == name


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Abs-1", "is no name of a case"),
        ("Abs-1/f32/x=[2]", "does not end with a seed"),
        ("Abs-1/f32/x=[two]/seed1", "is no dimension"),
        ("Abs-1/f32/x=f31[2]/seed1", "is no element type"),
        ("Abs-1/f32/often/x=[2]/seed1", "is neither NAME=VALUE nor seedN"),
        ("Absolute-1/f32/x=[2]/seed1", "is no operator with a version"),
        ("graph.nothing/f32/static/seed1", "is no name of a graph"),
        ("graph.rms_norm/f32/near=far/static/seed1", "expected one of none, power -1"),
        ("graph.rms_norm/f32/near=none/seed1", "does not end with a kind of shapes"),
    ],
)
def test_texts_that_are_no_names(text: str, reason: str) -> None:
    with pytest.raises(UnreadableName, match=reason):
        case_named(text)
