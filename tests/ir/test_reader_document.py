"""The document contains every part of a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields

import pytest
from lxml import etree
from support.work import MOST, Work

from irexec.core.diagnostics.findings import Findings
from irexec.ir import reader
from irexec.ir.document import Document, Item, Layer, Port
from irexec.ir.reader import read_layers
from irexec.ir.xml import elements, positions, source
from irexec.ir.xml.source import Source


def test_a_model(model, read_ir) -> None:
    document, found = read_ir(model)
    assert found == []
    assert isinstance(document, Document)
    net = document.net
    assert (net.at, net.name, net.version) == (0, "m", "11")
    x, add, result = net.layers
    assert (x.id, x.name, x.type, x.version) == ("0", "x", "Parameter", "opset1")
    assert x.data == {"shape": "2,3", "element_type": "f32"}
    assert x.inputs == ()
    assert (x.outputs[0].id, x.outputs[0].precision, x.outputs[0].names) == ("0", "FP32", "x")
    assert add.inputs[1].dims == ("2", "3")
    assert result.data == {}
    assert result.data_at == -1
    assert result.body is result.port_map is result.rt_info is None
    assert [(edge.from_layer, edge.from_port, edge.to_layer, edge.to_port) for edge in net.edges] == [
        ("0", "0", "1", "0"),
        ("0", "0", "1", "1"),
        ("1", "2", "2", "0"),
    ]
    assert net.rt_info.tag == "rt_info"
    assert net.meta_data is net.pre_process is None


def elements_of(document: Document) -> list[etree._Element]:
    """Return the elements of a document's text, as another XML parser numbers them."""
    return list(etree.fromstring(document.source.text.encode()).iter(etree.Element))


def numbers(item: object) -> list[int]:
    """Return the numbers of all items of a document."""
    if isinstance(item, tuple):
        return [number for part in item for number in numbers(part)]
    if not isinstance(item, Item):
        return []
    own = [item.at]
    if isinstance(item, Layer) and item.data_at >= 0:
        own.append(item.data_at)
    if isinstance(item, Port):
        own += [item.dim_at(index) for index in range(len(item.dims))]
    return own + [number for field in fields(item) for number in numbers(getattr(item, field.name))]


@pytest.mark.parametrize("name", ["model", "loop"])
def test_every_item_knows_its_element(name, read_ir, request) -> None:
    document = read_ir(request.getfixturevalue(name)).document
    tags = [element.tag for element in elements_of(document)]
    found = numbers(document.net)
    assert len(set(found)) == len(found)
    # Sections that only contain a list are not items.
    lists = {"layers", "edges", "input", "output", "port_map", "back_edges"}
    assert {tags[number] for number in set(range(len(tags))) - set(found)} <= lists


def test_unknown_elements_do_not_shift_the_numbers(model, read_ir) -> None:
    text = model.replace("<layers>", "<!-- c --><odd><a><b/></a><!-- d --></odd><?pi?><layers><odd/>")
    document, found = read_ir(text.replace(">3<", ">x<"))
    lines = [finding.line for finding in found]
    assert lines == [3, 3, 6, 11, 12, 14, 17]
    assert document.net.layers[2].name == "r"


def test_a_loop(loop, read_ir) -> None:
    layer = read_ir(loop).document.net.layers[3]
    first, second, third = layer.port_map
    assert (first.kind, first.external_port_id, first.internal_layer_id) == ("input", "2", "0")
    assert (first.axis, first.start, first.end, first.stride, first.part_size) == ("0", "0", "-1", "1", "1")
    assert (second.kind, second.axis) == ("output", None)
    assert third.purpose == "execution_condition"
    assert layer.back_edges == ()
    assert [inner.name for inner in layer.body.layers] == ["p", "c", "q", "s"]
    assert len(layer.body.edges) == 2


