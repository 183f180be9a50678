"""PSROIPooling: which results are undefined."""

from __future__ import annotations

import numpy as np
import pytest
from support.cases import the


@pytest.mark.parametrize(("mode", "size"), [("average", 1), ("bilinear", 8)])
def test_a_bin_outside_of_the_feature_map_is_undefined(mode: str, size: int) -> None:
    """irexec takes the last pixels, as OpenVINO's reference does; OpenVINO's CPU plugin returns 0."""
    boxes = np.float32([[0, 0, 0, 6, 6], [0, 8, 0, 20, 6], [0, -40, 0, -9, 6]]) / np.float32([1, *[size] * 4])
    operator = the("PSROIPooling", 1)
    given = {"output_dim": 1, "group_size": 2, "spatial_scale": 1, "mode": mode}
    values, _ = operator.parse_attributes(given | {"spatial_bins_x": 2, "spatial_bins_y": 2})
    (mask,) = operator.oracle.undefined(np.zeros((1, 4, 8, 8), np.float32), boxes, **values)
    assert mask.all(axis=(1, 2, 3)).tolist() == [False, True, True] and not mask[0].any()
