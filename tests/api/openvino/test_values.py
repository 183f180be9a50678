"""Shapes, dimensions, types, layouts and OVAny, compared with OpenVINO's own."""

from __future__ import annotations

import numpy as np
import pytest

openvino = pytest.importorskip("openvino")


import irexec as ov


@pytest.mark.parametrize("given", [(), (5,), (-1,), (1, 10), (-1, 10), (10, -1), ("?",), ("..10",), ("3..",)])
def test_dimensions_print_and_bound_alike(given: tuple[object, ...]) -> None:
    mine, theirs = ov.Dimension(*given), openvino.Dimension(*given)
    assert str(mine) == str(theirs)
    assert mine.get_min_length() == theirs.get_min_length()
    assert mine.get_max_length() == theirs.get_max_length()


def test_relations_of_dimensions_and_shapes() -> None:
    dims = [-1, 3, (1, 4), (2, 6)]
    for make in ("Dimension", "PartialShape"):
        for a in dims:
            for b in dims:
                for relation in ("refines", "relaxes", "compatible", "same_scheme"):
                    mine, theirs = (getattr(_made(o, make, a), relation)(_made(o, make, b)) for o in (ov, openvino))
                    assert mine == theirs, (make, relation, a, b)


def _made(module, make: str, dims):
    if make == "PartialShape":
        return module.PartialShape([dims, 2])
    return module.Dimension(*dims) if isinstance(dims, tuple) else module.Dimension(dims)


@pytest.mark.parametrize("text", ["?,3,..224,28..224", "...", "[1,2]", ""])
def test_shapes_by_text(text: str) -> None:
    mine, theirs = ov.PartialShape(text), openvino.PartialShape(text)
    assert str(mine) == str(theirs)
    assert list(mine.get_min_shape()) == list(theirs.get_min_shape())
    assert mine.rank.is_dynamic == theirs.rank.is_dynamic


@pytest.mark.parametrize(
    ("dims", "said"),
    [([(1, 2, 3)], "Two elements"), ([("?", "?")], "ints are expected"), ([range(3)], "Incorrect type")],
)
def test_a_dimension_that_is_none(dims: list[object], said: str) -> None:
    with pytest.raises(TypeError, match=said):
        ov.PartialShape(dims)


def test_a_shape_is_a_list_that_equals_tuples() -> None:
    shape = ov.Shape([2, 3])
    assert shape == (2, 3) == shape == [2, 3] and shape == ov.PartialShape([2, 3]) and shape != [2, 4]
    shape[0] = ov.Dimension(5)
    assert (str(shape), np.zeros(shape).shape) == ("[5,3]", (5, 3))
    with pytest.raises(TypeError, match="negative"):
        ov.Shape([-1])


def test_vectors_and_sets_of_axes() -> None:
    for make in (ov.Strides, ov.CoordinateDiff, ov.Coordinate, ov.AxisVector):
        vector = make(np.array([1, 2]))
        vector[1] = 7
        assert list(vector) == [1, 7] and len(vector) == 2
    assert list(ov.AxisSet({3, 1})) == [1, 3] == list(ov.AxisSet(np.array([3, 1, 3])))


@pytest.mark.parametrize("text", ["NCHW", "[n,c]", "NC?", "N...C", "?C", "...", "NCDHW"])
def test_layouts(text: str) -> None:
    mine, theirs = ov.Layout(text), openvino.Layout(text)
    assert (str(mine), repr(mine)) == (str(theirs), repr(theirs))
    for name in "NCHWD":
        assert mine.has_name(name) == theirs.has_name(name)
        if mine.has_name(name):
            assert mine.get_index_by_name(name) == theirs.get_index_by_name(name)
    assert ov.Layout.scalar() != mine and mine == text


@pytest.mark.parametrize("text", ["NN", "[N,,C]", "N...C..."])
def test_a_layout_that_is_none(text: str) -> None:
    with pytest.raises(RuntimeError):
        ov.Layout(text)


def test_types_by_dtype_and_name() -> None:
    assert ov.Type(np.float16) is ov.Type.f16 and ov.Type.f16.to_dtype() == np.float16
    assert ov.Type.u4.bitwidth == 4 and ov.Type.dynamic.merge(ov.Type.i8) is ov.Type.i8
    assert [getattr(ov.Type, n).size for n in ("u1", "f16", "i64")] == [1, 2, 8]
    for kind in openvino.Type.f8e5m2, openvino.Type.boolean, openvino.Type.bf16:
        mine = getattr(ov.Type, kind.get_type_name())
        assert (mine.size, mine.to_dtype()) == (kind.size, kind.to_dtype())


def test_a_box() -> None:
    box = ov.OVAny({"a": 1})
    assert box["a"] == 1 and len(box) == 1 and box == {"a": 1}
    box.set("5")
    assert box.astype(int) == 5 and box.get() == "5"


def test_dimensions_and_shapes_keep_symbols() -> None:
    symbol, dimension = ov.Symbol(), ov.Dimension()
    dimension.set_symbol(symbol)
    assert dimension.has_symbol() and dimension.get_symbol() is symbol
    assert not ov.Dimension().has_symbol() and ov.Dimension.dynamic().get_symbol() is None
    shape = ov.PartialShape([-1, 3])
    copied = shape[0]
    copied.set_symbol(symbol)
    assert not shape[0].has_symbol()
    shape[0] = copied
    assert [dim.has_symbol() for dim in shape] == [True, False]
    assert ov.PartialShape(shape)[0].get_symbol() is symbol


def test_equal_shapes_of_a_model_do_not_share_a_symbol() -> None:
    dimension = ov.Dimension()
    dimension.set_symbol(ov.Symbol())
    one = ov.opset13.parameter(ov.PartialShape([dimension, 3]))
    other = ov.opset13.parameter(ov.PartialShape([-1, 3]))
    model = ov.Model([ov.opset13.relu(other), ov.opset13.relu(one)], [one, other])
    assert not any(port.partial_shape[0].has_symbol() for port in (*model.inputs, *model.outputs))
