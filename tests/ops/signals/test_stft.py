"""STFT-15 and ISTFT-16."""

from __future__ import annotations

import numpy as np
import pytest
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import F32, I64
from irexec.ops.signals.stft import istft_16, stft_15

RNG = np.random.default_rng(5)


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("shape", [(56,), (3, 56)])
def test_stft_of_the_page_agrees_with_openvino(shape: tuple[int, ...], transpose: bool) -> None:
    inputs = [RNG.normal(size=shape).astype(np.float32), RNG.random(7).astype(np.float32)]
    scalars = [np.array(11, np.int64), np.array(3, np.int64)]
    found = run(stft_15, *inputs, *scalars, transpose_frames=transpose)[0]
    assert found.shape == (*shape[:-1], *((6, 16) if transpose else (16, 6)), 2)
    np.testing.assert_allclose(found, openvino(stft_15, *inputs, *scalars, transpose_frames=transpose)[0], atol=1e-4)


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize(("center", "length"), [(False, None), (True, None), (False, 64), (True, 40)])
def test_istft_agrees_with_openvino(center: bool, normalized: bool, length: int | None) -> None:
    data = RNG.normal(size=(2, 6, 16, 2)).astype(np.float32)
    window = (0.5 + RNG.random(7)).astype(np.float32)
    inputs = [data, window, np.array(11, np.int64), np.array(3, np.int64)]
    if length is not None:
        inputs.append(np.array(length, np.int64))
    found = run(istft_16, *inputs, center=center, normalized=normalized)[0]
    expected = openvino(istft_16, *inputs, center=center, normalized=normalized)[0]
    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_istft_gives_the_signal_back() -> None:
    signal = RNG.normal(size=(50,)).astype(np.float32)
    window = np.hanning(12).astype(np.float32)[1:-1]
    size, step = np.array(10, np.int64), np.array(2, np.int64)
    frames = run(stft_15, signal, window, size, step, transpose_frames=True)[0]
    back = run(istft_16, frames, window, size, step, center=False, normalized=False)[0]
    np.testing.assert_allclose(back, signal, atol=1e-4)


def test_stft_constraints() -> None:
    def found(signal: str, window: str, size: int, step: int) -> list[str | None]:
        types = [tensor(F32, signal), tensor(F32, window), tensor(I64, "", size), tensor(I64, "", step)]
        return [b.constraint for b in infer(stft_15, types, transpose_frames=False)[1]]

    assert found("3,4,5", "2", 2, 1) == ["C1"]
    assert found("16", "9", 8, 1) == ["C2"]
    assert found("16", "0", 8, 1) == ["C2"]
    assert found("16", "4", 17, 1) == ["C3"]
    assert found("16", "4", 8, 0) == ["C4"]
    assert found("16", "4", 8, 4) == []


def test_a_signal_without_frames_has_the_length_of_the_formula() -> None:
    data, window = np.zeros((5, 0, 2), np.float32), np.ones(8, np.float32)
    for center, length in ((False, 4), (True, 0)):
        found = istft_16(data, window, np.int64(8), np.int64(4), center=center, normalized=False)
        assert found.shape == (length,)
