"""ExtractImagePatches-3."""

from __future__ import annotations

import numpy as np
import pytest
from support.amounts import amount
from support.cases import broken, data, the
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import F32

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
    for _ in range(amount(6, 2)):
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
