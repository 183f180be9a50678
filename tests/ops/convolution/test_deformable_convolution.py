"""DeformableConvolution: its common behaviour with Convolution, and pixels that it does not read."""

from __future__ import annotations

import numpy as np
import pytest
from support.cases import the
from support.oracle import run

from irexec.ops.spec.contents import find

PLAIN = {"strides": (1, 1), "pads_begin": (0, 0), "pads_end": (0, 0), "dilations": (1, 1)}


op = the("DeformableConvolution", 8)


GOOD = ["1,4,224,224", "1,50,220,220", "64,4,5,5", "1,25,220,220"]


@pytest.mark.parametrize("auto_pad", ["explicit", "same_upper", "same_lower"])
def test_without_offsets_it_is_a_convolution(auto_pad: str) -> None:
    rng = np.random.default_rng(5)
    x, w = rng.normal(size=(1, 3, 8, 9)), rng.normal(size=(2, 3, 3, 2))
    attributes = PLAIN | {"strides": (2, 1), "pads_begin": (1, 0), "pads_end": (0, 1), "auto_pad": auto_pad}
    convolution = find("Convolution", "opset1")
    assert convolution is not None
    expected = convolution(x, w, **attributes)
    offsets = np.zeros((1, 12, *expected.shape[2:]))
    np.testing.assert_allclose(run(op, x, offsets, w, None, **attributes)[0], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("padded", [False, True])
def test_what_is_not_sampled_adds_nothing_whatever_it_holds(padded: bool) -> None:
    data = np.ones((1, 1, 3, 3), np.float32)
    data[0, 0, [0, 1, 2, 2], [0, 0, 0, 2]] = np.inf, np.nan, np.inf, np.nan
    offsets = np.zeros((1, 2, 3, 3), np.float32)
    offsets[0, 0, :, 0] = -7  # The first column is read far above the image.
    offsets[0, 1, 2, 2] = 7  # The last pixel, far to its right.
    attributes = PLAIN | {"bilinear_interpolation_pad": padded}
    (found,) = run(op, data, offsets, np.ones((1, 1, 1, 1), np.float32), **attributes)
    np.testing.assert_array_equal(found[0, 0], [[0, 1, 1], [0, 1, 1], [0, 1, 0]])
