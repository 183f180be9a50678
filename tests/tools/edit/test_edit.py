"""Changes of a model: what they make, what is verified, and what is impossible."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irexec
from irexec import opset15
from irexec.cli.main import main

SAMPLE = "samples/classifier/model.xml"
AS_BEFORE = "as before, bit for bit"


def ports(model: Any) -> list[str]:
    return [f"{port.any_name} {port.element_type} {port.partial_shape}" for port in (*model.inputs, *model.outputs)]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"shapes": {"image": [2, 3, 32, 32]}}, ["image f32 [2,3,32,32]", "probabilities f32 [2,10]"]),
        ({"shapes": {"image": "1..4,3,32,32"}}, ["image f32 [1..4,3,32,32]", "probabilities f32 [1..4,10]"]),
        ({"batch": 4}, ["image f32 [4,3,32,32]", "probabilities f32 [4,10]"]),
        ({"batch": "2..8"}, ["image f32 [2..8,3,32,32]", "probabilities f32 [2..8,10]"]),
        ({"static": {"batch": 2}}, ["image f32 [2,3,32,32]", "probabilities f32 [2,10]"]),
        ({"bounds": {"batch": 8}}, ["image f32 [1..8,3,32,32]", "probabilities f32 [1..8,10]"]),
        ({"layouts": {"image": "NHWC->NCHW"}}, ["image f32 [?,32,32,3]", "probabilities f32 [?,10]"]),
        ({"layouts": {"": "nchw"}}, ["image f32 [?,3,32,32]", "probabilities f32 [?,10]"]),
        (
            {"layouts": {"image": "NCHW"}, "means": {"image": [1, 2, 3]}, "scales": {"image": [4, 5, 6]}},
            ["image f32 [?,3,32,32]", "probabilities f32 [?,10]"],
        ),
        (
            {
                "layouts": {"": "NHWC->NCHW"},
                "means": {"": 1.5},
                "reverse_channels": [""],
                "precisions": {"image": "u8"},
            },
            ["image u8 [?,32,32,3]", "probabilities f32 [?,10]"],
        ),
        ({"precisions": {"probabilities": "f16"}}, ["image f32 [?,3,32,32]", "probabilities f16 [?,10]"]),
        ({"outputs": ["pool"]}, ["image f32 [?,3,32,32]", "pool f32 [?,64,8,8]"]),
        ({"inputs": ["pool"], "outputs": ["logits"]}, ["pool f32 [?,64,8,8]", "logits f32 [?,10]"]),
        ({"fold": True}, ["image f32 [?,3,32,32]", "probabilities f32 [?,10]"]),
    ],
)
def test_results_stay(changes: dict[str, Any], expected: list[str]) -> None:
    before = irexec.read_model(SAMPLE)
    made = irexec.edit(SAMPLE, **changes)
    assert ports(made.model) == expected
    (note,) = made.notes
    assert AS_BEFORE in note or "up to rounding" in note
    assert ports(before) == ports(irexec.read_model(SAMPLE))


def test_preprocessing_in_openvino(tmp_path: Path) -> None:
    openvino = pytest.importorskip("openvino")
    options = ["--layout", "image=NHWC->NCHW", "--mean", "image=120,110,100", "--scale", "image=60"]
    path = tmp_path / "m.xml"
    assert main(["convert", SAMPLE, "-o", str(path), *options, "--precision", "image=u8"]) == 0
    image = np.random.default_rng(0).integers(0, 256, (1, 32, 32, 3), np.uint8)
    config = {"INFERENCE_PRECISION_HINT": "f32"}
    plain, made = (openvino.Core().compile_model(each, "CPU", config) for each in (SAMPLE, str(path)))
    given = ((image.astype(np.float32) - [120, 110, 100]) / 60).transpose(0, 3, 1, 2).astype(np.float32)
    np.testing.assert_allclose(made(image)[0], plain(given)[0], rtol=1e-4, atol=1e-6)


def test_types_and_names_change(tmp_path: Path) -> None:
    made = irexec.edit(SAMPLE, types={"stem/relu": "Sigmoid"}, names={"image": "picture", "stem/conv": "first"})
    names = {node.friendly_name: node.get_type_name() for node in made.model.get_ops()}
    assert names["stem/relu"] == "Sigmoid" and names["first"] == "Convolution"
    assert made.model.inputs[0].any_name == "picture"
    irexec.save_model(made.model, tmp_path / "m.xml")
    assert irexec.validate(tmp_path / "m.xml").ok
    assert any(change.change == "replaced" for change in irexec.diff(SAMPLE, tmp_path / "m.xml"))


@pytest.mark.parametrize("chosen", [True, False])
def test_an_if_with_a_known_condition_is_its_branch(chosen: bool, tmp_path: Path) -> None:
    x = opset15.parameter([3], np.float32, name="x")
    bodies = []
    for name, function in (("then", opset15.exp), ("else", opset15.negative)):
        inner = opset15.parameter([3], np.float32, name=f"{name}/x")
        bodies.append((inner, irexec.Model([opset15.result(function(inner))], [inner], name)))
    layer = opset15.if_op(opset15.logical_not(opset15.constant(np.bool_(not chosen))))
    for set_body, (_, body) in zip((layer.set_then_body, layer.set_else_body), bodies, strict=True):
        set_body(body)
    layer.set_input(x.output(0), bodies[0][0], bodies[1][0])
    layer.set_output(bodies[0][1].results[0], bodies[1][1].results[0])
    made = irexec.edit(irexec.Model([opset15.relu(layer.output(0))], [x], "m"), fold=True)
    types = [node.get_type_name() for node in made.model.get_ordered_ops()]
    assert types == ["Parameter", "Exp" if chosen else "Negative", "Relu", "Result"]
    assert made.notes == (f"folding: valid; 1 result {AS_BEFORE}",)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--shape", "picture=1,3,32,32"], "U005"),
        (["--shape", "image=1,4,32,32"], "O001"),
        (["--shape", "image=a"], "U004"),
        (["--mean", "image=1,2,3"], "U004"),
        (["--layout", "image=NHWC", "--mean", "image=1,2,3"], "U004"),
        (["--layout", "image=NHWC->NCHW", "--scale", "image=1,2"], "U004"),
        (["--layout", "image=NHWC->NCDHW"], "U004"),
        (["--precision", "image=u99"], "U004"),
        (["--static", "seq=4"], "U005"),
        (["--static", "batch=x"], "U004"),
        (["--outputs", "nothing"], "U005"),
        (["--outputs", "stem/conv", "--inputs", "pool"], "U003"),
        (["--replace", "stem/relu=Sigmiod"], "U005"),
        (["--replace", "stem/relu=Add"], "U003"),
        (["--replace", "stem/relu=SoftSign-1"], "U005"),
        (["--rename", "nothing=x"], "U005"),
        (["--rename", "x"], "U004"),
    ],
)
def test_what_is_impossible(options: list[str], code: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", SAMPLE, "-o", str(tmp_path / "m.xml"), *options]) != 0
    assert f"error[{code}]" in capsys.readouterr().err
    assert not [*tmp_path.iterdir()]


def test_without_a_comparison(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--batch", "2", "--no-compare"]
    assert main(["convert", SAMPLE, "-o", str(tmp_path / "m.xml"), *options]) == 0
    assert "shapes: valid\n" in capsys.readouterr().out
