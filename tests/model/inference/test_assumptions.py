"""Layers with errors, and the layers after them, are checked with assumptions, which the findings state."""

from __future__ import annotations

import pytest

import irexec
from irexec.core.diagnostics import Report, Safety
from irexec.core.diagnostics.render import render
from irexec.tools.fixes.applying import apply_fixes

POOL = 'strides="2,2" pads_begin="0,0" pads_end="0,0" kernel="2,2" rounding_type="floor" auto_pad="explicit"'
MISSPELT = POOL.replace("pads_end", "pad_end")


def port(id: int, shape: str, precision: str = "FP32") -> str:
    dims = "".join(f"<dim>{extent}</dim>" for extent in shape.split(","))
    return f'<port id="{id}" precision="{precision}">{dims}</port>'


def model(
    pool: str = POOL,
    *,
    pooled: str = "1,3,4,4",
    read: str = "1,3,4,4",
    made: str = "1,3,4,4",
    axis: str = "1",
    relus: int = 0,
    edge: str = '<edge from-layer="1" from-port="1" to-layer="2" to-port="0"/>',
) -> str:
    """Return MaxPool, SoftMax, and any number of Relu layers that declare the shape `made`."""
    chain = "".join(
        f'<layer id="{3 + n}" name="r{n}" type="ReLU" version="opset1"><input>{port(0, made)}</input>'
        f"<output>{port(1, made)}</output></layer>\n"
        for n in range(relus)
    )
    edges = "".join(
        f'<edge from-layer="{2 + n}" from-port="1" to-layer="{3 + n}" to-port="0"/>' for n in range(relus + 1)
    )
    return f"""<net name="m" version="11"><layers>
<layer id="0" name="x" type="Parameter" version="opset1"><data shape="1,3,8,8" element_type="f32"/>
<output>{port(0, "1,3,8,8")}</output></layer>
<layer id="1" name="pool" type="MaxPool" version="opset1"><data {pool}/>
<input>{port(0, "1,3,8,8")}</input><output>{port(1, pooled)}</output></layer>
<layer id="2" name="prob" type="SoftMax" version="opset8"><data axis="{axis}"/>
<input>{port(0, read)}</input><output>{port(1, made)}</output></layer>
{chain}<layer id="{3 + relus}" name="out" type="Result" version="opset1"><input>{port(0, made)}</input></layer>
</layers><edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>{edge}{edges}</edges></net>"""


def checked(text: str) -> tuple[Report, list[tuple[str, str | None, bool]]]:
    """Return the report, and code, layer and dependence on an assumption of each finding."""
    report = irexec.validate(text.encode())
    return report, [(f.code, f.layer.name if f.layer else None, f.assumption is not None) for f in report]


def test_the_model_is_valid() -> None:
    assert checked(model(relus=3))[1] == []


@pytest.mark.parametrize("pool", [MISSPELT, POOL.replace('"floor"', '"flor"'), POOL.replace('"0,0" k', '"0,q" k')])
def test_one_error_has_one_finding(pool: str) -> None:
    _, found = checked(model(pool, relus=3))
    assert [(layer, depends) for _, layer, depends in found] == [("pool", False)]


def test_errors_after_a_misspelt_attribute_are_reported_in_the_same_pass() -> None:
    report, found = checked(model(MISSPELT, pooled="1,3,5,4", axis="5", made="1,3,4,5"))
    assert found == [
        ("D001", "pool", False),
        ("P005", "pool", True),
        ("O001", "prob", True),
        ("P005", "prob", True),
    ]
    assert {f.assumption for f in report} == {None, "pads_end=\"0,0\" in MaxPool 'pool'"}
    assert report.unchecked == []
    lines = render(report, "concise").splitlines()
    assert [line.endswith("(assumes pads_end=\"0,0\" in MaxPool 'pool') [unsafe fix]") for line in lines] == [
        False,
        True,
        False,
        True,
    ]


