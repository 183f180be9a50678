"""Traced numbers: what the tape records, and which operations fix a number to its value."""

from __future__ import annotations

import numpy as np
import pytest

from irexec.core.types import Dimension, PartialShape, as_dimension
from irexec.core.types.tape_program import Program
from irexec.core.types.traced import Tape, Traced, is_traced, larger, smaller


def sizes(tape: Tape, *values: int) -> list[Traced]:
    return [tape.size(number, value, 1, None) for number, value in enumerate(values)]


def test_arithmetic_is_recorded_and_evaluated_for_other_sizes() -> None:
    tape = Tape()
    one, other = sizes(tape, 10, 3)
    made = (one + 2) * other // 4 - one % 3
    assert is_traced(made) and isinstance(made, int) and made.number == 8
    value = tape.evaluate(np.array([[10, 3], [7, 5]]))(made.entry)
    assert value.tolist() == [8, (7 + 2) * 5 // 4 - 7 % 3]


def test_comparisons_are_guards_unless_bounds_decide_them() -> None:
    tape = Tape()
    one, other = sizes(tape, 8, 8)
    assert one == other and one % 4 == 0 and not one < 5
    assert one >= 1 and one % 4 < 4 and one * 2 != 0
    assert len(tape.guards) == 3
    assert tape.holds(np.array([[8, 8], [12, 12], [8, 12], [4, 4], [10, 10]])).tolist() == [
        True,
        True,
        False,
        False,
        False,
    ]


@pytest.mark.parametrize("read", [int, range, float, hash, lambda number: np.array([1, 2])[number % 2], np.zeros])
def test_a_number_that_is_read_is_pinned(read) -> None:  # type: ignore[no-untyped-def]
    tape = Tape()
    (one,) = sizes(tape, 6)
    assert not tape.pinned
    read(one)
    assert len(tape.pinned) == 1
    assert tape.holds(np.array([[6], [7]])).tolist()[0]


def test_messages_do_not_pin() -> None:
    tape = Tape()
    (one,) = sizes(tape, 6)
    assert f"{one} {one!r} {Dimension(one)} {PartialShape([one])}" == "6 6 6 [6]"
    assert not tape.pinned and not tape.guards


def test_dimensions_keep_the_trace() -> None:
    tape = Tape()
    (one,) = sizes(tape, 6)
    dim = as_dimension(one) + 1
    assert is_traced(dim.min) and dim.min.number == 7
    assert dim.is_static and not tape.guards and not tape.pinned


def test_constants_are_simplified() -> None:
    tape = Tape()
    (one,) = sizes(tape, 6)
    assert (one + 3 - 3).entry == one.entry and (one * 1).entry == one.entry and (0 - (0 - one)).entry == one.entry
    assert one - one == 0 and not is_traced(one - one)


def test_a_program_decides_and_computes_for_one_combination() -> None:
    tape = Tape()
    one, other = sizes(tape, 12, 3)
    assert one % other == 0 and one >= 6
    made = one // other * 2 + smaller(other, 5)
    program = Program(tape, [made.entry])
    assert program.run((12, 3)) == [11] and program.run((40, 8)) == [15]
    assert program.run((13, 3)) is None and program.run((4, 2)) is None and program.run((4, 0)) is None


def test_rewinding_a_pin_removes_the_guards_after_it() -> None:
    tape = Tape()
    one, other = sizes(tape, 12, 3)
    assert one > 4
    int(other)
    assert other < 9
    tape.rewind(0)
    assert not tape.pinned and len(tape.guards) == 1
    assert Program(tape, ()).run((12, 30)) == []


def test_the_smaller_and_the_larger_number_are_not_branches() -> None:
    tape = Tape()
    one, other = sizes(tape, 12, 3)
    made = larger(smaller(one, other), 2)
    assert made.number == 3 and not tape.guards
    assert tape.evaluate(np.array([[12, 3], [1, 7], [5, 4]]))(made.entry).tolist() == [3, 2, 4]
    assert smaller(one, 0) == 0 and larger(one, 0).entry == one.entry and smaller(3, 4) == 3


def test_an_exact_quotient_is_multiplied_out() -> None:
    tape = Tape()
    one, other = sizes(tape, 12, 3)
    assert one % other == 0
    assert (one // other * other).entry == one.entry and (one * other // other).entry == one.entry
    assert one * other % other == 0 and not is_traced(one * other % other)
