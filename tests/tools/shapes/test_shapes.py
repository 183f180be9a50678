"""`irexec.shapes` on models whose accepted sizes are known, compared with inference at every size of a grid."""

from __future__ import annotations

import ast
import itertools
import json
import random
from typing import Any

import numpy as np
import pytest
from support.dynamic_nets import MODELS

import irexec
from irexec.core.diagnostics import WrongArgument
from irexec.core.types import F32, Dimension, PartialShape, TensorType
from irexec.core.types.traced import Tape
from irexec.model.graph.model import Model
from irexec.model.inference import infer
from irexec.tools.shapes.calls import Hidden
from irexec.tools.shapes.tracing import _sources

pytestmark = pytest.mark.any_python

ACCEPTS = {
    "unet": [["H % 16 == 0", "H >= 16", "W % 16 == 0", "W >= 16"]],
    "tokens": [
        ["batch in [1, max(batch, batch_2)]", "batch_2 in [1, max(batch, batch_2)]", "total in [1, seq]", "seq <= 32"]
    ],
    "cache": [
        ["batch in [1, max(batch, batch_2)]", "batch_2 in [1, max(batch, batch_2)]", "total in [1, seq + past]"],
    ],
    "flattened": [["(H // 4)*(W // 4) == 24"]],
    "exported": [["batch == 1"], ["seq == 1"]],
    "windows": [["H % 7 == 0", "W % 7 == 0"]],
    "halves": [["data_1 % 2 == 0"]],
    "added": [["one in [1, max(one, other)]", "other in [1, max(one, other)]"]],
    "joined": [["whole_1 in [1, one_1 + other_1]"]],
    "ranged": [[]],
    "chosen": [[]],
    "branches": [["batch % 2 == 0", "batch >= 4"], ["batch in [1, 3]"]],
}
OUTPUTS = {
    "unet": [["batch", 8, "H", "W"]],
    "tokens": [["max(batch, batch_2)", "seq", 8]],
    "cache": [["max(batch, batch_2)", 2, "seq", 4], ["batch", 2, "seq + past", 4]],
    "flattened": [["batch", 10]],
    "exported": [["batch", "batch*seq", 8]],
    "windows": [["batch*(H // 7)*(W // 7)", 49, 6]],
    "halves": [["batch", "data_1 // 2"]],
    "added": [["max(one, other)"]],
    "joined": [[4, "one_1 + other_1"]],
    "ranged": [["batch", "seq", 8]],
    "chosen": [[1, "?"]],
    "branches": [["(batch // 2)*(batch % 2 == 0) + 3*(batch % 2 != 0)", "8*(batch % 2 == 0) + 4*(batch % 2 != 0)"]],
}


@pytest.fixture(scope="module", params=sorted(MODELS))
def answer(request: pytest.FixtureRequest) -> tuple[str, irexec.Model, irexec.Shapes]:
    model = MODELS[request.param]()
    return request.param, model, irexec.shapes(model)


@pytest.mark.by_hand(3)
def test_conditions_and_outputs(answer: tuple[str, irexec.Model, irexec.Shapes]) -> None:
    name, _, shapes = answer
    found = shapes.to_dict()
    assert found["accepts"] == ACCEPTS[name]
    assert found["outputs"] == OUTPUTS[name]
    assert found["evidence"] == "proved"
    assert [len(each) for each in found["certainty"]] == [len(each) for each in found["accepts"]]


WORDS = (
    ast.Expression | ast.Compare | ast.BinOp | ast.UnaryOp | ast.USub | ast.Call | ast.List | ast.Name | ast.Constant
    | ast.Load | ast.Add | ast.Sub | ast.Mult | ast.FloorDiv | ast.Mod | ast.In | ast.cmpop
)  # fmt: skip


