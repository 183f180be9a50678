"""ONNX models with bodies, sequences and optional values: inputs and results of callers, and names in findings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irexec

onnx = pytest.importorskip("onnx")

from irexec.frontends.onnx import refusals

HEADER = '<ir_version: 9, opset_import: ["" : 18]>\n'
X = np.arange(6, dtype=np.float32)


def written(folder: Path, text: str) -> Path:
    path = folder / "model.onnx"
    onnx.save(onnx.parser.parse_model(HEADER + text), path)
    return path


def compiled(folder: Path, text: str) -> Any:
    return irexec.compile_model(written(folder, text))


def test_findings_within_bodies_name_the_node_and_the_one_around_it(tmp_path: Path) -> None:
    text = """agraph (bool c, float[2] x) => (float[2] y) {
        n = Identity(c)
        [choice] y = If(n) <
            then_branch = yes () => (float[2] q) { p = Abs(x) [wrong] q = Nothing(p) },
            else_branch = no () => (float[2] q) { [other] q = Relu <alpha = 1> (x) }>
    }"""
    found = irexec.validate(written(tmp_path, text)).errors
    named = [(d.code, d.layer.id, d.layer.name) for d in found if d.layer is not None]
    assert ("F003", "1/1", "wrong") in named


def test_a_branch_sees_what_is_around_it(tmp_path: Path) -> None:
    text = """agraph (bool c, float[6] x) => (float[6] y) {
        two = Constant <value_float = 2.0> ()
        h = Mul(x, two)
        y = If(c) <then_branch = yes () => (float[6] q) { q = Add(h, two) },
            else_branch = no () => (float[6] q) { q = Sub(x, h) }>
    }"""
    model = compiled(tmp_path, text)
    np.testing.assert_array_equal(model({"c": np.array(True), "x": X})["y"], 2 * X + 2)
    np.testing.assert_array_equal(model({"c": np.array(False), "x": X})["y"], -X)


def test_what_a_loop_carries_may_grow(tmp_path: Path) -> None:
    text = """agraph (int64 n, float[1] x) => (float[m] y, float[n, 1] parts) {
        yes = Constant <value = bool {1}> ()
        y, parts = Loop(n, yes, x) <body = step (int64 i, bool c, float[k] a) => (bool d, float[l] b, float[1] last) {
            d = Identity(c)
            number = Cast <to = 1> (i)
            zero = Constant <value_ints = [0]> ()
            last = Unsqueeze(number, zero)
            b = Concat <axis = 0> (a, last)
        }>
    }"""
    model = compiled(tmp_path, text)
    for count in (0, 1, 4):
        results = model({"n": np.array(count), "x": np.float32([9])})
        assert results["y"].tolist() == [9, *range(count)]
        assert results["parts"].tolist() == [[i] for i in range(count)]


@pytest.mark.parametrize("extent", ["", "[1]"])
def test_the_condition_of_a_loop_may_be_a_tensor_of_one_element(extent: str, tmp_path: Path) -> None:
    text = f"""agraph (int64 n, bool{extent} go, float[6] x) => (float[6] y) {{
        y = Loop(n, go, x) <body = step (int64 i, bool{extent} c, float[6] a) => (bool{extent} d, float[6] b) {{
            d = Identity(c)
            b = Add(a, a)
        }}>
    }}"""
    go = np.full((1,) if extent else (), True)
    for path in (written(tmp_path, text), tmp_path / "converted.xml"):
        if path.suffix == ".xml":
            irexec.save_model(irexec.read_model(tmp_path / "model.onnx"), path)
        model = irexec.compile_model(path)
        np.testing.assert_array_equal(model({"n": np.array(3), "go": go, "x": X})["y"], 8 * X)
        np.testing.assert_array_equal(model({"n": np.array(3), "go": ~go, "x": X})["y"], X)


def test_a_loop_whose_body_makes_too_little_is_a_finding(tmp_path: Path) -> None:
    text = """agraph (int64 n, bool go, float[6] x) => (float[6] y) {
        y = Loop(n, go, x) <body = step (int64 i, bool c, float[6] a) => (bool d) { d = Identity(c) }>
    }"""
    (found,) = irexec.validate(written(tmp_path, text)).errors
    assert "has 1 outputs, expected 2 or more" in found.message


def loop_of(counter: str = "int64", a: str = "float[6]", b: str = "float[6]") -> str:
    return f"""agraph (int64 n, bool go, float[6] x) => (float[6] y) {{
        [own] y = Loop(n, go, x) <body = step ({counter} i, bool c, {a} a) => (bool d, {b} b) {{
            d = Identity(c)
            b = Add(a, a)
        }}>
    }}"""


def scan_of(s: str = "float[3]", e: str = "float[3]") -> str:
    return f"""agraph (float[3] v, float[2, 3] x) => (float[3] y, float[2, 3] z) {{
        [own] y, z = Scan<num_scan_inputs = 1, body = step ({s} s, {e} e) => (float[3] d, float[3] b) {{
            d = Add(s, e)
            b = Identity(d)
        }}>(v, x)
    }}"""


MAP = """agraph (seq(float[3]) s, float[3] x) => (seq(float[3]) y) {
    [own] y = SequenceMap(s, x) <body = step (double[3] e, float[3] f) => (float[3] q) { q = Abs(f) }>
}"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (MAP, "SequenceMap: the input 'e' of the body 'step' is declared f64[3], and is given f32"),
        (loop_of(counter="float"), "Loop: the input 'i' of the body 'step' is declared f32[], and is given i64"),
        (loop_of(a="double[6]"), "Loop: the input 'a' of the body 'step' is declared f64[6], and is given f32"),
        (scan_of(s="double[3]"), "Scan: the input 's' of the body 'step' is declared f64[3], and is given f32[3]"),
        (scan_of(s="float[2]"), "Scan: the input 's' of the body 'step' is declared f32[2], and is given f32[3]"),
        (scan_of(e="float[1, 3]"), "Scan: the input 'e' of the body 'step' is declared f32[1,3], and is given f32[3]"),
    ],
)
def test_a_body_is_given_what_it_declares(text: str, message: str, tmp_path: Path) -> None:
    path = written(tmp_path, text)
    found = next(d for d in irexec.validate(path).errors if d.code == "F004")
    assert found.message == message and found.layer is not None and found.layer.name == "own"
    runtime = pytest.importorskip("onnxruntime")
    with pytest.raises(Exception, match="Graph attribute inferencing failed"):
        runtime.InferenceSession(path)


