"""Hostile ONNX files: bounded work and memory, and a finding for each error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irexec

onnx = pytest.importorskip("onnx")

from support.work import MOST, Work

from irexec.frontends.onnx.convert import Converter
from irexec.frontends.onnx.expansion import expansions

pytestmark = pytest.mark.any_python

HEADER = '<ir_version: 9, opset_import: ["" : 17, "d" : 1]>\n'


def report_of(folder: Path, model: Any) -> irexec.Report:
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return irexec.validate(path)


def parsed(text: str) -> Any:
    return onnx.parser.parse_model(HEADER + text)


def doubling(depth: int) -> str:
    """Return functions that each call the next one twice."""
    text = "g (float[3] x) => (float[3] y) { y = d.f0(x) }\n"
    for i in range(depth):
        text += '<domain: "d", opset_import: ["" : 17, "d" : 1]>\n'
        text += f"f{i} (x) => (y) {{ t = d.f{i + 1}(x) y = d.f{i + 1}(t) }}\n"
    return text + f'<domain: "d", opset_import: ["" : 17]> f{depth} (x) => (y) {{ y = Relu(x) }}'


@pytest.mark.parametrize(("depth", "why"), [(15, "nodes"), (40, "nodes"), (100, "more than 64 deep")])
def test_functions_that_multiply_are_refused_before_they_are_expanded(
    depth: int, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    translated = counted(monkeypatch)
    (finding,) = report_of(tmp_path, parsed(doubling(depth))).errors
    assert finding.code == "F009" and why in finding.message
    assert finding.layer is not None and finding.layer.name == "y"
    assert translated == ["f0"]


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The types of the nodes that are translated from now on."""
    translated: list[str] = []
    translate = Converter._node

    def noting(self: Converter, node: Any, scope: Any) -> None:
        translated.append(node.op_type)
        translate(self, node, scope)

    monkeypatch.setattr(Converter, "_node", noting)
    return translated


def test_functions_that_are_within_the_limits_are_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    translated = counted(monkeypatch)
    assert report_of(tmp_path, parsed(doubling(6))).ok
    assert (len(translated), translated.count("Relu")) == (127 + 64, 64)


def test_functions_are_counted_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    def task(count: int) -> Any:
        functions = parsed(doubling(count)).functions
        return lambda: expansions(functions)

    assert Work(monkeypatch).growth(task, 50) < MOST


def test_functions_that_call_one_another_forever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    translated = counted(monkeypatch)
    text = "g (float[3] x) => (float[3] y) { y = d.f0(x) }\n"
    for i in range(2):
        text += f'<domain: "d", opset_import: ["d" : 1]> f{i} (x) => (y) {{ y = d.f{1 - i}(x) }}\n'
    (finding,) = report_of(tmp_path, parsed(text)).errors
    assert finding.code == "F009" and "function calls are nested" in finding.message
    assert translated == ["f0"]


@pytest.mark.by_hand(0)
def test_loops_within_loops_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("irexec.frontends.onnx.expansion.MAX_NODES", 5000)
    body = onnx.helper.make_node("Relu", ["v0"], ["r"], name="inner")
    for depth in range(12):
        info = onnx.helper.make_tensor_value_info
        condition = onnx.helper.make_node("Identity", [f"c{depth}"], [f"d{depth}"])
        grown = onnx.helper.make_node("Concat", [f"v{depth}", f"v{depth}"], [f"w{depth}"], axis=0)
        graph = onnx.helper.make_graph(
            [condition, grown, body],
            "body",
            [info(f"i{depth}", 7, []), info(f"c{depth}", 9, []), info(f"v{depth}", 1, None)],
            [info(f"d{depth}", 9, []), info(f"w{depth}", 1, None)],
        )
        body = onnx.helper.make_node("Loop", ["n", "", "x"], [f"o{depth}"], body=graph, name=f"loop{depth}")
    outer = onnx.helper.make_graph(
        [body],
        "g",
        [onnx.helper.make_tensor_value_info("n", 7, []), onnx.helper.make_tensor_value_info("x", 1, [2])],
        [onnx.helper.make_tensor_value_info("o11", 1, None)],
    )
    model = onnx.helper.make_model(outer, opset_imports=[onnx.helper.make_opsetid("", 17)])
    report = report_of(tmp_path, model)
    assert all(d.code == "F009" for d in report.errors)


