"""The names by which the inputs of a run are supplied."""

from __future__ import annotations

import numpy as np
import pytest

import irexec
from irexec.model.arrays.given import Given
from irexec.tools.run.run import run_model


def doubled(*names: str) -> irexec.Model:
    parameters = [irexec.opset15.parameter([-1], np.float32, name=name) for name in names]
    return irexec.Model([irexec.opset15.add(p, p) for p in parameters], parameters, "doubled")


def test_the_name_of_a_first_output_of_tensorflow_may_be_shortened() -> None:
    run = run_model(doubled("x0:0"), Given(inputs={"x0": [1.0, 2.0]}))
    assert run.outputs[0][1].tolist() == [2, 4]
    run = run_model(doubled("x0:0"), Given(shapes={"x0": (3,)}))
    assert run.outputs[0][1].shape == (3,)


def test_a_name_that_an_input_has_is_not_that_of_another() -> None:
    run = run_model(doubled("x:0", "x"), Given(shapes={"x": (3,), "x:0": (2,)}))
    assert [array.shape for _, array, _ in run.outputs] == [(2,), (3,)]


@pytest.mark.parametrize("name", ["x0:1", "x"])
def test_other_names_are_refused(name: str) -> None:
    run = run_model(doubled("x0:0"), Given(shapes={name: (3,)}))
    assert [finding.code for finding in run.report] == ["U005"]
