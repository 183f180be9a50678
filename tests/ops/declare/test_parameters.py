"""What the signature of a function says is what `inspect` and `typing` say of it."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeAlias, get_type_hints

import pytest

from irexec.ops.declare.contents import everything
from irexec.ops.declare.parameters import annotations_of, parameters_of
from irexec.records import MISSING

Few: TypeAlias = Annotated[int, "few"]


def plain(
    a: Few, b: Few | None = None, /, c: int = 3, *rest: Few, out: bool, named: float = 2.0, **others: Any
) -> None:
    local = a, b
    assert local


def by_name(*, x: Literal["a", "b"] = "a", y: "tuple[int, ...]" = ()) -> tuple[Few, Few]:  # noqa: UP037
    return 1, 2


def only_places(a, b=1):  # type: ignore[no-untyped-def]
    return a, b


@functools.wraps(plain)
def wrapping(*args: Any, **kwargs: Any) -> None:
    return plain(*args, **kwargs)


class Callee:
    def __call__(self, a: int, /, *, b: int = 2) -> int:
        return a + b

    def method(self, a: int, *, b: int = 2) -> int:
        return a + b


FUNCTIONS = [plain, by_name, only_places, wrapping, Callee(), Callee().method, functools.partial(plain, 1, c=2)]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_parameters_are_those_that_inspect_finds(function: Callable[..., Any]) -> None:
    check_parameters(function)


def check_parameters(function: Callable[..., Any]) -> None:
    expected = [
        (each.name, each.kind, *(MISSING if it is each.empty else it for it in (each.annotation, each.default)))
        for each in inspect.signature(function).parameters.values()
    ]
    assert [tuple(each) for each in parameters_of(function)] == expected


@pytest.mark.parametrize("function", [plain, by_name, only_places, wrapping, Callee().method])
def test_the_annotations_mean_what_typing_says(function: Callable[..., Any]) -> None:
    assert annotations_of(function) == get_type_hints(function, include_extras=True)


def test_annotations_that_are_no_texts() -> None:
    code = "from typing import Any\ndef f(a: int, b: 'Any' = None, *, c: 'list[\"int\"]') -> None: ..."
    names: dict[str, Any] = {}
    exec(compile(code, "f", "exec", dont_inherit=True), names)
    assert annotations_of(names["f"]) == get_type_hints(names["f"])
    check_parameters(names["f"])


def test_an_annotation_that_means_nothing() -> None:
    def unknown(a: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(NameError, match="Nowhere"):
        annotations_of(unknown)


def test_every_operator_is_read_as_inspect_and_typing_read_it() -> None:
    operators = [operator for _, _, operator in everything() if operator is not None]
    assert len(operators) > 240
    for operator in operators:
        check_parameters(operator.kernel)
        if operator.rule is not None:
            check_parameters(operator.rule)
        # Marks that are made where they stand are others each time.
        meant = [re.sub("0x[0-9a-f]+", "", str(read(operator.kernel))) for read in (annotations_of, _type_hints)]
        assert meant[0] == meant[1]


def _type_hints(function: Callable[..., Any]) -> dict[str, Any]:
    return get_type_hints(function, include_extras=True)