def test_conditions_and_sizes_have_the_documented_grammar(answer: tuple[str, irexec.Model, irexec.Shapes]) -> None:
    found = json.loads(json.dumps(answer[2].to_dict()))
    symbols = {dim["symbol"] for dim in found["dims"]} | {"max", "min"}
    sizes = [size for shape in found["outputs"] for size in shape if isinstance(size, str) and size != "?"]
    for text in [*itertools.chain(*found["accepts"]), *sizes]:
        for node in ast.walk(ast.parse(text, mode="eval")):
            assert isinstance(node, WORDS), text
            assert not isinstance(node, ast.Name) or node.id in symbols


@pytest.mark.by_hand(3)
def test_the_conditions_hold_where_inference_finds_no_error(answer: tuple[str, irexec.Model, irexec.Shapes]) -> None:
    _, model, shapes = answer
    chance = random.Random(5)
    sizes = (1, 2, 3, 4, 7, 8, 14, 16, 24, 32, 33, 48)
    grid = list(itertools.product(sizes, repeat=len(shapes.dims)))
    base = [extent.value for shape in shapes.inputs_at(shapes.base_sizes) for extent in shape]
    accepted = 0
    drawn = [tuple(shape.values()) for shape in shapes.sample(30, seed=1)]
    for combination in [*chance.sample(grid, min(150, len(grid))), *[None] * len(drawn)]:
        if combination is None:
            given = [list(shape) for shape in drawn.pop()]
        else:
            given = [list(value.type.shape) for value in model.inputs]
            for dim, size in zip(shapes.dims, combination, strict=True):
                given[dim.input][dim.axis] = size
        given = [[int(extent) for extent in shape] for shape in given]
        expected = accepts(model, given)
        accepted += expected
        assert shapes.accepts(given) is expected, (given, base)
        if expected:
            assert_outputs(shapes, model, given)
    assert accepted >= 10


def accepts(model: Model, given: list[list[int]]) -> bool:
    return inferred(model, given).report.ok


def inferred(model: Model, given: list[list[int]]) -> irexec.model.inference.inference.Inference:
    types = [TensorType(v.element_type, PartialShape(shape)) for v, shape in zip(model.inputs, given, strict=True)]
    return infer(model, types)


def assert_outputs(shapes: irexec.Shapes, model: Model, given: list[list[int]]) -> None:
    """Check that each expression has the value that inference gives."""
    sizes = tuple(given[dim.input][dim.axis] for dim in shapes.dims)
    found = inferred(model, given)
    for value, dims in zip(model.outputs, shapes.outputs_expressions, strict=True):
        assert dims is not None
        for extent, expression in zip(found[value].shape, dims, strict=True):
            assert expression is None or expression.value(sizes) == extent.value


@pytest.mark.by_hand(3)
def test_openvino_accepts_the_same_sizes(answer: tuple[str, irexec.Model, irexec.Shapes], tmp_path) -> None:  # type: ignore[no-untyped-def]
    openvino = pytest.importorskip("openvino")
    name, model, shapes = answer
    if name == "flattened":
        pytest.skip("OpenVINO's reshape first replaces the target [0,-1] of this Reshape by [-1,72]")
    irexec.save_model(model, tmp_path / "model.xml")
    chance = random.Random(6)
    for _ in range(40):
        given = [list(shape) for shape in chance.choice(shapes.sample(10)).values()]
        if chance.random() < 0.6:
            dim = chance.choice(shapes.dims)
            given[dim.input][dim.axis] += chance.choice((1, 2, 16))
        theirs = openvino.Core().read_model(tmp_path / "model.xml")
        try:
            theirs.reshape(
                {port: openvino.PartialShape(shape) for port, shape in zip(theirs.inputs, given, strict=True)}
            )
            expected = True
        except RuntimeError:
            expected = False
        assert shapes.accepts(given) is expected, given


