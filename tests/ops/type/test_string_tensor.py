"""StringTensorUnpack and StringTensorPack: the pages' examples, constraints, and round trips."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from irexec.core.types import STRING
from irexec.ops.type.string_tensor import string_tensor_pack_15, string_tensor_unpack_15


def _strings(values: object) -> np.ndarray:
    return np.array(values, STRING.dtype)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=6), max_size=5))
def test_there_and_back(texts: list[str]) -> None:
    begins, ends, symbols = string_tensor_unpack_15(_strings(texts))
    assert string_tensor_pack_15(begins, ends, symbols).tolist() == texts
