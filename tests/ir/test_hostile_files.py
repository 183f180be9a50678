"""Files that once broke a reader, and similar files: findings, in bounded time and memory, never a traceback."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from support.running import run
from support.work import MOST, Work

import irexec
from irexec.core.diagnostics.render import render
from irexec.frontends.pages.reader import read_snippet
from irexec.ir.xml.source import Source

pytestmark = pytest.mark.any_python

HOSTILE = Path(__file__).parents[1] / "data" / "hostile"


def codes(report: irexec.Report) -> set[str]:
    return {finding.code for finding in report}


def net(layers: str, edges: str = "") -> bytes:
    return f'<net name="n" version="11"><layers>{layers}</layers><edges>{edges}</edges></net>'.encode()


def parameter(dims: str, shape: str = "2") -> str:
    data = f'<data shape="{shape}" element_type="f32"/>'
    port = f'<output><port id="0" precision="FP32">{dims}</port></output>'
    return f'<layer id="0" name="x" type="Parameter" version="opset1">{data}{port}</layer>'


def test_a_port_whose_extents_multiply_to_thousands_of_digits() -> None:
    report = irexec.validate(net(parameter("<dim>4611686018427387904</dim>" * 5000)))
    assert "P011" in codes(report)


def test_a_shape_attribute_whose_extents_multiply_to_thousands_of_digits() -> None:
    assert "S007" in codes(irexec.validate(HOSTILE / "shape_attribute_of_6000_extents.xml"))


def test_a_string_constant_without_elements_and_with_a_huge_axis() -> None:
    assert "C013" in codes(irexec.validate(HOSTILE / "string_constant_of_huge_empty_shape.xml"))


@pytest.mark.parametrize("kind", ["f32", "u4", "u3", "boolean", "string", "f64"])
def test_constants_whose_shapes_only_fit_without_their_empty_axis(kind: str) -> None:
    data = f'<data element_type="{kind}" shape="0,4611686018427387904" offset="0" size="8"/>'
    const = f'<layer id="0" name="c" type="Const" version="opset1">{data}<output><port id="0"/></output></layer>'
    report = irexec.validate(net(const), weights=bytes(8))
    assert not report.ok


def test_every_result_is_saved_under_a_name_of_its_own(tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    model = str(HOSTILE / "result_named_like_a_generated_name.xml")
    assert run(capsys, model, "--input", "x=[-1, 2, -3]", "--save", "out.npz")[0] == 0
    with np.load("out.npz") as saved:
        assert {name: saved[name].tolist() for name in saved.files} == {
            "output_1": [0, 2, 0],
            "output_1_": [1, 2, 3],
        }


@pytest.mark.by_hand(0)
def test_eight_thousand_layers_that_are_all_wrong_give_a_report_of_bounded_size() -> None:
    port = '<port id="{}" precision="FP32"><dim>3</dim></port>'
    ports = f"<input>{port.format(0)}{port.format(1)}{port.format(2)}</input><output>{port.format(3)}</output>"
    layers = "".join(f'<layer id="{n}" name="a{n}" type="Add" version="opset1">{ports}</layer>' for n in range(2000))
    report = irexec.validate(net(layers))
    assert sum(report.left_out.values()) > 1000
    assert len(report) < 4000
    assert "more findings of P007" in render(report)


UNCLOSED = [
    "<layer ",
    "<layer>",
    "<layer type='ReLU'>",
    "<layer><input><port>",
    "<!-- ",
    "< ! -",
    "<dim>5<dim>",
    "5/dim>",
]
UNCLOSED += ["<layer a", "<layer a='", '<layer a="', "<layer a=“", "<?xml ", "<![CDATA[", "<layer ...", "<data>a='1' "]
UNCLOSED += [
    "</layer>",
    "</",
    "&#65;",
    "<a.",
    ">>",
    "<port id='0' ",
    "<layer>\n\n",
    "<layer a = ",
    "<layer a b ",
    " / ",
]


@pytest.mark.by_hand(3)
@pytest.mark.parametrize("unit", UNCLOSED)
def test_the_work_of_the_tolerant_reader_grows_with_the_text(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    work = Work(monkeypatch)
    assert work.growth(lambda size: partial(read_snippet, "<layer type='ReLU'>" + unit * size), 40) < MOST


@pytest.mark.parametrize(
    "unit", [*UNCLOSED, "<a>", "<a b='", "<a>x</a>", "<!-- -->", "<?a?>", "<a b=''/>", "&lt;", "]]>"]
)
def test_a_text_of_200_kilobytes_is_cut_into_its_markup(unit: str) -> None:
    # A pattern with quadratic work takes minutes here.
    text = unit * (200_000 // len(unit))
    source = Source(text)
    assert source.readable or source.problems
    source.positions.comments()


@pytest.mark.by_hand(0)
def test_a_snippets_report_is_bounded_too(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("<layer " * 3000)
    report = irexec.validate(tmp_path / "x.txt")
    assert sum(report.left_out.values()) > 1000
    assert all(count > 0 for count in report.left_out.values())
