"""ONNX models: the conversion of their parts, and the findings about models that cannot be converted."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irexec
from irexec.cli.main import main

onnx = pytest.importorskip("onnx")

HEADER = '<ir_version: 8, opset_import: ["" : 18]>\n'


def model_of(text: str, header: str = HEADER) -> Any:
    return onnx.parser.parse_model(header + text)


def written(folder: Path, model: Any) -> Path:
    path = folder / "model.onnx"
    path.write_bytes(model if isinstance(model, bytes) else model.SerializeToString())
    return path


def read(folder: Path, model: Any) -> irexec.Model:
    return irexec.read_model(written(folder, model))


def run(folder: Path, text: str, *arrays: Any, header: str = HEADER) -> list[np.ndarray]:
    results = irexec.compile_model(read(folder, model_of(text, header)))(list(arrays))
    return list(results.to_tuple())


def findings(folder: Path, model: Any) -> list[tuple[str, str]]:
    report = irexec.validate(written(folder, model))
    assert all(d.file == os.fspath(folder / "model.onnx") for d in report)
    return [(d.code, d.message) for d in report]


def types(model: irexec.Model) -> list[str]:
    return [node.type for node in model.nodes if node.type not in ("Parameter", "Const", "Result")]


X = np.array([[1, -2, 3], [-4, 5, -6]], np.float32)


# The conversion of a graph


def test_names_types_and_shapes(tmp_path: Path) -> None:
    text = """agraph (float[N, 3] x, float[3] w) => (float[N, 3] y) <float[3] w = {1.0, 2.0, 3.0}> {
        h = Add(x, w)
        y = Relu(h)
    }"""
    model = read(tmp_path, model_of(text))
    assert model.friendly_name == "agraph"
    assert model.rt_info["dimensions"] == {"x": "N,3"}
    # An initializer that is listed as an input is a constant, as in IR version 3 of ONNX.
    assert [(p.any_name, str(p.partial_shape), p.element_type.name) for p in model.inputs] == [("x", "[?,3]", "f32")]
    assert [(p.any_name, str(p.partial_shape)) for p in model.outputs] == [("y", "[?,3]")]
    assert types(model) == ["Add", "ReLU"]
    for rows in (1, 2):
        found = irexec.compile_model(model)({"x": X[:rows]})["y"]
        np.testing.assert_array_equal(found, np.maximum(X[:rows] + np.arange(1, 4), 0))


def test_an_input_that_is_an_output(tmp_path: Path) -> None:
    text = "agraph (float[2] x) => (float[2] x, float[2] y) { y = Identity(x) }"
    model = read(tmp_path, model_of(text))
    results = irexec.compile_model(model)([np.ones(2, np.float32)])
    assert results["x"].tolist() == results["y"].tolist() == [1, 1]


def test_shapes_that_are_computed_are_known(tmp_path: Path) -> None:
    text = """agraph (float[2, 3, 4] x) => (float[a, b] y) {
        shape = Shape <start = 1> (x)
        minus = Constant <value_ints = [-1]> ()
        target = Concat <axis = 0> (minus, shape)
        flat = Reshape(x, target)
        y = Flatten <axis = 2> (flat)
    }"""
    assert str(read(tmp_path, model_of(text)).outputs[0].partial_shape) == "[6,4]"


def test_saved_as_ir_and_read_again(tmp_path: Path) -> None:
    text = """agraph (float[N, 3] x, int64[M, 2] i, float[M] u) => (float[N, 3] y) {
        y = ScatterND <reduction = "max"> (x, i, u)
    }"""
    model = read(tmp_path, model_of(text))
    irexec.save_model(model, tmp_path / "model.xml")
    again = irexec.read_model(tmp_path / "model.xml")
    inputs = [X, np.array([[1, 0], [0, -1]]), np.array([9, np.nan], np.float32)]
    for version in (model, again):
        found = irexec.compile_model(version)(inputs)[0]
        np.testing.assert_array_equal(found, [[1, -2, np.nan], [9, 5, -6]])


@pytest.mark.parametrize(
    ("reduction", "kind", "expected"),
    [
        ("none", "float", "ScatterNDUpdate"),
        ("add", "float16", "ScatterNDUpdate"),
        ("max", "int64", "ScatterNDUpdate"),
        ("none", "string", "ScatterNDUpdate"),
        ("max", "float", "ScatterND"),
        ("add", "string", "ScatterND"),
        ("mul", "complex64", "ScatterND"),
    ],
)
def test_an_ir_operator_where_it_means_the_same(tmp_path: Path, reduction: str, kind: str, expected: str) -> None:
    text = f"agraph ({kind}[3] x, int64[2, 1] i, {kind}[2] u) => ({kind}[3] y) "
    text += f'{{ y = ScatterND <reduction = "{reduction}"> (x, i, u) }}'
    assert types(read(tmp_path, model_of(text))) == [expected]


def test_complex_numbers_pass_through_a_model(tmp_path: Path) -> None:
    text = "agraph (complex64[3] x, int64[2, 1] i, complex64[2] u) => (complex64[3] y) "
    text += '{ y = ScatterND <reduction = "add"> (x, i, u) }'
    data = np.array([1, 2, 3j], np.complex64)
    (found,) = run(tmp_path, text, data, np.array([[0], [-3]]), np.array([1j, 2], np.complex64))
    assert found.dtype == np.complex64
    assert found.tolist() == [3 + 1j, 2, 3j]


def test_a_function_of_the_model(tmp_path: Path) -> None:
    header = '<ir_version: 9, opset_import: ["" : 18, "own" : 1]>\n'
    text = """agraph (float[2, 3] x) => (float[2, 3] y, float[2, 3] z) {
        y = own.Leak <slope = 0.5> (x)
        z = own.Leak(y)
    }
    <domain: "own", opset_import: ["" : 18, "own" : 1]>
    Leak <slope: float = 2.0> (a) => (b) {
        h = LeakyRelu <alpha: float = @slope> (a)
        b = own.Twice(h)
    }
    <domain: "own", opset_import: ["" : 18]>
    Twice (a) => (b) { b = Add(a, a) }
    """
    y, z = run(tmp_path, text, X, header=header)
    np.testing.assert_allclose(y, 2 * np.where(X < 0, X / 2, X))
    np.testing.assert_allclose(z, 2 * np.where(y < 0, y * 2, y))


def test_an_operator_that_onnx_defines_by_a_function(tmp_path: Path) -> None:
    text = "agraph (float[2, 3] x, float[3] s, float[3] b) => (float[2, 3] y) { y = LayerNormalization(x, s, b) }"
    scale, bias = np.array([1, 2, 3], np.float32), np.array([0, 1, 0], np.float32)
    (found,) = run(tmp_path, text, X, scale, bias)
    normal = (X - X.mean(1, keepdims=True)) / np.sqrt(X.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(found, normal * scale + bias, rtol=1e-5)


@pytest.mark.parametrize(
    ("opset", "text", "expected"),
    [
        (1, "y = Add <broadcast = 1, axis = 0> (x, w)", X + np.array([[10], [20]])),
        (6, "y = Mul <broadcast = 1, axis = 0> (x, w)", X * [[10], [20]]),
        (6, "y = Clip <min = -1.0, max = 2.0> (x)", np.clip(X, -1, 2)),
        (9, "y = Slice <axes = [1], starts = [-2], ends = [9000]> (x)", X[:, -2:]),
        (11, "y = Softmax <axis = 0> (x)", np.exp(X) / np.exp(X).sum()),
        (11, "y = ReduceSum <axes = [-1], keepdims = 0> (x)", X.sum(1)),
        (11, "y = Squeeze <axes = [0]> (e)", X),
        (11, "y = Unsqueeze <axes = [0]> (x)", X[None]),
        (10, "y = Scatter <axis = 1> (x, i, w2)", [[7, -2, 3], [-4, 5, 8]]),
    ],
)
def test_earlier_versions(tmp_path: Path, opset: int, text: str, expected: Any) -> None:
    header = f'<ir_version: 3, opset_import: ["" : {opset}]>\n'
    body = f"""agraph (float[2, 3] x, float[2] w, float[1, 2, 3] e, int64[2, 1] i, float[2, 1] w2) => (float y) {{
        {text}
    }}"""
    model = model_of(body, header)
    model.graph.output[0].type.tensor_type.ClearField("shape")
    compiled = irexec.compile_model(read(tmp_path, model))
    inputs = [X, [10, 20], X[None], [[0], [2]], [[7], [8]]]
    found = compiled([np.asarray(a, np.int64 if n == 3 else np.float32) for n, a in enumerate(inputs)])
    np.testing.assert_allclose(found[0], expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("bounds", "types"),
    [("lo, hi", ["Clamp"]), ("hi, lo", ["Maximum", "Minimum"]), ("lo", ["Maximum"]), ('"", hi', ["Minimum"])],
)
def test_bounds_that_are_numbers_clamp_unless_they_cross(tmp_path: Path, bounds: str, types: list[str]) -> None:
    text = "agraph (float[2, 3] x) => (float[2, 3] y) <float lo = {-1.0}, float hi = {2.0}> { y = Clip (x, BOUNDS) }"
    model = read(tmp_path, model_of(text.replace("BOUNDS", bounds)))
    found = irexec.compile_model(model)([X])[0]
    low, high = ({"lo": -1, "hi": 2}.get(name.strip()) for name in (bounds + ",").split(",")[:2])
    # ONNX: the upper bound takes precedence if the bounds are in reverse order.
    expected = X if low is None else np.maximum(X, low)
    np.testing.assert_array_equal(found, expected if high is None else np.minimum(expected, high))
    assert [node.type for node in model.nodes if node.type in ("Clamp", "Maximum", "Minimum")] == types


def test_the_extremes_of_nothing_are_infinite(tmp_path: Path) -> None:
    text = "agraph (float[N, 2] x) => (float[2] y, float[2] z) { "
    text += (
        "a = Constant <value_ints = [0]> () y = ReduceMax <keepdims = 0> (x, a) z = ReduceMin <keepdims = 0> (x, a) }"
    )
    for rows, expected in ((0, (-np.inf, np.inf)), (2, (1, 1))):
        found = run(tmp_path, text, np.ones((rows, 2), np.float32))
        assert [f.tolist() for f in found] == [[e, e] for e in expected]


def test_padding_that_wraps(tmp_path: Path) -> None:
    header = '<ir_version: 9, opset_import: ["" : 19]>\n'
    text = 'agraph (float[2, 3] x, int64[4] p) => (float[a, b] y) { y = Pad <mode = "wrap"> (x, p) }'
    (found,) = run(tmp_path, text, X, np.array([1, 4, 0, 2]), header=header)
    np.testing.assert_array_equal(found, np.pad(X, [(1, 0), (4, 2)], mode="wrap"))


# External data


def with_external(folder: Path, location: str, **entries: int) -> Any:
    text = "agraph (float[2] x) => (float[2] y) <float[2] c = {1.0, 2.0}> { y = Add(x, c) }"
    model = model_of(text)
    tensor = model.graph.initializer[0]
    tensor.ClearField("float_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, value in {"location": location, **entries}.items():
        tensor.external_data.add(key=key, value=str(value))
    return model


def test_external_data_is_mapped(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    data = b"\0" * 3 + np.array([5, 6], np.float32).tobytes()
    (tmp_path / "below" / "c.data").write_bytes(data)
    model = with_external(tmp_path, "below/c.data", offset=3, length=8)
    found = irexec.compile_model(read(tmp_path, model))([np.zeros(2, np.float32)])
    assert found[0].tolist() == [5, 6]


def test_external_data_stays_within_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    outside = tmp_path / "secret"
    outside.write_bytes(bytes(8))
    (folder / "link").symlink_to(outside)
    for location in ("../secret", os.fspath(outside), "link", "below/../../secret", "", "a\0b"):
        assert [code for code, _ in findings(folder, with_external(folder, location))] == ["F007"], location


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ({"offset": 1}, "which has 8 bytes"),
        ({"length": 4}, "has the length 4"),
        ({"offset": -1}, "offset is '-1'"),
        ({"offset": 10**30}, "is not a size"),
    ],
)
def test_external_data_that_does_not_fit(tmp_path: Path, entries: dict[str, int], said: str) -> None:
    (tmp_path / "c.data").write_bytes(bytes(8))
    ((code, message),) = findings(tmp_path, with_external(tmp_path, "c.data", **entries))
    assert code == "F006" and said in message
    assert findings(tmp_path, with_external(tmp_path, "none.data"))[0][0] == "F015"
    assert findings(tmp_path, with_external(tmp_path, "."))[0][0] == "F015"


# Findings


def test_every_operator_without_translation_is_named(tmp_path: Path) -> None:
    header = '<ir_version: 8, opset_import: ["" : 18, "com.example" : 3]>\n'
    text = """agraph (float[2] x) => (float[2] y) {
        [first] a = com.example.Op(x)
        [second] b = Bernoulli(a)
        [third] c = Reluu(b)
        y = Abs(c)
    }"""
    report = irexec.validate(written(tmp_path, model_of(text, header)))
    found = [(d.code, d.layer.name, d.layer.type, d.layer.version) for d in report if d.layer is not None]
    # The second node calls a function of ONNX; its input value could not be computed.
    assert found == [("F003", "first", "Op", "com.example 3"), ("F003", "third", "Reluu", "onnx18")]
    assert "com.example Op" in report.diagnostics[0].message
    assert report.diagnostics[-1].hint == "did you mean Relu?"


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("y = Relu(x, x)", "F004", "2 inputs, expected 1"),
        ("y = Relu <to = 1> (x)", "F004", "no attribute 'to'"),
        ("y = Cast(x)", "F004", "'to' is missing"),
        ("y = Cast <to = 99> (x)", "F004", "is not a data type"),
        ('y = Softmax <axis = "a"> (x)', "F004", "'axis' is STRING, expected INT"),
        ("y = And(x, x)", "F004", "A is float"),
        ("y, z = Relu(x)", "F004", "2 outputs"),
        ("y = Relu(z)", "F005", "'z'"),
        ("z = Relu(x)", "F005", "no node produces the output 'y'"),
        ("y = Relu(x) y = Abs(x)", "F005", "two nodes produce the value 'y'"),
        ("x = Relu(x)  y = Abs(x)", "F005", "two nodes produce the value 'x'"),
        ("y = Softmax <axis = 7> (x)", "O001", "axis"),
        ("i = Constant <value_ints = [5]> () y = ScatterND(x, i, x)", "O001", ""),
    ],
)
def test_nodes_that_do_not_fit(tmp_path: Path, text: str, code: str, said: str) -> None:
    found = findings(tmp_path, model_of(f"agraph (float[2, 3] x) => (float[2, 3] y) {{ {text} }}"))
    assert found[0][0] == code and said in found[0][1]
    with pytest.raises(irexec.IRError):
        irexec.read_model(tmp_path / "model.onnx")


def test_functions_that_call_themselves(tmp_path: Path) -> None:
    header = '<ir_version: 9, opset_import: ["" : 18, "own" : 1]>\n'
    text = 'agraph (float[2] x) => (float[2] y) { y = own.F(x) }\n<domain: "own", opset_import: ["own" : 1]>\n'
    assert findings(tmp_path, model_of(text + "F (a) => (b) { b = own.F(a) }", header))[0][0] == "F009"


def test_no_memory_is_taken_for_dims_without_data(tmp_path: Path) -> None:
    model = model_of("agraph (float[2] x) => (float[2] y) <float[2] c = {1.0, 2.0}> { y = Add(x, c) }")
    for dims in ([2**40, 2**20], [2**62, 2**62], [-1], [3]):
        model.graph.initializer[0].dims[:] = dims
        assert findings(tmp_path, model)[0][0] == "F006"


@pytest.mark.parametrize("data", [b"", b"no model", b"\x08\x07", b"<net/>", bytes(100)])
def test_files_that_are_not_models(tmp_path: Path, data: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, data)
    assert [d.code for d in irexec.validate(path)] == ["F002"]
    assert main(["run", os.fspath(path)]) == 2
    assert "F002" in capsys.readouterr().out


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert [d.code for d in irexec.validate(tmp_path / "none.onnx")] == ["U001"]


def test_irexec_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, model_of("agraph (float[2] x) => (float[2] y) { y = Relu(x) }"))
    assert main(["run", os.fspath(path), "--input", "x=[-1, 2]", "--save", os.fspath(tmp_path / "out.npz")]) == 0
    assert np.load(tmp_path / "out.npz")["y"].tolist() == [0, 2]
    assert "ReLU" not in capsys.readouterr().err


# Hostile files


def mutants(data: bytes, count: int, seed: int) -> list[bytes]:
    """Return the data with a few bytes changed, removed or inserted."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        changed = bytearray(data)
        for _ in range(rng.integers(1, 4)):
            place = int(rng.integers(0, len(changed)))
            kind = rng.integers(0, 4)
            if kind < 2:
                changed[place] = int(rng.choice([0, 1, 127, 128, 255, changed[place] ^ (1 << int(rng.integers(0, 8)))]))
            elif kind == 2:
                del changed[place : place + int(rng.integers(1, 5))]
            else:
                changed[place:place] = rng.bytes(int(rng.integers(1, 4)))
        found.append(bytes(changed))
    return found


