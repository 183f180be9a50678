"""From the document to the model: operators are bound, attributes read, values connected, named and ordered."""

from __future__ import annotations

import pytest

import irexec
from irexec import IRError, Model
from irexec.model.graph.body_maps import Slicing


def layer(number: int, type: str, data: str = "", inputs: str = "", outputs: str = "", version: str = "opset1") -> str:
    """Return a layer; `inputs` and `outputs` are the ports' dims, separated by `;`, each with the precision FP32 or its
    own.
    """
    ports, count = [], 0
    for section, dims in (("input", inputs), ("output", outputs)):
        items = []
        for item in filter(None, dims.split(";")):
            precision, _, extents = item.rpartition(":")
            dim = "".join(f"<dim>{d}</dim>" for d in extents.split(",") if d.strip())
            names = f' names="t{number}_{count}"' if section == "output" else ""
            items.append(f'<port id="{count}" precision="{precision or "FP32"}"{names}>{dim}</port>')
            count += 1
        if items:
            ports.append(f"<{section}>{''.join(items)}</{section}>")
    data = f"<data {data}/>" if data else ""
    return f'<layer id="{number}" name="n{number}" type="{type}" version="{version}">\n{data}{"".join(ports)}</layer>\n'


def net(*layers: str, edges: str, version: int = 11) -> str:
    """Return a model. `edges`: texts such as `0.0-1.0`, separated by blanks."""
    joined = ""
    for edge in edges.split():
        (a, b), (c, d) = (end.split(".") for end in edge.split("-"))
        joined += f'<edge from-layer="{a}" from-port="{b}" to-layer="{c}" to-port="{d}"/>\n'
    return f'<net name="m" version="{version}"><layers>\n{"".join(layers)}</layers><edges>{joined}</edges></net>'


X = layer(0, "Parameter", 'shape="2,3" element_type="f32"', outputs="2,3")
Y = layer(2, "Result", inputs="2,3")


def one(node: str, edges: str = "0.0-1.0 1.1-2.0") -> str:
    return net(X, node, Y, edges=edges)


def read(text: str) -> Model:
    return irexec.read_model(text.encode())


def found(text: str) -> list[str]:
    return [d.code for d in irexec.validate(text.encode())]


def binary(type: str = "Add", data: str = "", version: str = "opset1", outputs: str = "2,3") -> str:
    node = layer(1, type, data, "2,3;2,3", outputs, version)
    return net(X, node, Y, edges="0.0-1.0 0.0-1.1 1.2-2.0")


def test_a_model() -> None:
    model = read(binary())
    assert [(n.type, n.version, n.friendly_name) for n in model.nodes] == [
        ("Parameter", "opset1", "n0"),
        ("Add", "opset1", "n1"),
        ("Result", "opset1", "n2"),
    ]
    add = model.nodes[1]
    assert add.inputs == (model.inputs[0],) * 2
    assert add.attributes["auto_broadcast"] == "numpy"
    assert [*model.outputs[0].node.inputs] == add.outputs
    assert str(model.outputs[0].type) == "f32[2,3]"
    assert model.friendly_name == "m"


def test_nodes_follow_their_producers_whatever_the_order_of_the_file() -> None:
    node = layer(1, "ReLU", inputs="2,3", outputs="2,3")
    model = read(net(Y, node, X, edges="1.1-2.0 0.0-1.0"))
    assert [n.type for n in model.nodes] == ["Parameter", "ReLU", "Result"]


def test_ports_count_by_position_and_edges_by_id() -> None:
    node = layer(1, "Subtract", inputs="2,3;2,3", outputs="2,3").replace('id="0" prec', 'id="7" prec')
    other = layer(3, "Parameter", 'shape="2,3" element_type="f32"', outputs="2,3")
    text = net(X, other, node, Y, edges="0.0-1.7 3.0-1.1 1.2-2.0")
    assert [v.node.friendly_name for v in read(text).nodes[2].inputs if v] == ["n0", "n3"]


def test_inputs_and_outputs_are_in_the_order_of_the_file() -> None:
    a = layer(5, "Parameter", 'shape="1" element_type="f32"', outputs="1")
    b = layer(3, "Parameter", 'shape="2" element_type="f32"', outputs="2")
    ra, rb = layer(6, "Result", inputs="1"), layer(1, "Result", inputs="2")
    model = read(net(a, b, rb, ra, edges="5.0-6.0 3.0-1.0"))
    assert [p.node.friendly_name for p in model.inputs] == ["n5", "n3"]
    assert [p.node.friendly_name for p in model.outputs] == ["n1", "n6"]


