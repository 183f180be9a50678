"""Tensor: own memory, shared memory, and parts of other tensors; types that NumPy lacks."""

from __future__ import annotations

import copy

import numpy as np
import pytest

openvino = pytest.importorskip("openvino")

from irexec.helpers import pack_data, unpack_data

import irexec as ov

KINDS = ["f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u64", "u32", "u16", "u8", "boolean"]
PACKED = ["u1", "u2", "u3", "u4", "u6", "i4", "nf4", "f4e2m1"]
BYTES = ["f8e4m3", "f8e5m2", "f8e8m0"]


@pytest.mark.parametrize("kind", [*KINDS, *PACKED, *BYTES])
def test_data_looks_like_openvinos(kind: str) -> None:
    mine, theirs = (o.Tensor(getattr(o.Type, kind), [3, 5]) for o in (ov, openvino))
    if kind not in ("u3", "u6"):  # OpenVINO returns fewer bytes than the tensor has.
        assert (mine.data.dtype, mine.data.shape) == (theirs.data.dtype, theirs.data.shape)
    assert (list(mine.shape), mine.size, mine.byte_size) == (list(theirs.shape), theirs.size, theirs.byte_size)
    assert mine.element_type.name == theirs.element_type.get_type_name()


def test_shared_memory_is_the_arrays() -> None:
    array = np.zeros((2, 3), np.float32)
    assert np.shares_memory(ov.Tensor(array, shared_memory=True).data, array)
    assert np.shares_memory(ov.Tensor(array, True).data, array)
    assert not np.shares_memory(ov.Tensor(array).data, array)
    with pytest.raises(RuntimeError, match="C contiguous"):
        ov.Tensor(np.asfortranarray(array), shared_memory=True)


def test_memory_read_as_another_type() -> None:
    buffer = np.arange(4, dtype=np.uint16)
    tensor = ov.Tensor(buffer, [2, 8], ov.Type.u4)
    np.testing.assert_array_equal(tensor.data.view(np.uint16), buffer)
    assert ov.Tensor(buffer, [2, 2]).data.tolist() == [[0, 1], [2, 3]]
    with pytest.raises(RuntimeError, match="but the memory has"):
        ov.Tensor(buffer, [3, 3], ov.Type.f32)


def test_a_part_shares_the_memory() -> None:
    whole = ov.Tensor(np.arange(12.0).reshape(3, 4))
    part = ov.Tensor(whole, [1, 1], [3, 3])
    part.data[0, 0] = -1
    assert whole.data[1, 1] == -1 and not part.is_continuous()
    assert ov.Tensor(other=whole, begin=[0, 0], end=[1, 2]).shape == [1, 2]
    with pytest.raises(RuntimeError, match="not a part"):
        ov.Tensor(whole, [0, 0], [4, 4])
    with pytest.raises(RuntimeError, match="ROI Tensor"):
        ov.Tensor(ov.Tensor(ov.Type.u4, [2, 2]), [0, 0], [1, 1])


def test_another_shape() -> None:
    own, shared = ov.Tensor(np.float32, [2, 2]), ov.Tensor(np.zeros(4, np.float32), shared_memory=True)
    own.shape = [3, 3]
    shared.set_shape([2, 1])
    assert (own.shape, shared.shape, own.data.shape) == ([3, 3], [2, 1], (3, 3))
    with pytest.raises(RuntimeError, match="preallocated memory"):
        shared.shape = [5]


def test_copies() -> None:
    tensor = ov.Tensor(np.float32([1, 2]))
    target = ov.Tensor(ov.Type.f32, [0])
    tensor.copy_to(target)
    target.data[0] = 9
    assert (tensor.data.tolist(), target.data.tolist()) == ([1, 2], [9, 2])
    with pytest.raises(RuntimeError, match="cannot copy"):
        target.copy_from(np.int8([1]))
    assert not np.shares_memory(copy.deepcopy(tensor).data, tensor.data)
    assert np.shares_memory(copy.copy(tensor).data, tensor.data)


def test_strings() -> None:
    tensor = ov.Tensor(np.array([["a", "bcd"]]))
    assert tensor.str_data.tolist() == [["a", "bcd"]]
    assert tensor.bytes_data.tolist() == [[b"a", b"bcd"]]
    tensor.str_data = [["x", "yz"]]
    assert tensor.str_data.tolist() == [["x", "yz"]]


@pytest.mark.parametrize("kind", ["u1", "u2", "u3", "u4", "u6", "i4", "nf4", "f4e2m1"])
@pytest.mark.parametrize("size", [1, 7, 16])
def test_packing_is_that_of_openvinos_helpers(kind: str, size: int) -> None:
    mine, theirs = getattr(ov.Type, kind), getattr(openvino.Type, kind)
    half = 1 << (mine.bitwidth - 1)
    values = np.random.default_rng(1).integers(0, 2 * half, size).astype(np.uint8)
    if kind == "i4":
        values = values.astype(np.int8) - np.int8(half)
    packed = pack_data(values, mine)
    wanted = openvino.helpers.pack_data(values, theirs)
    assert (packed.dtype, packed.tolist()) == (wanted.dtype, wanted.tolist())
    unpacked = unpack_data(packed, mine, [size])
    assert (unpacked.dtype, unpacked.tolist()) == (values.dtype, values.tolist())


def test_packing_refuses_other_types_and_values_that_are_not_whole() -> None:
    with pytest.raises(AssertionError, match="u8 is not one of the packed types"):
        pack_data(np.uint8([1]), ov.Type.u8)
    with pytest.raises(RuntimeError, match="rounds"):
        pack_data(np.float32([1.5]), ov.Type.u4)


def test_arrays_of_other_libraries_are_taken() -> None:
    torch = pytest.importorskip("torch")
    source = torch.ones(2, 3)
    shared = ov.Tensor(source, shared_memory=True)
    source[0, 0] = 5
    assert shared.data.tolist() == [[5, 1, 1], [1, 1, 1]]
    image = pytest.importorskip("PIL.Image").new("RGB", (2, 1), (1, 2, 3))
    assert ov.Tensor(image).data.tolist() == [[[[1, 2, 3], [1, 2, 3]]]]
    assert ov.Tensor(np.float32(3)).data.tolist() == 3


def test_strings_are_as_many_as_before() -> None:
    tensor = ov.Tensor(ov.Type.string, [2])
    with pytest.raises(RuntimeError, match="1 strings were given for a tensor of 2"):
        tensor.str_data = ["x"]


def test_a_port_of_a_model_means_that_of_its_compiled_copy() -> None:
    ops = ov.opset13
    x = ops.parameter([2], np.float32, name="x")
    model = ov.Model([ops.relu(x)], [x])
    compiled = ov.compile_model(model)
    assert compiled.input(0) is not model.input(0)
    results = compiled({model.input(0): np.float32([-1, 2])})
    assert results[model.output(0)].tolist() == [0, 2]
    request = compiled.create_infer_request()
    assert request.get_tensor(model.output(0)).shape == [2]
    assert [op.friendly_name for op in model.clone().get_ops()] == [op.friendly_name for op in model.get_ops()]
