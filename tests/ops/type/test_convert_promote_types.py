"""ConvertPromoteTypes: the page's examples, and every pair of types against OpenVINO's own inference."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from support.oracle import infer, run, tensor

from irexec.core.types import F32, ElementType
from irexec.ops.spec.operator import ConstraintError
from irexec.ops.type.convert_promote_types import convert_promote_types_14

REAL = ["f16", "bf16", "f32", "f64", "f8e4m3", "f8e5m2"]
NAMES = ["boolean", *REAL, "i4", "i8", "i16", "i32", "i64", "u1", "u4", "u8", "u16", "u32", "u64"]


# Scalar, tensor: the page forbids a "conversion to type with lower range of values", OpenVINO allows these pairs.
PASSED_BY_OPENVINO = {(f"u{n}", f"i{n}") for n in (4, 8, 16, 32, 64)} | {("bf16", "f16"), ("f8e5m2", "f8e4m3")}
PASSED_BY_OPENVINO |= {("u8", "i4"), ("u16", "i8"), ("u32", "i16"), ("u64", "i32")}


def promoted(a: str, b: str, ranks: tuple[int, int], **attributes: bool) -> str | None:
    types = [tensor(ElementType.by_name[n], ",".join(["2"] * r)) for n, r in zip((a, b), ranks, strict=True)]
    found, breaches = infer(convert_promote_types_14, types, **attributes)
    return None if breaches else found[0].element_type.name


def by_openvino(a: str, b: str, ranks: tuple[int, int], **attributes: bool) -> str | None:
    import openvino as ov
    import openvino.utils.node_factory as factory

    inputs = [ov.opset15.parameter([2] * r, getattr(ov.Type, n)).output(0) for n, r in zip((a, b), ranks, strict=True)]
    try:
        node = factory.NodeFactory("opset14").create("ConvertPromoteTypes", inputs, attributes)
    except RuntimeError:
        return None
    return node.get_output_element_type(0).get_type_name()


@pytest.mark.parametrize("unsafe", [False, True])
@pytest.mark.parametrize("pytorch", [False, True])
@pytest.mark.parametrize("ranks", [(1, 1), (0, 1), (1, 0), (0, 0)])
def test_every_pair_agrees_with_openvino(unsafe: bool, pytorch: bool, ranks: tuple[int, int]) -> None:
    attributes = {"promote_unsafe": unsafe, "pytorch_scalar_promotion": pytorch}
    lenient = PASSED_BY_OPENVINO if pytorch and not unsafe and sum(ranks) == 1 else set()
    for a, b in itertools.product(NAMES, NAMES):
        expected = by_openvino(a, b, ranks, **attributes)
        if ((a, b) if ranks[0] == 0 else (b, a)) in lenient:
            assert expected is not None
            expected = None
        assert promoted(a, b, ranks, **attributes) == expected, (a, b)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("i8", "f32", "f32"),
        ("i32", "u8", "i32"),
        ("f16", "f32", "f32"),
    ],
)
def test_page_examples(a: str, b: str, expected: str) -> None:
    assert promoted(a, b, (1, 1)) == expected


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("f16", "i64", "f16"),
        ("f64", "u64", "f64"),
        ("i8", "u8", "i16"),
        ("f16", "bf16", "f32"),
        ("f8e4m3", "f8e5m2", "f16"),
        ("u64", "i8", "f32"),
        ("i16", "u32", "i64"),
    ],
)
def test_c2_page_examples_that_are_not_safe(a: str, b: str, expected: str) -> None:
    types = [tensor(ElementType.by_name[n], "2") for n in (a, b)]
    _, breaches = infer(convert_promote_types_14, types)
    assert [x.constraint for x in breaches] == ["C2"]
    assert promoted(a, b, (1, 1), promote_unsafe=True) == expected
    with pytest.raises(ConstraintError):
        convert_promote_types_14(*(np.zeros(2, t.element_type.dtype) for t in types), promote_unsafe=False)


def test_page_examples_of_pytorch_scalars() -> None:
    pytorch = {"pytorch_scalar_promotion": True, "promote_unsafe": True}
    assert promoted("i64", "u8", (0, 1), **pytorch) == "u8"
    assert promoted("f16", "i8", (0, 1), **pytorch) == "f16"


@pytest.mark.parametrize(("a", "b"), [("string", "f32"), ("nf4", "f32"), ("f8e8m0", "boolean")])
def test_c1_some_types_have_nothing_in_common(a: str, b: str) -> None:
    types = [tensor(ElementType.by_name[n], "2") for n in (a, b)]
    _, breaches = infer(convert_promote_types_14, types)
    assert [x.constraint for x in breaches] == ["C1"]


def test_values_and_shapes() -> None:
    a, b = np.array([[1, 2]], np.int8), np.array([1.5, 2.5, 3.5], np.float32)
    first, second = run(convert_promote_types_14, a, b)
    np.testing.assert_array_equal(first, np.array([[1, 2]], np.float32))
    assert second is b
    whole, _ = run(convert_promote_types_14, np.array([1], np.uint64), np.array([2], np.int8), promote_unsafe=True)
    assert whole.dtype == np.float32


def test_u64_is_promoted_to_the_requested_type() -> None:
    types = [tensor(ElementType.by_name[n], "2") for n in ("u64", "i8")]
    found, breaches = infer(
        convert_promote_types_14, types, promote_unsafe=True, u64_integer_promotion_target=ElementType.by_name["i64"]
    )
    assert not breaches
    assert {t.element_type.name for t in found} == {"i64"}


def test_a_rank_that_is_not_known_leaves_the_type_open() -> None:
    types = [tensor(ElementType.by_name["i8"], "..."), tensor(ElementType.by_name["i64"], "2")]
    found, breaches = infer(convert_promote_types_14, types, pytorch_scalar_promotion=True)
    assert not breaches
    assert found[0].element_type.is_dynamic
    found, _ = infer(convert_promote_types_14, [types[0], tensor(F32, "2")], pytorch_scalar_promotion=True)
    assert found[0].element_type is F32
