"""Types pass into the bodies of If, Loop and TensorIterator and out through their maps, compared with OpenVINO."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.meanings import origins

import irexec
from irexec.core.types import BOOLEAN, F32, PartialShape, TensorType
from irexec.model.inference import infer

ov = pytest.importorskip("openvino")
o = pytest.importorskip("openvino.opset13")


def both(model: Any, folder: Path) -> list[tuple[PartialShape, PartialShape]]:
    """Return the shapes that irexec and OpenVINO infer, output by output."""
    ov.serialize(model, folder / "m.xml")
    report = irexec.validate(folder / "m.xml", mode="openvino")
    assert report.ok, report.errors
    read = irexec.read_model(folder / "m.xml", mode="openvino")
    theirs = [PartialShape.parse(port.get_partial_shape().to_string()) for port in model.outputs]
    assert [v.element_type.name for v in read.outputs] == [p.get_element_type().get_type_name() for p in model.outputs]
    return list(zip([v.partial_shape for v in read.outputs], theirs, strict=True))


def parameter(shape: str, kind: Any = None) -> Any:
    return o.parameter(ov.PartialShape(shape), kind or ov.Type.f32)


def iterator(shape: str, **slicing: int) -> Any:
    """Return a TensorIterator that sums slices along axis 1, with the last sum and all sums as outputs."""
    x = parameter(shape)
    part = {"start": 0, "stride": 1, "part_size": 1, "end": -1, "axis": 1} | slicing
    rank = len(PartialShape.parse(shape))
    body_x = parameter(",".join(["?"] * rank))
    body_sum = parameter(",".join(["?"] * rank))
    total = o.add(body_x, body_sum)
    result = o.result(total)
    node = o.tensor_iterator() if hasattr(o, "tensor_iterator") else ov.op.TensorIterator()
    node.set_body(ov.Model([result], [body_x, body_sum], "body"))
    order = (part["start"], part["stride"], part["part_size"], part["end"], part["axis"])
    node.set_sliced_input(body_x, x.output(0), *order)
    node.set_merged_input(body_sum, o.constant(np.zeros([1] * rank, np.float32)).output(0), result.output(0))
    last = node.get_iter_value(result.output(0), -1)
    everything = node.get_concatenated_slices(result.output(0), *order)
    node.validate_and_infer_types()
    return ov.Model([o.result(last), o.result(everything)], [x])


@pytest.mark.parametrize("shape", ["2,5,3", "?,5,3", "2,?,3", "?,?,?", "2,4..6,3"])
@pytest.mark.parametrize("slicing", [{}, {"stride": -1, "start": -1, "end": 0}])
def test_a_tensor_iterator(shape: str, slicing: dict[str, int], tmp_path: Path) -> None:
    for own, their in both(iterator(shape, **slicing), tmp_path):
        assert own.compatible(their)
        assert own.rank == their.rank == 3
    (_, _), (own, _) = both(iterator(shape, **slicing), tmp_path)
    if PartialShape.parse(shape)[1].is_static:
        assert own[1] == 5


def loop(trips: int | None, condition: bool | None, shape: str) -> Any:
    """Return a Loop that doubles x, with the last value and all values along axis 0. None: unknown before it runs."""
    x = parameter(shape)
    inputs = [x]

    def given(value: Any, dtype: Any, kind: Any) -> Any:
        if value is not None:
            return o.constant(np.array(value, dtype))
        inputs.append(parameter("", kind))
        return inputs[-1]

    body_x = parameter(shape)
    twice = o.add(body_x, body_x)
    go_on = o.constant(np.array(True)) if condition is not None else o.less(
        o.reduce_sum(twice, o.constant(np.arange(len(PartialShape.parse(shape)))), False), o.constant(np.float32(100))
    )  # fmt: skip
    results = [o.result(go_on), o.result(twice)]
    node = o.loop(given(trips, np.int64, ov.Type.i64), given(condition, np.bool_, ov.Type.boolean))
    node.set_function(ov.Model(results, [body_x], "body"))
    node.set_special_body_ports([-1, 0])
    node.set_merged_input(body_x, x.output(0), results[1].output(0))
    last = node.get_iter_value(results[1].output(0), -1)
    everything = node.get_concatenated_slices(results[1].output(0), 0, 1, 1, -1, 0)
    node.validate_and_infer_types()
    return ov.Model([o.result(last), o.result(everything)], inputs)


@pytest.mark.parametrize("shape", ["1,3", "?,3", "1..2,3"])
@pytest.mark.parametrize("condition", [True, None])
@pytest.mark.parametrize("trips", [4, None])
def test_a_loop(trips: int | None, condition: bool | None, shape: str, tmp_path: Path) -> None:
    (last, their_last), (every, theirs) = both(loop(trips, condition, shape), tmp_path)
    assert last.merge(their_last) == last
    assert every.compatible(theirs)
    if trips is not None and condition is True and shape == "1,3":
        assert every == [4, 3]


def branch(then: Callable[[Any], Any], other: Callable[[Any], Any], shape: str, condition: bool | None) -> Any:
    """Return an If on x; None: the branch is known only when it runs."""
    x = parameter(shape)
    inputs = [x]
    cond = parameter("", ov.Type.boolean) if condition is None else o.constant(np.array(condition))
    if condition is None:
        inputs.append(cond)
    node = o.if_op(cond)
    parameters = [parameter(shape), parameter(shape)]
    results = [o.result(make(p)) for make, p in zip((then, other), parameters, strict=True)]
    node.set_then_body(ov.Model([results[0]], [parameters[0]], "then"))
    node.set_else_body(ov.Model([results[1]], [parameters[1]], "else"))
    node.set_input(x.output(0), *parameters)
    out = node.set_output(*results)
    return ov.Model([o.result(out)], inputs)


def first(x: Any) -> Any:
    return o.gather(x, o.constant(np.array([0])), o.constant(np.array(0)))


def unchanged(x: Any) -> Any:
    return o.relu(x)


def flat(x: Any) -> Any:
    return o.reshape(x, o.constant(np.array([-1])), False)


@pytest.mark.parametrize("shape", ["4,3", "?,3", "2..5,3"])
@pytest.mark.parametrize("condition", [True, False, None])
@pytest.mark.parametrize(("then", "other"), [(first, unchanged), (unchanged, first), (flat, unchanged), (first, first)])
def test_an_if(then: Any, other: Any, condition: bool | None, shape: str, tmp_path: Path) -> None:
    ((own, their),) = both(branch(then, other, shape, condition), tmp_path)
    assert own.merge(their) == own or own == their


def test_inputs_with_which_one_branch_cannot_run(tmp_path: Path) -> None:
    """The types are those of the other branch, the only one that can be selected. The model itself does not promise
    either.
    """

    def added(size: int) -> Callable[[Any], Any]:
        return lambda x: o.add(x, o.constant(np.ones(size, np.float32)))

    ov.serialize(branch(added(4), added(8), "?,?", None), tmp_path / "m.xml")
    model = irexec.read_model(tmp_path / "m.xml")
    boolean = TensorType(BOOLEAN, PartialShape([]))
    for size, is_accepted in ((4, True), (8, True), (1, True), (5, False)):
        found = infer(model, [TensorType(F32, PartialShape([2, size])), boolean])
        assert found.report.ok == is_accepted
        if size in (4, 8):
            assert found[model.outputs[0]].shape == [2, size]


def test_branches_of_different_types_are_a_finding(tmp_path: Path) -> None:
    model = branch(unchanged, first, "4,3", None)
    ov.serialize(model, tmp_path / "m.xml")
    text = (tmp_path / "m.xml").read_text()
    assert irexec.validate(text.encode(), weights=(tmp_path / "m.bin").read_bytes()).ok
    other = text.replace('type="ReLU" version="opset1"', 'type="Convert" version="opset1"', 1)
    start = other.index('type="Convert"')
    other = other[:start] + other[start:].replace(">", '><data destination_type="f16"/>', 1)
    report = irexec.validate(other.encode(), weights=(tmp_path / "m.bin").read_bytes(), mode="openvino")
    assert "B010" in [d.code for d in report.errors]


def texts(model: Any, folder: Path) -> tuple[str, bytes]:
    ov.serialize(model, folder / "m.xml")
    return (folder / "m.xml").read_text(), (folder / "m.bin").read_bytes()


def errors(text: str, weights: bytes, passes: bool = False) -> list[str]:
    """Return the codes of the errors; check that OpenVINO rejects the file as well, unless it `passes`."""
    if not passes:
        with pytest.raises(RuntimeError):
            ov.Core().read_model(text.encode(), ov.Tensor(np.frombuffer(weights or b"0", np.uint8)))
    return [d.code for d in irexec.validate(text.encode(), weights=weights, mode="openvino").errors]


def test_a_body_that_is_wrong_by_its_own_parameters(tmp_path: Path) -> None:
    """The types of its inputs from outside would fit."""
    text, weights = texts(branch(lambda x: o.add(x, o.constant(np.float32(1))), unchanged, "4,3", None), tmp_path)
    inner = text.index("<then_body>")
    for old, new in (('element_type="f32"', 'element_type="f16"'), ('shape="4,3"', 'shape="4,?,?,3"')):
        changed = text[:inner] + text[inner:].replace(old, new, 1)
        if "f16" in new:
            assert errors(changed, weights) == ["O003"]
        else:
            assert irexec.validate(changed.encode(), weights=weights, mode="openvino").ok


def test_what_is_wrong_in_the_first_iteration_only(tmp_path: Path) -> None:
    text, weights = texts(iterator("2,5,3"), tmp_path)
    assert irexec.validate(text.encode(), weights=weights).ok
    narrower = text.replace('shape="1, 1, 1"', 'shape="1, 1, 2"', 1).replace('size="4"', 'size="8"', 1)
    assert narrower != text
    assert "O001" in errors(narrower, np.zeros(2, np.float32).tobytes() + weights)


@pytest.mark.parametrize(
    "part", [{"start": 1}, {"start": 2, "end": 4}, {"start": -3, "end": -2}, {"start": 3, "end": 1, "stride": -1}]
)
def test_an_iterator_over_a_part_of_an_axis(part: dict[str, int], tmp_path: Path) -> None:
    """The number of iterations is that of OpenVINO's shapes."""
    (_, _), (own, their) = both(iterator("2,5,3", **part), tmp_path)
    assert own == their


