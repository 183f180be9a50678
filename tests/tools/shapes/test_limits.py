"""Remarks about declarations and findings that refuse no sizes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import irexec
from irexec import opset13 as op
from irexec.cli.main import main

pytestmark = [pytest.mark.any_python, pytest.mark.filterwarnings("ignore:.*S003")]


def saved(path: Path, old: str, new: str) -> str:
    """Write a model with a running sum, in whose text one passage is replaced."""
    data = op.parameter([-1, irexec.Dimension(3, 5)], np.int8, name="data")
    irexec.save_model(irexec.Model([op.cum_sum(data, np.int64(1), name="sum")], [data], "sums"), path)
    path.write_text(path.read_text().replace(old, new))
    return str(path)


@pytest.mark.parametrize("bound", ["9223372036854775807", "2147483648"])
def test_a_bound_that_means_no_bound_is_a_remark(bound: str, tmp_path: Path) -> None:
    shapes = irexec.shapes(saved(tmp_path / "sums.xml", "3..5", f"3..{bound}"))
    assert shapes.limits() == [
        f"dimension 1 of the input 'data' declares the bound {bound}, which NPU compilers reject; use ? instead"
    ]
    assert shapes.conditions == [["seq >= 3"]]
    assert shapes.accepts([(1, 70000)])


def test_a_wrong_element_type_refuses_no_sizes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The page of CumSum does not allow booleans, which OpenVINO sums."""
    path = saved(tmp_path / "sums.xml", 'element_type="i8"', 'element_type="boolean"')
    shapes = irexec.shapes(path)
    assert shapes.limits() == ["at all sizes, CumSum 'sum' is invalid: x is boolean, expected one of 12 other types"]
    assert (shapes.conditions, shapes.evidence) == ([["data_1 >= 3", "data_1 <= 5"]], "proved")
    assert shapes.to_dict()["outputs"] == [["batch", "data_1"]]
    assert main(["shapes", path]) == 0
    assert "is invalid: x is boolean" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("kind", [np.int64, np.int32])
@pytest.mark.parametrize(("times", "offset"), [(2, 0), (7, 0), (7, 1), (3, -(2**31) + 1)])
def test_sizes_that_overflow_their_type(times: int, offset: int, kind: type[np.signedinteger], tmp_path: Path) -> None:
    """They wrap around as in a run, or are refused; no command fails."""
    data = op.parameter([-1, 4], np.float32, name="data")
    extent = op.convert(op.gather(op.shape_of(data), np.array([0], np.int64), np.int64(0)), irexec.Type(kind))
    for _ in range(times):
        extent = op.add(op.multiply(extent, extent), op.constant(np.array([offset], kind)))
    irexec.save_model(irexec.Model([op.broadcast(np.float32(1), extent)], [data], "m"), tmp_path / "m.xml")
    for command in ("validate", "show", "shapes"):
        assert main([command, str(tmp_path / "m.xml")]) in (0, 1), command
