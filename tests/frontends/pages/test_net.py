"""A loose layer as a complete net: the added parts, their ids and their places."""

from __future__ import annotations

from irexec.core.diagnostics.findings import Findings
from irexec.core.types import F32, I64, PartialShape, TensorType
from irexec.frontends.pages.evaluate import read_examples
from irexec.frontends.pages.net import complete_net
from irexec.ir.document import Layer, Port
from irexec.ir.weights.file import Weights
from irexec.model.graph.build import build_net
from irexec.model.inference import infer

TEXT = """<layer id="1" name="n" type="Gather" version="opset8">
    <input>
        <port id="0" precision="FP32"><dim>4</dim><dim>5</dim></port>
        <port id="1" precision="I64"><dim>2</dim></port>
        <port id="2" precision="I64"/>
    </input>
</layer>"""
INPUTS = [
    ("data", TensorType(F32, PartialShape([4, 5]))),
    ("indices", TensorType(I64, PartialShape([2]))),
    ("axis", TensorType(I64, PartialShape([]))),
]


def test_a_layer_becomes_a_net_that_is_built_and_inferred_like_any_other() -> None:
    layer = read_examples(TEXT).layers[0].layer
    net, added = complete_net(layer, INPUTS, 1)
    assert [(part.type, part.name) for part in net.layers] == [
        ("Parameter", "data"),
        ("Parameter", "indices"),
        ("Parameter", "axis"),
        ("Gather", "n"),
        ("Result", "output 0"),
    ]
    assert len({part.id for part in net.layers}) == 5
    assert len(net.edges) == 4
    assert added == {part.ref for part in net.layers} - {layer.ref}
    findings = Findings()
    model = build_net(net, findings, Weights())
    assert [parameter.friendly_name for parameter in model.parameters] == ["data", "indices", "axis"]
    inference = infer(model, findings=findings)
    assert len(findings.report) == 0
    assert inference[model.outputs[0]].element_type is F32


def test_what_is_added_has_the_places_of_the_page() -> None:
    layer = read_examples(TEXT).layers[0].layer
    net, _ = complete_net(layer, INPUTS, 1)
    parameters, result = net.layers[:3], net.layers[-1]
    assert [parameter.at for parameter in parameters] == [port.at for port in layer.inputs]
    assert result.at == layer.at


def test_ids_are_none_that_the_page_uses() -> None:
    layer = Layer(at=0, id="0", name="n", type="Split", version="opset1", outputs=(Port(id="2"), Port(id="3")))
    net, _ = complete_net(layer, [], 3)
    (whole,) = (part for part in net.layers if part.type == "Split")
    assert [port.id for port in whole.outputs] == ["2", "3", "1"]
    assert [part.id for part in net.layers] == ["0", "4", "5", "6"]