def test_parts_that_an_axis_does_not_have(tmp_path: Path) -> None:
    """OpenVINO reads the file, and rejects it when it runs."""
    text, weights = texts(iterator("2,5,3"), tmp_path)
    start, end = 'start="0"', 'end="-1"'
    for old, new in (
        (start, 'start="5"'),
        (start, 'start="-6"'),
        (start, 'start="1000000"'),
        ('stride="1"', 'stride="-1"'),
        (end, 'end="5"'),
    ):
        changed = text.replace(old, new, 1)
        assert changed != text
        assert "B016" in errors(changed, weights, passes=True)


@pytest.mark.parametrize("shape", ["2", "1,1"])
def test_a_condition_is_one_value(shape: str, tmp_path: Path) -> None:
    """OpenVINO checks the rank."""
    text, weights = texts(branch(unchanged, unchanged, "4,3", None), tmp_path)
    changed = text.replace('shape="" element_type="boolean"', f'shape="{shape}" element_type="boolean"')
    assert errors(changed, weights, shape == "2") == ["O001"]
    text, weights = texts(loop(None, None, "1,3"), tmp_path)
    for kind in ("boolean", "i64"):
        changed = text.replace(f'shape="" element_type="{kind}"', f'shape="{shape}" element_type="{kind}"', 1)
        assert changed != text
        assert "O001" in errors(changed, weights, shape == "2")