@pytest.mark.parametrize(("state", "scanned"), [("3, 2", "2, 3, 2"), ("1, 2", "2, 3, 2"), ("2, 2", "3, 3, 2")])
def test_the_batches_of_a_scan_are_equal(state: str, scanned: str, tmp_path: Path) -> None:
    text = f"""agraph (float[{state}] v, float[{scanned}] x) => (float[b, n] y, float[b, t, n] z) {{
        [own] y, z = Scan<num_scan_inputs = 1, body = step (float[2] s, float[2] e) => (float[2] d, float[2] f) {{
            d = Add(s, e)
            f = Identity(d)
        }}>("", v, x)
    }}"""
    path = tmp_path / "model.onnx"
    onnx.save(onnx.parser.parse_model(HEADER.replace("18", "8") + text), path)
    found = next(d for d in irexec.validate(path).errors if d.code == "O001")
    assert found.message.startswith("Scan: input 1 has the shape") and found.layer is not None
    assert found.layer.name == "own"


@pytest.mark.parametrize("text", [loop_of(a="float[2]"), loop_of(b="float[6, 1]"), scan_of(e="float[n]")])
def test_a_body_may_declare_the_shape_of_one_iteration_or_none(text: str, tmp_path: Path) -> None:
    report = irexec.validate(written(tmp_path, text))
    assert not report.errors and "F011" not in {d.code for d in report}


def test_a_body_that_declares_another_type_for_its_result_has_a_warning(tmp_path: Path) -> None:
    found = [d for d in irexec.validate(written(tmp_path, loop_of(b="double[6]"))) if d.code == "F011"]
    assert [d.message for d in found] == [
        "the output 'b' is declared f64[6], and the nodes of the body 'step' make f32"
    ]


def test_sequences_are_lists_of_arrays(tmp_path: Path) -> None:
    text = """agraph (seq(float[n]) xs, float[k] x) => (seq(float[n]) ys, float[m] joined, int64 count) {
        ys = SequenceInsert(xs, x)
        joined = ConcatFromSequence <axis = 0> (ys)
        count = SequenceLength(ys)
    }"""
    results = compiled(tmp_path, text)({"xs": [X, X[:2]], "x": X[:1]})
    assert [array.tolist() for array in results["ys"]] == [X.tolist(), [0, 1], [0]]
    assert results["joined"].tolist() == [*range(6), 0, 1, 0]
    assert int(results["count"]) == 3
    with pytest.raises(irexec.IRError, match="requires a list of arrays"):
        irexec.compile_model(tmp_path / "model.onnx")({"xs": 3, "x": X})


def test_a_sequence_that_is_known_leaves_no_trace(tmp_path: Path) -> None:
    text = """agraph (float[6] x) => (float[2] y) {
        lengths = Constant <value_ints = [4, 2]> ()
        parts = SplitToSequence(x, lengths)
        last = Constant <value_int = -1> ()
        y = SequenceAt(parts, last)
    }"""
    path = written(tmp_path, text)
    assert [n.type for n in irexec.read_model(path).nodes if n.version.startswith("onnx")] == []
    assert irexec.compile_model(path)([X])[0].tolist() == [4, 5]


def test_an_optional_value_is_none_where_it_is_left_out(tmp_path: Path) -> None:
    text = """agraph (optional(float[n]) x) => (bool there, optional(float[n]) y) {
        there = OptionalHasElement(x)
        y = Identity(x)
    }"""
    model = compiled(tmp_path, text)
    given, left_out = model({"x": X}), model({"x": None})
    assert (bool(given["there"]), bool(left_out["there"])) == (True, False)
    assert given["y"].tolist() == X.tolist() and left_out["y"] is None


@pytest.mark.parametrize("domain", sorted(refusals.DOMAINS))
def test_a_domain_that_is_not_run_is_refused_with_what_to_do(domain: str, tmp_path: Path) -> None:
    text = f"agraph (float[2] x) => (float[2] y) {{ [cut] y = {domain}.Binarizer <threshold = 0.5> (x) }}"
    header = f'<ir_version: 9, opset_import: ["" : 18, "{domain}" : 1]>\n'
    onnx.save(onnx.parser.parse_model(header + text), tmp_path / "model.onnx")
    (finding,) = irexec.validate(tmp_path / "model.onnx").errors
    assert finding.code == "F003" and finding.layer is not None and finding.layer.name == "cut"
    assert f"{domain} Binarizer" in finding.message and finding.hint


def test_containers_are_not_written_as_ir(tmp_path: Path) -> None:
    text = "agraph (seq(float[n]) xs) => (int64 count) { count = SequenceLength(xs) }"
    with pytest.raises(irexec.IRError, match="W001"):
        irexec.save_model(irexec.read_model(written(tmp_path, text)), tmp_path / "out.xml")
