"""Times that OpenVINO measured on a device, from the files of benchmark_app."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import irexec
from irexec.tools.inspect.record import read_counters
from irexec.tools.inspect.summary import summarize
from irexec.tools.inspect.together import together
from irexec.tools.render.report.overlays import Overlay, overlays

TABLE = """\
layerName;execStatus;layerType;execType;realTime (ms);cpuTime (ms);
stem/conv;Status.EXECUTED;Convolution;brgconv_avx2;0.300;0.300;
stem/norm;Status.OPTIMIZED_OUT;Add;undef;0.000;0.000;
pool;Status.EXECUTED;Pooling;jit_avx2;0.100;0.100;
Total;;;;0.400;0.400;
"""
GRAPH = """<net name="g"><layers>
<layer id="0" name="image" type="Input"><data execTimeMcs="not_executed" originalLayersNames="image"/></layer>
<layer id="1" name="c" type="Convolution">
  <data execTimeMcs="300" originalLayersNames="stem/conv,stem/norm,stem/relu" primitiveType="brgconv_avx2"/></layer>
<layer id="2" name="pool" type="P">
  <data execTimeMcs="100" originalLayersNames="" primitiveType="jit_avx2" runtimePrecision="bf16"/></layer>
<layer id="3" name="r" type="Reorder">
  <data execTimeMcs="100" originalLayersNames="" primitiveType="jit"/></layer>
</layers></net>"""


IN_TABLE = {"stem/conv": "300 us · 75 % · brgconv_avx2", "pool": "100 us · 25 % · jit_avx2"}
IN_GRAPH = {
    "stem/conv": "300 us · 60 % · brgconv_avx2",
    "stem/norm": "runs with stem/conv",
    "stem/relu": "runs with stem/conv",
    "pool": "100 us · 20 % · jit_avx2 · bf16",
}


def device(path: Path) -> Overlay:
    shown = together([summarize(irexec.read_model("samples/classifier/model.xml"))])
    (overlay,) = [each for each in overlays(shown, [read_counters(str(path))]) if each.key == "device"]
    overlay.marks = {shown.layers[index].name: mark for index, mark in overlay.marks.items()}  # type: ignore[misc]
    return overlay


@pytest.mark.parametrize(("file", "text", "marks"), [("c.csv", TABLE, IN_TABLE), ("graph.xml", GRAPH, IN_GRAPH)])
def test_times_are_shown_at_the_layers(tmp_path: Path, file: str, text: str, marks: dict[str, str]) -> None:
    (tmp_path / file).write_text(text, "utf-8")
    overlay = device(tmp_path / file)
    assert {name: mark.text for name, mark in overlay.marks.items()} == marks
    assert overlay.legend.endswith("steps without a layer of this model take 20 %") == (file == "graph.xml")


def test_the_execution_graph_of_openvino(tmp_path: Path) -> None:
    openvino = pytest.importorskip("openvino")
    compiled = openvino.Core().compile_model("samples/classifier/model.xml", "CPU", {"PERF_COUNT": True})
    compiled(np.zeros((2, 3, 32, 32), np.float32))
    openvino.save_model(compiled.get_runtime_model(), tmp_path / "graph.xml")
    marks = {name: mark.text for name, mark in device(tmp_path / "graph.xml").marks.items()}
    assert marks["stem/relu"].startswith("runs with ")
    assert any("_f32" in text or "_bf16" in text for text in marks.values())


def test_a_graph_without_times_shows_kernels(tmp_path: Path) -> None:
    text = GRAPH.replace('"300"', '"not_executed"').replace('"100"', '"not_executed"')
    (tmp_path / "graph.xml").write_text(text, "utf-8")
    overlay = device(tmp_path / "graph.xml")
    marks = {name: mark.text for name, mark in overlay.marks.items()}
    assert overlay.title == "kernels on the device"
    assert (marks["stem/conv"], marks["pool"]) == ("brgconv_avx2", "jit_avx2 · bf16")


@pytest.mark.parametrize("text", ["", "a;b\n1;2\n", "layerName;realTime (ms)\nx;nan\n"])
def test_a_file_without_times(tmp_path: Path, text: str) -> None:
    (tmp_path / "c.csv").write_text(text, "utf-8")
    with pytest.raises(ValueError, match="contains no times of layers"):
        read_counters(str(tmp_path / "c.csv"))
