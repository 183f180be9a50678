"""Prepared forms of constants are created once, and freed with their last user."""

from __future__ import annotations

import gc

import numpy as np

from irexec.ops.spec.prepared import Prepared


class Form:
    def __init__(self, sum: float) -> None:
        self.sum = sum


def test_a_form_is_made_once_for_a_constant() -> None:
    prepared, constant = Prepared(), np.arange(6.0).reshape(2, 3)
    one = prepared.of((constant,), "sum", lambda: Form(constant.sum()))
    assert prepared.of((constant[:],), "sum", lambda: Form(-1)) is one
    assert prepared.of((constant,), "other", lambda: Form(-1)) is not one
    assert prepared.of((constant.T,), "sum", lambda: Form(-1)) is not one
    assert prepared.of((constant.view(np.int64),), "sum", lambda: Form(-1)) is not one


def test_a_form_is_forgotten_with_its_last_user() -> None:
    """Another constant may later have the same address."""
    prepared, memory = Prepared(), np.ones(4)
    one = prepared.of((memory,), "sum", lambda: Form(memory.sum()))
    assert len(prepared) == 1
    memory[:] = 2
    assert prepared.of((memory,), "sum", lambda: Form(memory.sum())).sum == 4
    del one
    gc.collect()
    assert len(prepared) == 0
    assert prepared.of((memory,), "sum", lambda: Form(memory.sum())).sum == 8


def test_a_constant_lives_as_long_as_its_form() -> None:
    prepared = Prepared()
    used = [
        prepared.of((constant,), "sum", lambda constant=constant: Form(constant.sum()))
        for constant in (np.full(100, float(number)) for number in range(50))
    ]
    assert [form.sum for form in used] == [100.0 * number for number in range(50)]
