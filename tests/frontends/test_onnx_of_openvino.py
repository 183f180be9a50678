"""What OpenVINO's ONNX front end ignores or refuses of a model: by the measured table, and by OpenVINO itself."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irexec.cli.main import main
from irexec.core.diagnostics import Diagnostic
from irexec.tools.parallel.models import Validate

onnx = pytest.importorskip("onnx")
from irexec.frontends.onnx.of_openvino import releases, table

PAGE = Path(__file__).parents[2] / "docs" / "onnx.md"
RECURRENT = "float[2,3,4] x, float[1,12,4] w, float[1,12,3] r, float[1,9] p"
IMAGE = "float[1,1,4,6] x"
KEEPS, OWN = "`irexec convert` writes an IR that keeps it", "no operator of IR computes it"
REPORTED = {
    "layout": (RECURRENT, "LSTM <hidden_size = 3, layout = 1> (x, w, r)", "ignores `layout=1` of LSTM 'n'", KEEPS),
    "input_forget": (
        RECURRENT, "LSTM <hidden_size = 3, input_forget = 1> (x, w, r)", "ignores `input_forget=1` of LSTM 'n'", OWN,
    ),
    "peepholes": (RECURRENT, 'LSTM <hidden_size = 3> (x, w, r, "", "", "", "", p)', "ignores the input P of LSTM 'n'",
                  OWN),
    "an activation": (
        RECURRENT, 'LSTM <hidden_size = 3, activations = ["Sigmoid", "Elu", "Tanh"]> (x, w, r)',
        "rejects `activations=Sigmoid,Elu,Tanh` of LSTM 'n'", OWN,
    ),
    "a padding mode": ("float[5] x, int64[2] p", 'Pad <mode = "wrap"> (x, p)', "rejects `mode=wrap` of Pad 'n'", KEEPS),
    "a policy": (
        f"{IMAGE}, int64[4] s", 'Resize <keep_aspect_ratio_policy = "not_larger"> (x, "", "", s)',
        "ignores `keep_aspect_ratio_policy=not_larger` of Resize 'n'", OWN,
    ),
    "antialiasing": (
        f"{IMAGE}, float[4] s", 'Resize <antialias = 1, mode = "linear"> (x, "", s)',
        "ignores `antialias=1` of Resize 'n'", OWN,
    ),
    "an operator": ("float[3,3] x", "Det (x)", "rejects Det 'n'", OWN),
}  # fmt: skip
UNREPORTED = {
    "a default": (RECURRENT, 'LSTM <hidden_size = 3, layout = 0, direction = "forward"> (x, w, r)'),
    "known activations": (RECURRENT, 'LSTM <hidden_size = 3, activations = ["Sigmoid", "Relu", "Relu"]> (x, w, r)'),
    "another mode": (f"{IMAGE}, int64[4] s", 'Resize <coordinate_transformation_mode = "asymmetric"> (x, "", "", s)'),
    "an operator": ("float[3,3] x", "Relu (x)"),
}


def findings(inputs: str, node: str, path: Path, release: tuple[int, int] = (2026, 4)) -> list[Diagnostic]:
    text = f'<ir_version: 10, opset_import: ["" : 19]> g ({inputs}) => (float y) {{ y = {node} }}'
    model = onnx.parser.parse_model(text)
    model.graph.node[0].name = "n"
    model.graph.output[0].type.tensor_type.ClearField("shape")
    onnx.save(model, path / "m.onnx")
    return list(Validate(target=release)(str(path / "m.onnx")))


@pytest.mark.parametrize("name", REPORTED)
def test_what_openvino_reads_differently_is_reported(name: str, tmp_path: Path) -> None:
    inputs, node, text, hint = REPORTED[name]
    (finding,) = findings(inputs, node, tmp_path)
    assert (finding.code, finding.message, finding.hint) == ("F017", f"OpenVINO 2026.4 {text}", hint)


@pytest.mark.parametrize("name", UNREPORTED)
def test_what_openvino_reads_is_not_reported(name: str, tmp_path: Path) -> None:
    assert findings(*UNREPORTED[name], tmp_path) == []


def test_a_release_that_was_not_measured(tmp_path: Path) -> None:
    inputs, node, text, _ = REPORTED["layout"]
    for release, measured in (((2024, 1), "2025.0"), ((2025, 3), "2025.0"), ((2099, 0), "2026.4")):
        (finding,) = findings(inputs, node, tmp_path, release)
        assert finding.message == f"OpenVINO {measured} {text}"


LATER = {
    "an attribute": (
        IMAGE, "AveragePool <kernel_shape = [2, 2], dilations = [2, 2]> (x)",
        "ignores `dilations=2,2` of AveragePool 'n'",
    ),
    "reductions": (
        "float[4] x, int64[2,1] i, float[2] u", 'ScatterND <reduction = "add"> (x, i, u)',
        "rejects `reduction=add` of ScatterND 'n'",
    ),
    "an operator": ("float[1,4,4] x, int64[2] s, int64[2] b", "Col2Im (x, s, b)", "rejects Col2Im 'n'"),
}  # fmt: skip


@pytest.mark.parametrize("name", LATER)
def test_releases_differ(name: str, tmp_path: Path) -> None:
    inputs, node, text = LATER[name]
    assert findings(inputs, node, tmp_path) == []
    (finding,) = findings(inputs, node, tmp_path, (2025, 0))
    assert (finding.code, finding.message) == ("F017", f"OpenVINO 2025.0 {text}")


def test_outputs_that_models_rarely_use_are_no_reason(tmp_path: Path) -> None:
    """OpenVINO 2025.0 rejects the second and third output of LayerNormalization, not the operator."""
    assert findings("float[2,3] x, float[3] s", "LayerNormalization (x, s)", tmp_path, (2025, 0)) == []


@pytest.mark.parametrize("name", ["layout", "peepholes", "an activation", "an operator"])
def test_openvino_does_what_is_said_of_it(name: str, tmp_path: Path) -> None:
    ov = pytest.importorskip("openvino")
    inputs, node, text, _ = REPORTED[name]
    findings(inputs, node, tmp_path)
    core = ov.Core()
    if text.startswith("rejects"):
        with pytest.raises(RuntimeError):
            core.compile_model(tmp_path / "m.onnx", "CPU")
        return
    model = onnx.load(tmp_path / "m.onnx")
    del model.graph.node[0].input[3:]
    for attribute in [a for a in model.graph.node[0].attribute if a.name != "hidden_size"]:
        model.graph.node[0].attribute.remove(attribute)
    onnx.save(model, tmp_path / "without.onnx")
    results = []
    for file in ("m.onnx", "without.onnx"):
        compiled, rng = core.compile_model(tmp_path / file, "CPU"), np.random.default_rng(0)
        results.append(compiled([rng.normal(size=tuple(port.shape)).astype(np.float32) for port in compiled.inputs])[0])
    np.testing.assert_array_equal(*results)


def test_the_option_names_the_newest_release(tmp_path: Path, capsys: Any) -> None:
    findings(*REPORTED["layout"][:2], tmp_path)
    assert main(["validate", str(tmp_path / "m.onnx"), "--target", "openvino", "--alone"]) == 1
    assert "OpenVINO 2026.4 ignores `layout=1` of LSTM 'n'" in capsys.readouterr().out


def test_the_page_lists_what_is_ignored() -> None:
    shown = PAGE.read_text(encoding="utf-8").partition("| ignored |\n")[2].partition("\n\n")[0]
    rows = dict(re.findall(r"^\| (\w+) \| (.*) \|$", shown, re.MULTILINE))
    listed = {type: ignored(type) for type in table(max(releases())) if ignored(type)}
    assert rows == listed


def ignored(type: str) -> str:
    texts = []
    for what, values in table(max(releases()))[type].items():
        shown = [value for value, word in values.items() if word == "ignored"]
        if what.startswith("input ") and shown:
            texts.append(f"the {what}")
        elif shown:
            texts.append(f"`{what}` = {', '.join(shown)}")
    return "; ".join(texts)