def test_names_that_run_into_one_another(tmp_path: Path) -> None:
    nodes = [onnx.helper.make_node("Relu", ["x"], [f"o{i}"], name="a" + "_1" * i) for i in range(700)]
    nodes += [onnx.helper.make_node("Relu", ["x"], ["y"], name="a")]
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(nodes, "g", [value("x", 1, [3])], [value("y", 1, [3])])
    report = report_of(tmp_path, onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)]))
    assert [finding.code for finding in report.errors] == ["F016"]


@pytest.mark.parametrize("dims", [[1] * 65, [0, 2**62], [2**62, 0, 2**62], [0] * 64])
def test_tensors_that_no_array_can_be(tmp_path: Path, dims: list[int]) -> None:
    model = parsed("g (float[3] x) => (float[3] y) <float[1] w = {1.0}> { y = Add(x, w) }")
    tensor = model.graph.initializer[0]
    tensor.dims[:] = dims
    if 0 in dims:
        tensor.ClearField("float_data")
    codes = {d.code for d in report_of(tmp_path, model).errors}
    assert codes <= {"F006", "broadcast", "O001"} and codes


def test_a_sparse_tensor_is_no_larger_than_its_values_allow(tmp_path: Path) -> None:
    model = parsed("g (float[3] x) => (float[3] y) { y = Add(x, w) }")
    sparse = model.graph.sparse_initializer.add()
    sparse.values.CopyFrom(onnx.numpy_helper.from_array(np.ones(1, np.float32), "w"))
    sparse.indices.CopyFrom(onnx.numpy_helper.from_array(np.array([1]), "places"))
    sparse.dims[:] = [3]
    assert report_of(tmp_path, model).ok
    found = irexec.compile_model(irexec.read_model(tmp_path / "model.onnx"))([np.zeros(3, np.float32)])
    assert found[0].tolist() == [0, 1, 0]
    for dims in ([2**40], [1], [-1], [2**30, 2**30]):
        sparse.dims[:] = dims
        assert [d.code for d in report_of(tmp_path, model).errors] == ["F006"], dims


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        (r"www\.[\w.-]+\.\w+", "www.google.com", True),
        (r"(a+)+b", "a" * 3000, False),
        (r"(a|a)*", "a" * 3000, True),
        (r"(?i)AbC?", "aB", True),
        (r"[^a-c]{2,3}$", "xyz", True),
        (r"\bword\b", "word", True),
        (r"a.c", "a\nc", False),
        (r"\d*", "١", False),
    ],
)
def test_expressions_take_time_in_proportion(pattern: str, text: str, expected: bool) -> None:
    from irexec.ops.onnx.regex import regex_full_match_20

    found = regex_full_match_20(np.array([text, ""], np.dtypes.StringDType()), pattern=pattern)
    assert found.tolist()[0] is expected


@pytest.mark.parametrize("pattern", [r"(a)\1", r"(?=a)", r"(", r"((a{100}){100}){100}"])
def test_expressions_that_re2_does_not_support(pattern: str) -> None:
    from irexec.ops.onnx.regex import regex_full_match_20

    with pytest.raises(ValueError, match="cannot be read"):
        regex_full_match_20(np.array(["a"], np.dtypes.StringDType()), pattern=pattern)


@pytest.mark.parametrize("place", ["location", "initializer", "input", "operator", "attribute"])
def test_names_of_any_length_make_short_messages(tmp_path: Path, place: str) -> None:
    model = parsed("g (float[3] x) => (float[3] y) <float[3] w = {1, 2, 3}> { y = Add(x, w) }")
    long = "a" * 1_000_000
    if place == "location":
        tensor = model.graph.initializer[0]
        tensor.ClearField("float_data")
        tensor.data_location = onnx.TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value=long)
    elif place == "initializer":
        model.graph.initializer[0].name = long
        model.graph.initializer[0].dims[:] = [4]
    elif place == "attribute":
        model.graph.node[0].attribute.append(onnx.helper.make_attribute(long, 1))
    elif place == "operator":
        model.graph.node[0].op_type = long
    else:
        model.graph.node[0].input.append(long)
    report = report_of(tmp_path, model)
    assert not report.ok
    assert all(len(d.message) < 600 for d in report)


