"""ReadValue-3 and -6, Assign-3 and -6: the known properties of a variable before the model runs."""

from __future__ import annotations

import numpy as np
import pytest
from support.cases import broken, the
from support.oracle import infer, tensor

from irexec.core.types import DYNAMIC, F32, I32, PartialShape

read_3, read_6 = the("ReadValue", 3), the("ReadValue", 6)


@pytest.mark.parametrize("op", [read_3, read_6, the("Assign", 3), the("Assign", 6)], ids=str)
def test_without_a_variable_the_value_passes(op: object) -> None:
    x = np.ones(2, np.float32)
    assert op(x, variable_id="v") is x


def test_the_first_value_decides_in_opset_3() -> None:
    (found,), breaches = infer(read_3, [tensor(F32, "2,?")], variable_id="v")
    assert (str(found), breaches) == ("f32[2,?]", [])


def test_the_variable_decides_in_opset_6() -> None:
    variable = {"variable_id": "v", "variable_type": F32, "variable_shape": PartialShape.parse("2,?")}
    for given in ([], [tensor(F32, "2,3")]):
        (found,), breaches = infer(read_6, given, **variable)
        assert (str(found), breaches) == ("f32[2,?]", [])
    (found,), _ = infer(read_6, [tensor(F32, "2,3")], **variable | {"variable_type": DYNAMIC})
    assert str(found) == "f32[2,?]"


def test_c1_the_first_value_fits_the_variable() -> None:
    variable = {"variable_id": "v", "variable_type": F32, "variable_shape": PartialShape.parse("2,?")}
    assert broken(read_6, tensor(F32, "3,3"), **variable) == {"C1"}
    assert broken(read_6, tensor(I32, "2,3"), **variable) == {"C1"}
    with pytest.raises(TypeError, match="the engine supplies the first value"):
        read_6(variable_id="v")
