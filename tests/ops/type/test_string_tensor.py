"""StringTensorUnpack and StringTensorPack: the pages' examples, constraints, and round trips."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import refuses
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import I32, STRING, U8
from irexec.ops.type.string_tensor import string_tensor_pack_15, string_tensor_unpack_15

EXAMPLES = [
    (["Intel", "OpenVINO"], [0, 5], [5, 13], "IntelOpenVINO"),
    (["OMZ", "", "GenAI", " ", "2024"], [0, 3, 3, 8, 9], [3, 3, 8, 9, 13], "OMZGenAI 2024"),
    ([["Intel", "OpenVINO"], ["OMZ", "GenAI"]], [[0, 5], [13, 16]], [[5, 13], [16, 21]], "IntelOpenVINOOMZGenAI"),
]


def _strings(values: object) -> np.ndarray:
    return np.array(values, STRING.dtype)


def _bytes(text: str) -> np.ndarray:
    return np.frombuffer(text.encode(), np.uint8)


@pytest.mark.parametrize(("texts", "begins", "ends", "symbols"), EXAMPLES)
def test_examples_of_the_pages(texts: object, begins: object, ends: object, symbols: str) -> None:
    found = run(string_tensor_unpack_15, _strings(texts))
    for result, expected in zip(found, (begins, ends, _bytes(symbols)), strict=True):
        np.testing.assert_array_equal(result, expected)
    packed = run(string_tensor_pack_15, np.array(begins, np.int64), np.array(ends, np.int64), _bytes(symbols))
    assert packed[0].tolist() == texts


def test_skipped_symbols() -> None:
    found = run(string_tensor_pack_15, np.array([0, 8]), np.array([1, 9]), _bytes("123456789"))
    assert found[0].tolist() == ["1", "9"]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=6), max_size=5))
def test_there_and_back(texts: list[str]) -> None:
    begins, ends, symbols = string_tensor_unpack_15(_strings(texts))
    assert string_tensor_pack_15(begins, ends, symbols).tolist() == texts


def test_c1_c2_shapes() -> None:
    types = [tensor(I32, "2"), tensor(I32, "3"), tensor(U8, "4,1")]
    assert {b.constraint for b in infer(string_tensor_pack_15, types)[1]} == {"C1", "C2"}
    refuses(string_tensor_pack_15, "C1", np.array([0, 1]), np.array([1]), _bytes("abc"))


@pytest.mark.parametrize(("begin", "end"), [(-1, 1), (0, 4), (2, 1)])
def test_c3_strings_lie_in_the_symbols(begin: int, end: int) -> None:
    refuses(string_tensor_pack_15, "C3", np.array([begin]), np.array([end]), _bytes("abc"))


@pytest.mark.parametrize(("begins", "ends"), [([0, -1], None), ([0, 9], None), (None, [5, 9]), ([3, 4], [4, 2])])
def test_c3_of_places_known_before_the_symbols_are(begins: list[int] | None, ends: list[int] | None) -> None:
    types = [tensor(I32, "2", begins), tensor(I32, "2", ends), tensor(U8, "8")]
    assert [b.constraint for b in infer(string_tensor_pack_15, types)[1]] == ["C3"]
    assert not infer(string_tensor_pack_15, [tensor(I32, "2", [0, 1]), tensor(I32, "2", [1, 8]), tensor(U8, "8")])[1]


def test_c4_symbols_are_utf_8() -> None:
    refuses(string_tensor_pack_15, "C4", np.array([0]), np.array([1]), _bytes("é"))


def test_agrees_with_openvino() -> None:
    begins, ends, symbols = run(string_tensor_unpack_15, _strings([["é", ""], ["漢字", "abc"]]))
    for result, expected in zip(
        (begins, ends, symbols), openvino(string_tensor_unpack_15, _strings([["é", ""], ["漢字", "abc"]])), strict=True
    ):
        np.testing.assert_array_equal(result, expected)
    packed = openvino(string_tensor_pack_15, begins, ends, symbols)[0]
    assert packed.tolist() == run(string_tensor_pack_15, begins, ends, symbols)[0].tolist()