def test_a_trip_count_of_f32_is_an_error(tmp_path: Path) -> None:
    text, weights = texts(loop(None, None, "1,3"), tmp_path)
    report = irexec.validate(
        text.replace('shape="" element_type="i64"', 'shape="" element_type="f32"', 1).encode(), weights=weights
    )
    assert "O002" in [d.code for d in report.errors]


def test_a_back_edge_of_another_element_type_is_an_error(tmp_path: Path) -> None:
    """OpenVINO reads the file, and fails when the layer runs."""
    text, weights = texts(loop(4, True, "1,3"), tmp_path)
    condition = re.search(r'internal_layer_id="(\d+)" purpose="execution_condition"', text)
    assert condition is not None
    changed, count = re.subn(r'(<back_edges>\s*<edge from-layer=)"\d+"', rf'\1"{condition[1]}"', text)
    assert count == 1
    assert irexec.validate(text.encode(), weights=weights).ok
    (finding,) = irexec.validate(changed.encode(), weights=weights).errors
    assert (finding.code, finding.found, finding.allowed) == ("O003", "boolean", "f32")
    assert finding.line == changed[: changed.index("<back_edges>")].count("\n") + 2


def nested(depth: int, innermost: str) -> str:
    """Return nested TensorIterators."""
    data = f'<data shape="{"?" if depth % 2 else 2},?" element_type="f32"/>'
    inner = (
        innermost
        if depth == 0
        else (
            '<layer id="5" name="t" type="TensorIterator" version="opset1"><port_map>'
            '<input external_port_id="0" internal_layer_id="0"/><output external_port_id="1" internal_layer_id="1"/>'
            '</port_map><back_edges><edge from-layer="1" to-layer="0"/></back_edges><input><port id="0"/></input>'
            f'<output><port id="1" precision="FP32"/></output><body>{nested(depth - 1, innermost)}</body></layer>'
        )
    )
    return (
        f'<layers><layer id="0" name="p" type="Parameter" version="opset1">{data}'
        f'<output><port id="0" precision="FP32"/></output></layer>{inner}'
        '<layer id="1" name="r" type="Result" version="opset1"><input><port id="0"/></input></layer></layers>'
        '<edges><edge from-layer="0" from-port="0" to-layer="5" to-port="0"/>'
        '<edge from-layer="5" from-port="1" to-layer="1" to-port="0"/></edges>'
    )


@pytest.mark.parametrize(("axis", "codes"), [(1, []), (9, ["O001"])])
def test_bodies_within_bodies_take_no_more_than_their_number(axis: int, codes: list[str]) -> None:
    """Each body is inferred a few times, not twice as often as the body around it."""
    softmax = (
        f'<layer id="5" name="s" type="SoftMax" version="opset8"><data axis="{axis}"/><input><port id="0"/></input>'
        '<output><port id="1" precision="FP32"/></output></layer>'
    )
    text = f'<net name="m" version="11">{nested(40, softmax)}</net>'
    assert [d.code for d in irexec.validate(text.encode()).errors] == codes


def test_a_condition_without_an_input_port_is_a_finding() -> None:
    origin = next(origin for origin in origins() if origin.name == "looping")
    wrong = re.sub(r'(name="goes on" type="Result" version="opset1"><input>).*?(?=</input>)', r"\1", origin.text)
    assert wrong != origin.text
    assert "P007" in {finding.code for finding in irexec.validate(wrong.encode(), weights=origin.weights).errors}
