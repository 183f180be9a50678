"""Records: classes of fields whose methods are generated when they are first called."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from dataclasses import FrozenInstanceError, asdict, fields, is_dataclass, replace
from typing import Any

import pytest

from irexec.core import records
from irexec.core.records import field, record


@record
class Point:
    x: int
    y: int = 0
    names: list[str] = field(default_factory=list)


@record
class Named(Point):
    """A record whose fields follow those of its base class."""

    name: str = "p"


@record(frozen=True)
class Fixed:
    x: int
    y: tuple[int, ...] = ()
    told: str = field(default="", compare=False, repr=False)


@record(eq=False)
class Alone:
    x: int = 0


@record(frozen=True, kw_only=True)
class Options:
    depth: int = 1
    wanted: int


@record
class Doubled:
    x: int
    twice: int = field(init=False)
    given: list[int] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.twice = 2 * self.x

    def __repr__(self) -> str:
        return "doubled"


def test_fields_are_given_by_position_and_by_name() -> None:
    assert (Point(1).y, Point(1, 2).y, Point(y=3, x=1).y) == (0, 2, 3)
    named = Named(1, 2, ["a"], "n")
    assert (named.x, named.y, named.names, named.name) == (1, 2, ["a"], "n")


@pytest.mark.parametrize("given", [(), (1, 2, [], 4)])
def test_what_does_not_fit_is_a_type_error(given: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError, match=r"__init__\(\)"):
        Point(*given)
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        Point(1, z=1)  # type: ignore[call-arg]


def test_each_object_has_a_default_of_its_own() -> None:
    assert Point(1).names is not Point(1).names


def test_records_are_equal_by_class_and_fields() -> None:
    assert Point(1) == Point(1) != Point(2)
    assert Point(1) != Named(1)
    assert Fixed(1, told="a") == Fixed(1, told="b")
    assert Alone() != Alone()
    assert len({Fixed(1), Fixed(1), Fixed(2), Alone.__new__(Alone)}) == 3
    with pytest.raises(TypeError, match="unhashable"):
        hash(Point(1))


def test_what_is_frozen_cannot_be_set() -> None:
    fixed = Fixed(1)
    with pytest.raises(FrozenInstanceError):
        fixed.x = 2  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del fixed.x  # type: ignore[misc]
    assert fixed.x == 1


def test_a_record_has_no_other_attributes() -> None:
    with pytest.raises(AttributeError):
        Point(1).z = 1  # type: ignore[attr-defined]


def test_fields_that_are_only_named_may_come_in_any_order() -> None:
    assert Options(wanted=2).depth == 1
    with pytest.raises(TypeError):
        Options(1, 2)  # type: ignore[misc]
    with pytest.raises(TypeError, match="wanted"):
        Options()  # type: ignore[call-arg]


def test_a_class_keeps_its_own_methods() -> None:
    assert (Doubled(4).twice, Doubled(4).given, repr(Doubled(4))) == (8, [], "doubled")


def test_how_it_is_shown() -> None:
    assert repr(Point(1)) == "Point(x=1, y=0, names=[])"
    assert repr(Fixed(1, told="a")) == "Fixed(x=1, y=())"


@pytest.mark.parametrize("made", [Point(1, 2, ["a"]), Named(1), Fixed(1, (2,), "told"), Options(wanted=3)])
def test_copies_and_pickles_are_the_same_again(made: Any) -> None:
    for again in (copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made)), replace(made)):
        assert again == made and again is not made


def test_the_functions_of_dataclasses_know_records() -> None:
    assert is_dataclass(Point)
    assert [each.name for each in fields(Named)] == ["x", "y", "names", "name"]
    assert replace(Fixed(1), y=(2,)) == Fixed(1, (2,))
    assert asdict(Point(1)) == {"x": 1, "y": 0, "names": []}


def test_methods_are_made_when_they_are_called() -> None:
    @record
    class Waiting:
        x: int = 0

    first = Waiting.__init__
    assert Waiting(3).x == 3
    assert Waiting.__init__ is not first


def test_a_record_may_be_derived_from_and_extended_by_a_dataclass() -> None:
    class Moved(Point):
        def moved(self) -> Moved:
            return records.replace(self, x=self.x + 1)

    assert Moved(1, names=["a"]).moved() == Moved(2, names=["a"])

    @dataclasses.dataclass
    class Marked(Point):
        mark: str = "!"

    assert Marked(1, mark="?") == Marked(1, 0, [], "?")


def test_a_field_of_dataclasses_is_not_a_field_of_a_record() -> None:
    with pytest.raises(TypeError, match=r"names: use irexec\.core\.records\.field for the fields of a record"):

        @record
        class Wrong:
            names: list[str] = dataclasses.field(default_factory=list)

    with pytest.raises(ValueError, match="default of names would be shared"):

        @record
        class Shared:
            names: list[str] = []  # noqa: RUF012 - that is the fault
