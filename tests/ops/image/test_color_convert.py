"""Colour conversion: layers with another number of outputs than planes."""

from __future__ import annotations

import irexec


def test_two_ports_where_there_is_one_plane() -> None:
    layer = """<layer id="0" name="x" type="Parameter" version="opset1"><data shape="1,4,4,3" element_type="f32"/>
        <output><port id="0" precision="FP32"/></output></layer>
        <layer id="1" name="c" type="BGRtoNV12" version="opset17"><data single_plane="true"/>
        <input><port id="0"/></input>
        <output><port id="1" precision="FP32"/><port id="2" precision="FP32"/></output></layer>
        <layer id="2" name="y" type="Result" version="opset1"><input><port id="0"/></input></layer>"""
    edges = """<edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>
        <edge from-layer="1" from-port="2" to-layer="2" to-port="0"/>"""
    text = f'<net name="m" version="11"><layers>{layer}</layers><edges>{edges}</edges></net>'
    assert [d.code for d in irexec.validate(text.encode()).errors] == ["P007"]
    assert irexec.validate(text.replace('"true"', '"false"').encode()).ok