def test_nodes_that_precede_the_producers_of_their_inputs(tmp_path: Path) -> None:
    text = "g (float[3] x) => (float[3] y) { [first] y = Add(x, t) [second] t = Relu(x) [third] u = Abs(nothing) }"
    found = [d.message for d in report_of(tmp_path, parsed(text)).errors]
    assert "the input 't' is produced by a later node" in found
    assert "the input 'nothing' is neither produced by an earlier node nor an input of the graph" in found


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("(float[1,2,?] x, int64[2] s, int64[1099511627776] k) => (float[?] y) { y = Col2Im(x, s, k) }", None),
        (
            "(float[1,4,9] x) => (float[?] y) <int64[2] s = {4, 4}, int64[2] k = {2, 2}>"
            "{ y = Col2Im <pads = [-1, 0, 0, 0]> (x, s, k) }",
            None,
        ),
        (
            "(float[1,4,9] x) => (float[?] y) <int64[2] s = {4, 4}, int64[2] k = {2, 2}>"
            "{ y = Col2Im <strides = [1, 1, 1]> (x, s, k) }",
            None,
        ),
        *(
            (f"(float[1,10,12] x) => (float[?] y) <{s}, {k}> {{ y = Col2Im(x, s, k) }}", [(1, 10, 12)])
            for s, k in [
                ("int64 s = {5}", "int64[3] k = {1, 1, 5}"),
                ("int64[3] s = {3, 4, -5}", "int64[3] k = {1, 1, 5}"),
                ("int64[3] s = {3, 4, -2147483648}", "int64[3] k = {1, 1, 5}"),
                ("int64[3] s = {3, 4, 5}", "int64[3] k = {-1, -1, 5}"),
                ("int64[3] s = {3, 4, 5}", "int64[3] k = {1, 1, 0}"),
            ]
        ),
        *(
            (
                f"(float[1,1,2] x) => (float[?] y) <int64[1,1,2] i = {{0, 1}}, int64{s}>"
                "{ y = MaxUnpool <kernel_shape = [2]> (x, i, s) }",
                [(1, 1, 2)],
            )
            for s in ("[3,1] s = {1, 1, 9}", " s = {9}", "[2] s = {1, 9}", "[3] s = {1, 1, -1}", "[3] s = {1, 1, 1}")
        ),
        ("(float[1,1,4] x) => (float[?] y) { y = LpPool <kernel_shape = [2], p: int = 0> (x) }", None),
        ("(float[1,1,4] x) => (float[?] y) { y = GlobalLpPool <p: int = 0> (x) }", None),
        (
            "(float[2,n,4] x, float[3] s, float[3] b, float[3] m, float[3] v) => (float[?] y, float[?] a, float[?] c)"
            "{ y, a, c = BatchNormalization <training_mode: int = 1> (x, s, b, m, v) }",
            [(2, 0, 4), (3,), (3,), (3,), (3,)],
        ),
        (
            "(float[1,2,4] x, float[1,12,4] w, float[1,12,3] r, float[1,2,3] p) => (float[?] h)"
            '{ _, h = LSTM <hidden_size: int = 3> (x, w, r, "", "", "", "", p) }',
            [(1, 2, 4), (1, 12, 4), (1, 12, 3), (1, 2, 3)],
        ),
    ],
)
def test_inputs_that_no_operator_accepts_are_not_a_failed_kernel(text: str, shapes: Any, tmp_path: Path) -> None:
    header = '<ir_version: 9, opset_import: ["" : 18]>\n'
    path = tmp_path / "model.onnx"
    path.write_bytes(onnx.parser.parse_model(header + "g " + text).SerializeToString())
    with pytest.raises(irexec.IRError) as refused:
        irexec.compile_model(path)([np.ones(shape, np.float32) for shape in shapes or ()])
    assert {finding.code for finding in refused.value.report.errors} <= {"F009", "F004", "O001", "O005"}
