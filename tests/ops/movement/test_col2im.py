"""Col2Im-15."""

from __future__ import annotations

import numpy as np
import pytest
from support.amounts import amount
from support.cases import broken, data, ints, refuses, the
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import F32

patches, col2im, unique = the("ExtractImagePatches", 3), the("Col2Im", 15), the("Unique", 10)


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
    for _ in range(amount(8, 2)):
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
    """The sizes are attributes, as on the page."""
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
    refuses(col2im, "C1", blocks[..., :0], ints(1, 4), ints(2, 2))
    refuses(col2im, "C2", blocks, ints(3), ints(2, 2))
    refuses(col2im, "C3", blocks, ints(3, 3), ints(2))
    refuses(col2im, "C3", np.ones((1, 4, 20), np.float32), ints(3, 4), ints(0, 1))
    assert "C3" in broken(col2im, blocks, ints(3, 3))
    assert "C4" in broken(col2im, blocks, ints(3, 3), ints(2, 2), strides="1")
    assert "C5" in broken(col2im, blocks[0, 0], ints(3, 3), ints(2, 2))
    refuses(col2im, "C6", np.ones((1, 3, 4)), ints(3, 3), ints(2, 2))
