"""The decorator: the properties that follow from a signature, and messages about a wrong declaration, on import."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeAlias

import numpy as np
import pytest

from irexec.core.types import BOOLEAN, DYNAMIC, F16, F32, I32, I64, Array, ElementType, PartialShape, TensorType
from irexec.ops.spec.contents import load
from irexec.ops.spec.operator import (
    REGISTRY,
    Breach,
    Check,
    ConstraintError,
    Elements,
    Operator,
    TypeFrom,
    exact,
    operator,
    require,
    rounded,
)
from irexec.ops.spec.tensors import AnyTensor
from irexec.ops.spec.traits import HasBodies, Pure, Stateful

T: TypeAlias = Annotated[Array, Elements("T", {F16, F32})]
INDEX: TypeAlias = Annotated[Array, Elements("T_IND", {I32, I64})]
FLAG: TypeAlias = Annotated[Array, Elements(None, {BOOLEAN})]


pytestmark = pytest.mark.usefixtures("registry_as_before")


def typed(kind: ElementType, shape: str) -> TensorType:
    return TensorType(kind, PartialShape.parse(shape))


def _weigh(data: T, index: INDEX, scale: T | None = None, /, *, axis: int = 0, to: ElementType = F32) -> tuple[T, FLAG]:
    """Weigh things."""
    return data, np.array(True)


def test_the_signature() -> None:
    op = operator("Weigh", "opset3", tolerance=rounded(2))(_weigh)
    assert REGISTRY["Weigh", "opset3"] is op
    assert str(op) == op.versioned_name == "Weigh-3"
    assert [(i.name, i.elements.name, i.optional, i.variadic) for i in op.inputs] == [
        ("data", "T", False, False),
        ("index", "T_IND", False, False),
        ("scale", "T", True, False),
    ]
    assert (op.signature.min_inputs, op.signature.max_inputs) == (2, 3)
    assert [(a.name, a.default, a.required) for a in op.attributes] == [("axis", 0, False), ("to", F32, False)]
    assert len(op.outputs) == 2
    assert (op.oracle.tolerance.kind, op.oracle.tolerance.ulp) == ("rounded", 2)
    assert op.__doc__ == "Weigh things."
    assert op(np.float32(1), np.int64(2))[0] == 1, "a call runs the kernel"


def test_a_variadic_operator() -> None:
    @operator("Join", "opset1")
    def join(*parts: T, axis: int) -> T:
        return parts[0]

    assert join.signature.is_variadic
    assert join.signature.max_inputs is None
    assert [join.signature.port_name(i) for i in (0, 1)] == ["parts[0]", "parts[1]"]
    assert join.attributes[0].required


def test_outputs_by_attribute_and_by_number() -> None:
    @operator("Cast", "opset1")
    def cast(x: AnyTensor, /, *, to: ElementType) -> list[Annotated[Array, TypeFrom("to")]]:
        return [x]

    assert cast.outputs[0].variadic
    cast.shapes(lambda check, x, *, to: [x.shape, PartialShape([7])])
    assert [str(t) for t in cast.infer([typed(F32, "2")], {"to": I32})] == ["i32[2]", "i32[7]"]


def _no_annotation(x, /) -> T:  # type: ignore[no-untyped-def]
    return x


def _no_mark(x: Array, /) -> T:
    return x


def _no_return(x: T, /):  # type: ignore[no-untyped-def]
    return x


def _no_mark_on_the_return(x: T, /) -> Array:
    return x


def _ordinary_parameter(x: T, axis: int) -> T:
    return x


def _odd_attribute(x: T, /, *, table: dict[str, int]) -> T:
    return x


def _undefined_name(x: Thing, /) -> T:  # type: ignore[name-defined]  # noqa: F821
    return x


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        (_no_annotation, "parameter 'x' has no annotation"),
        (_no_mark, r"input 'x' needs Annotated\[Array, Elements"),
        (_no_return, "the outputs need a return annotation"),
        (_no_mark_on_the_return, "an output needs Annotated"),
        (_ordinary_parameter, "put a `/` after the inputs and a `\\*` before the attributes"),
        (_odd_attribute, "attribute 'table': .* has no text form: use int, float"),
        (_undefined_name, "an annotation cannot be read: name 'Thing' is not defined"),
    ],
)
def test_a_wrong_declaration_fails_immediately(kernel: Callable[..., Any], said: str) -> None:
    with pytest.raises(TypeError, match=said) as failed:
        operator("Wrong", "opset1")(kernel)
    assert kernel.__name__ in str(failed.value), "the kernel is named"
    assert ("Wrong", "opset1") not in REGISTRY


def test_declarations_of_irexec_are_read_when_they_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_ordinary_parameter, "__module__", "irexec.ops.wrong")
    made = operator("Wrong", "opset1")(_ordinary_parameter)
    del REGISTRY["Wrong", "opset1"]
    with pytest.raises(TypeError, match="put a `/` after the inputs"):
        made.read_declaration()
    with pytest.raises(TypeError, match="put a `/` after the inputs"):
        assert made.signature


def test_an_input_that_is_none_is_not_a_buffer() -> None:
    with pytest.raises(TypeError, match="Wrong-1: 'z' is not an input"):
        operator("Wrong", "opset1", inplace="z")(_weigh)
    with pytest.raises(TypeError, match="Wrong-1: 'z' is not an input"):
        operator("Wrong", "opset1", view="z")(_weigh)
    with pytest.raises(TypeError, match="Wrong-1: 'z' is not an input"):
        operator("Wrong", "opset1", as_stored="z")(_weigh)


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(TypeError, match="Wrong-1: there is no option 'has_bodies'; facts such as HasBodies are traits"):
        operator("Wrong", "opset1", has_bodies=True)(_weigh)  # type: ignore[call-arg]


def made(rule: Callable[..., Any] | None = None) -> Operator:
    return Operator("Weigh", "opset3", _weigh, shapes=rule, tolerance=exact)


def test_types_follow_the_groups() -> None:
    op = made(lambda check, data, index, scale, *, axis, to: (data.shape, ()))
    assert [str(t) for t in op.infer([typed(F16, "2"), typed(I32, "")], {"axis": 0, "to": F32})] == [
        "f16[2]",
        "boolean[]",
    ]
    assert str(op.infer([typed(DYNAMIC, "2"), typed(I32, "")], {"axis": 0, "to": F32})[0]) == "dynamic[2]"


def test_types_that_do_not_fit() -> None:
    breaches: list[Breach] = []
    made().infer([typed(F16, "2"), typed(F32, ""), typed(F32, "2")], {"axis": 0, "to": F32}, breaches)
    assert [(b.code, b.port, b.found, b.allowed) for b in breaches] == [
        ("O002", "index", "f32", "i32, i64"),
        ("O003", "scale", "f32", "f16"),
    ]


def test_a_rule_reports_and_continues() -> None:
    def rule(check: Check, data: TensorType, index: Any, scale: Any, *, axis: int, to: Any) -> Any:
        assert check("C1", True, "not said")
        assert check("C1", None, "nothing is known, nothing is said")
        assert not check("C2", data.rank == 3, "data is flat", port="data", found="1", allowed="3", hint="fold it")
        check("C3", False, "axis too", attribute="axis")
        return data.shape, ()

    breaches: list[Breach] = []
    types = made(rule).infer([typed(F32, "2"), typed(I64, "")], {"axis": 0, "to": F32}, breaches)
    assert [(b.code, b.constraint, b.port, b.attribute, b.hint) for b in breaches] == [
        ("O001", "C2", "data", None, "fold it"),
        ("O001", "C3", None, "axis", None),
    ]
    assert str(types[0]) == "f32[2]"


def test_a_rule_that_requires_unknown_values_returns_a_dynamic_shape() -> None:
    op = made(lambda check, data, index, scale, *, axis, to: (data.shape[1:], ()))
    assert str(op.infer([typed(F32, "..."), typed(I64, "")], {"axis": 0, "to": F32})[0]) == "f32[...]"


def test_an_operator_without_rule_makes_something_of_dynamic_rank() -> None:
    assert [str(t) for t in made().infer([typed(F32, "2"), typed(I64, "")], {"axis": 0, "to": F32})] == [
        "f32[...]",
        "boolean[...]",
    ]


def test_a_kernel_refuses_a_value() -> None:
    require("C4", True, "nothing")
    with pytest.raises(ConstraintError, match="index 7 of 3") as failed:
        require("C4", np.bool_(False), "index 7 of 3", port="index")
    assert (failed.value.constraint, failed.value.port) == ("C4", "index")


def test_a_rule_that_continues_with_what_it_has_refused_adds_no_finding_of_its_own_failure() -> None:
    @operator("Refusing", "own")
    def refusing(x: T, /) -> T:
        """C1: x is [2]."""
        return x

    @refusing.shapes
    def _(check: Check, x: TensorType) -> PartialShape:
        check("C1", x.rank == 1, "x has another rank than 1", port="x")
        return PartialShape([x.shape.dims[0]])

    breaches: list[Breach] = []
    (made,) = refusing.infer([TensorType(F32, PartialShape([]))], {}, breaches)
    assert [(b.code, b.constraint) for b in breaches] == [("O001", "C1")]
    assert made.rank is None


def test_what_the_engine_runs_is_declared() -> None:
    for type, opset, flags in (
        ("If", 8, (True, False)),
        ("Loop", 5, (True, False)),
        ("TensorIterator", 1, (True, False)),
        ("ReadValue", 6, (False, True)),
        ("Assign", 6, (False, True)),
        ("Add", 1, (False, False)),
    ):
        op = load(type, opset)
        assert op is not None
        assert (HasBodies in op.traits, Stateful in op.traits) == flags
        assert (Pure in op.traits) != any(flags)
        assert op.is_run_by_engine == any(flags)
