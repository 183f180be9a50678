"""Times that OpenVINO measured on a device, from the files of benchmark_app."""

from __future__ import annotations

from pathlib import Path

import pytest

import irexec
from irexec.inspect.record import read_counters
from irexec.inspect.summary import summarize
from irexec.inspect.together import together
from irexec.render.report.overlays import overlays

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
<layer id="2" name="pool" type="P"><data execTimeMcs="100" originalLayersNames="" primitiveType="jit_avx2"/></layer>
</layers></net>"""


@pytest.mark.parametrize(("file", "text"), [("counters.csv", TABLE), ("graph.xml", GRAPH)])
def test_times_are_shown_at_the_layers(tmp_path: Path, file: str, text: str) -> None:
    (tmp_path / file).write_text(text, "utf-8")
    counters = read_counters(str(tmp_path / file))
    shown = together([summarize(irexec.read_model("samples/classifier/model.xml"))])
    (overlay,) = [each for each in overlays(shown, [counters]) if each.key == "device"]
    marks = {shown.layers[index].name: mark.text for index, mark in overlay.marks.items()}
    fused = {"stem/norm": "runs with stem/conv", "stem/relu": "runs with stem/conv"} if file == "graph.xml" else {}
    assert marks == {"stem/conv": "300 us · 75 % · brgconv_avx2", "pool": "100 us · 25 % · jit_avx2", **fused}


@pytest.mark.parametrize("text", ["", "a;b\n1;2\n", "layerName;realTime (ms)\nx;nan\n"])
def test_a_file_without_times(tmp_path: Path, text: str) -> None:
    (tmp_path / "c.csv").write_text(text, "utf-8")
    with pytest.raises(ValueError, match="contains no times of layers"):
        read_counters(str(tmp_path / "c.csv"))
