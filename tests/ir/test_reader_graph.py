"""Findings about edges, bodies, variables and metadata: each code, with its location."""

from __future__ import annotations

import pytest

from irexec.core.diagnostics.codes import CODES

LAST = '<edge from-layer="1" from-port="2" to-layer="2" to-port="0"/>'
SECOND = '<edge from-layer="0" from-port="0" to-layer="1" to-port="1"/>'
A_PORT = '<port id="1" precision="FP32"><dim>2</dim><dim>3</dim></port>'
ENTRY = '<input axis="0" external_port_id="2" internal_layer_id="0" start="0" end="-1" stride="1" part_size="1"/>'
OUTPUT = '<output external_port_id="3" internal_layer_id="3"/>'
BETWEEN = "\n" + 16 * " "
OUTER_OUTPUT = '<port id="3" precision="FP32">'
CONDITION = '<output external_port_id="-1" internal_layer_id="2" purpose="execution_condition"/>'
BACK = "<back_edges></back_edges>"
BODY_PARAMETER = '<layer id="0" name="p" type="Parameter" version="opset1">'
LOOP = '<layer id="3" name="l" type="Loop" version="opset5">'
RT_INFO = "<rt_info/>"
DATA = '<data auto_broadcast="numpy"/>'


def entry(**changes: str) -> tuple[str, str, str]:
    new = ENTRY
    for name, value in changes.items():
        start = new.index(f'{name}="') + len(name) + 2
        new = new[:start] + value + new[new.index('"', start) :]
    return ENTRY, new, "loop"


def attribute(text: str) -> tuple[str, str]:
    return DATA, f"{DATA}<rt_info>{text}</rt_info>"


EDGES = [
    ("E001", LAST, '<edge from-layer="¦7" from-port="2" to-layer="2" to-port="0"/>'),
    ("E002", LAST, '<edge from-layer="1" from-port="¦1" to-layer="2" to-port="0"/>'),
    ("E002", LAST, '<edge from-layer="1" from-port="2" to-layer="2" to-port="¦3"/>'),
    ("E002", LAST, '<edge from-layer="2" from-port="¦2" to-layer="2" to-port="0"/>'),
    ("E003", LAST, LAST + "¦" + LAST),
    ("E003 E004", SECOND, '¦<edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>'),
    ("E004", A_PORT, A_PORT + "¦" + A_PORT.replace('"1"', '"9"')),
    ("E005", SECOND, '¦<edge from-layer="1" from-port="2" to-layer="1" to-port="1"/>'),
    ("E006", LAST, LAST + '<edge from-layer="1" from-port="2" to-layer="¦0" to-port="0"/>'),
    ("E009", LAST, LAST + '<edge from-layer="1" from-port="2" to-layer="¦9" to-port="0"/>'),
    ("E010", LAST, '¦<edge from-layer="1" from-port="2" to-layer="2"/>'),
    ("E010", LAST, '<edge from-layer="1" from-port="2" to-layer="¦-2" to-port="0"/>'),
    ("E010", LAST, '<edge from-layer="1" from-port="¦" to-layer="2" to-port="0"/>'),
    ("N010", LAST, '<edge from-layer="¦+1" from-port="2" to-layer="2" to-port="0"/>'),
]
BODIES = [
    ("B002 B011", *entry(internal_layer_id="¦1")),
    ("B002 B011", *entry(internal_layer_id="¦77")),
    ("B002", OUTPUT, '<output external_port_id="3" internal_layer_id="¦0"/>', "loop"),
    ("B003", ENTRY, ENTRY + ENTRY.replace('id="2"', 'id="¦2"'), "loop"),
    ("B004", *entry(external_port_id="¦3")),
    ("B005", BACK, '<back_edges><edge from-layer="¦0" to-layer="0"/></back_edges>', "loop"),
    ("B005", BACK, '<back_edges><edge from-layer="3" to-layer="¦9"/></back_edges>', "loop"),
    ("B015", OUTPUT, "", "loop", 0, OUTER_OUTPUT),
    ("B006 B015", ENTRY + BETWEEN + OUTPUT, ENTRY.replace('axis="0" ', ""), "loop", 0, '<layer id="3" name="s"'),
    ("B007", *entry(stride="¦0")),
    ("B007", *entry(part_size="¦0")),
    ("B007", *entry(part_size="¦-1")),
    ("B008", *entry(axis="¦2")),
    ("B008", *entry(axis="¦-1")),
    ("B008", OUTPUT, '<output axis="¦-3" external_port_id="3" internal_layer_id="3"/>', "loop"),
    ("B009", CONDITION, "", "loop", 0, LOOP),
    ("B011 B015", ENTRY, "", "loop", 0, BODY_PARAMETER),
    ("B012", ENTRY, ENTRY.replace("/>", ' purpose="¦iteration"/>'), "loop"),
    ("B012 B009", CONDITION, CONDITION.replace("execution_condition", "¦condition"), "loop"),
    ("B013", *entry(axis="¦x")),
    ("B013", *entry(external_port_id="¦")),
    ("B013", OUTPUT, '¦<output external_port_id="3"/>', "loop"),
    ("B005", BACK, '<back_edges>¦<edge from-layer="3"/></back_edges>', "loop"),
    ("B014", OUTPUT, '<output external_port_id="¦1" internal_layer_id="3"/>', "loop"),
    ("N005", OUTPUT, '<output ¦colour="red" external_port_id="3" internal_layer_id="3"/>', "loop"),
    ("E009", "<edges>", '<edges><edge from-layer="0" from-port="0" to-layer="¦4" to-port="0"/>', "loop"),
    ("P006", ">1<", ">¦1x<", "loop", 1),
]
METADATA = [
    ("R001", RT_INFO, "<rt_info><note>¦text</note></rt_info>"),
    ("R001", *attribute('¦<attribute name="decompression"/>')),
    ("R001", *attribute('¦<fused_names value="a"/>')),
    ("R002", *attribute('<attribute name="¦my_own" version="0"/>')),
    ("R003", *attribute('<attribute name="decompression" version="0"/>¦<attribute name="decompression" version="0"/>')),
    ("R004", RT_INFO, RT_INFO + '¦<meta_data><MO_version value="1"/></meta_data>'),
    ("R004", RT_INFO, RT_INFO + "¦<quantization_parameters/>"),
    ("R005", RT_INFO, "<meta_data>¦<foo/></meta_data>"),
    ("R006", *attribute('<attribute name="layout" version="0" layout="¦{}"/>')),
    ("R001", *attribute('¦<attribute name="old_api_map_order" version="0"/>')),
    ("R006", *attribute('<attribute name="old_api_map_element_type" version="0" value="¦FP16"/>')),
    ("R008", RT_INFO, RT_INFO + '<pre-process reference-layer-name="¦y"/>'),
    ("R008", RT_INFO, RT_INFO + '<pre-process><channel id="¦x"><mean value="1"/></channel></pre-process>'),
    ("R008", RT_INFO, RT_INFO + '<pre-process><channel id="0"><mean value="¦x"/></channel></pre-process>'),
    ("R008", RT_INFO, RT_INFO + '<pre-process><channel id="0">¦<mean offset="0"/></channel></pre-process>'),
    ("R008", RT_INFO, RT_INFO + '¦<pre-process><channel><mean value="1"/></channel><channel><mean offset="0" size="4"/>'
     "</channel></pre-process>"),
]  # fmt: skip
CASES = EDGES + BODIES + METADATA


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]} {case[2]}")
def test_finding(case, finds) -> None:
    finds(*case)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]} {case[2]}")
