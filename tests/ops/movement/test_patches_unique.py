"""ExtractImagePatches-3, Col2Im-15, Unique-10."""

from __future__ import annotations

import numpy as np
import pytest
from support.cases import KINDS, broken, data, ints, refuses, scalar, the
from support.oracle import infer, openvino, run, tensor

from irexec.types import F32, I64

patches, col2im, unique = the("ExtractImagePatches", 3), the("Col2Im", 15), the("Unique", 10)
IMAGE = np.arange(1, 101).reshape(1, 1, 10, 10)


def extract(image: np.ndarray, sizes: str, strides: str, rates: str = "1,1", auto_pad: str = "valid") -> np.ndarray:
    return run(patches, image, sizes=sizes, strides=strides, rates=rates, auto_pad=auto_pad)[0]


def test_patches_page_examples() -> None:
    result = extract(IMAGE, "3,3", "5,5")
    assert result.shape == (1, 9, 2, 2)
    assert result[0, :, 0, 0].tolist() == [1, 2, 3, 11, 12, 13, 21, 22, 23]
    assert result[0, 4].tolist() == [[12, 17], [62, 67]]
    assert extract(IMAGE, "4,4", "8,8").shape == (1, 16, 1, 1)
    result = extract(IMAGE, "4,4", "9,9", auto_pad="same_upper")
    assert result[0, 5].tolist() == [[1, 10], [91, 100]]
    assert result[0, 0].tolist() == [[0, 0], [0, 89]]
    result = extract(IMAGE, "3,3", "5,5", "2,2")
    assert result[0, 8].tolist() == [[45, 50], [95, 100]]
    result = extract(np.arange(1, 51).reshape(1, 2, 5, 5), "2,2", "3,3")
    assert result[0, 1].tolist() == [[26, 29], [41, 44]]
    assert result[0, 2].tolist() == [[2, 5], [17, 20]]


@pytest.mark.parametrize("auto_pad", ["valid", "same_upper", "same_lower"])
def test_patches_agree_with_openvino(auto_pad: str) -> None:
    rng = np.random.default_rng(0)
    for _ in range(6):
        sizes, strides, rates = (",".join(map(str, rng.integers(1, 4, 2))) for _ in range(3))
        image = data(rng, "f32", *rng.integers(1, 3, 2), *rng.integers(7, 12, 2))
        attributes = {"sizes": sizes, "strides": strides, "rates": rates, "auto_pad": auto_pad}
        np.testing.assert_array_equal(run(patches, image, **attributes)[0], openvino(patches, image, **attributes)[0])


def test_patches_corners() -> None:
    assert extract(np.ones((1, 1, 2, 2)), "3,3", "1,1").shape == (1, 9, 0, 0)
    whole = np.ones((1, 2, 3, 3))
    result = patches(whole, sizes=(1, 1), strides=(1, 1), rates=(1, 1), auto_pad="valid")
    assert result.tolist() == whole.tolist() and not np.shares_memory(result, whole)
    attributes = {"sizes": "3,3", "strides": "5,5", "rates": "1,1"}
    (out,), _ = infer(patches, [tensor(F32, "?,2,?,10..20")], auto_pad="valid", **attributes)
    assert str(out.shape) == "[?,18,?,2..4]"
    assert broken(patches, IMAGE, **(attributes | {"sizes": "3"}), auto_pad="valid") == {"C1"}
    assert broken(patches, IMAGE[0], **attributes, auto_pad="valid") == {"C2"}


@pytest.mark.parametrize("kind", ["f32", "f16", "bf16", "f64", "i8", "i64", "u8"])
def test_col2im_adds_what_overlaps(kind: str) -> None:
    blocks = data(np.random.default_rng(1), kind, 1, 4, 4)
    (image,) = run(col2im, blocks, ints(3, 3), ints(2, 2))
    wide = blocks.astype(np.float64)[0].reshape(2, 2, 2, 2)
    expected = np.zeros((3, 3))
    for row in range(2):
        for column in range(2):
            expected[row : row + 2, column : column + 2] += wide[row, column]
    assert image[0, 0].astype(np.float64).tolist() == expected.astype(blocks.dtype).astype(np.float64).tolist()


def test_col2im_agrees_with_openvino() -> None:
    rng = np.random.default_rng(2)
    for _ in range(8):
        size, kernel = rng.integers(5, 9, 2), rng.integers(1, 4, 2)
        steps, dilations, begin, end = (rng.integers(low, 3, 2) for low in (1, 1, 0, 0))
        fits = (size + begin + end - dilations * (kernel - 1) - 1) // steps + 1
        blocks = data(rng, "f32", 2, 2 * kernel.prod(), fits.prod())
        named = {"strides": steps, "dilations": dilations, "pads_begin": begin, "pads_end": end}
        attributes = {name: ",".join(map(str, v)) for name, v in named.items()}
        ours = run(col2im, blocks, size, kernel, **attributes)[0]
        theirs = openvino(col2im, blocks, size, kernel, fixed=[1, 2], **attributes)[0]
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


