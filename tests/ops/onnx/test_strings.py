"""Operators of ONNX on texts and tokens."""

from __future__ import annotations

import numpy as np
import pytest

from irexec.ops.onnx.strings import tf_idf_vectorizer_9

ATTRIBUTES = {"mode": "TF", "ngram_counts": (0, 2), "ngram_indexes": (0, 1, 2), "pool_int64s": (1, 2, 1, 2)}


@pytest.mark.parametrize(("longest", "skips"), [(2, 0), (2, 2**62), (2**62, 0), (2**62, 2**62)])
def test_n_grams_that_do_not_fit_take_no_time(longest: int, skips: int) -> None:
    tokens = np.array([1, 2, 7, 2], np.int64)
    found = tf_idf_vectorizer_9(tokens, min_gram_length=1, max_gram_length=longest, max_skip_count=skips, **ATTRIBUTES)
    assert found.tolist() == [1, 2, 1 if skips == 0 else 2]