@pytest.mark.parametrize(
    ("version", "names"),
    [(11, [{"t0_0"}, {"t1_1"}]), (10, [{"t0_0", "n0"}, {"t1_1", "n1"}])],
)
def test_names_of_inputs_and_outputs(version: int, names: list[set[str]]) -> None:
    text = one(layer(1, "ReLU", inputs="2,3", outputs="2,3")).replace('version="11"', f'version="{version}"')
    model = read(text)
    assert [model.inputs[0].names, model.outputs[0].names] == names
    openvino = pytest.importorskip("openvino")
    theirs = openvino.Core().read_model(text.encode(), b"")
    compiled = openvino.Core().compile_model(theirs, "CPU")
    assert [p.get_names() for p in (compiled.input(0), compiled.output(0))] == names


def test_a_result_names_its_output() -> None:
    text = one(layer(1, "ReLU", inputs="2,3", outputs="2,3"))
    text = text.replace('name="n2" type="Result"', r'name="n2" type="Result" output_names="a,b\,c"')
    assert read(text).outputs[0].names == {"a", "b,c"}
    model = read(text)
    assert model.output("b,c") is model.output(0)


def test_an_unknown_port_is_reported_with_the_known_names() -> None:
    with pytest.raises(KeyError, match=r"Input for tensor name 'z' is not found\. Known names: t0_0"):
        read(one(layer(1, "ReLU", inputs="2,3", outputs="2,3"))).input("z")


def test_other_spellings_of_a_type() -> None:
    assert read(one(layer(1, "Relu", inputs="2,3", outputs="2,3"))).nodes[1].type == "ReLU"
    text = one(layer(1, "relu", inputs="2,3", outputs="2,3"))
    assert found(text) == ["L009"]
    assert read(text).nodes[1].type == "ReLU"


@pytest.mark.parametrize(
    ("type", "version", "code", "hint"),
    [
        ("Reluu", "opset1", "L004", "did you mean ReLU"),
        ("ReLU", "opset99", "L005", ""),
        ("ScatterNDUpdate", "opset3", "L006", 'version="opset4"'),
        ("Reverse", "opset5", "L006", 'version="opset1"'),
        ("ReLU", "opset5", "L007", ""),
        ("MyThing", "opset1", "L004", "--extension"),
    ],
)
def test_types_and_versions_that_are_none(type: str, version: str, code: str, hint: str) -> None:
    report = irexec.validate(one(layer(1, type, inputs="2,3", outputs="2,3", version=version)).encode())
    finding = next(d for d in report if d.code == code)
    assert (finding.line, finding.layer and finding.layer.id) == (4, "1")
    assert hint in (finding.hint or "")


@pytest.mark.parametrize(
    ("data", "code", "attribute"),
    [
        ('alpha="1" gamma="2"', "D001", "gamma"),
        ("", "D002", None),
        ('alpha="1x"', "D003", "alpha"),
        ('alpha="x"', "D010", "alpha"),
    ],
)
def test_attributes_that_do_not_fit(data: str, code: str, attribute: str | None) -> None:
    text = one(layer(1, "Elu", data, "2,3", "2,3"))
    finding = next(d for d in irexec.validate(text.encode()) if d.code == code)
    assert finding.line == (5 if attribute else 4)
    if attribute:
        line = text.splitlines()[4]
        value = line.index(attribute) + len(attribute) + 3  # after `="`
        assert finding.column == (line.index(attribute) + 1 if code == "D001" else value)
    with pytest.raises(IRError):
        irexec.read_model(text.encode(), mode="strict")


def test_a_python_name_is_not_a_name_of_a_file_and_a_name_that_is_present_is_no_hint() -> None:
    data = 'strides="1" pads_begin="0" pads_end="0" kernel="1" exclude_pad="true" exclude-pad="true"'
    pool = layer(1, "AvgPool", data, "1,2,3", "1,2,3")
    text = one(pool).replace("<dim>2</dim>", "<dim>1</dim><dim>2</dim>").replace('"2,3"', '"1,2,3"')
    text = text.replace("<dim>1</dim><dim>1</dim>", "<dim>1</dim>")
    (finding,) = irexec.validate(text.encode())
    assert (finding.code, finding.attribute, finding.hint) == ("D001", "exclude_pad", None)


