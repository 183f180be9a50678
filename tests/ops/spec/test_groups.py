"""Attribute groups and later versions: their declarations, how functions receive them, and messages about wrong
ones.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from inspect import Parameter
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
import pytest

from irexec.core.types import F32, Array, PartialShape, TensorType
from irexec.ops.spec.attributes import AsRead, NonNegative, Positive
from irexec.ops.spec.groups import AttributesOf, group
from irexec.ops.spec.operator import REGISTRY, Check, Elements, NodeTypes, Operator, operator

T: TypeAlias = Annotated[Array, Elements("T", {F32})]


@group
class Stepping:
    """The number of elements to skip, and the direction."""

    stride: Positive
    exclude_pad: Annotated[bool, AsRead("exclude-pad")] = False


pytestmark = pytest.mark.usefixtures("registry_as_before")


@pytest.fixture
def walk() -> Operator:
    @operator("Walk", "opset2")
    def walk_2(x: T, /, *, first: int = 0, steps: Stepping, mode: Literal["a", "b"] = "a") -> T:
        """Return every n-th element."""
        return x[first :: steps.stride]

    @walk_2.shapes
    def _(check: Check, x: TensorType, *, steps: Stepping, mode: str) -> PartialShape:
        check("C1", steps.stride < 9 or mode == "b", f"stride is {steps.stride}", attribute="stride")
        return PartialShape([-1])

    return walk_2


def test_the_fields_are_the_attributes(walk: Operator) -> None:
    assert [a.name for a in walk.attributes] == ["first", "stride", "exclude_pad", "mode"]
    assert [a.required for a in walk.attributes] == [False, True, False, False]
    assert walk.attributes[2].file_name == "exclude-pad"
    values, faults = walk.parse_attributes({"stride": "2", "exclude-pad": "true"})
    assert (values, faults) == ({"first": 0, "stride": 2, "exclude_pad": True, "mode": "a"}, [])
    _, faults = walk.parse_attributes({"stride": "0"})
    assert [(f.code, f.attribute) for f in faults] == [("D005", "stride")], "a field's bounds hold"
    x, *whole = inspect.signature(walk).parameters.values()
    assert x.kind is Parameter.POSITIONAL_ONLY
    assert {(p.name, p.kind) for p in whole} == {(a.name, Parameter.KEYWORD_ONLY) for a in walk.attributes}
    assert (whole[0].default, whole[1].default) == (0, Parameter.empty)
    assert whole[1].annotation == Positive


def test_a_kernel_gets_the_group(walk: Operator) -> None:
    x = np.arange(6, dtype=np.float32)
    assert walk(x, stride=2).tolist() == [0, 2, 4], "a call takes the attributes one by one"
    assert walk(x, steps=Stepping(stride=3)).tolist() == [0, 3]
    bound = walk.bind({"first": 1, "stride": 2, "exclude_pad": True, "mode": "a"})
    assert bound == {"first": 1, "mode": "a", "steps": Stepping(stride=2, exclude_pad=True)}
    with pytest.raises(TypeError, match="unexpected keyword argument 'strid'"):
        walk(x, stride=2, strid=2)
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'stride'"):
        walk(x)


def test_a_rule_gets_what_it_names(walk: Operator) -> None:
    breaches: list[Any] = []
    given = {"first": 0, "stride": 9, "exclude_pad": False, "mode": "a"}
    walk.infer([TensorType(F32, PartialShape([4]))], given, breaches)
    assert [(b.constraint, b.attribute) for b in breaches] == [("C1", "stride")]


def test_specializer_generator_and_opener_get_what_they_name(walk: Operator) -> None:
    @walk.specialize
    def _(types: NodeTypes, *, steps: Stepping) -> Callable[..., Any]:
        return lambda x: x[:: steps.stride]

    @walk.oracle.draw("x")
    def _(rng: Any, port: str, types: Any, *, first: int) -> Array:
        return np.full(2, first, np.float32)

    @walk.oracle.alternatives
    def _(x: Array, *, mode: str, absent: int = 3) -> Any:
        return mode, absent

    given = {"first": 5, "stride": 2, "exclude_pad": False, "mode": "b"}
    assert walk.specializer is not None
    special = walk.specializer(NodeTypes((), (), (), given))
    assert special is not None
    assert special(np.arange(4)).tolist() == [0, 2]
    assert walk.oracle.generators["x"](None, "x", {}, given).tolist() == [5, 5]
    assert walk.oracle.open(np.zeros(1), **given) == ("b", 3)


def _walk_2(x: T, /, *, first: int = 0, steps: Stepping, mode: Literal["a", "b"] = "a") -> T:
    return x[first :: steps.stride]


WALK = Operator("Walk", "opset2", _walk_2)


def _walk_1(
    x: T, /, *, mode: Literal["a"] = "a", back: int = 0, **rest: Annotated[Any, AttributesOf(WALK, without="first")]
) -> T:
    """Walk-2 from the first element on."""
    return np.asarray(WALK(x[back:], mode=mode, **rest))


def _walk_1_again(x: T, /, *, first: int = 0, **rest: Annotated[Any, AttributesOf(WALK)]) -> T:
    return x


def test_a_version_that_states_its_difference(walk: Operator) -> None:
    walk_1 = Operator("Walk", "opset1", _walk_1, shapes=walk.rule)
    assert [a.name for a in walk_1.attributes] == ["stride", "exclude_pad", "mode", "back"]
    assert walk_1.attributes[2].members == ("a",)
    assert walk_1(np.arange(5, dtype=np.float32), stride=2, back=1).tolist() == [1, 3]
    assert walk_1.infer([TensorType(F32, PartialShape([4]))], {"stride": 1, "exclude_pad": False, "mode": "a"})


def test_a_wrong_difference_fails_immediately() -> None:
    with pytest.raises(TypeError, match="Walk-2 has no attribute 'last', so `without` cannot omit it"):
        AttributesOf(WALK, without="last")
    with pytest.raises(TypeError, match="attribute 'first' is identical in the other version; omit it"):
        operator("Walk", "opset1")(_walk_1_again)


@group
class Clashing:
    mode: str


@group
class Odd:
    table: dict[str, int]


class Forgotten(Stepping):
    more: int


def _clash(x: T, /, *, one: Clashing, mode: str = "a") -> T:
    return x


def _clash_in_the_file(x: T, /, *, steps: Stepping, other: Annotated[int, AsRead("exclude-pad")]) -> T:
    return x


def _odd_field(x: T, /, *, odd: Odd) -> T:
    return x


def _group_with_default(x: T, /, *, steps: Stepping = Stepping(stride=1)) -> T:  # noqa: B008
    return x


def _no_decorator(x: T, /, *, steps: Forgotten) -> T:
    return x


def _unmarked_rest(x: T, /, **rest: Any) -> T:
    return x


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        (_clash, "attribute 'mode' is declared twice"),
        (_clash_in_the_file, "attribute 'exclude-pad' is declared twice"),
        (_odd_field, r"attribute 'odd': Odd\.table: .* has no text form"),
        (_group_with_default, "attribute 'steps': a group cannot have a default, but its fields can"),
        (_no_decorator, "Forgotten is derived from a group: it also needs the decorator @group"),
        (_unmarked_rest, r"`\*\*` needs Annotated\[Any, AttributesOf\(another version\)\]"),
    ],
)
def test_a_wrong_kernel_fails_immediately(kernel: Callable[..., Any], said: str) -> None:
    with pytest.raises(TypeError, match=said):
        operator("Wrong", "opset1")(kernel)
    assert ("Wrong", "opset1") not in REGISTRY


@group
class Wider:
    stride: int
    depth: NonNegative


def _unknown_attribute(check: Check, x: TensorType, *, speed: int) -> PartialShape:
    return x.shape


def _unknown_field(check: Check, x: TensorType, *, steps: Wider) -> PartialShape:
    return x.shape


def _too_many_ports(check: Check, x: TensorType, y: TensorType) -> PartialShape:
    return x.shape


def _too_few_ports(check: Check) -> PartialShape:
    return PartialShape([])


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (
            _unknown_attribute,
            ("Walk-2: the shape rule .* has the parameter 'speed', which is not an attribute of the operator"),
        ),
        (_unknown_field, "Walk-2: the shape rule .*: the operator has no depth, which Wider requires"),
        (_too_many_ports, "Walk-2: the shape rule .* takes 3 positional arguments, but the operator has 2 inputs"),
        (_too_few_ports, "Walk-2: the shape rule .* takes 1 positional argument, but the operator has 2 inputs"),
    ],
)
def test_a_rule_that_does_not_fit_fails_immediately(walk: Operator, rule: Callable[..., Any], said: str) -> None:
    with pytest.raises(TypeError, match=said):
        walk.shapes(rule)


def test_a_rule_for_any_number_of_ports() -> None:
    @operator("Join", "opset1")
    def join(*parts: T) -> T:
        return parts[0]

    with pytest.raises(TypeError, match="needs `\\*` before its inputs: the operator accepts any number of inputs"):
        join.shapes(_too_many_ports)
