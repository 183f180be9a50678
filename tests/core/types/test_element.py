"""Element types by the names that users write."""

from __future__ import annotations

import pytest

from irexec.core.types import ElementType


@pytest.mark.parametrize(
    ("text", "meant"),
    [("float32", "f32"), ("INT64", "i64"), ("fp16", "f16"), ("FP32", "f32"), ("torch.half", "f16"), ("np.uint8", "u8"),
     ("f32", "f32"), (" Float ", "f32"), ("bfloat16", "bf16"), ("bool", "boolean"), ("number", None)],
)  # fmt: skip
def test_names_of_other_frameworks_are_known(text: str, meant: str | None) -> None:
    found = ElementType.meant_by(text)
    assert (found and found.name) == meant
