"""Classes of constants: equal arrays have equal numbers, whatever their size."""

from __future__ import annotations

import numpy as np
import pytest

from irexec import Node
from irexec import opset15 as ops
from irexec.tools.compare.classes import Classes

LARGE = np.random.default_rng(0).normal(0, 1, (300, 200)).astype(np.float32)


def changed(place: int, array: np.ndarray = LARGE) -> Node:
    copy = array.copy()
    copy.reshape(-1)[place] += 1
    return ops.constant(copy)


def test_equal_arrays_have_one_class() -> None:
    classes = Classes()
    first = classes.own(ops.constant(LARGE))
    assert classes.own(ops.constant(LARGE.copy())) == first
    assert classes.own(ops.constant(LARGE.reshape(200, 300))) != first
    assert classes.own(ops.constant(LARGE.view(np.int32))) != first
    assert classes.own(ops.constant(np.asfortranarray(LARGE))) == first


@pytest.mark.parametrize("count", [3, 9])
def test_arrays_that_differ_in_one_element_have_different_classes(count: int) -> None:
    classes = Classes()
    places = [*range(LARGE.size - count, LARGE.size)]
    found = [classes.own(changed(place)) for place in places]
    assert len({classes.own(ops.constant(LARGE)), *found}) == count + 1
    assert [classes.own(changed(place)) for place in places] == found


def test_zeros_of_both_signs_and_nans_are_distinguished_by_their_bytes() -> None:
    classes = Classes()
    zeros, nans = np.zeros(50_000, np.float32), np.full(50_000, np.nan, np.float32)
    assert classes.own(ops.constant(zeros)) != classes.own(ops.constant(-zeros))
    assert classes.own(ops.constant(nans)) == classes.own(ops.constant(nans.copy()))
