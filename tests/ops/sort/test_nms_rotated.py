"""NMSRotated-13: overlaps of rotated rectangles."""

from __future__ import annotations

import numpy as np

from irexec.ops.sort.nms_rotated import corners_of, intersections


def test_common_area_of_turned_rectangles() -> None:
    turned = [[0, 0, 2, 2, angle] for angle in (0, np.pi / 4, np.pi / 2)]
    boxes = np.array([*turned, [9, 9, 1, 1, 0], [1, 0, 2, 2, 0]])
    corners = corners_of(boxes, True)
    octagon = 8 * (np.sqrt(2) - 1)
    np.testing.assert_allclose(intersections(corners[0], corners), [4, octagon, 4, 0, 2], atol=1e-9)


def test_a_positive_angle_is_clockwise_on_the_screen() -> None:
    # y points down: the right end of a flat rectangle moves down.
    flat = np.array([[0, 0, 4, 0, np.pi / 4]])
    assert corners_of(flat, True)[0, 2, 1] > 0 > corners_of(flat, False)[0, 2, 1]
