"""save_model: a model that is built, written and read again is equal; items that cannot be written are reported."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.model_differences import differences
from support.saving import relu_model, saved

import irexec
from irexec.api.opsets.nodes import constant_node
from irexec.core.types import FOREIGN, ElementType
from irexec.frontends.reading import read
from irexec.model.graph.runtime_info import RuntimeAttribute

ops = irexec.opset15


def test_the_text_is_what_openvino_writes(tmp_path: Path) -> None:
    irexec.save_model(relu_model(), tmp_path / "m.xml")
    assert (tmp_path / "m.xml").read_text() == (
        '<?xml version="1.0"?>\n'
        '<net name="small" version="11">\n'
        "\t<layers>\n"
        '\t\t<layer id="0" name="x" type="Parameter" version="opset1">\n'
        '\t\t\t<data shape="2,3" element_type="f32" />\n'
        "\t\t\t<output>\n"
        '\t\t\t\t<port id="0" precision="FP32" names="x">\n'
        "\t\t\t\t\t<dim>2</dim>\n"
        "\t\t\t\t\t<dim>3</dim>\n"
        "\t\t\t\t</port>\n"
        "\t\t\t</output>\n"
        "\t\t</layer>\n"
        '\t\t<layer id="1" name="relu" type="ReLU" version="opset1">\n'
        "\t\t\t<input>\n"
        '\t\t\t\t<port id="0" precision="FP32">\n'
        "\t\t\t\t\t<dim>2</dim>\n"
        "\t\t\t\t\t<dim>3</dim>\n"
        "\t\t\t\t</port>\n"
        "\t\t\t</input>\n"
        "\t\t\t<output>\n"
        '\t\t\t\t<port id="1" precision="FP32" names="relu/result">\n'
        "\t\t\t\t\t<dim>2</dim>\n"
        "\t\t\t\t\t<dim>3</dim>\n"
        "\t\t\t\t</port>\n"
        "\t\t\t</output>\n"
        "\t\t</layer>\n"
        '\t\t<layer id="2" name="relu/result" type="Result" version="opset1" output_names="relu/result">\n'
        "\t\t\t<input>\n"
        '\t\t\t\t<port id="0" precision="FP32">\n'
        "\t\t\t\t\t<dim>2</dim>\n"
        "\t\t\t\t\t<dim>3</dim>\n"
        "\t\t\t\t</port>\n"
        "\t\t\t</input>\n"
        "\t\t</layer>\n"
        "\t</layers>\n"
        "\t<edges>\n"
        '\t\t<edge from-layer="0" from-port="0" to-layer="1" to-port="0" />\n'
        '\t\t<edge from-layer="1" from-port="1" to-layer="2" to-port="0" />\n'
        "\t</edges>\n"
        "\t<rt_info />\n"
        "</net>\n"
    )
    assert (tmp_path / "m.bin").read_bytes() == b""


def test_a_model_of_several_outputs_and_constants(tmp_path: Path) -> None:
    x = ops.parameter([-1, 6, irexec.Dimension(1, 10)], "f16", name="x")
    parts = ops.split(ops.add(x, np.ones((6, 1), np.float16)), np.int64(1), num_splits=3)
    shape = ops.shape_of(parts.output(1), output_type="i32")
    model = irexec.Model([parts.output(2), shape, parts.output(0)], [x], "several")
    again = saved(model, tmp_path)
    assert differences(model, again) == []
    assert str(again.inputs[0].partial_shape) == "[?,6,1..10]"
    assert [n.get_type_name() for n in again.get_results()] == ["Result"] * 3


@pytest.mark.parametrize("kind", [t for t in ElementType.by_name.values() if t.dtype is not None and t not in FOREIGN])
def test_constants_of_every_type(kind: ElementType, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    if kind.name == "string":
        value: Any = np.array([["a", ""], ["é\n", "x" * 300], ["<&>", "\x01"]], np.dtypes.StringDType())
    elif kind.name == "boolean":
        value = rng.integers(0, 2, (7, 3)).astype(bool)
    elif kind.is_packed:
        codes = rng.integers(0, 1 << kind.bitwidth, (7, 3)).astype(np.uint8)
        value = codes if kind.is_carried else codes.astype(np.uint8).view(kind.dtype)
    else:
        assert kind.dtype is not None
        value = rng.integers(0, 255, (7, 3 * kind.dtype.itemsize)).astype(np.uint8).view(kind.dtype)
    model = irexec.Model([constant_node(irexec.Node, value, name="c", element_type=kind)], [])
    again = saved(model, tmp_path)
    assert differences(model, again) == []
    import openvino as ov

    theirs = ov.Core().read_model(tmp_path / "first.xml")
    constant = next(o for o in theirs.get_ops() if o.get_type_name() == "Constant")
    assert constant.get_element_type().get_type_name() == kind.name
    if kind.name == "string":
        request = ov.Core().compile_model(theirs, "CPU").create_infer_request()
        request.infer()
        assert request.get_output_tensor(0).str_data.tolist() == value.tolist()
    elif kind.bitwidth >= 8:
        assert constant.data.tobytes() == value.tobytes()


def test_equal_constants_are_stored_once_in_order_of_first_use(tmp_path: Path) -> None:
    x = ops.parameter([4], "f32")
    a, b = np.arange(4, dtype=np.float32), np.full(4, 7, np.float32)
    node = ops.add(ops.multiply(ops.add(x, b), a), b.copy())
    irexec.save_model(irexec.Model([ops.subtract(node, a.view(np.float32).copy())], [x]), tmp_path / "m.xml")
    assert (tmp_path / "m.bin").read_bytes() == b.tobytes() + a.tobytes()


def test_scalars_and_constants_without_elements_take_a_byte_as_openvino_writes_them(tmp_path: Path) -> None:
    import openvino as ov

    empty, none = (
        constant_node(irexec.Node, np.zeros((0, 3), np.int32)),
        constant_node(irexec.Node, np.zeros(0, np.float32)),
    )
    model = irexec.Model([empty, none], [])
    assert differences(model, saved(model, tmp_path)) == []
    assert (tmp_path / "first.bin").read_bytes() == b"\0"
    theirs = ov.Core().read_model(tmp_path / "first.xml")
    assert [list(result.shape) for result in theirs.outputs] == [[0, 3], [0]]
    model = irexec.Model([empty, constant_node(irexec.Node, np.float64(0.1))], [])
    assert differences(model, saved(model, tmp_path)) == []
    assert (tmp_path / "first.bin").read_bytes() == b"\0" + np.float64(0.1).tobytes()


def test_constants_that_are_not_contiguous_or_not_little_endian(tmp_path: Path) -> None:
    strided = np.arange(12, dtype=np.float32).reshape(3, 4).T[::2]
    node = constant_node(irexec.Node, strided)
    node.constant = strided
    swapped = constant_node(irexec.Node, np.arange(3, dtype=np.int32))
    swapped.constant = np.arange(3, dtype=">i4")
    again = saved(irexec.Model([node, swapped], []), tmp_path)
    first, second = (r.inputs[0].node.constant for r in again.results)
    np.testing.assert_array_equal(first, strided)
    np.testing.assert_array_equal(second, [0, 1, 2])


@given(st.floats(width=64, allow_nan=False), st.floats(width=64))
@settings(max_examples=30)
def test_floats_survive_exactly(tmp_path_factory: pytest.TempPathFactory, one: float, other: float) -> None:
    x = ops.parameter([1, 2], "f32")
    lrn = ops.lrn(x, np.int64([1]))
    lrn.attributes |= {"alpha": one, "bias": other}
    path = tmp_path_factory.mktemp("floats") / "m.xml"
    irexec.save_model(irexec.Model([lrn], [x]), path)
    text = read(path, mode="strict").model
    assert text is not None
    found = next(n for n in text.nodes if n.type == "LRN").attributes
    assert (found["alpha"], np.isnan(found["bias"])) == (one, np.isnan(other))
    assert np.isnan(other) or repr(found["bias"]) == repr(other)


TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("\t\n\r,\"'<&>\\ "), min_size=1)


@pytest.mark.by_hand(0)
@given(st.sets(TEXTS.filter(lambda text: not text.endswith("\\")), max_size=4), TEXTS, st.dictionaries(TEXTS, TEXTS))
@settings(max_examples=60)
def test_texts_survive_exactly(
    tmp_path_factory: pytest.TempPathFactory, names: set[str], name: str, info: dict[str, str]
) -> None:
    model = relu_model(name)
    relu = model.results[0].inputs[0]
    assert relu is not None
    relu.names = names
    model.results[0].outputs[0].names = set(names)
    relu.node.rt_info = dict(info)
    model.rt_info = {"all": info, **info}
    path = tmp_path_factory.mktemp("texts") / "m.xml"
    irexec.save_model(model, path)
    assert differences(model, irexec.read_model(path)) == []


def test_rt_info_of_model_layers_and_ports(tmp_path: Path) -> None:
    model = relu_model()
    relu = model.results[0].inputs[0].node
    model.rt_info = {
        "framework": {"name": "pytorch", "options": {"a b": "1"}},
        "empty": {},
        "flag": True,
        "list": [1, 2],
    }
    relu.rt_info = {
        "fused_names_0": RuntimeAttribute("fused_names", "0", {"value": "a, b"}),
        "note": "mine",
        "nested": {"x": "1", "deeper": {"y": "2"}},
        "alt_width": "3",
    }
    relu.outputs[0].rt_info = {"layout_0": RuntimeAttribute("layout", "0", {"layout": "[N,C]"})}
    relu.input_rt_info = {0: {"k": "v"}}
    again = saved(model, tmp_path)
    assert again.rt_info == {**model.rt_info, "flag": "YES", "list": "1 2"}
    found = again.results[0].inputs[0].node
    assert (found.rt_info, found.input_rt_info) == (relu.rt_info, relu.input_rt_info)
    assert found.outputs[0].get_rt_info() == relu.outputs[0].rt_info
    import openvino as ov

    theirs = ov.Core().read_model(tmp_path / "first.xml")
    assert theirs.get_rt_info(["framework", "options", "a b"]).value == "1"
    node = next(o for o in theirs.get_ops() if o.get_type_name() == "Relu")
    assert sorted(node.rt_info) == ["alt_width", "fused_names_0", "user_datanested", "user_datanote"]
    assert sorted(node.output(0).rt_info) == ["layout_0"]
    assert sorted(node.input(0).rt_info) == ["user_datak"]


def test_an_operator_of_a_foreign_opset(tmp_path: Path) -> None:
    from typing import Annotated

    from irexec.core.types import F32
    from irexec.ops.rules.shapes import same_as
    from irexec.ops.spec.operator import REGISTRY, Elements, operator

    T = Annotated[np.ndarray, Elements("T", {F32})]

    def double(data, /, *, factor=2.0):  # type: ignore[no-untyped-def]
        return data * np.float32(factor)

    double.__annotations__ = {"data": T, "factor": float, "return": T}
    operator("Double", "mine", shapes=same_as())(double)
    try:
        x = ops.parameter([2], "f32", name="x")
        mine = irexec.api.openvino.opsets.opset("mine")
        model = irexec.Model([mine.double(x, factor=3.0)], [x])
        again = saved(model, tmp_path)
        assert 'type="Double" version="mine"' in (tmp_path / "first.xml").read_text()
        np.testing.assert_array_equal(irexec.compile_model(again)(np.float32([1, 2]))[0], [3, 6])
    finally:
        del REGISTRY["Double", "mine"]


# Models that cannot be written


def refusal(model: irexec.Model, path: Path) -> irexec.Report:
    """Return the report of a rejected save, after which old files are unchanged and no new file exists."""
    path.write_text("old text")
    path.with_suffix(".bin").write_text("old weights")
    with pytest.raises(irexec.IRError) as refused:
        irexec.save_model(model, path)
    assert sorted(os.listdir(path.parent)) == sorted([path.name, path.with_suffix(".bin").name])
    assert (path.read_text(), path.with_suffix(".bin").read_text()) == ("old text", "old weights")
    assert {d.code for d in refused.value.report} == {"W001"}
    return refused.value.report


def test_a_character_that_xml_does_not_have(tmp_path: Path) -> None:
    assert "'\\x07'" in next(iter(refusal(relu_model("x\x07"), tmp_path / "m.xml"))).message


def test_tensor_names_that_would_not_read_back(tmp_path: Path) -> None:
    model = relu_model()
    model.inputs[0].names = {"a\\", "b\\"}
    assert "backslash" in next(iter(refusal(model, tmp_path / "m.xml"))).message
    model.inputs[0].names = {"a\\", "b", "c,d"}
    irexec.save_model(model, tmp_path / "m.xml")
    assert irexec.read_model(tmp_path / "m.xml").inputs[0].names == {"a\\", "b", "c,d"}


def test_a_parameter_that_the_model_does_not_name(tmp_path: Path) -> None:
    x = ops.parameter([2], "f32", name="x")
    model = irexec.Model([ops.relu(x)], [x])
    model.remove_parameter(x)
    with pytest.raises(RuntimeError, match="undeclared parameters: 'x'"):
        irexec.save_model(model, tmp_path / "m.xml")


def test_everything_is_reported_together(tmp_path: Path) -> None:
    model = relu_model()
    taker = model.results[0].inputs[0].node
    taker.inputs = [None, *taker.inputs]
    node = constant_node(irexec.Node, np.zeros(2, np.complex64), name="c", element_type=ElementType.by_name["c64"])
    model.nodes.insert(0, node)
    messages = [d.message for d in refusal(model, tmp_path / "m.xml")]
    assert any("complex" in m or "c64" in m for m in messages)
    assert any("input 0 is not connected" in m for m in messages)


def test_a_constant_of_another_type_than_declared(tmp_path: Path) -> None:
    node = constant_node(irexec.Node, np.zeros(2, np.float32), name="c")
    node.constant = np.zeros(2, np.float64)
    assert "float64" in next(iter(refusal(irexec.Model([node], []), tmp_path / "m.xml"))).message


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    folder = tmp_path / "missing"
    with pytest.raises(irexec.IRError) as missing:
        irexec.save_model(relu_model(), folder / "m.xml")
    assert str(missing.value) == f"{folder / 'm.xml'}: error[U007] there is no folder {str(folder)!r}"
    with pytest.raises(irexec.IRError) as missing:
        irexec.serialize(relu_model(), tmp_path / "m.xml", folder / "m.bin")
    assert str(missing.value) == f"{folder / 'm.bin'}: error[U007] there is no folder {str(folder)!r}"
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_place_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "m.xml").mkdir()
    with pytest.raises(irexec.IRError, match=r"m\.xml: error\[U007\] the file cannot be written: "):
        irexec.save_model(relu_model(), tmp_path / "m.xml")


@pytest.mark.parametrize("name", ["m.bin", "m.onnx", "m"])
def test_a_name_that_no_ir_has(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"must end with \.xml, but is m"):
        irexec.save_model(relu_model(), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_saving_over_the_files_that_a_model_was_read_from(tmp_path: Path) -> None:
    x = ops.parameter([4], "f32", name="x")
    irexec.save_model(irexec.Model([ops.add(x, np.arange(4, dtype=np.float32))], [x]), tmp_path / "m.xml")
    model = irexec.read_model(tmp_path / "m.xml")
    model.name = "renamed"
    irexec.save_model(model, tmp_path / "m.xml")
    assert irexec.read_model(tmp_path / "m.xml").name == "renamed"
    np.testing.assert_array_equal(irexec.compile_model(tmp_path / "m.xml")(np.zeros(4, np.float32))[0], [0, 1, 2, 3])
