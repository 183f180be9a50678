"""The schemas match the signatures, and accept and reject the same files as the reader."""

from __future__ import annotations

import copy
import json
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lxml import etree
from support.saving import relu_model
from support.waiting import PATIENCE

import irexec
from irexec.ops.spec import contents
from irexec.tools.catalog.schema import RNG_NAME, schema_files, write_schemas

SCHEMAS = Path(__file__).parents[3] / "schemas"
WRITTEN = {Path(f"{name}.schema.json") for name in ("findings", "conformance", "shapes")}
"""Schemas that do not describe an operator; test_packaging.py, cli/test_conformance.py and cli/test_shapes.py read
them.
"""
NAMESPACE = {"r": "http://relaxng.org/ns/structure/1.0"}
ops = irexec.opset15


@cache
def relaxng() -> etree.RelaxNG:
    return etree.RelaxNG(etree.parse(SCHEMAS / RNG_NAME))


def accepts(root: etree._Element) -> bool:
    return relaxng().validate(root)


# Schemas match the signatures


@pytest.mark.by_hand(0)
def test_the_folder_contains_these_schemas_only() -> None:
    found = {path.relative_to(SCHEMAS) for path in SCHEMAS.rglob("*") if path.is_file()}
    assert found == {path for path, _ in schema_files()} | WRITTEN


@pytest.mark.by_hand(0)
def test_writing_removes_the_schemas_of_operators_that_no_longer_exist(tmp_path: Path) -> None:
    (tmp_path / "operators").mkdir()
    old, other = tmp_path / "operators" / "Old-opset1.json", tmp_path / "operators" / "notes.txt"
    old.write_text("{}")
    other.write_text("mine")
    written = write_schemas(tmp_path)
    assert not old.exists()
    assert other.exists()
    assert all(path.exists() for path in written)


def test_every_operator_has_a_definition_that_names_its_attributes() -> None:
    grammar = etree.parse(SCHEMAS / RNG_NAME)
    for type, number, operator in contents.everything():
        if operator is None or type in ("If", "Loop", "TensorIterator"):
            continue
        path = f'.//r:define[@name="{type}-{number}"]//r:element[@name="data"]//r:attribute/@name'
        names = grammar.xpath(path, namespaces=NAMESPACE)
        assert names == [a.file_name for a in operator.attributes], operator


def test_json_schemas_hold_defaults_enumerations_and_bounds() -> None:
    pool = json.loads((SCHEMAS / "operators" / "MaxPool-opset14.json").read_text())
    assert pool["title"] == "MaxPool-14"
    assert pool["additionalProperties"] is False
    assert pool["properties"]["index_element_type"]["default"] == "i64"
    assert pool["properties"]["kernel"] == {"type": "array", "items": {"type": "integer", "minimum": 1}}
    assert "ceil_torch" in pool["properties"]["rounding_type"]["enum"]
    assert set(pool["required"]) >= {"kernel", "strides"}
    parameter = json.loads((SCHEMAS / "operators" / "Parameter-opset1.json").read_text())
    assert {"f32", "i4", "string"} <= set(parameter["properties"]["element_type"]["enum"])
    assert "c64" not in parameter["properties"]["element_type"]["enum"]


# Accepted files


