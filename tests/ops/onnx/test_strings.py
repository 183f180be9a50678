"""Operators of ONNX on texts and tokens."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from support.oracle import infer, tensor

from irexec.core.types import I64
from irexec.ops.onnx.strings import tf_idf_vectorizer_9
from irexec.ops.spec.operator import ConstraintError

ATTRIBUTES = {"mode": "TF", "ngram_counts": (0, 2), "ngram_indexes": (0, 1, 2), "pool_int64s": (1, 2, 1, 2)}


@pytest.mark.parametrize(("longest", "skips"), [(2, 0), (2, 2**62), (2**62, 0), (2**62, 2**62)])
def test_n_grams_that_do_not_fit_take_no_time(longest: int, skips: int) -> None:
    tokens = np.array([1, 2, 7, 2], np.int64)
    found = tf_idf_vectorizer_9(tokens, min_gram_length=1, max_gram_length=longest, max_skip_count=skips, **ATTRIBUTES)
    assert found.tolist() == [1, 2, 1 if skips == 0 else 2]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"ngram_counts": (0, 3)}, "1 items of 2-grams, expected a multiple of 2"),
        ({"ngram_counts": (2, 0)}, r"ngram_counts is \[2, 0\], expected rising positions in the pool of 4 items"),
        ({"ngram_counts": (0, 5)}, r"ngram_counts is \[0, 5\], expected rising positions in the pool of 4 items"),
        ({"ngram_indexes": (0, 1)}, "ngram_indexes has 2 values, expected 3"),
        ({"weights": (1.0, 2.0)}, "weights has 2 values, expected 3"),
        ({"pool_int64s": (1, 2, 1)}, "1 items of 2-grams, expected a multiple of 2"),
    ],
)
def test_the_parts_of_a_pool_fit_each_other_when_the_file_is_read(changed: dict[str, Any], message: str) -> None:
    attributes = ATTRIBUTES | {"min_gram_length": 1, "max_gram_length": 2, "max_skip_count": 0} | changed
    _, breaches = infer(tf_idf_vectorizer_9, [tensor(I64, "4")], **attributes)
    assert breaches[0].constraint == "C2" and re.search(message, breaches[0].message)
    with pytest.raises(ConstraintError, match=message):
        tf_idf_vectorizer_9(np.zeros(4, np.int64), **attributes)
