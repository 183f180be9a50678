"""Safe fixes do not change what OpenVINO and irexec read before, nor any byte outside of the edits."""

from __future__ import annotations

import re

import pytest
from support.meanings import Origin, by_openvino, origins
from support.nets import Net, two_inputs

import irexec
from irexec.core.diagnostics import Safety
from irexec.tools.fixes import spelling
from irexec.tools.fixes.applying import apply_fixes, examine

MODELS = {origin.name: origin for origin in origins()}
TEXT = two_inputs().text


def safe_codes(data: bytes, origin: Origin) -> set[str]:
    report = examine(data, weights=origin.weights).report
    return {found.code for found in report for fix in found.fixes if fix.safety is Safety.SAFE}


@pytest.mark.parametrize("type", ["Parameter", "Result", "Assign"])
@pytest.mark.parametrize("spell", [str.upper, str.lower])
def test_another_letter_case_of_an_end_has_no_safe_fix(type: str, spell) -> None:
    origin = MODELS["stateful"]
    wrong = origin.text.replace(f'type="{type}"', f'type="{spell(type)}"').encode()
    finding = next(found for found in examine(wrong, weights=origin.weights).report if found.code == "L009")
    assert [fix.safety for fix in finding.fixes] == [Safety.UNSAFE]
    assert apply_fixes(wrong, weights=origin.weights).data == wrong
    assert apply_fixes(wrong, weights=origin.weights, unsafe=True).data.decode() == origin.text


def test_a_layer_that_is_not_an_assign_may_name_any_opset() -> None:
    """Both accept the file: for them, no result depends on a layer that is not an Assign."""
    origin = MODELS["stateful"]
    version = 'type="Assign" version="opset6"'
    assert version in origin.text
    wrong = origin.text.replace(version, 'type="ASSIGN" version="opset99"').encode()
    fixed = apply_fixes(wrong, weights=origin.weights)
    assert fixed.data == wrong
    irexec.read_model(fixed.data, origin.weights)


@pytest.mark.parametrize("mode", ["strict", "openvino"])
def test_what_is_accepted_in_a_mode_is_accepted_after_all_safe_fixes(mode, monkeypatch) -> None:
    """Whatever a fix regards as safe: a fix that reveals errors of a later stage is not made in such a file."""
    monkeypatch.setattr(spelling, "OTHER_ENDS", {})
    origin = MODELS["stateful"]
    if mode == "strict":
        data = 'version="opset6"><data variable_id="total"/>'
        wrong = origin.text.replace(f'type="Assign" {data}', f'type="ASSIGN" {data}'.replace("total", "other"))
    else:
        wrong = origin.text.replace(' type="Assign" version="opset6"', ' type="ASSIGN" version="opset99"')
    assert wrong != origin.text
    irexec.read_model(wrong.encode(), origin.weights, mode=mode)
    assert safe_codes(wrong.encode(), origin) == {"L009"}
    fixed = apply_fixes(wrong.encode(), weights=origin.weights)
    irexec.read_model(fixed.data, origin.weights, mode=mode)


DIMS = [
    # (text in place of two equal dims, the result of the fix)
    ("<dim><![CDATA[-1]]></dim><dim><![CDATA[7]]></dim>", "<dim><![CDATA[-1]]></dim><dim><![CDATA[3]]></dim>"),
    ("<dim> -1 </dim><dim >\n7\t</dim>", "<dim> -1 </dim><dim >\n3\t</dim>"),
    ("<dim>-1</dim><dim><!-- rows -->7</dim>", "<dim>-1</dim><dim><!-- rows -->3</dim>"),
    ("<dim>-1</dim><!-- x --> <dim>&#55;</dim>", "<dim>-1</dim><!-- x --> <dim>3</dim>"),
    ("<dim><![CDATA[3]]></dim>", "<dim>-1</dim><dim><![CDATA[3]]></dim>"),
    ("<dim note='a'>-1</dim>", "<dim note='a'>-1</dim><dim>3</dim>"),
    ("<dim><![CDATA[-1]]></dim> <dim>5</dim>\n<dim>3</dim>", "<dim><![CDATA[-1]]></dim>\n<dim>3</dim>"),
    # Text next to the number of a dim would be lost.
    ("<dim>-1</dim><dim>3</dim><dim>3<!-- odd --></dim>", None),
    ("<dim>-1</dim><dim>1<!-- 0 -->2</dim>", None),
]