@pytest.mark.by_hand(0)
def test_reasons_name_the_layer_and_the_way_to_it() -> None:
    because = irexec.shapes(MODELS["unet"]()).because()
    first = next(each for each in because if each.symbol == "H")
    assert first.refusal.node is not None and first.refusal.node.type == "Concat"
    assert first.refusal.finding.constraint == "Concat-1 C3"
    assert first.sizes[first.dim] == 17
    assert [node.type for node in first.path][:2] == ["Concat", "Convolution"]
    assert first.path[-1] is first.refusal.node


def test_a_constant_that_an_exporter_wrote_is_reported() -> None:
    (baked,) = irexec.shapes(MODELS["exported"]()).to_dict()["baked"]
    assert (baked["symbol"], baked["size"], baked["type"], baked["constant"]) == ("batch", 1, "Reshape", [1, -1, 8])


@pytest.mark.by_hand(0)
def test_remarks() -> None:
    (table,) = irexec.shapes(MODELS["ranged"]()).limits()
    assert "beyond the end of a table of 20 rows for some accepted sizes, such as batch = 1, seq = 21:" in table
    (mixed,) = irexec.shapes(MODELS["exported"]()).limits()
    assert "the elements of a batch are mixed" in mixed
    (unknown,) = irexec.shapes(MODELS["chosen"]()).limits()
    assert unknown.startswith("the size of dimension 1 of the output ")
    assert "depends on the values that NonZero " in unknown


def test_remarks_about_declarations() -> None:
    import numpy as np

    from irexec import opset13 as op

    data = op.parameter(irexec.PartialShape("[1..9223372036854775806,?]"), "f32", name="data")
    product = op.matmul(data, op.constant(np.ones((5, 4), np.float32)), False, False)
    only, bound = sorted(irexec.shapes(irexec.Model([product], [data], "fixed")).limits(), reverse=True)
    assert only == "dimension 1 of the input 'data' is dynamic but accepts 5 only; it can be declared static"
    assert bound.startswith("dimension 0 of the input 'data' declares the bound 9223372036854775806")


def test_smallest_and_samples_are_accepted(answer: tuple[str, irexec.Model, irexec.Shapes]) -> None:
    _, model, shapes = answer
    for shape in (shapes.smallest(), *shapes.sample(10)):
        assert accepts(model, [list(extents) for extents in shape.values()])
    assert shapes.sample(5, seed=3) == shapes.sample(5, seed=3)


@pytest.mark.by_hand(0)
def test_given_shapes_and_symbols() -> None:
    model = MODELS["unet"]()
    assert irexec.shapes(model, {"image": "2,3,64,?"}).conditions == [
        ["W % 16 == 0", "W >= 16", "batch == 2", "H == 64"]
    ]
    assert irexec.shapes(model, {"H": 64}).to_dict()["inputs"][0]["shape"] == ["batch", 3, 64, "W"]
    with pytest.raises(ValueError, match="no input or symbol 'Z'"):
        irexec.shapes(model, {"Z": 64})
    with pytest.raises(ValueError, match="contradicts the declared shape"):
        irexec.shapes(model, {"image": "2,4,?,?"})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"H": 10**30}, "exceeds the 64-bit range"),
        ({"H": "99999999999999999999996"}, "exceeds the 64-bit range"),
        ({"image": [1, 3, 10**30, 16]}, "exceeds the 64-bit range"),
        ({"image": "1,3,99999999999999999999996,?"}, "exceeds the 64-bit range"),
        ({"H": -1}, "-1 is not a size"),
    ],
)
def test_sizes_that_no_dimension_can_have(given: dict[str, Any], message: str) -> None:
    with pytest.raises(WrongArgument, match=message):
        irexec.shapes(MODELS["unet"](), given)


def test_layers_that_read_only_a_fixed_input_have_its_sizes() -> None:
    from irexec import opset15 as op

    fixed, other = (op.parameter(irexec.PartialShape([-1, 4]), "f32", name=name) for name in ("fixed", "other"))
    model = irexec.Model([op.concat([op.reshape(fixed, [2, -1], False), other], 0)], [fixed, other], "two")
    assert irexec.shapes(model, {"fixed": "2,4"}).to_dict()["outputs"] == [["batch + 2", 4]]
    assert irexec.shapes(model, {"fixed": "4,4"}).refusal is not None