def openvino_models() -> list[Any]:
    """Models with bodies, states, strings, layouts and attributes of every form, built by OpenVINO."""
    import openvino as ov
    import openvino.opset13 as op

    x = op.parameter(ov.PartialShape("1,3,4..9,?"), np.float32, name="x")
    x.set_layout(ov.Layout("NCHW"))
    pool = op.max_pool(x, [1, 1], [1, 1], [0, 0], [0, 0], [2, 2], "floor", "explicit", "i32", 1)
    box = op.prior_box(
        op.constant(np.int64([4, 4])), op.constant(np.int64([8, 8])),
        {"min_size": [16.5], "max_size": [], "aspect_ratio": [2.0], "offset": 0.5, "variance": [0.1]},
    )  # fmt: skip
    read = op.read_value(op.constant(np.float32([0, 0])), "memory", np.float32, [2])
    strings = op.gather(ov.op.Constant(ov.Tensor(np.array(["a", "b"]))), op.constant(1), op.constant(0))
    flat = ov.Model(
        [op.result(n) for n in (pool.output(0), pool.output(1), box, op.convert(read, "f8e4m3"), strings)],
        [op.assign(op.add(read, read), "memory")],
        [x],
        "flat",
    )
    flat.set_rt_info("value", ["nest", "with blank"])

    y, state = op.parameter([5, 4], np.float32, name="y"), op.parameter([1, 4], np.float32, name="state")
    part, inner = op.parameter([1, 4], np.float32), op.parameter([1, 4], np.float32)
    result = op.add(part, inner)
    iterator = op.tensor_iterator()
    iterator.set_body(ov.Model([result], [part, inner], "body"))
    iterator.set_sliced_input(part, y.output(0), 0, 1, 1, -1, 0)
    iterator.set_merged_input(inner, state.output(0), result.output(0))
    condition, branch = op.parameter([], np.bool_), [op.parameter([1, 4], np.float32) for _ in range(2)]
    choice = op.if_op(condition)
    bodies = [ov.Model([op.relu(p)], [p], "branch") for p in branch]
    choice.set_then_body(bodies[0])
    choice.set_else_body(bodies[1])
    choice.set_input(iterator.get_iter_value(result.output(0), -1), *branch)
    output = choice.set_output(bodies[0].results[0], bodies[1].results[0])
    return [flat, ov.Model([output], [y, state, condition], "nested")]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Files written by OpenVINO, and the same models written by irexec."""
    import openvino as ov

    folder = tmp_path_factory.mktemp("models")
    paths = []
    for index, model in enumerate(openvino_models()):
        theirs, ours = folder / f"theirs_{index}.xml", folder / f"ours_{index}.xml"
        ov.save_model(model, theirs, compress_to_fp16=False)
        irexec.save_model(irexec.read_model(theirs), ours)
        paths += [theirs, ours]
    return paths


def test_it_accepts_what_openvino_and_irexec_write(files: list[Path]) -> None:
    for path in files:
        assert accepts(etree.parse(path).getroot()), (path.name, relaxng().error_log)


@pytest.mark.by_hand(0)
@pytest.mark.skipif(shutil.which("xmllint") is None, reason="xmllint (libxml2-utils) is not installed")
def test_xmllint_agrees(files: list[Path], tmp_path: Path) -> None:
    command = ["xmllint", "--noout", "--relaxng", str(SCHEMAS / RNG_NAME)]
    assert subprocess.run([*command, *map(str, files)], capture_output=True, timeout=PATIENCE).returncode == 0
    wrong = tmp_path / "wrong.xml"
    wrong.write_text(files[0].read_text().replace('rounding_type="floor"', 'rounding_type="flor"'))
    assert subprocess.run([*command, str(wrong)], capture_output=True, timeout=PATIENCE).returncode != 0


LAYER = """<net name="m" version="11"><layers>
<layer id="0" name="x" type="{type}" version="{version}"><data {data}/>
<output><port id="0" precision="FP32"/></output></layer></layers><edges/></net>"""


@pytest.mark.parametrize(
    ("type", "version", "data", "accepted"),
    [
        ("Parameter", "opset1", 'shape="1,3,?,..5,2..,1..10" element_type="f32"', True),
        ("Parameter", "opset8", 'shape="..." element_type="f32"', True),
        ("Parameter", "opset1", 'shape="" element_type="f32"', True),
        ("Parameter", "opset1", 'shape="1,x" element_type="f32"', False),
        ("Parameter", "opset1", 'shape="1" element_type="FP32"', False),
        ("Parameter", "opset1", 'element_type="f32"', False),
        ("Parameter", "opset99", 'shape="1" element_type="f32"', False),
        ("parameter", "opset1", 'shape="1" element_type="f32"', False),
        ("Clamp", "opset1", 'min="-1e-05" max=" inf "', True),
        ("Clamp", "opset1", 'min="1,5" max="6"', False),
        ("SoftMax", "opset7", 'axis="1"', True),
        ("SoftMax", "opset7", 'axis="-1"', False),
        ("SoftMax", "opset8", 'axis="-1"', True),
        ("SoftMax", "opset8", 'axes="1"', False),
        ("SoftMax", "opset8", 'axis="1" PrimitivesPriority="cpu"', True),
        ("ScatterNDUpdate", "opset15", 'reduction="sum"', True),
        ("ScatterNDUpdate", "opset15", 'reduction="add"', False),
        ("ScatterNDUpdate", "opset4", 'reduction="sum"', False),
        ("ScatterNDUpdate", "opset3", "", False),
        ("Swosh", "opset1", "", False),
        ("Swosh", "extension", 'anything="goes"', True),
        ("Swosh", "my_opset", 'anything="goes"', True),
        ("Add", "mine", 'anything="goes"', True),
    ],
)
def test_types_versions_and_attributes(type: str, version: str, data: str, accepted: bool) -> None:
    assert accepts(etree.fromstring(LAYER.format(type=type, version=version, data=data))) is accepted


# Rejected files


def _first(root: etree._Element, path: str) -> etree._Element:
    found = root.find(f".//{path}")
    assert found is not None
    return found


def _set(path: str, name: str, value: str) -> Callable[[etree._Element], None]:
    return lambda root: _first(root, path).set(name, value)


def _drop(path: str, name: str) -> Callable[[etree._Element], None]:
    return lambda root: _first(root, path).attrib.pop(name) and None


def _text(path: str, text: str) -> Callable[[etree._Element], None]:
    return lambda root: setattr(_first(root, path), "text", text)


def _child(path: str, tag: str) -> Callable[[etree._Element], None]:
    return lambda root: etree.SubElement(_first(root, path), tag) is None or None


def _twice(path: str) -> Callable[[etree._Element], None]:
    return lambda root: _first(root, f"{path}/..").append(copy.deepcopy(_first(root, path)))


def _without(path: str) -> Callable[[etree._Element], None]:
    return lambda root: _first(root, f"{path}/..").remove(_first(root, path))


MUTANTS: dict[str, Callable[[etree._Element], None]] = {
    "version 9": lambda root: root.set("version", "9"),
    "unknown attribute of net": lambda root: root.set("batch", "1"),
    "unknown child of net": lambda root: etree.SubElement(root, "statistics") is None or None,
    "no edges": lambda root: root.remove(_first(root, "edges")),
    "layer without id": _drop("layer", "id"),
    "layer without name": _drop("layer", "name"),
    "layer without type": _drop("layer", "type"),
    "layer without version": _drop("layer", "version"),
    "id that is not a number": _set("layer", "id", "a"),
    "unknown attribute of layer": _set("layer", "precision", "FP32"),
    "output_names elsewhere than on a Result": _set("layer", "output_names", "x"),
    "unknown child of layer": _child("layer", "blobs"),
    "misspelt section": lambda root: setattr(_first(root, "layers"), "tag", "Layers"),
    "two outputs": _twice("layer/output"),
    "text in a layer": _text("layer", "hello"),
    "unknown data attribute": _set("layer/data", "layout", "NCHW"),
    "required data attribute missing": _drop("layer/data", "element_type"),
    "child of data": _child("layer/data", "x"),
    "output port without precision": _drop("output/port", "precision"),
    "precision in lower case": _set("output/port", "precision", "fp32"),
    "unknown attribute of port": _set("output/port", "name", "x"),
    "unknown child of port": _child("output/port", "shape"),
    "dim that is a word": _text("dim", "x"),
    "dim below -1": _text("dim", "-2"),
    "dim that is a fraction": _text("dim", "1.5"),
    "dim without text": _text("dim", ""),
    "edge without to-port": _drop("edge", "to-port"),
    "edge with a misspelt end": _set("edge", "to_port", "0"),
    "unknown child of edges": _child("edges", "arc"),
    "rt_info entry without name": _drop("layer/rt_info/user_data", "name"),
    "unknown rt_info entry": _child("layer/rt_info", "note"),
}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with rt_info in which every mutation finds its target."""
    model = relu_model()
    model.results[0].inputs[0].node.rt_info = {"key": "value"}
    path = tmp_path_factory.mktemp("small") / "m.xml"
    irexec.save_model(model, path)
    return path


