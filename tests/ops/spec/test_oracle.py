"""The oracle of an operator: which results may stand for those of its kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import the

from irexec.core.types import Array

NAN = np.nan
TOP = {"axis": 0, "mode": "max", "sort": "value", "index_element_type": "i64", "stable": False}
KEPT = {"keep_dims": False}


def f32(*values: float) -> Array:
    return np.array(values, np.float32)


def i64(*values: int) -> Array:
    return np.array(values, np.int64)


@pytest.mark.parametrize(
    ("type", "opset", "inputs", "attributes", "found", "accepted"),
    [
        ("TopK", 11, [f32(1, 3, 3), i64(1)], TOP, [f32(3), i64(2)], True),
        ("TopK", 11, [f32(1, 3, 3), i64(1)], TOP, [f32(3), i64(0)], False),
        ("TopK", 11, [f32(1, 2, 3), i64(1)], TOP, [f32(3), i64(2)], False),
        ("ReduceMax", 1, [f32(1, NAN, 2), i64(0)], KEPT, [f32(2)[0]], True),
        ("ReduceMax", 1, [f32(1, NAN, 2), i64(0)], KEPT, [f32(1)[0]], False),
        ("ReduceMax", 1, [f32(1, 3, 2), i64(0)], KEPT, [f32(2)[0]], False),
        ("Divide", 1, [i64(1), i64(0)], {}, [i64(7)], True),
        ("Divide", 1, [i64(1), i64(2)], {}, [i64(7)], False),
        ("ReLU", 1, [f32(NAN)], {}, [f32(0)], True),
        ("ReLU", 1, [f32(NAN)], {}, [f32(1)], False),
        ("Sigmoid", 1, [f32(NAN)], {}, [f32(0)], False),
        ("ScatterUpdate", 3, [f32(0, 0), i64(1, 1), f32(5, 6), i64(0)], {}, [f32(0, 5)], True),
        ("ScatterUpdate", 3, [f32(0, 0), i64(0, 1), f32(5, 6), i64(0)], {}, [f32(5, 5)], False),
    ],
)
def test_results_are_accepted_if_they_follow_a_reading_of_the_page(
    type: str, opset: int, inputs: list[Array], attributes: dict[str, Any], found: list[Array], accepted: bool
) -> None:
    operator = the(type, opset)
    with np.errstate(all="ignore"):
        try:
            made = operator.compute(*inputs, **attributes)
        except ValueError:  # An integer is divided by zero.
            made = found
    expected = [np.asarray(array) for array in (made if isinstance(made, (tuple, list)) else [made])]
    assert operator.oracle.accepts(inputs, attributes, expected, [np.asarray(array) for array in found]) == accepted


@pytest.mark.parametrize(
    ("type", "inputs", "partly", "is_open"),
    [
        ("FakeQuantize", [f32(1.0), f32(0), f32(4), f32(0), f32(4)], False, False),
        ("FakeQuantize", [f32(1.0), f32(-0.3), f32(4), f32(0), f32(4)], True, True),
        ("Elu", [f32(1e-7)], False, False),
        ("Elu", [f32(1e-7)], True, True),
        ("Elu", [f32(1)], True, False),
    ],
)
def test_small_errors_of_a_layer_may_become_large_in_a_graph(
    type: str, inputs: list[Array], partly: bool, is_open: bool
) -> None:
    attributes = {"FakeQuantize": {"levels": 16}, "Elu": {"alpha": 1.0}}[type]
    assert the(type, 1).oracle.is_open(inputs, attributes, partly=partly) == is_open


def test_elements_may_be_free_one_by_one() -> None:
    swish = the("Swish", 4)
    x, right, found = f32(-np.inf, 1), f32(NAN, 0.73), f32(0, 5)
    assert swish.oracle.free([x], {}, [right], [found])[0].tolist() == [True, False]  # type: ignore[union-attr]
    assert the("Add", 1).oracle.free([x, x], {}, [right], [found]) == [False]


@pytest.mark.parametrize(
    ("type", "opset", "inputs", "attributes", "text"),
    [
        ("TopK", 11, [f32(1, 3, 3), i64(1)], TOP, "1 row with equal values among the first 1"),
        ("ScatterUpdate", 3, [f32(0, 0), i64(1, 1), f32(5, 6), i64(0)], {}, "1 place of the result with more than one"),
        ("TopK", 11, [f32(1, 2, 3), i64(1)], TOP, None),
        ("Add", 1, [f32(1), f32(1)], {}, None),
    ],
)
def test_an_ambiguity_is_described(
    type: str, opset: int, inputs: list[Array], attributes: dict[str, Any], text: str | None
) -> None:
    found = the(type, opset).oracle.ambiguity(*inputs, **attributes)
    assert found == text if text is None or found is None else found.startswith(text)
