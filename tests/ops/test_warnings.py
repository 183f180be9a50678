"""No kernel, shape rule or generator of values makes NumPy or Python warn: a warning would reach the terminal."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.amounts import amount
from support.calls import Call, calls
from support.cases import the

import irexec
from irexec.core.types import Array, ElementType, PartialShape, TensorType
from irexec.model.arrays.draw import draw_for
from irexec.ops.spec.operator import Operator
from irexec.tools.conformance.drawing import draw, operators
from irexec.tools.run.record import Reference


@contextlib.contextmanager
def silent(what: object = "") -> Iterator[None]:
    """Fail if there was a warning; they are recorded, because code may suppress exceptions."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        # Files of other tests, which the garbage collector closes meanwhile.
        warnings.simplefilter("ignore", ResourceWarning)
        yield
    assert [f"{what} {warning.filename}:{warning.lineno}: {warning.message}" for warning in told] == []


INTEGERS = tuple(kind for kind in ElementType.by_name.values() if kind.is_integral_number() and kind.dtype is not None)


def extremes(dtype: np.dtype[Any]) -> Array:
    """Return the extreme values of a number type; those of a type without any are none."""
    kind = ElementType.of(dtype)
    if kind in INTEGERS:
        bounds = ml_dtypes.iinfo(dtype)
        return np.array([bounds.min, bounds.max, 0, 1 if bounds.min == 0 else -1]).astype(dtype)
    if not kind.is_real():
        return np.array([], dtype)
    limits = (np if dtype.kind == "f" else ml_dtypes).finfo(dtype)
    finite = [limits.max, limits.min, limits.tiny, -limits.tiny, limits.smallest_subnormal, 0.0, -0.0, 0.5, -1.0]
    return np.array([*map(float, finite), np.inf, -np.inf, np.nan]).astype(dtype)


def with_extremes(call: Call, draw: int, kind: ElementType | None) -> Call:
    """Return a call in which all elements (draw 0), or half of the elements are extreme.

    `kind`: the type of the inputs that have the type of the first one; None: their own.
    """
    rng, arrays = np.random.default_rng(draw), []
    first = next((array.dtype for array in call.arrays if isinstance(array, np.ndarray)), None)
    for array in call.arrays:
        if isinstance(array, np.ndarray) and array.dtype.kind != "T":
            array = array.astype(array.dtype if kind is None or array.dtype != first else kind.dtype)
            if len(values := extremes(array.dtype)):
                chosen = values[rng.integers(len(values), size=array.shape)]
                array = np.where(rng.random(array.shape) < (0.5 if draw else 1), chosen, array)
        arrays.append(array)
    return call._replace(arrays=arrays)


@pytest.mark.by_hand(1)
@pytest.mark.parametrize("kind", [None, *INTEGERS], ids=lambda kind: kind.name if kind else "own")
def test_extreme_values_give_results_or_findings(kind: ElementType | None) -> None:
    computed = 0
    for seed in range(4 if kind is None else 2):
        for call in calls(seed):
            with np.errstate(invalid="ignore"):  # Casts of NaN and infinity by the test itself.
                extreme = with_extremes(call, seed, kind)
            with silent(extreme), contextlib.suppress(irexec.IRError):
                extreme.run()
                computed += 1
    assert computed


@pytest.mark.parametrize("operator", operators(), ids=lambda operator: operator.versioned_name)
def test_cases_of_every_operator(operator: Operator) -> None:
    """The cases include the extreme values of each type, infinities, NaN, denormal numbers and empty inputs."""
    tried = 0
    with silent():
        for index in range(amount(12, 3)):
            # Whether a case can be drawn and run is the subject of other tests.
            with contextlib.suppress(Exception):
                if (case := draw(operator, 3, index)) is not None:
                    tried += 1
                    Reference(case.model, case.inputs).results()
    assert tried


@pytest.mark.parametrize("kind", ["f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize("scale", [1e-300, 1e-40, 1e-6, 1.0, 1e30])
def test_boxes_that_their_type_cannot_hold_are_drawn(kind: str, scale: float) -> None:
    shapes = {"input": [1, 3, 8, 8], "rois": [4, 5]}
    types = {name: TensorType(ElementType.by_name[kind], PartialShape(shape)) for name, shape in shapes.items()}
    attributes = {"spatial_scale": scale, "method": "max"}
    with silent():
        found = draw_for(np.random.default_rng(1), the("ROIPooling", 2), "rois", types, attributes)
    assert found is not None