@pytest.mark.parametrize(
    ("shape", "attributes", "expected"),
    [
        ("3,12,225", {"output_size": "16,16", "kernel_size": "2,2"}, "[3,3,16,16]"),
        (
            "12,12,1296",
            {"output_size": "32,32", "kernel_size": "2,2", "dilations": "2,2", "pads_begin": "3,3", "pads_end": "3,3"},
            "[12,3,32,32]",
        ),
        ("12,?", {"output_size": "16,16", "kernel_size": "2,2"}, "[3,16,16]"),
    ],
)
def test_col2im_page_form(shape: str, attributes: dict[str, str], expected: str) -> None:
    """Sizes as attributes, as the page has them."""
    (out,), breaches = infer(col2im, [tensor(F32, shape)], **attributes)
    assert (str(out.shape), breaches) == (expected, [])


def test_col2im_page_form_runs() -> None:
    blocks = data(np.random.default_rng(3), "f32", 1, 4, 4)
    values, _ = col2im.parse_attributes({"output_size": "4,4", "kernel_size": "2,2", "stride": "2,2"})
    by_inputs = run(col2im, blocks, ints(4, 4), ints(2, 2), strides="2,2")[0]
    np.testing.assert_array_equal(col2im(blocks, **values), by_inputs)


def test_col2im_constraints() -> None:
    blocks = np.ones((1, 4, 4))
    refuses(col2im, "C1", blocks, ints(4, 4), ints(2, 2))
    refuses(col2im, "C2", blocks, ints(3), ints(2, 2))
    refuses(col2im, "C3", blocks, ints(3, 3), ints(2))
    assert "C3" in broken(col2im, blocks, ints(3, 3))
    assert "C4" in broken(col2im, blocks, ints(3, 3), ints(2, 2), strides="1")
    assert "C5" in broken(col2im, blocks[0, 0], ints(3, 3), ints(2, 2))
    refuses(col2im, "C6", np.ones((1, 3, 4)), ints(3, 3), ints(2, 2))


@pytest.mark.parametrize("kind", KINDS)
def test_unique_of_every_type(kind: str) -> None:
    table = data(np.random.default_rng(4), kind, 4, 3)
    values, first, inverse, counts = run(unique, table)
    flat = table.ravel()
    assert values.tolist() == sorted(set(flat.tolist()))
    assert flat[first].tolist() == values.tolist()
    assert values[inverse].tolist() == flat.tolist()
    assert counts.tolist() == [flat.tolist().count(v) for v in values.tolist()]


def test_unique_attributes() -> None:
    table = np.array([3, 1, 3, 2])
    values, first, inverse, counts = run(
        unique, table, sorted="false", index_element_type="i32", count_element_type="i32"
    )
    assert values.tolist() == [3, 1, 2]
    assert (first.tolist(), inverse.tolist(), counts.tolist()) == ([0, 1, 3], [0, 1, 0, 2], [2, 1, 1])
    assert {a.dtype for a in (first, inverse, counts)} == {np.dtype(np.int32)}


@pytest.mark.parametrize("sorted_", ["true", "false"])
def test_unique_agrees_with_openvino(sorted_: str) -> None:
    rng = np.random.default_rng(5)
    for _ in range(4):
        table = rng.integers(0, 5, rng.integers(1, 4, 3)).astype(np.float32)
        for a, b in zip(run(unique, table, sorted=sorted_), openvino(unique, table, sorted=sorted_), strict=True):
            np.testing.assert_array_equal(a, b)


def test_unique_slices() -> None:
    """Against NumPy: OpenVINO leaves some equal slices standing twice."""
    rng = np.random.default_rng(6)
    for _ in range(10):
        table, axis = rng.integers(0, 2, rng.integers(1, 4, 3)), int(rng.integers(-3, 3))
        expected = np.unique(table, axis=axis, return_index=True, return_inverse=True, return_counts=True)
        for a, b in zip(run(unique, table, scalar(axis)), expected, strict=True):
            np.testing.assert_array_equal(a, b)
        values, first, inverse, counts = run(unique, table, scalar(axis), sorted="false")
        assert first.tolist() == sorted(expected[1].tolist())
        np.testing.assert_array_equal(np.take(table, first, axis), values)
        np.testing.assert_array_equal(np.take(values, inverse, axis), table)
        np.testing.assert_array_equal(counts, np.bincount(inverse))


def test_unique_corners() -> None:
    assert [a.shape for a in run(unique, np.zeros((0, 2)))] == [(0,), (0,), (0,), (0,)]
    assert [a.shape for a in run(unique, np.zeros((0, 2)), scalar(0))] == [(0, 2), (0,), (0,), (0,)]
    assert [a.shape for a in run(unique, np.array(5.0))] == [(1,)] * 4
    refuses(unique, "C1", np.zeros((2, 2)), scalar(2))
    assert broken(unique, np.zeros((2, 2)), ints(0, 1)) == {"C2"}
    outs, _ = infer(unique, [tensor(F32, "3,?"), tensor(I64, "", 0)])
    assert [str(o.shape) for o in outs] == ["[1..3,?]", "[1..3]", "[3]", "[1..3]"]
    outs, _ = infer(unique, [tensor(F32, "3,?")])
    assert [str(o.shape) for o in outs] == ["[?]"] * 4
