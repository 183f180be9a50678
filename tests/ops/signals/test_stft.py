"""STFT-15 and ISTFT-16: the one undoes the other."""

from __future__ import annotations

import numpy as np
from support.oracle import run

from irexec.ops.signals.stft import istft_16, stft_15


def test_istft_gives_the_signal_back() -> None:
    signal = np.random.default_rng(5).normal(size=(50,)).astype(np.float32)
    window = np.hanning(12).astype(np.float32)[1:-1]
    size, step = np.array(10, np.int64), np.array(2, np.int64)
    frames = run(stft_15, signal, window, size, step, transpose_frames=True)[0]
    back = run(istft_16, frames, window, size, step, center=False, normalized=False)[0]
    np.testing.assert_allclose(back, signal, atol=1e-4)