def test_openvino_agrees(case, change, openvino_agrees) -> None:
    assert openvino_agrees(change(*case).text)


def test_every_code_has_an_example() -> None:
    elsewhere = {"E007", "E008", "V003", "B016"}  # found by inference
    tested_below = {"B001", "B010", "R007", "V001", "V002"}
    here = {code for code in CODES if code[0] in "EBVR"} - elsewhere
    assert here - tested_below == {code for case in CASES for code in case[0].split()} & here, (
        "CASES needs an example of a new code of the grammar; `elsewhere` lists the codes that other packages report"
    )


def test_a_cycle_is_found_once_with_its_members(model, read_ir) -> None:
    text = model.replace('type="Parameter"', 'type="Relu"').replace("<output><port id=\"0\"", (
        '<input><port id="0"/></input><output><port id="0"'), 1)  # fmt: skip
    text = text.replace("<edges>", '<edges><edge from-layer="1" from-port="2" to-layer="0" to-port="0"/>')
    (finding,) = read_ir(text).found
    assert finding.code == "E005"
    assert "2 layers" in finding.message
    assert "'x'" in finding.message
    assert "'a'" in finding.message


def test_a_cycle_that_nothing_depends_on(model, read_ir) -> None:
    island = """<layer id="8" name="i" type="Relu" version="opset1">
<input><port id="0"/></input><output><port id="1" precision="FP32"/></output></layer></layers>"""
    text = model.replace("</layers>", island)
    text = text.replace("<edges>", '<edges><edge from-layer="8" from-port="1" to-layer="8" to-port="0"/>')
    assert sorted(read_ir(text).codes) == ["E005", "L008"]


@pytest.mark.parametrize(("kind", "parts"), [("TensorIterator", 2), ("Loop", 2), ("If", 4)])
def test_missing_bodies_and_maps(kind, parts, read_ir) -> None:
    text = f"""<net version="11"><layers>
  <layer id="0" name="t" type="{kind}" version="opset1"/>
  <layer id="1" name="r" type="Result" version="opset1"/></layers></net>"""
    outcome = read_ir(text)
    assert [place for place in outcome.places if place[0] == "B001"] == [("B001", 2, 3)] * parts


