"""Transformations before a model is saved: their effects, and rejected transformations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irexec as ov
from irexec import _offline_transformations as offline
from irexec.api.openvino.exceptions import NotOffered

ops: Any = ov.opset13
X = np.float32([[1, 2]])


def summing() -> ov.Model:
    x, kept = ops.parameter([1, 2], name="x"), ops.parameter([1, 2], name="kept")
    scale = ops.sqrt(ops.constant(np.float32([4, 16])))
    total = ops.add(ops.multiply(x, scale), kept)
    total.output(0).set_names({"total"})
    return ov.Model([ops.result(total), ops.result(ops.relu(total))], [x, kept], "summing")


def types(model: ov.Model) -> list[str]:
    return [op.get_type_name() for op in model.get_ordered_ops()]


def test_constants_are_folded_and_additions_of_zeros_removed() -> None:
    for fold in (False, True):
        model = summing()
        total = model.get_results()[0].input_value(0)
        model.get_results()[0].input(0).replace_source_output(ops.add(np.zeros((1, 1), np.float32), total).output(0))
        offline.apply_moc_transformations(model, fold)
        offline.apply_moc_legacy_transformations(model, [])
        offline.apply_low_latency_transformation(model)
        assert sorted({*types(model)}) == ["Add", "Constant", "Multiply", "Parameter", "Relu", "Result"]
        assert types(model).count("Add") == 1
        assert ov.compile_model(model)([X, X])[0].tolist() == [[3, 10]]


@pytest.mark.parametrize("keyword", ["param_res_names", "pairs_to_replace"])
def test_a_model_keeps_its_sum(keyword: str) -> None:
    model = summing()
    offline.apply_make_stateful_transformation(model, **{keyword: {"kept": "total"}})
    request = ov.compile_model(model).create_infer_request()
    assert [request.infer([X])[0].tolist() for _ in range(2)] == [[[2, 8]], [[4, 16]]]


def test_constants_become_half_as_large() -> None:
    model = summing()
    offline.compress_model_transformation(model)
    constants = [op for op in model.get_ops() if op.get_type_name() == "Constant"]
    assert [op.get_element_type() for op in constants] == [ov.Type.f16]
    assert ov.compile_model(model)([X, X])[0].tolist() == [[3, 10]]


def test_what_layers_were_made_of_is_forgotten() -> None:
    model = summing()
    model.get_ops()[0].rt_info |= {"fused_names_0": "a,b", "mine": "kept"}
    offline.apply_fused_names_cleanup(model)
    assert model.get_ops()[0].rt_info == {"mine": "kept"}


def test_what_is_not_a_model_and_what_is_not_offered() -> None:
    with pytest.raises(TypeError, match=r"valid openvino\.Model instance"):
        offline.apply_moc_transformations(3, False)
    for refused in (offline.apply_pruning_transformation, offline.paged_attention_transformation):
        with pytest.raises(NotOffered, match="apply it with OpenVINO"):
            refused(summing())


def test_a_loop_keeps_its_state() -> None:
    x, inner = ops.parameter([2]), ops.parameter([2])
    body = ov.Model([ops.add(inner, inner)], [inner])
    loop = ops.tensor_iterator()
    loop.set_body(body)
    loop.set_merged_input(inner, x.output(0), body.results[0].output(0))
    model = ov.Model([loop.get_iter_value(body.results[0].output(0), -1)], [x])
    with pytest.raises(NotOffered, match="its body runs unchanged"):
        offline.apply_low_latency_transformation(model)
