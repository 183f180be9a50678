"""Parameter-1, Constant-1 and Result-1: their declarations; their values come from the caller and from the weights."""

from __future__ import annotations

import numpy as np
import pytest
from support.cases import the
from support.oracle import infer, tensor

from irexec.core.types import F32, I64, PartialShape

parameter, constant, result = the("Parameter", 1), the("Const", 1), the("Result", 1)


def test_a_parameter_is_what_it_declares() -> None:
    (found,), breaches = infer(parameter, [], shape=PartialShape.parse("?,2..3"), element_type=F32)
    assert (str(found), breaches) == ("f32[?,2..3]", [])


def test_a_constant_is_what_it_declares() -> None:
    (found,), breaches = infer(constant, [], shape=(2, 0), element_type=I64)
    assert (str(found), breaches) == ("i64[2,0]", [])


def test_they_have_no_value_of_their_own() -> None:
    for op, message in ((parameter, "cannot be evaluated"), (constant, "no value other than its bytes")):
        with pytest.raises(TypeError, match=message):
            op(shape=(), element_type=F32)


def test_a_result_is_its_input() -> None:
    x = np.ones(2, np.float32)
    assert result(x) is x
    assert str(infer(result, [tensor(F32, "?,3")])[0][0]) == "f32[?,3]"