def test_reading_continues_where_openvino_reads_and_reports_it() -> None:
    text = one(layer(1, "Elu", 'alpha="2x" gamma="3"', "2,3", "2,3"))
    with pytest.warns(UserWarning, match=r"5:14: warning\[D003\] .* \(and 1 more\): irexec.validate reports"):
        model = irexec.read_model(text.encode())
    assert model.nodes[1].attributes == {"alpha": 2.0}


@pytest.mark.parametrize(
    "data", ['PrimitivesPriority="cpu"', 'alt_width="1"', 'offset="0" size="1" element_type="f32"']
)
def test_hints_that_any_layer_may_carry(data: str) -> None:
    assert found(one(layer(1, "ReLU", data, "2,3", "2,3"))) == []


@pytest.mark.parametrize(
    ("node", "edges"),
    [
        (layer(1, "Add", inputs="2,3", outputs="2,3"), "0.0-1.0 1.1-2.0"),
        (layer(1, "Add", inputs="2,3;2,3;2,3", outputs="2,3"), "0.0-1.0 0.0-1.1 0.0-1.2 1.3-2.0"),
        (layer(1, "ReLU", inputs="2,3", outputs="2,3;2,3"), "0.0-1.0 1.1-2.0"),
    ],
)
def test_a_number_of_ports_that_the_operator_does_not_have(node: str, edges: str) -> None:
    report = irexec.validate(one(node, edges).encode())
    assert [d.code for d in report.errors] == ["P007"]
    assert report.errors[0].line in (4, 5)


def test_what_reaches_no_result_is_checked_and_not_run() -> None:
    stray = layer(3, "Elu", 'alpha="1" gamma="2"', "2,3", "2,3")
    text = net(X, layer(1, "ReLU", inputs="2,3", outputs="2,3"), Y, stray, edges="0.0-1.0 1.1-2.0 0.0-3.0")
    assert found(text) == ["L008", "D001"]
    with pytest.warns(UserWarning, match="no attribute 'gamma'"):
        model = irexec.read_model(text.encode(), mode="openvino")
    assert [n.friendly_name for n in model.nodes] == ["n0", "n1", "n2"]
    assert [n.friendly_name for n in model.unreachable] == ["n3"]


BODY = """<body><layers>
    <layer id="4" name="p" type="Parameter" version="opset1"><data shape="1,3" element_type="f32"/>
        <output><port id="0" precision="FP32"><dim>1</dim><dim>3</dim></port></output></layer>
    <layer id="5" name="q" type="Parameter" version="opset1"><data shape="1,3" element_type="f32"/>
        <output><port id="0" precision="FP32"><dim>1</dim><dim>3</dim></port></output></layer>
    <layer id="6" name="sum" type="Add" version="opset1">
        <input><port id="0" precision="FP32"/><port id="1" precision="FP32"/></input>
        <output><port id="2" precision="FP32"><dim>1</dim><dim>3</dim></port></output></layer>
    <layer id="7" name="r" type="Result" version="opset1"><input><port id="0" precision="FP32"/></input></layer>
</layers><edges>
    <edge from-layer="4" from-port="0" to-layer="6" to-port="0"/>
    <edge from-layer="5" from-port="0" to-layer="6" to-port="1"/>
    <edge from-layer="6" from-port="2" to-layer="7" to-port="0"/>
</edges></body>"""
ITERATOR = f"""<layer id="1" name="ti" type="TensorIterator" version="opset1">
    <port_map>
        <input axis="0" external_port_id="0" internal_layer_id="4" start="0" end="-1" stride="1" part_size="1"/>
        <input external_port_id="1" internal_layer_id="5"/>
        <output external_port_id="2" internal_layer_id="7"/>
        <output axis="0" external_port_id="3" internal_layer_id="7"/>
    </port_map>
    <back_edges><edge from-layer="7" to-layer="5"/></back_edges>
    <input><port id="0" precision="FP32"><dim>2</dim><dim>3</dim></port>
        <port id="1" precision="FP32"><dim>1</dim><dim>3</dim></port></input>
    <output><port id="2" precision="FP32"><dim>1</dim><dim>3</dim></port>
        <port id="3" precision="FP32"><dim>2</dim><dim>3</dim></port></output>
    {BODY}</layer>"""
