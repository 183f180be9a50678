"""save_model: a file that OpenVINO wrote, and irexec read and wrote, is the same model for OpenVINO."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.model_differences import differences
from support.saving import relu_model, saved

import irexec


def same_for_openvino(original: Path, written: Path, seed: int = 0) -> None:
    """Check that OpenVINO writes the same text and weights of both files, and computes the same."""
    import openvino as ov

    core = ov.Core()
    models = [core.read_model(original), core.read_model(written)]
    texts, weights, results = [], [], []
    for model in models:
        path = written.with_name("theirs.xml")
        # Legacy sections are converted when they are accessed, and written unchanged before that.
        assert [model.rt_info[key] for key in model.rt_info]
        ov.save_model(model, path, compress_to_fp16=False)
        texts.append(path.read_text())
        weights.append(path.with_suffix(".bin").read_bytes())
        compiled = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        rng = np.random.default_rng(seed)
        inputs = []
        for port in compiled.inputs:
            extents = [d.get_length() if d.is_static else 3 for d in port.partial_shape]
            inputs.append(rng.integers(0, 3, extents).astype(port.element_type.to_dtype()))
        results.append([np.array(value) for value in compiled(inputs).values()])
    assert texts[0] == texts[1]
    assert weights[0] == weights[1]
    for a, b in zip(*results, strict=True):
        np.testing.assert_array_equal(a, b)


def _body(ov: Any, op: Any) -> tuple[Any, Any, Any]:
    state, part = op.parameter([1, 4], np.float32, name="state"), op.parameter([1, 4], np.float32, name="part")
    return state, part, op.add(op.multiply(state, op.constant(np.float32(0.5))), part)


def tensor_iterator(ov: Any, op: Any) -> Any:
    x, start = op.parameter([5, 4], np.float32, name="x"), op.parameter([1, 4], np.float32, name="start")
    state, part, result = _body(ov, op)
    iterator = op.tensor_iterator()
    iterator.set_body(ov.Model([result], [state, part], "body"))
    iterator.set_sliced_input(part, x.output(0), 0, 1, 1, -1, 0)
    iterator.set_merged_input(state, start.output(0), result.output(0))
    outputs = [
        iterator.get_iter_value(result.output(0), -1),
        iterator.get_concatenated_slices(result.output(0), 0, 1, 1, -1, 0),
    ]
    return ov.Model(outputs, [x, start], "iterator")


def loop(ov: Any, op: Any) -> Any:
    x, start = op.parameter([1, 4], np.float32, name="x"), op.parameter([1, 4], np.float32, name="start")
    state, part, result = _body(ov, op)
    counter = op.parameter([], np.int64, name="counter")
    less = op.less(counter, op.constant(np.int64(3)))
    node = op.loop(op.constant(np.int64(-1)), op.constant(np.array(True)))
    node.set_function(ov.Model([result, less], [counter, state, part], "body"))
    node.set_special_body_ports([0, 1])
    node.set_merged_input(state, start.output(0), result.output(0))
    node.set_invariant_input(part, x.output(0))
    outputs = [
        node.get_iter_value(result.output(0), -1),
        node.get_concatenated_slices(result.output(0), 0, 1, 1, -1, 0),
    ]
    return ov.Model(outputs, [x, start], "loop")


def branches(ov: Any, op: Any) -> Any:
    condition, x = op.parameter([], np.bool_, name="condition"), op.parameter([2], np.float32, name="x")
    inner = [op.parameter([2], np.float32, name="inner") for _ in range(2)]
    then_body = ov.Model([op.add(inner[0], op.constant(np.float32([1, 2])))], [inner[0]], "then")
    else_body = ov.Model([op.sqrt(inner[1])], [inner[1]], "else")
    node = op.if_op(condition)
    node.set_then_body(then_body)
    node.set_else_body(else_body)
    node.set_input(x.output(0), inner[0], inner[1])
    output = node.set_output(then_body.results[0], else_body.results[0])
    return ov.Model([output], [condition, x], "branches")


def state(ov: Any, op: Any) -> Any:
    x = op.parameter([2, 2], np.float32, name="x")
    read = op.read_value(op.constant(np.zeros((2, 2), np.float32)), "memory", np.float32, [2, 2])
    total = op.add(read, x)
    return ov.Model([op.result(total)], [op.assign(total, "memory")], [x], "state")


def attributes(ov: Any, op: Any) -> Any:
    """Return an operator with floats, lists, element types, enumerations, booleans, tensor names, layouts and
    rt_info.
    """
    x = op.parameter([1, 3, 8, 8], np.float32, name="x")
    x.output(0).set_names({"x", " blank ", "with,comma", 'quote"<&>'})
    x.set_layout(ov.Layout("NCHW"))
    weights = np.random.default_rng(0).standard_normal((4, 3, 3, 3)).astype(np.float32)
    y = op.convolution(x, weights, [1, 2], [0, 1], [1, 0], [1, 1], "explicit")
    y = op.clamp(y, 0.1, 1.0 / 3)
    y.set_friendly_name('odd "name" <&> é')
    y = op.elu(y, 0.30000001192092896)
    pooled = op.max_pool(y, [2, 2], [1, 1], [0, 0], [0, 0], [2, 2], "ceil", "same_upper", "i32", 1)
    box = op.prior_box(
        op.constant(np.int64([4, 4])), op.constant(np.int64([8, 8])),
        {"min_size": [16777217.0, 0.1], "max_size": [], "aspect_ratio": [2.0], "offset": 0.5, "variance": [0.1]},
    )  # fmt: skip
    model = ov.Model([pooled.output(0), op.convert(y, "bf16").output(0), box.output(0)], [x], "attributes")
    model.outputs[0].set_names({"pooled"})
    model.set_rt_info("value", ["nest", "key with blank"])
    return model


def strings(ov: Any, op: Any) -> Any:
    table = ov.op.Constant(ov.Tensor(np.array(["zero", "", "two"])))
    x = op.parameter([-1], np.int64, name="x")
    return ov.Model([op.gather(table, x, op.constant(np.int64(0)))], [x], "strings")


@pytest.mark.parametrize("build", [tensor_iterator, loop, branches, state, attributes, strings])
def test_what_openvino_wrote(build: Callable[[Any, Any], Any], tmp_path: Path) -> None:
    import openvino as ov
    import openvino.opset13 as op

    ov.save_model(build(ov, op), tmp_path / "original.xml", compress_to_fp16=False)
    model = irexec.read_model(tmp_path / "original.xml")
    again = saved(model, tmp_path)
    assert differences(model, again) == []
    assert irexec.validate(tmp_path / "first.xml").ok
    same_for_openvino(tmp_path / "original.xml", tmp_path / "first.xml")


def test_legacy_metadata_becomes_rt_info_as_openvino_converts_it(tmp_path: Path) -> None:
    irexec.save_model(relu_model(), tmp_path / "m.xml")
    legacy = """<meta_data><MO_version value="2021.4"/><cli_parameters><data_type value="float"/>
        <unset unset_cli_parameters="a, b"/></cli_parameters></meta_data>
        <quantization_parameters><config>{
 "a": 1 }</config><version value="1.0"/></quantization_parameters>"""
    (tmp_path / "m.xml").write_text((tmp_path / "m.xml").read_text().replace("<rt_info />", legacy))
    model = irexec.read_model(tmp_path / "m.xml")
    assert model.rt_info == {
        "MO_version": "2021.4",
        "conversion_parameters": {"data_type": "float", "unset": "a, b"},
        "optimization": {"config": '{ "a": 1 }', "version": "1.0"},
    }
    assert differences(model, saved(model, tmp_path)) == []
    same_for_openvino(tmp_path / "m.xml", tmp_path / "first.xml")


def test_layers_of_version_10_have_no_rt_info_and_names_from_layers(tmp_path: Path) -> None:
    model = relu_model()
    model.results[0].inputs[0].node.rt_info = {"k": "v"}
    irexec.save_model(model, tmp_path / "m.xml")
    (tmp_path / "m.xml").write_text((tmp_path / "m.xml").read_text().replace('version="11"', 'version="10"'))
    old = irexec.read_model(tmp_path / "m.xml")
    assert old.results[0].inputs[0].node.rt_info == {}
    again = saved(old, tmp_path)
    assert again.outputs[0].names == {"relu", "relu/result"}
    assert again.version == 11
    import openvino as ov

    first, second = (ov.Core().read_model(tmp_path / name) for name in ("m.xml", "first.xml"))
    assert first.outputs[0].names == second.outputs[0].names == {"relu", "relu/result"}