def test_wrong_arguments_of_the_answer() -> None:
    shapes = irexec.shapes(MODELS["added"]())
    with pytest.raises(ValueError, match="no input 'three'"):
        shapes.accepts({"three": (1,)})
    with pytest.raises(ValueError, match="shape of 'other' is missing"):
        shapes.accepts({"one": (1,)})
    assert not shapes.accepts([(1, 2), (1,)])
    wrong: list[Any] = [[1, 3], 5, "text", ["text", "text"], {"one": 1, "other": 2}]
    for given in wrong:
        with pytest.raises(TypeError, match=r"as a dict, \{'one': \[...\], 'other': \[...\]\}, or as a list"):
            shapes.accepts(given)
    with pytest.raises(irexec.IRError, match="broadcast"):
        shapes.outputs([(2,), (3,)])


def test_bounds_that_the_model_declares() -> None:
    model = MODELS["halves"]()
    bounded = irexec.shapes(model, {"data": "1..4,3..20"})
    assert bounded.conditions == [["data_1 % 2 == 0", "batch <= 4", "data_1 >= 3", "data_1 <= 20"]]
    assert bounded.certainty == [["proved"] * 4]
    assert not bounded.accepts([(5, 4)])
    assert not bounded.accepts([(4, 22)])
    assert bounded.smallest() == {"data": (1, 4)}


def test_a_rank_that_is_not_known_is_asked_for() -> None:
    from irexec import opset13 as op

    data = op.parameter(irexec.PartialShape.dynamic(), "f32", name="data")
    model = irexec.Model([op.relu(data)], [data], "any")
    with pytest.raises(irexec.IRError, match="rank of the input"):
        irexec.shapes(model)
    assert irexec.shapes(model, {"data": "?,3"}).conditions == [[]]


def test_a_model_that_accepts_no_sizes() -> None:
    import numpy as np

    from irexec import opset13 as op

    data = op.parameter(irexec.PartialShape([-1, -1]), "f32", name="data")
    products = [op.matmul(data, op.constant(np.ones((rows, 4), np.float32)), False, False) for rows in (5, 6)]
    shapes = irexec.shapes(irexec.Model(products, [data], "never"))
    assert not shapes.has_sizes and shapes.conditions == []
    assert shapes.refusal is not None and "the number of columns of a" in shapes.refusal.finding.message


def test_a_file_with_errors_raises(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "broken.xml"
    path.write_text("<net name='x' version='11'><layers>", "utf-8")
    with pytest.raises(irexec.IRError, match="X001"):
        irexec.shapes(path)


def test_an_error_of_the_study_is_not_an_error_of_an_option(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a wrong argument becomes a finding about it; any other ValueError is an error in irexec."""

    def fail(*_: Any) -> None:
        raise ValueError("zip() argument 2 is shorter than argument 1")

    monkeypatch.setattr("irexec.tools.shapes.ask.study", fail)
    with pytest.raises(ValueError, match="zip"):
        irexec.shapes(MODELS["unet"]())
    with pytest.raises(WrongArgument, match="contradicts"):
        irexec.shapes(MODELS["unet"](), {"image": "1,4,8,8"})


def test_the_sources_of_computed_contents_do_not_depend_on_their_extents() -> None:
    """Layers are called with the sources of what they read, so equal contents must have equal sources."""
    tape = Tape()
    source, extent = tape.size(0, 4, 1, None), tape.size(1, 5, 1, None)
    shown = TensorType(F32, PartialShape([5]), np.zeros(5, np.float32))
    hidden = Hidden(PartialShape([Dimension(extent)]), shown, [source], None, 0)
    assert _sources([hidden]) == [source]
    assert _sources([TensorType(F32, PartialShape([Dimension(extent)]))]) == [extent]
