"""Repeated layers are inferred once; errors are still reported for each of them."""

from __future__ import annotations

import numpy as np
import pytest

import irexec
from irexec.core.types import F32, I64, Array, Dimension, PartialShape, TensorType
from irexec.model.inference.repeats import Repeats
from irexec.ops.spec.operator import Operator

PORT = "<port id='{}' precision='FP32'><dim>2</dim><dim>3</dim></port>"


def chain(*layers: str) -> bytes:
    """Return a Parameter, layers with one input and one output (given by type and data), and a Result."""
    texts = [
        "<layer id='0' name='x' type='Parameter' version='opset1'><data shape='2,3' element_type='f32'/>"
        f"<output>{PORT.format(0)}</output></layer>"
    ]
    for number, layer in enumerate(layers, 1):
        type, _, data = layer.partition(" ")
        texts.append(
            f"<layer id='{number}' name='l{number}' type='{type}' version='opset1'><data {data}/>"
            f"<input>{PORT.format(0)}</input><output>{PORT.format(1)}</output></layer>"
        )
    last = len(layers) + 1
    texts.append(f"<layer id='{last}' name='y' type='Result' version='opset1'><input>{PORT.format(0)}</input></layer>")
    edges = [f"<edge from-layer='{n}' from-port='{int(n > 0)}' to-layer='{n + 1}' to-port='0'/>" for n in range(last)]
    layout = "\n".join(texts), "\n".join(edges)
    return "<net name='m' version='11'><layers>\n{}\n</layers><edges>\n{}\n</edges></net>".format(*layout).encode()


def test_a_rule_is_asked_once_for_layers_that_are_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    infer = Operator.infer

    def counting(self: Operator, *args: object, **kwargs: object) -> list[TensorType]:
        asked.append(self.type)
        return infer(self, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(Operator, "infer", counting)
    model = irexec.read_model(chain(*["ReLU", "Clamp min='0' max='6'", "Clamp min='0' max='5'"] * 20))
    assert [str(node.outputs[0].type) for node in model.nodes] == ["f32[2,3]"] * 62
    assert asked.count("ReLU") == 1 and asked.count("Clamp") == 2


def test_every_layer_that_is_wrong_is_reported() -> None:
    report = irexec.validate(chain(*["Clamp min='3' max='1'", "ReLU", "Clamp min='3' max='1'"]))
    assert [(f.code, f.layer.name if f.layer else "", f.line) for f in report] == [("O001", "l1", 3), ("O001", "l3", 5)]


def test_every_declaration_that_is_wrong_is_reported() -> None:
    text = (
        chain("ReLU", "ReLU", "ReLU").decode().replace("<dim>3</dim></port></output>", "<dim>4</dim></port></output>")
    )
    report = irexec.validate(text.replace("<dim>3</dim></port></input>", "<dim>4</dim></port></input>").encode())
    assert [finding.line for finding in report if finding.code == "P005"] == [2, 3, 4, 5]


def test_equal_layers_have_separate_attributes() -> None:
    model = irexec.read_model(chain("Clamp min='0' max='6'", "Clamp min='0' max='6'", "Clamp max='6' min='0'"))
    first, second, third = (node for node in model.nodes if node.type == "Clamp")
    assert first.attributes == second.attributes == third.attributes
    first.attributes["max"] = 7.0
    assert [node.attributes["max"] for node in (second, third)] == [6.0, 6.0]


def test_a_parameter_can_be_edited_alone() -> None:
    model = irexec.read_model(chain("ReLU"))
    other = irexec.read_model(chain("ReLU"))
    model.reshape([4, 3])
    assert str(model.outputs[0].shape) == "[4,3]"
    assert str(other.outputs[0].shape) == "[2,3]"


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (np.float32([0.0]), np.float32([0.0]), True),
        (np.float32([0.0]), np.float32([-0.0]), False),
        (np.float32([np.nan]), np.float32([np.nan]), True),
        (np.float32([1]), np.float32([[1]]), False),
        (np.int64([1, 2]), np.int64([2, 1]), False),
        (np.zeros(65, np.float32), np.zeros(65, np.float32), False),
        (np.array(["a"], np.dtypes.StringDType()), np.array(["a"], np.dtypes.StringDType()), False),
    ],
)
def test_equal_types_are_one_object(a: Array, b: Array, same: bool) -> None:
    repeats = Repeats()
    types = [repeats.same(TensorType.of(array)) for array in (a, b)]
    assert (types[0] is types[1]) is same


def test_types_without_values() -> None:
    repeats = Repeats()
    shape = PartialShape([2, Dimension(1, 4)])
    first = repeats.same(TensorType(F32, shape))
    assert repeats.same(TensorType(F32, PartialShape([2, Dimension(1, 4)]))) is first
    assert repeats.same(TensorType(I64, shape)) is not first
    assert repeats.same(TensorType(F32, PartialShape([2, 4]))) is not first
    partial = np.array([Dimension(1, 4)], object)
    assert repeats.same(TensorType(I64, PartialShape([1]), partial=partial)).partial is partial
