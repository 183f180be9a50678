"""If-8: its ports; tests of inference and of the engine cover its bodies."""

from __future__ import annotations

import numpy as np
import pytest
from support.cases import the
from support.oracle import infer, tensor

from irexec.core.types import BOOLEAN, F32

choose = the("If", 8)


def test_it_takes_a_condition_and_any_number_of_inputs_of_any_type() -> None:
    assert choose.signature.port_name(0) == "cond"
    assert choose.signature.max_inputs is None and choose.signature.min_inputs == 1
    assert infer(choose, [tensor(BOOLEAN, ""), tensor(F32, "2"), tensor(BOOLEAN, "3")])[1] == []
    assert [b.code for b in infer(choose, [tensor(F32, "")])[1]] == ["O002"]


def test_its_bodies_are_the_engines() -> None:
    with pytest.raises(TypeError, match="only the engine can run an operator with bodies"):
        choose(np.array(True))
