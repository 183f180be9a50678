"""The same shapes and types in OpenVINO, live: text forms, compatibility, broadcast, merge and sum, element types."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irexec.core.types import DYNAMIC, Dimension, ElementType, PartialShape

ov = pytest.importorskip("openvino")
opset = pytest.importorskip("openvino.opset13")

LARGEST = 4


def _interval(low: int, high: int | None) -> Dimension:
    return Dimension(low, high) if high is None or high >= low else Dimension(high, low)


extents = st.integers(0, LARGEST)
dimensions = st.builds(_interval, extents, extents | st.none())
ranked = st.builds(PartialShape, st.lists(dimensions, max_size=3))
shapes = ranked | st.just(PartialShape.dynamic())


def theirs(shape: PartialShape) -> ov.PartialShape:
    if shape.rank is None:
        return ov.PartialShape.dynamic()
    return ov.PartialShape([ov.Dimension(d.min_length, d.max_length) for d in shape])


def ours(shape: ov.PartialShape) -> PartialShape:
    if shape.rank.is_dynamic:
        return PartialShape.dynamic()
    return PartialShape(Dimension(d.min_length, None if d.max_length == -1 else d.max_length) for d in shape)


def parameter(shape: PartialShape) -> object:
    return opset.parameter(theirs(shape), ov.Type.f32)


@given(shapes)
def test_text_forms(shape: PartialShape) -> None:
    assert str(shape) == theirs(shape).to_string()
    assert ours(ov.PartialShape(shape.to_string())) == shape
    assert shape.is_static is theirs(shape).is_static


@given(shapes, shapes)
def test_compatible(a: PartialShape, b: PartialShape) -> None:
    assert a.compatible(b) is theirs(a).compatible(theirs(b))


@given(shapes, shapes)
def test_broadcast(a: PartialShape, b: PartialShape) -> None:
    try:
        result = ours(opset.add(parameter(a), parameter(b)).output(0).get_partial_shape())
    except RuntimeError:
        assert a.broadcast(b) is None
        return
    own = a.broadcast(b)
    if own is None:
        # OpenVINO accepts some pairs of intervals for which no two extents broadcast, such as 2..3 and 0.
        assert result.is_dynamic or 0 in result.dims
    else:
        # If both results are known, irexec's intervals are as narrow or narrower.
        assert own.merge(result) == own


@given(st.integers(1, 3), st.data())
def test_concatenation_merges_and_adds(rank: int, data: st.DataObject) -> None:
    a, b = (data.draw(st.builds(PartialShape, st.lists(dimensions, min_size=rank, max_size=rank))) for _ in "ab")
    merged = a[1:].merge(b[1:])
    try:
        result = ours(opset.concat([parameter(a), parameter(b)], 0).output(0).get_partial_shape())
    except RuntimeError:
        assert merged is None
        return
    assert merged is not None
    assert result == [a[0] + b[0], *merged]


NAMES = ["boolean", "string", "f16", "bf16", "f32", "f64", "nf4", "f8e4m3", "f8e5m2", "f8e8m0", "f4e2m1"]
NAMES += [f"i{n}" for n in (4, 8, 16, 32, 64)] + [f"u{n}" for n in (1, 2, 3, 4, 6, 8, 16, 32, 64)]


@pytest.mark.parametrize("name", NAMES)
def test_element_types(name: str) -> None:
    own, their = ElementType.by_name[name], getattr(ov.Type, name)
    assert own.name == their.get_type_name()
    # In OpenVINO boolean is a signed char, and nf4, which holds real numbers, counts as an integer.
    if name not in ("boolean", "nf4"):
        assert own.is_real == their.is_real()
        assert own.is_signed == their.is_signed()
    if name != "string":  # OpenVINO counts the bits of its C++ string object.
        assert own.bitwidth == their.bitwidth
        assert own.nbytes(1) == max(1, ov.Tensor(their, ov.Shape([1])).byte_size)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "string"])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 8, 9])
def test_bytes_of_many(name: str, count: int) -> None:
    tensor = ov.Tensor(getattr(ov.Type, name), ov.Shape([count]))
    assert ElementType.by_name[name].nbytes(count) == tensor.byte_size


def test_there_are_no_other_types() -> None:
    known = {t for t in dir(ov.Type) if isinstance(getattr(ov.Type, t), ov.Type)} - {"dynamic", "undefined"}
    assert known == set(NAMES)


def port_names() -> list[str]:
    spelt = {t.name for t in ElementType.by_name.values()} | {t.port_name for t in ElementType.by_name.values()}
    upper = {text.upper() for text in spelt}
    return sorted(spelt | upper | {"bin", "undefined", "fp32", "Fp32", "F32 ", "int", "f8", "", "UNDEFINED", "FP8"})


def reads(port: str = "FP32", attribute: str = "f32") -> bool:
    text = f"""<net name="m" version="11"><layers>
        <layer id="0" name="x" type="Parameter" version="opset1"><data shape="" element_type="{attribute}"/>
            <output><port id="0" precision="{port}"/></output></layer>
        <layer id="1" name="y" type="Result" version="opset1"><input><port id="0"/></input></layer>
    </layers><edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/></edges></net>"""
    try:
        ov.Core().read_model(text.encode(), b"")
    except RuntimeError:
        return False
    return True


@pytest.mark.parametrize("text", port_names())
def test_names_in_ports(text: str) -> None:
    assert (ElementType.from_port(text) is not None) is reads(port=text)


@pytest.mark.parametrize("text", [*port_names(), "FLOAT32", "i128"])
def test_names_in_attributes(text: str) -> None:
    assert (ElementType.from_attribute(text) is not None) is reads(attribute=text)


def test_dtypes() -> None:
    for name in NAMES:
        own = ElementType.by_name[name]
        if not own.is_carried:
            assert own.dtype is not None
            assert ElementType.of(own.dtype) is own
    for name in ("f16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "boolean"):
        assert np.dtype(getattr(ov.Type, name).to_dtype()) == ElementType.by_name[name].dtype
    assert DYNAMIC.dtype is None
    assert ElementType.of("<U3").name == ElementType.of(object).name == "string"
    assert ElementType.of(">f4").name == "f32"
    with pytest.raises(TypeError, match="no element type"):
        ElementType.of("datetime64[s]")
