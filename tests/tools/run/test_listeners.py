"""Listeners of a run: trace, dump and the status line, and the part of a model that a layer needs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from support.commands import Terminal
from support.nets import Net, iterating, two_inputs

import irexec
from irexec.core.diagnostics.findings import Findings
from irexec.tools import status
from irexec.tools.run.dump import Dump
from irexec.tools.run.trace import Trace
from irexec.tools.run.until import reduce
from irexec.tools.status import LayerStatus


def test_the_time_of_a_layer_is_without_that_of_its_listener(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = Trace()
    irexec.compile_model(irexec.read_model(iterating().text.encode())).create_infer_request([trace]).infer(
        np.ones((3, 2), np.float32)
    )
    outer, inner = trace.rows
    assert (outer.depth, inner.depth, outer.calls, inner.calls) == (0, 1, 1, 3)
    assert 0 < inner.seconds < outer.seconds
    assert inner.outputs[0].shape == (1, 2)


def test_names_of_dumped_files_are_safe(tmp_path: Path) -> None:
    net = Net()
    net.result(net.layer("Abs", [net.parameter("x", "2")], "2", name="../../evil"))
    writer = Dump(tmp_path / "d")
    irexec.compile_model(irexec.read_model(net.text.encode())).create_infer_request([writer]).infer(
        np.array([-1, 2], np.float32)
    )
    writer.close()
    assert sorted(p.name for p in (tmp_path / "d").iterdir()) == ["00000__.._evil.npy", "index.json"]
    (entry,) = json.loads((tmp_path / "d/index.json").read_text())["tensors"]
    assert entry["layer"]["name"] == "../../evil"
    np.testing.assert_array_equal(np.load(tmp_path / "d" / entry["file"]), [1, 2])


def test_a_dump_that_was_cut_short_has_no_index_of_an_earlier_one(tmp_path: Path) -> None:
    Dump(tmp_path).close()
    assert (tmp_path / "index.json").is_file()
    Dump(tmp_path)
    assert not (tmp_path / "index.json").exists()


def test_the_bar_is_for_terminals_and_for_those_who_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not LayerStatus.can_show()
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    assert LayerStatus.can_show()
    compiled = irexec.compile_model(irexec.read_model(two_inputs().text.encode()))
    inputs = [np.ones((1, 3), np.float32)] * 2
    with LayerStatus(2) as patient:
        compiled.create_infer_request([patient]).infer(inputs)
    assert screen.getvalue() == ""
    monkeypatch.setattr(status, "_INTERVAL", 0.0)
    monkeypatch.setattr(status, "PATIENCE", 0.0)
    with LayerStatus(2) as hasty:
        compiled.create_infer_request([hasty]).infer(inputs)
    assert "] 1 of 2 layers: " in screen.getvalue()


def test_a_cut_model_needs_only_what_the_layer_needs() -> None:
    model = irexec.read_model(two_inputs().text.encode())
    part = reduce(model, "positive", Findings())
    assert part is not None
    assert [p.friendly_name for p in part.parameters] == ["x"]
    result = irexec.compile_model(part)(np.array([[-1, 0, 1]], np.float32))
    np.testing.assert_array_equal(result[0], [[0, 0, 1]])
    assert [n.friendly_name for n in model.parameters] == ["x", "y"]


def test_a_layer_that_is_not_there() -> None:
    findings = Findings()
    assert reduce(irexec.read_model(two_inputs().text.encode()), "zzz", findings) is None
    (finding,) = findings.report
    assert (finding.code, finding.hint) == ("U005", "an existing name is Result_4")
