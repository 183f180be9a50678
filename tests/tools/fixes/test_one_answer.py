"""Safe fixes of errors with one possible correction: a missing part, or a part that contradicts all others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.nets import Net, two_inputs
from support.results import computed, same

from irexec.tools.fixes.applying import apply_fixes, examine

# (written text, intended text): missing parts with one possible value, and parts that no reader uses.
ABSENT = [
    (' version="11"', ""),
    ('<layer id="2" name="positive"', '<layer name="positive"'),
    (' type="ReLU" version="opset1"', ' type="ReLU"'),
    ('<port id="1" precision', "<port precision"),
    ('from-layer="2" from-port="1"', 'from-layer="2" from-port="0"'),
    ("from-layer=", "from="),
    ('from-layer="2" from-port="1"', 'from-layer="2"'),
    (' element_type="f32"', ' element_type="float32"'),
    (' element_type="f32"', ' element_type="f32" element_type="f16"'),
    ("</edges>", '<edge from-layer="0" from-port="0" to-layer="2" to-port="0"/></edges>'),
    ('<edge from-layer="2"', '<edge from-layer="two"'),
    ('<edge from-layer="2"', '<edge from-layer="77"'),
    ('to-layer="3" to-port="0"', 'to-layer="77" to-port="0"'),
    ('to-layer="3" to-port="0"', 'to-layer="0" to-port="0"'),
    ('to-layer="3" to-port="0"', 'to-layer="3" to-port="-1"'),
    ('from-layer="2" from-port="1"', 'from-layer="2" from-port="?"'),
    ('<layer id="2"', '<layer id="x"'),
    ('<layer id="2"', '<layer id="1"'),
    ('<layer id="2"', '<layer id="3"'),
    (' type="ReLU" version="opset1"', ' type="ReLU" version="1.0"'),
    ('<data auto_broadcast="numpy"/>', 2 * '<data auto_broadcast="numpy"/>'),
    ("<output>", "<output><output>"),
    ("</output>", ""),
    ("<input>", ""),
    ('id="0" name="x"', 'id="0 name="x"'),
    ('id="0" name="x"', 'id=0 name="x"'),
    ("</layer>", "<layer>"),
    ("</layer>", "/layer>"),
    ("</layer>", "</layre>"),
    ('" type="ReLU"', '"" type="ReLU"'),
    ("</output></layer>", "</output>\x00</layer>"),
    ("</output></layer>", "</out\x01put></layer>"),
]


@pytest.mark.parametrize(("meant", "written"), ABSENT)
def test_what_has_one_possible_answer_is_fixed(meant: str, written: str) -> None:
    text = two_inputs().text
    assert meant in text
    wrong = text.replace(meant, written, 1).encode()
    assert not examine(wrong).report.ok
    fixed = apply_fixes(wrong)
    assert fixed.report.ok, [str(finding) for finding in fixed.report]
    assert same(computed(fixed.data, None), computed(text.encode(), None))


CONSTANT = """<net name="m" version="11"><layers>
<layer id="0" name="c" type="Const" version="opset1"><data element_type="f32" shape="2" offset="0" size="8"/>
<output><port id="0" precision="FP32"><dim>2</dim></port></output></layer>
<layer id="1" name="d" type="Const" version="opset1"><data element_type="i64" shape="1, 2" offset="8" size="16"/>
<output><port id="0" precision="I64"><dim>1</dim><dim>2</dim></port></output></layer>
<layer id="2" name="y" type="Result" version="opset1"><input><port id="0"/></input></layer>
<layer id="3" name="z" type="Result" version="opset1"><input><port id="0"/></input></layer>
</layers><edges>
<edge from-layer="0" from-port="0" to-layer="2" to-port="0"/>
<edge from-layer="1" from-port="0" to-layer="3" to-port="0"/>
</edges></net>"""
CONSTANTS = [
    (' size="8"', ' size="x"'),
    (' size="8"', ' size="4"'),
    (' shape="1, 2"', ' shape="?"'),
    (' shape="1, 2"', ' shape="1, 3"'),
    (' element_type="i64"', ' element_type="64"'),
    (
        ' type="Const" version="opset1"><data element_type="i64"',
        ' type="Kon" version="opset1"><data element_type="i64"',
    ),
    (
        ' type="Const" version="opset1"><data element_type="i64"',
        ' type="GRN" version="opset3"><data element_type="i64"',
    ),
]


@pytest.mark.parametrize(("meant", "written"), CONSTANTS)
def test_a_constant_that_contradicts_itself_is_fixed(meant: str, written: str, tmp_path: Path) -> None:
    weights = tmp_path / "weights.bin"
    weights.write_bytes(np.float32([1, 2]).tobytes() + np.int64([3, 4]).tobytes())
    assert meant in CONSTANT
    wrong = CONSTANT.replace(meant, written, 1).encode()
    assert not examine(wrong, weights=weights).report.ok
    assert apply_fixes(wrong, weights=weights).data == CONSTANT.encode()


def test_a_constant_does_not_grow_into_the_next_one() -> None:
    """The shape, the port and the user may be right, and bytes may be missing."""
    wrong = CONSTANT.replace('shape="2"', 'shape="3"').replace(
        "<dim>2</dim></port></output>", "<dim>3</dim></port></output>", 1
    )
    assert apply_fixes(wrong.encode(), unsafe=True, weights=bytes(24)).data == wrong.encode()


def test_the_unused_output_of_another_layer_is_not_an_answer() -> None:
    """One output of TopK is often unused; other layers may also read the output that the edge is meant to start at."""
    net = Net()
    x = net.parameter("x", "2,3")
    y = net.layer("ReLU", [x], "2,3")
    net.result(y)
    net.result(y)
    half = (
        '<layer id="9" name="t" type="Split" version="opset1"><data num_splits="2"/><input><port id="0"/><port id="1"/>'
    )
    outputs = "".join(f'<port id="{n}" precision="FP32"><dim>2</dim><dim>3</dim></port>' for n in (1, 2))
    text = net.text.replace("</layers>", f"{half}</input><output>{outputs}</output></layer></layers>")
    text = text.replace("</edges>", '<edge from-layer="9" from-port="2" to-layer="9" to-port="0"/></edges>')
    wrong = text.replace(f'from-layer="{y}" from-port="1" to-layer="3"', 'from-layer="77" from-port="1" to-layer="3"')
    assert wrong != text
    (finding,) = [finding for finding in examine(wrong.encode()).report if finding.code == "E001"]
    assert not finding.fixes


def test_of_two_ports_with_one_id_the_one_out_of_order_is_another() -> None:
    text = two_inputs().text
    ports = '<port id="0" precision="FP32"><dim>-1</dim><dim>3</dim></port><port id="1" precision'
    assert ports in text
    for wrong in (ports.replace('"1"', '"0"'), ports.replace('"0"', '"1"')):
        assert apply_fixes(text.replace(ports, wrong).encode()).data == text.encode()