START = layer(8, "Parameter", 'shape="1,3" element_type="f32"', outputs="1,3")
LAST = layer(9, "Result", inputs="1,3")


def test_the_maps_of_a_body_name_positions() -> None:
    model = read(net(X, START, ITERATOR, Y, LAST, edges="0.0-1.0 8.0-1.1 1.2-9.0 1.3-2.0"))
    node = next(n for n in model.nodes if n.type == "TensorIterator")
    (body,) = node.bodies
    inputs = [(i.parameter, i.external, i.slicing, i.back) for i in body.inputs]
    assert inputs == [(0, 0, Slicing(0), None), (1, 1, None, 0)]
    assert [(o.result, o.external, o.slicing) for o in body.outputs] == [(0, 0, None), (0, 1, Slicing(0))]
    assert [str(v.type) for v in node.outputs] == ["f32[1,3]", "f32[2,3]"]
    assert [n.friendly_name for n in model.walk()] != [n.friendly_name for n in model.nodes]
    assert "sum" in {n.friendly_name for n in model.walk()}


def test_a_body_is_checked_like_a_model() -> None:
    text = net(X, START, ITERATOR.replace('"Add"', '"Addd"'), Y, LAST, edges="0.0-1.0 8.0-1.1 1.2-9.0 1.3-2.0")
    assert "L004" in found(text)
    text = net(
        X, START, ITERATOR.replace('"Add" version="opset1">', '"Add" version="opset1"><data beta="1"/>'), Y, LAST,
        edges="0.0-1.0 8.0-1.1 1.2-9.0 1.3-2.0",
    )  # fmt: skip
    finding = next(d for d in irexec.validate(text.encode()) if d.code == "D001")
    assert finding.layer is not None
    assert finding.layer.name == "sum"


@pytest.mark.parametrize(
    ("type", "hint", "candidates"),
    [
        ("Conv", "did you mean Convolution?", ("Convolution",)),
        ("Permute", "did you mean Transpose?", ("Transpose",)),
        ("Cast", "did you mean Convert?", ("Convert",)),
        ("Where", "did you mean Select?", ("Select",)),
        ("Input", "did you mean Parameter?", ("Parameter",)),
        ("Output", "did you mean Result?", ("Result",)),
        ("Eltwise", "each operation is a type of its own", ("Add", "Multiply", "Maximum", "Subtract")),
        ("Linear", "did you mean MatMul? write the bias as an Add after it", ()),
        ("Dense", "did you mean MatMul?", ()),
        ("Gemm", "did you mean MatMul?", ()),
        ("LayerNorm", "did you mean MVN?", ()),
        ("Flatten", "did you mean Reshape?", ()),
    ],
)
def test_names_of_other_frameworks_are_known(type: str, hint: str, candidates: tuple[str, ...]) -> None:
    report = irexec.validate(one(layer(1, type, inputs="2,3", outputs="2,3")).encode())
    finding = next(d for d in report if d.code == "L004")
    assert hint in (finding.hint or "")
    assert finding.candidates == candidates


@pytest.mark.parametrize(("written", "meant"), [("1", "opset1"), ("Opset-8", "opset8"), ("opset_4", "opset4")])
def test_versions_in_other_spellings_are_known(written: str, meant: str) -> None:
    report = irexec.validate(one(layer(1, "ReLU", inputs="2,3", outputs="2,3", version=written)).encode())
    assert next(d for d in report if d.code == "L005").candidates == (meant,)


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        ("axes", "'axes' is an input of ReduceMean, not an attribute"),
        ("axis", "ReduceMean has no attribute 'axis'; 'axes' is an input of it"),
        ("keepdims", "the operator has no attribute 'keepdims'"),
    ],
)
def test_an_attribute_that_is_an_input_is_called_one(attribute: str, message: str) -> None:
    text = one(layer(1, "ReduceMean", f'{attribute}="1"', inputs="2,3", outputs="2"))
    assert next(d for d in irexec.validate(text.encode()) if d.code == "D001").message == message