@pytest.mark.parametrize(("written", "fixed"), DIMS)
def test_dims_are_edited_to_the_byte(written: str, fixed: str | None) -> None:
    output = re.compile(r'(name="product".*?<output><port[^>]*>)(<dim>-1</dim><dim>3</dim>)')
    found = output.search(TEXT)
    assert found is not None
    begin, end = found.span(2)
    wrong, right = (TEXT[:begin] + dims + TEXT[end:] for dims in (written, fixed or written))
    assert apply_fixes(wrong.encode()).data.decode() == right


@pytest.mark.parametrize("written", ["3.0", "<![CDATA[3.0]]>", "<!-- n --><![CDATA[ +3 ]]>"])
def test_a_number_is_written_in_its_place(written: str) -> None:
    wrong = TEXT.replace("<dim>3</dim>", f"<dim>{written}</dim>", 1).encode()
    expected = written.replace("3.0", "3").replace(" +3 ", "3")
    assert apply_fixes(wrong).data.decode() == TEXT.replace("<dim>3</dim>", f"<dim>{expected}</dim>", 1)


def test_a_repeated_id_has_no_safe_fix_where_openvino_reads_the_file() -> None:
    """OpenVINO uses the second of the two layers, unless a result depends on the id that only edges name."""
    origin = MODELS["iterating"]
    wrong = origin.text.replace('<layer id="2" name="Result_2"', '<layer id="1" name="Result_2"')
    assert wrong != origin.text
    before = by_openvino(wrong.encode(), origin)
    assert before is not None
    assert before.difference(by_openvino(apply_fixes(wrong.encode()).data, origin)) is None
    assert "L002" not in {finding.code for finding, _ in apply_fixes(wrong.encode()).made}
    assert "L002" in {finding.code for finding, _ in apply_fixes(TEXT.replace('id="2"', 'id="1"', 1).encode()).made}


@pytest.mark.parametrize("to", ["", '<edge from-layer="1" from-port="0" to-layer="99" to-port="1"/>'])
def test_an_edge_to_an_input_that_is_not_needed_has_no_safe_fix(to: str) -> None:
    """OpenVINO connects existing ports of IR 10: an additional edge, or one that ends elsewhere, changes the result."""
    net = Net("joined")
    net.result(net.layer("Concat", [net.parameter("a", "1,2"), net.parameter("b", "1,2")], "-1,-1", data='axis="1"'))
    origin = Origin("joined", net.text.replace('version="11"', 'version="10"'))
    edge = next(text for text in net.edges if 'from-layer="1"' in text)
    wrong = origin.text.replace(edge, to).encode()
    before = by_openvino(wrong, origin)
    assert before is not None
    fixes = [fix for finding in examine(wrong).report for fix in finding.fixes if finding.code in ("E004", "E009")]
    assert [fix.safety for fix in fixes] == [Safety.UNSAFE]
    assert before.difference(by_openvino(apply_fixes(wrong).data, origin)) is None
    assert apply_fixes(wrong, unsafe=True).report.ok


def test_a_value_in_the_xml_of_a_constant_has_no_safe_fix() -> None:
    """With the attribute OpenVINO does not read the bytes of the constant; without it, it does."""
    origin = next(origin for origin in MODELS.values() if re.search('<data [^>]*offset="0"', origin.text))
    wrong = re.sub('(<data [^>]*offset="0")', r'\1 value="1"', origin.text, count=1).encode()
    finding = next(found for found in examine(wrong, weights=origin.weights).report if found.code == "C006")
    assert [fix.safety for fix in finding.fixes] == [Safety.UNSAFE]
    assert apply_fixes(wrong, weights=origin.weights).data == wrong