@pytest.mark.by_hand(1)
@pytest.mark.parametrize("seed", range(4))
def test_mutants_give_findings(tmp_path: Path, seed: int) -> None:
    """2,000 changed files: each is read, or rejected with a finding; no other exception is raised."""
    text = """agraph (float[2, 3] x, int64[2, 1] i) => (float[2, 3] y, float z) <float[3] c = {1.0, 2.0, 3.0}> {
        h = Add(x, c)
        t = ScatterND <reduction = "add"> (h, i, x)
        axes = Constant <value_ints = [1]> ()
        s = ReduceSum <keepdims = 0> (t, axes)
        y = Softmax <axis = -1> (t)
        z = Cast <to = 1> (s)
    }"""
    outcomes = set()
    for data in mutants(model_of(text).SerializeToString(), 500, seed):
        report = irexec.validate(written(tmp_path, data))
        outcomes |= {d.code for d in report.errors} or {"read"}
        assert report.to_json()
    assert {"read", "F002", "F003", "F005"} <= outcomes


def test_no_memory_is_taken_for_a_rank_that_no_array_has(tmp_path: Path) -> None:
    text = f"agraph (float[6] x, int64[{2**40}] s) => (float[6] y) {{ y = Reshape(x, s) }}"
    assert findings(tmp_path, model_of(text)) == []
