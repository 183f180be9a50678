"""Remarks of `irexec.shapes` about layers for which OpenVINO deviates from their pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irexec
from irexec import opset15 as ops

pytestmark = pytest.mark.any_python


def whole(*values: int) -> Any:
    return ops.constant(np.array(values, np.int64))


def picked(batch_dims: int) -> irexec.Model:
    data, places = ops.parameter([-1, 4], "f32", name="data"), ops.parameter([-1, 1], "i64", name="places")
    return irexec.Model([ops.gather_nd(data, places, batch_dims, name="picked")], [data, places], "picked")


def reversed_rows(step: int, start: int) -> irexec.Model:
    data = ops.parameter([-1, 4], "f32", name="data")
    stop = -(2**31) if step < 0 else 2**31
    part = ops.slice(data, whole(start), whole(stop), whole(step), whole(0), name="part")
    return irexec.Model([part], [data], "reversed")


def theirs(model: irexec.Model, folder: Path, *shapes: list[int]) -> list[int] | None:
    openvino = pytest.importorskip("openvino")
    irexec.save_model(model, folder / "model.xml")
    other = openvino.Core().read_model(folder / "model.xml")
    try:
        other.reshape(dict(zip(other.inputs, shapes, strict=True)))
    except RuntimeError:
        return None
    return list(other.outputs[0].shape)


def test_batch_dimensions_that_broadcast_are_accepted_by_the_page_only(tmp_path: Path) -> None:
    shapes = irexec.shapes(picked(1))
    assert shapes.accepts([(3, 4), (1, 1)])
    assert theirs(picked(1), tmp_path, [3, 4], [1, 1]) is None
    (remark,) = shapes.limits()
    assert remark.startswith("GatherND 'picked' broadcasts the batch dimensions")
    assert irexec.shapes(picked(0)).limits() == []


def rolled() -> irexec.Model:
    data, axes = ops.parameter([-1, 4], "f32", name="data"), ops.parameter([-1], "i64", name="axes")
    return irexec.Model([ops.roll(data, whole(1), axes, name="rolled")], [data, axes], "rolled")


def normalized() -> irexec.Model:
    data, axes = ops.parameter([-1, 4], "f32", name="data"), ops.parameter([-1], "i64", name="axes")
    return irexec.Model([ops.mvn(data, axes, True, 1e-6, "inside_sqrt", name="normalized")], [data, axes], "normalized")


@pytest.mark.parametrize(
    ("make", "sizes"), [(lambda: picked(1), [[3, 4], [1, 1]]), (rolled, [[3, 4], [2]]), (normalized, [[3, 4], [3]])]
)
def test_conditions_are_not_proved_where_openvino_refuses_sizes(make: Any, sizes: Any, tmp_path: Path) -> None:
    shapes = irexec.shapes(make())
    assert shapes.accepts(sizes) and theirs(make(), tmp_path, *sizes) is None
    assert shapes.evidence == "checked" and {word for words in shapes.certainty for word in words} <= {"checked"}
    assert any("OpenVINO" in remark for remark in shapes.limits())
    assert irexec.shapes(picked(0)).evidence == "proved"


def test_a_backward_slice_from_before_the_first_element(tmp_path: Path) -> None:
    model = reversed_rows(-1, -3)
    assert [list(shape.to_shape()) for shape in irexec.shapes(model).outputs([(2, 4)])] == [[0, 4]]
    assert theirs(model, tmp_path, [2, 4]) == [1, 4]
    (remark,) = irexec.shapes(model).limits()
    assert remark.startswith("Slice 'part' slices backwards from before the first element")
    assert irexec.shapes(model).evidence == "checked"
    assert irexec.shapes(reversed_rows(-1, -1)).limits() == []
    assert irexec.shapes(reversed_rows(1, -3)).limits() == []
