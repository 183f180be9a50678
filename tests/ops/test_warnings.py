"""No kernel, shape rule or generator of values makes NumPy or Python warn: a warning would reach the terminal."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator

import numpy as np
import pytest
from support.amounts import amount
from support.cases import the

from irexec.core.types import ElementType, PartialShape, TensorType
from irexec.model.arrays.draw import draw_for
from irexec.ops.spec.operator import Operator
from irexec.tools.conformance.drawing import draw, operators
from irexec.tools.run.record import Reference


@contextlib.contextmanager
def silent() -> Iterator[None]:
    """Fail if there was a warning; they are recorded, because code may suppress exceptions."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        yield
    assert [f"{warning.filename}:{warning.lineno}: {warning.message}" for warning in told] == []


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
