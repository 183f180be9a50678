"""TensorIterator-1 and Loop-5: their ports; tests of inference and of the engine cover their bodies."""

from __future__ import annotations

import numpy as np
import pytest
from support.cases import the
from support.oracle import infer, tensor

from irexec.core.types import BOOLEAN, F32, I64

iterator, loop = the("TensorIterator", 1), the("Loop", 5)


def test_a_loop_counts_and_has_a_condition() -> None:
    given = [tensor(I64, "", 3), tensor(BOOLEAN, "", True), tensor(F32, "2"), tensor(I64, "1")]
    assert infer(loop, given)[1] == []
    wrong = [tensor(F32, ""), tensor(I64, "")]
    ports = ["trip_count", "execution_condition"]
    assert [(b.code, b.port) for b in infer(loop, wrong)[1]] == [("O002", port) for port in ports]


def test_an_iterator_takes_any_number_of_inputs_of_any_type() -> None:
    assert iterator.signature.min_inputs == 0 and iterator.signature.max_inputs is None
    assert infer(iterator, [tensor(F32, "2"), tensor(BOOLEAN, "3")])[1] == []


def test_their_bodies_are_the_engines() -> None:
    for op in (iterator, loop):
        with pytest.raises(TypeError, match="only the engine can run an operator with bodies"):
            op(np.array(1), np.array(True))