def branches(then_port: str, else_port: str) -> str:
    body = """<layers><layer id="0" name="c" type="Const" version="opset1">
<data element_type="i8" shape="" offset="0" size="1"/><output><port id="0" precision="I8"/></output></layer>
<layer id="1" name="r" type="Result" version="opset1"><input><port id="0"/></input></layer></layers>
<edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/></edges>"""
    return f"""<net version="11"><layers>
<layer id="0" name="x" type="Parameter" version="opset1"><output><port id="0" precision="BOOL"/></output></layer>
<layer id="1" name="i" type="If" version="opset8"><input><port id="0"/></input>
<output><port id="1" precision="I8"/><port id="2" precision="I8"/></output>
<then_port_map><output external_port_id="{then_port}" internal_layer_id="1"/></then_port_map>
<else_port_map><output external_port_id="{else_port}" internal_layer_id="1"/></else_port_map>
<then_body>{body}</then_body><else_body>{body}</else_body></layer>
<layer id="2" name="r" type="Result" version="opset1"><input><port id="0"/></input></layer></layers>
<edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>
<edge from-layer="1" from-port="1" to-layer="2" to-port="0"/></edges></net>"""


def test_branches_give_the_same_outputs(read_ir) -> None:
    assert read_ir(branches("1", "1").replace('<port id="2" precision="I8"/>', "")).codes == []
    assert read_ir(branches("1", "2")).places == [("B010", 3, 1)]
    # Only the order of the ids has a meaning.
    assert read_ir(branches("1", "9").replace('<port id="2" precision="I8"/>', "")).codes == ["B014"]
    # An If has no output without an external port.
    assert sorted(read_ir(branches("-1", "-1")).codes) == ["B014", "B014", "B015", "B015"]


def test_a_port_that_no_entry_takes(read_ir) -> None:
    assert read_ir(branches("1", "1")).places == [("B015", 4, 38)]


def state(*layers: str) -> str:
    return f"""<net version="11"><layers>{"".join(layers)}
<layer id="9" name="r" type="Result" version="opset1"/></layers></net>"""


READ = '<layer id="0" name="v" type="ReadValue" version="opset3"><data variable_id="a"/></layer>'
ASSIGN = '\n<layer id="1" name="w" type="Assign" version="opset3"><data variable_id="b"/></layer>'


def test_variables(read_ir) -> None:
    found = [place for place in read_ir(state(READ, ASSIGN)).places if place[0][0] == "V"]
    assert found == [("V002", 2, 74)]
    assert not any(code[0] == "V" for code in read_ir(state(READ, ASSIGN.replace('"b"', '"a"'))).codes)
    nameless = read_ir(state(ASSIGN.replace(' variable_id="b"', ""))).places
    assert ("V001", 2, 55) in nameless
    assert ("V001", 2, 1) in read_ir(state(ASSIGN.replace('<data variable_id="b"/>', ""))).places


def test_rt_info_of_layers_before_version_11(model, read_ir) -> None:
    entry = '<rt_info><attribute name="x"/></rt_info>'
    text = model.replace('version="11"', 'version="10"').replace(DATA, DATA + entry)
    assert read_ir(text).places == [("R007", 9, 43)]


def test_model_rt_info_is_free(model, read_ir) -> None:
    entries = (
        '<rt_info><a value="1"/><b><c name="d e" value=""/><nncf/></b><info name="x"><y value="&lt;"/></info></rt_info>'
    )
    assert read_ir(model.replace(RT_INFO, entries)).codes == []


def test_a_loop_that_is_right(loop, read_ir) -> None:
    assert read_ir(loop).codes == []


def test_follow_up_findings_are_left_out(model, read_ir) -> None:
    # The edges of a layer with an unreadable id are not wrong, nor are the ports that they reach.
    assert read_ir(model.replace('<layer id="1"', '<layer id="one"')).codes == ["L010"]
    assert read_ir(model.replace('<port id="2"', '<port id="two"')).codes == ["P001"]


def test_edges_whose_attributes_have_other_names_are_one_finding(read_ir, model) -> None:
    outcome = read_ir(model.replace("from-layer=", "from=").replace("to-layer=", "to="))
    (finding,) = outcome.found
    assert finding.code == "E010"
    assert finding.message.endswith("are unknown, here and in 2 more edges")
    assert finding.hint == "write from-layer for 'from', write to-layer for 'to'"


def test_an_older_grammar_is_one_finding(read_ir, model) -> None:
    (finding,) = read_ir(model.replace('version="11"', 'version="7"').replace("<edges>", "<edges><wrong/>")).found
    assert finding.code == "N002"
    assert "older than OpenVINO 2020.1" in finding.message
    assert "convert the original model again" in finding.hint
