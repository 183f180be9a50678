"""ConvertPromoteTypes: the page's examples, and every pair of types against OpenVINO's own inference."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from support.oracle import infer, run, tensor

from irexec.core.types import ElementType
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


def test_an_input_of_the_common_type_is_the_output() -> None:
    b = np.array([1.5, 2.5, 3.5], np.float32)
    assert run(convert_promote_types_14, np.array([[1, 2]], np.int8), b)[1] is b
