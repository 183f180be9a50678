"""Names of cases: each name recreates the same case, and a text that is not a name is rejected with the reason."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np
import pytest
from support.amounts import amount

from irexec.core.types import Array
from irexec.model.graph.model import Model
from irexec.tools.conformance.drawing import draw, operators
from irexec.tools.conformance.graphs import PATTERNS, draw_graph, patterns
from irexec.tools.conformance.made import case_named
from irexec.tools.conformance.names import RECIPE, CaseName, UnreadableName

EXPECTED = [0.3254, -0.3625]
"""The values drawn from the seed 1, in every version."""


def content(model: Model) -> list[object]:
    """Return the layers of a model and its constants."""
    return [
        (n.type, n.version, str(n.attributes), [str(v.type.shape) for v in n.outputs],
         None if n.constant is None else n.constant.tobytes())
        for n in model.nodes
    ]  # fmt: skip


@pytest.mark.parametrize("start", range(amount(8, 1)))
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
    """The name is stable, because names are in baselines and in reports."""
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
        ("Abs-1", "is not the name of a case"),
        ("Abs-1/f32/x=[2]", "does not end with a seed"),
        ("Abs-1/f32/x=[two]/seed1", "is not a dimension"),
        ("Abs-1/f32/x=f31[2]/seed1", "is not an element type"),
        ("Abs-1/f32/often/x=[2]/seed1", "is neither NAME=VALUE nor seedN"),
        ("Absolute-1/f32/x=[2]/seed1", "is not an operator with a version"),
        ("graph.nothing/f32/static/seed1", "is not the name of a graph"),
        ("graph.rms_norm/f31/r5/static/seed1", "is not an element type"),
        ("graph.rms_norm/f32/r5/near=far/static/seed1", "expected one of none, power -1"),
        ("graph.rms_norm/f32/r5/near=none/seed1", "does not end with SHAPES/seedN"),
    ],
)
def test_texts_that_are_not_names(text: str, reason: str) -> None:
    with pytest.raises(UnreadableName, match=reason):
        case_named(text)


def test_a_name_of_another_recipe_is_refused() -> None:
    for text in ("graph.layer_norm/f32/r0/near=none/static/seed1", "graph.grown/f32/layers=ReLU-1.3/static/seed1"):
        with pytest.raises(UnreadableName, match="but this version of irexec uses recipe r5"):
            case_named(text)


def test_the_recipe_of_graphs() -> None:
    """If this fails because names now produce other graphs, increase `RECIPE` and update the digest."""
    found = hashlib.sha256()
    for name in (*names_of_patterns(), *GROWN):
        try:
            case = case_named(name)
        except ValueError:
            continue
        found.update(name.encode())
        for node in case.model.nodes:
            found.update(f"{node.type} {[str(value.type) for value in node.outputs]}".encode())
            found.update(b"" if node.constant is None else rounded(node.constant))
        for array in case.inputs[-1]:
            found.update(rounded(array))
    assert (RECIPE, found.hexdigest()[:16]) == ("r5", "c028fe08c55fe897")


GROWN = (
    "graph.grown/i8/r5/layers=AvgPool-16.76,Floor-1.35,Asinh-4.62/sequence/seed5363",
    "graph.grown/f16/r5/layers=PReLU-1.39,Elu-1.12,Tile-1.16/inner=read/dynamic/seed2221",
    "graph.grown/f32/r5/layers=Round-5.88,AvgPool-16.96/inner=read/static/seed8881",
    "graph.grown/f32/r5/layers=Abs-1.10,SpaceToDepth-1.82,LRN-1.19,GroupConvolution-1.90/static/seed3842",
    "graph.grown/f32/r5/layers=ReLU-1.76,MVN-2.0,ReduceL2-4.70,PReLU-1.42/static/seed2390",
    "graph.grown/f32/r5/layers=Convolution-1.98,StridedSlice-1.33/inner=read/static/seed9353",
    "graph.grown/f16/r5/layers=MVN-6.29,ExtractImagePatches-3.68,AvgPool-16.23/inner=read/twice/static/seed31",
)
"""Names of grown graphs; other names need not be stable."""


def names_of_patterns() -> Iterator[str]:
    """Yield each pattern with the first, second and third choice of all its parameters."""
    for name, (_, choices) in sorted(PATTERNS.items()):
        for number in range(3):
            chosen = [f"{key}={options[number % len(options)]}" for key, options in choices.items()]
            yield "/".join([name, "f32", RECIPE, *chosen, ("static", "dynamic", "sequence")[number], f"seed{number}"])


def rounded(array: Array) -> bytes:
    """Return the bytes of an array without the last bits, which processors may compute differently."""
    return str(array.dtype).encode() + np.round(array.astype(np.float32), 3).tobytes()
