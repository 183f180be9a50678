"""ScaledDotProductAttention: long sequences."""

from __future__ import annotations

import numpy as np
from support.cases import the
from support.oracle import run
from support.references import attended

from irexec.core.threads import parallel


def test_long_sequences_in_blocks_on_threads() -> None:
    rng = np.random.default_rng(3)
    shapes = [(2, 700, 8), (2, 900, 8), (2, 900, 7), (700, 900)]
    q, k, v, mask = (rng.normal(size=shape).astype(np.float32) for shape in shapes)
    attention = the("ScaledDotProductAttention", 13)
    try:
        parallel.set_num_threads(3)
        added = run(attention, q, k, v, mask, causal=False)[0]
        causal = run(attention, q, k, v, causal=True)[0]
    finally:
        parallel.set_num_threads(None)
    np.testing.assert_allclose(added, attended(q, k, v, mask), rtol=1e-3, atol=1e-5)
    bias = np.triu(np.full((700, 900), -np.inf), 1)
    np.testing.assert_allclose(causal, attended(q, k, v, bias), rtol=1e-3, atol=1e-5)
