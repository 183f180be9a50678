"""Execution graphs: what `show` lists, and what `diff` finds between two compilations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from irexec.cli.main import main
from irexec.tools.inspect.execution import changes, execution_of

STEPS = """<net name="g" version="11"><layers>
<layer id="0" name="image" type="Input"><data execOrder="0" originalLayersNames="image"/></layer>
<layer id="1" name="r" type="Reorder"><data execOrder="2" originalLayersNames="" runtimePrecision="f32"/></layer>
<layer id="2" name="c" type="Convolution"><data execOrder="3" execTimeMcs="300"
  originalLayersNames="Multiply_12,conv,relu" primitiveType="jit_bf16" runtimePrecision="bf16" outputPrecisions="bf16"
  outputLayouts="acdb"/></layer>
<layer id="3" name="w_17_flat" type="Reshape"><data execOrder="1" originalLayersNames="w_17_flat"/></layer>
<layer id="4" name="pool" type="Pooling"><data execOrder="4" originalLayersNames="pool" primitiveType="jit_bf16"
  runtimePrecision="bf16"/></layer>
</layers></net>"""
OTHER = (
    STEPS.replace('"jit_bf16" runtimePrecision="bf16"', '"jit_f32" runtimePrecision="f32"')
    .replace("Multiply_12,conv,relu", "Multiply_99,conv")
    .replace("w_17_flat", "w_23_flat")
    .replace('type="Reorder"><data execOrder="2"', 'type="Reorder"><data execTimeMcs="x" execOrder="2"')
)


def test_steps_come_in_the_order_of_execution() -> None:
    found = execution_of(STEPS, "g.xml")
    assert [layer.name for layer in found.computing] == ["w_17_flat", "r", "c", "pool"]
    conv = found.computing[2]
    assert (conv.names, conv.seconds) == (["Multiply_12", "conv", "relu"], pytest.approx(300e-6))
    assert found.precisions() == {"bf16": 2, "f32": 1}


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (STEPS, []),
        (STEPS.replace("w_17_flat", "w_23_flat").replace("Multiply_12", "Multiply_90"), []),
        (
            OTHER,
            [
                ("conv", "precision", "bf16", "f32"),
                ("conv", "kernel", "jit_bf16", "jit_f32"),
            ],
        ),
        (STEPS.replace('"acdb"', '"abcd"'), [("conv", "layout", "acdb", "abcd")]),
        (
            STEPS.replace('"pool"', '"head"'),
            [("pool", "removed", "bf16 jit_bf16", ""), ("head", "added", "", "bf16 jit_bf16")],
        ),
        (STEPS.replace('type="Reorder"', 'type="Input"'), [("", "inserted", "1", "0")]),
        (
            STEPS.replace("conv,relu", "conv").replace('"pool"', '"pool,relu"'),
            [("conv", "fusion", "conv, relu", "conv"), ("pool", "fusion", "pool", "pool, relu")],
        ),
    ],
)  # fmt: skip
def test_differences(other: str, expected: list[tuple[str, ...]]) -> None:
    found = changes(execution_of(STEPS, "a"), execution_of(other, "b"))
    assert [(each.layer, each.change, each.a, each.b) for each in found] == expected


def test_show_and_diff_read_what_openvino_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    openvino = pytest.importorskip("openvino")
    for name, chosen in (("a", "f32"), ("b", "bf16")):
        config = {"INFERENCE_PRECISION_HINT": chosen}
        compiled = openvino.Core().compile_model("samples/classifier/model.xml", "CPU", config)
        openvino.serialize(compiled.get_runtime_model(), tmp_path / f"{name}.xml")
    a, b = str(tmp_path / "a.xml"), str(tmp_path / "b.xml")
    assert main(["show", a]) == 0
    text = capsys.readouterr().out
    assert "an execution graph" in text and "Convolution" in text and "stem/relu" in text
    assert main(["show", a, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["kind"] == "execution" and any(layer["primitive"] for layer in found["layers"])
    assert main(["diff", a, a]) == 0
    capsys.readouterr()
    code = main(["diff", a, b, "--format", "json"])
    made = json.loads(capsys.readouterr().out)["changes"]
    assert code == bool(made)  # A device without bf16 computes in f32 in both.
    assert {each["change"] for each in made} <= {
        "precision",
        "kernel",
        "layout",
        "fusion",
        "added",
        "removed",
        "inserted",
    }


def test_a_model_and_an_execution_graph_are_not_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "g.xml").write_text(STEPS, "utf-8")
    assert main(["diff", "samples/classifier/model.xml", str(tmp_path / "g.xml")]) == 2
    assert "N011" in capsys.readouterr().err
