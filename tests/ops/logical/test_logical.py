"""The opsets of Xor."""

from __future__ import annotations

from irexec.ops.spec.contents import find


def test_xor_of_opset1_is_logical_xor() -> None:
    assert find("Xor", "opset1") is not None
    assert find("Xor", "opset3") is None