def test_layers_that_agree_with_the_declared_shape_have_no_finding() -> None:
    """A layer with an assumed input keeps to what its own ports declare."""
    _, found = checked(model(MISSPELT, pooled="1,3,5,4", read="1,3,5,4", made="1,3,5,4", relus=5))
    assert found == [("D001", "pool", False), ("P005", "pool", True)]


def test_no_safe_fix_depends_on_an_assumption() -> None:
    text = model(MISSPELT, pooled="1,3,5,4")
    assert apply_fixes(text.encode()).data == text.encode()
    safeties = {fix.safety for finding in irexec.validate(text.encode()) for fix in finding.fixes}
    assert safeties == {Safety.UNSAFE}
    fixed = apply_fixes(text.encode(), unsafe=True)
    assert fixed.data.decode() == model()
    assert fixed.report.ok


def test_a_layer_without_a_correction_takes_its_declared_shape() -> None:
    """The shape after the layer is compared with that of its port; which of two ports is right is unknown."""
    unknown = POOL.replace('kernel="2,2"', 'kernel="none"')
    report, found = checked(model(unknown, pooled="1,3,5,4", made="1,3,4,5"))
    assert found == [("D010", "pool", False), ("E008", "prob", True), ("P005", "prob", True)]
    assert report.diagnostics[1].message == "MaxPool 'pool' declares [1,3,5,4], but the port declares [1,3,4,4]"
    assert report.diagnostics[1].fixes == ()
    assert [layer.name for layer in report.unchecked] == ["pool"]
    assert "not checked completely until these errors are fixed: MaxPool 'pool'" in str(report)
    assert '"unchecked"' in report.to_json()


def test_an_input_that_is_not_connected_has_its_declared_shape() -> None:
    report, found = checked(model(edge="", axis="5", made="1,3,4,5"))
    assert [each for each in found if each[0] != "L008"] == [
        ("O001", "prob", True),
        ("E004", "prob", False),
        ("P005", "prob", True),
    ]
    assert report.errors[0].assumption == "input port 0 of SoftMax 'prob' receives [1,3,4,4], as it declares"


def test_an_output_that_no_axis_changes_is_checked() -> None:
    _, found = checked(model(axis="5", made="1,3,4,5"))
    assert found == [("O001", "prob", False), ("P005", "prob", False)]


def test_the_outputs_of_a_layer_whose_error_decides_them_are_not_checked() -> None:
    text = model(made="1,3,8,4").replace('type="SoftMax" version="opset8"', 'type="Concat" version="opset1"')
    two = text.replace(port(0, "1,3,4,4"), port(0, "1,3,4,4") + port(2, "1,3,4,4")).replace(
        "</edges>", '<edge from-layer="1" from-port="1" to-layer="2" to-port="2"/></edges>'
    )
    assert [code for code, *_ in checked(two.replace('axis="1"', 'axis="2"'))[1]] == []
    report, found = checked(two.replace('axis="1"', 'axis="7"'))
    assert [code for code, *_ in found] == ["O001"]
    assert [layer.name for layer in report.unchecked] == ["prob"]


@pytest.mark.parametrize("name", ["element_type", "shape", "offset", "size"])
def test_a_misspelt_attribute_of_a_constant_is_one_finding(name: str) -> None:
    text = """<net name="m" version="11"><layers>
<layer id="0" name="c" type="Const" version="opset1"><data element_type="f32" shape="2" offset="0" size="8"/>
<output><port id="0" precision="FP32"><dim>2</dim></port></output></layer>
<layer id="1" name="y" type="Result" version="opset1"><input><port id="0" precision="FP32"><dim>2</dim></port></input>
</layer></layers><edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/></edges></net>"""
    wrong = text.replace(f" {name}=", f" {name[:-1]}=").encode()
    report = irexec.validate(wrong, weights=bytes(8))
    assert [f.code for f in report] == ["D001"]
    assert f"the required attribute {name!r} is missing" in str(report)
    assert not irexec.validate(wrong, weights=bytes(8), mode="openvino").ok
    assert apply_fixes(wrong, weights=bytes(8), unsafe=True).data == text.encode()