@pytest.mark.parametrize("name", MUTANTS)
def test_it_refuses_mutants(name: str, small: Path) -> None:
    root = etree.parse(small).getroot()
    assert accepts(root)
    MUTANTS[name](root)
    assert not accepts(root)


BODY_MUTANTS: dict[str, Callable[[etree._Element], None]] = {
    "no body": _without("layer/body"),
    "no port map": _without("layer/port_map"),
    "unknown purpose": _set("port_map/input", "purpose", "counter"),
    "purpose of the other side": _set("port_map/input", "purpose", "execution_condition"),
    "start without axis": _set("port_map/output", "start", "0"),
    "part_size 0": _set("port_map/input[@axis]", "part_size", "0"),
    "misspelt map attribute": _set("port_map/input", "internal_id", "0"),
    "back edge without end": _drop("back_edges/edge", "to-layer"),
    "then without else": _without("layer/else_body"),
    "wrong layer in a body": _drop("body/layers/layer", "type"),
    "body of a ReLU": lambda root: _first(root, "then_body/layers/layer[@type='ReLU']").append(
        copy.deepcopy(_first(root, "layer/body"))
    ),
}


@pytest.mark.parametrize("name", BODY_MUTANTS)
def test_it_refuses_mutants_of_bodies(name: str, files: list[Path]) -> None:
    root = etree.parse(files[-1]).getroot()
    BODY_MUTANTS[name](root)
    assert not accepts(root)
