"""f16 to f32 and back by integer arithmetic: the same bits as NumPy's own conversion."""

from __future__ import annotations

import numpy as np

from irexec.ops.compute.half import MANY, narrow_half, widen_half

EVERY = np.arange(65536, dtype=np.uint16).view(np.float16)


def test_widens_every_f16() -> None:
    finite = EVERY[np.isfinite(EVERY)]
    assert np.array_equal(widen_half(finite).view("u4"), finite.astype("f4").view("u4"))
    assert np.array_equal(widen_half(EVERY).view("u4"), EVERY.astype("f4").view("u4"))
    assert widen_half(EVERY[:0]).shape == (0,) and widen_half(EVERY[:6].reshape(2, 3)).shape == (2, 3)


def test_widens_many() -> None:
    many = np.tile(EVERY, 9)[:-7]
    assert many.size > MANY
    for array in (many, many[: 9 * 40_000].reshape(9, 200, 200), many[::2], np.tile(EVERY, 9).reshape(3, -1).T):
        found = widen_half(array)
        assert found.shape == array.shape and np.array_equal(found.view("u4"), array.astype("f4").view("u4"))


def test_narrows_ties_and_their_neighbours() -> None:
    exact = np.sort(EVERY[np.isfinite(EVERY)].astype("f8"))
    ties = ((exact[1:] + exact[:-1]) / 2).astype("f4")
    beyond = np.array([65519.996, 65520, 65521, 1e30, np.inf, np.nan, 0.0, -0.0, 1e-40, 2.9e-8, 3.1e-8], "f4")
    values = np.concatenate(
        [ties, np.nextafter(ties, np.float32(9e9)), np.nextafter(ties, np.float32(-9e9)), beyond, -beyond]
    )
    with np.errstate(all="ignore"):
        assert np.array_equal(narrow_half(values).view("u2"), values.astype("f2").view("u2"))


def test_narrows_any_bits() -> None:
    values = np.random.default_rng(0).integers(0, 2**32, 300_000, np.uint32).view("f4").reshape(3, -1)
    with np.errstate(all="ignore"):
        assert np.array_equal(narrow_half(values).view("u2"), values.astype("f2").view("u2"))


def test_narrows_elements_that_lie_in_any_order() -> None:
    values = EVERY.astype("f4").reshape(16, 32, 128) * np.float32(0.5)
    for turned in (values.T, values[::2, :, ::-1], np.broadcast_to(values[:, :, :1], (16, 32, 9))):
        with np.errstate(all="ignore"):
            assert np.array_equal(narrow_half(turned).view("u2"), np.ascontiguousarray(turned).astype("f2").view("u2"))
