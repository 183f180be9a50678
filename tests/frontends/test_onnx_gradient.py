"""Gradient of ai.onnx.preview.training, compared with finite differences of the graph's results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import irexec

onnx = pytest.importorskip("onnx")

HEADER = '<ir_version: 9, opset_import: ["" : 17, "ai.onnx.preview.training" : 1]>\n'
SHAPES = {"a": (2, 3), "w": (3, 4), "b": (4,)}
BODIES = {
    "a layer": "m = MatMul(a, w) s = Add(m, b) t = Tanh(s) y = Mul(t, t)",
    "quotients": "m = MatMul(a, w) e = Exp(b) q = Div(m, e) r = Sigmoid(q) y = Sub(r, e)",
    "roots": "m = MatMul(a, w) q = Mul(m, m) e = Exp(b) p = Add(q, e) s = Sqrt(p) l = Log(p) n = Neg(l) y = Add(s, n)",
    "a part": "m = MatMul(a, w) k = Relu(m) y = Identity(k)",
}


def written(folder: Path, body: str, y: str = "y") -> Path:
    given = ", ".join(f"float[{','.join(map(str, shape))}] {name}" for name, shape in SHAPES.items())
    text = f"g ({given}) => (float[2,4] y, float[2,3] da, float[3,4] dw, float[4] db) {{ {body} "
    text += f'da, dw, db = ai.onnx.preview.training.Gradient <xs = ["a", "w", "b"], y = "{y}"> (a, w, b) }}'
    path = folder / "model.onnx"
    path.write_bytes(onnx.parser.parse_model(HEADER + text).SerializeToString())
    return path


@pytest.mark.parametrize("name", BODIES)
def test_beside_differences(name: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    given = {key: rng.uniform(0.2, 1, shape).astype(np.float32) for key, shape in SHAPES.items()}
    compiled = irexec.compile_model(written(tmp_path, BODIES[name]))
    results = compiled(given)
    for key, array in given.items():
        expected = np.empty(array.shape)
        for place in np.ndindex(array.shape):
            sums = []
            for step in (1e-2, -1e-2):
                moved = array.copy()
                moved[place] += step
                sums.append(compiled(given | {key: moved})["y"].astype(np.float64).sum())
            expected[place] = (sums[0] - sums[1]) / 2e-2
        np.testing.assert_allclose(results[f"d{key}"], expected, rtol=2e-2, atol=2e-3)


def test_what_y_does_not_depend_on_has_the_derivative_zero_whatever_it_is(tmp_path: Path) -> None:
    given = {key: np.ones(shape, np.float32) for key, shape in SHAPES.items()}
    given["b"] = np.float32([np.nan, np.inf, -np.inf, 1])
    assert irexec.compile_model(written(tmp_path, BODIES["a part"]))(given)["db"].tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("body", "y", "message"),
    [
        ("m = MatMul(a, w) c = Cos(m) y = Add(c, b)", "y", "the derivative of Cos is not supported"),
        ("y = MatMul(a, w)", "z", "no earlier node produces y"),
    ],
)
def test_what_is_not_translated_is_named(body: str, y: str, message: str, tmp_path: Path) -> None:
    (finding,) = irexec.validate(written(tmp_path, body, y)).errors
    assert finding.code == "F009" and message in finding.message