def test_rt_info_is_kept_unchanged(model, read_ir) -> None:
    entry = '<rt_info><attribute name="fused_names" version="0" value="a"/></rt_info>'
    legacy = """<meta_data><MO_version value="1"/></meta_data>
        <quantization_parameters><config>x</config></quantization_parameters>"""
    text = model.replace("<rt_info/>", legacy).replace("</data>", "").replace('"numpy"/>', '"numpy"/>' + entry)
    text = text.replace('names="y">', 'names="y">' + entry)
    document, found = read_ir(text)
    assert found == []
    add = document.net.layers[1]
    for element in (add.rt_info, add.outputs[0].rt_info):
        assert element.children[0].attributes == {"name": "fused_names", "version": "0", "value": "a"}
    assert document.net.meta_data.children[0].tag == "MO_version"
    assert document.net.quantization_parameters.children[0].text == "x"


def test_unknown_attributes_are_kept(model, read_ir) -> None:
    document = read_ir(model.replace('type="Add"', 'type="Add" reduction="sum"')).document
    assert document.net.layers[1].other == {"reduction": "sum"}


def test_layers_without_a_model() -> None:
    findings = Findings()
    (layer,) = read_layers(Source('<layer type="A"><input><port><dim>2</dim></port></input></layer>'), findings)
    assert (layer.type, layer.id, layer.inputs[0].dims) == ("A", None, ("2",))
    layers = read_layers(Source('<all><layer type="A"/><layer type="B"/></all>'), findings)
    assert [layer.type for layer in layers] == ["A", "B"]
    assert read_layers(Source(""), findings) == []
    assert not findings.report.diagnostics


def test_every_dim_knows_its_element_wherever_it_stands(read_ir, model) -> None:
    plain = read_ir(model).document.net.layers[1].inputs[1]
    assert plain.dims_at is None
    odd = model.replace("<dim>3</dim>", "<rt_info><a/></rt_info><dim>3</dim>")
    document = read_ir(odd).document
    port = document.net.layers[1].inputs[1]
    elements = elements_of(document)
    assert [elements[port.dim_at(index)].text for index in range(2)] == ["2", "3"]
    assert port.dims_at is not None


def test_texts_that_layers_repeat_are_kept_once(read_ir, model) -> None:
    x, add, _ = read_ir(model).document.net.layers
    assert add.inputs[0].dims is add.inputs[1].dims is x.outputs[0].dims
    assert add.inputs[0].precision is x.outputs[0].precision


def test_depth_up_to_the_limit(read_ir) -> None:
    deep = '<net version="11"><layers/><rt_info>' + "<a>" * 253 + "</a>" * 253 + "</rt_info></net>"
    assert read_ir(deep).codes == ["N007"]
    body = "<layers/>"
    for _ in range(83):
        layer = f'<layer id="0" name="l" type="TensorIterator" version="opset1"><body>{body}</body></layer>'
        body = f"<layers>{layer}</layers>"
    assert read_ir(f'<net version="11">{body}</net>').codes.count("B001") == 83


def test_a_message_does_not_repeat_a_long_text(model, read_ir) -> None:
    (finding,) = read_ir(model.replace("<dim>3</dim>", f"<dim>{'9' * 100_000}</dim>", 1)).found
    assert len(finding.message) + len(finding.found) < 300


MANY_FINDINGS: dict[str, Callable[[int], str]] = {
    "attributes": lambda n: '<net version="11" ' + " ".join(f'a{i}=""' for i in range(n)) + "/>",
    "ports": lambda n: (
        '<net version="11"><layers><layer id="1" name="" type="x" version="y"><input>'
        + "".join(f'<port id="{i}"/>' for i in range(n))
        + "</input></layer></layers></net>"
    ),
    "edges": lambda n: (
        '<net version="11"><layers/><edges>'
        + '<edge from-layer="" from-port="0" to-layer="0" to-port="0"/>' * n
        + "</edges></net>"
    ),
}


@pytest.mark.by_hand(1)
@pytest.mark.parametrize("what", MANY_FINDINGS)
def test_work_grows_with_the_findings(what: str, read_ir, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(read_ir(MANY_FINDINGS[what](10_000)).found) >= 10_000
    work = Work(monkeypatch, [source, positions, elements, reader])
    assert work.growth(lambda size: lambda: read_ir(MANY_FINDINGS[what](size)), 500) < MOST
