"""Type: OpenVINO's words for an element type, `Type.f32` and the like."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from irexec import types
from irexec.openvino.extend import extends
from irexec.types import BOOLEAN, DYNAMIC, NF4, STRING


class Answer(int):
    """True or False, which may be called, too: OpenVINO asks `Type.f32.is_real()`, irexec `Type.f32.is_real`."""

    def __call__(self) -> bool:
        return bool(self)

    def __repr__(self) -> str:
        return repr(bool(self))


_NAMED_IN_C = {
    "bf16": "bfloat16",
    "f16": "float16",
    "f32": "float32",
    "f64": "double64",
    "nf4": "nfloat4",
    "boolean": "char",
}
_NAMED_IN_C |= {f"i{bits}": f"int{bits}_t" for bits in (4, 8, 16, 32, 64)}
_NAMED_IN_C |= {f"u{bits}": f"uint{bits}_t" for bits in (1, 2, 3, 4, 6, 8, 16, 32, 64)}
# As OpenVINO has it: what it makes of quantised models, sums of 32 bits among them.
_QUANTIZED = frozenset({"i4", "i8", "i32", "u8", "nf4", "f8e4m3", "f8e5m2", "f8e8m0", "f4e2m1"})
_YES, _NO = Answer(1), Answer(0)


def _answer(yes: bool) -> Answer:
    return _YES if yes else _NO


@extends(replacing=("is_dynamic", "is_integral", "is_real", "is_signed", "__repr__"))
class Type(types.ElementType):
    """An element type. `Type(numpy.float32)` is `Type.f32`."""

    __slots__ = ()

    dynamic: ClassVar[types.ElementType]
    boolean: ClassVar[types.ElementType]
    string: ClassVar[types.ElementType]
    bf16: ClassVar[types.ElementType]
    f16: ClassVar[types.ElementType]
    f32: ClassVar[types.ElementType]
    f64: ClassVar[types.ElementType]
    i4: ClassVar[types.ElementType]
    i8: ClassVar[types.ElementType]
    i16: ClassVar[types.ElementType]
    i32: ClassVar[types.ElementType]
    i64: ClassVar[types.ElementType]
    u1: ClassVar[types.ElementType]
    u2: ClassVar[types.ElementType]
    u3: ClassVar[types.ElementType]
    u4: ClassVar[types.ElementType]
    u6: ClassVar[types.ElementType]
    u8: ClassVar[types.ElementType]
    u16: ClassVar[types.ElementType]
    u32: ClassVar[types.ElementType]
    u64: ClassVar[types.ElementType]
    nf4: ClassVar[types.ElementType]
    f8e4m3: ClassVar[types.ElementType]
    f8e5m2: ClassVar[types.ElementType]
    f8e8m0: ClassVar[types.ElementType]
    f4e2m1: ClassVar[types.ElementType]

    @property
    def type_name(self) -> str:
        return self.name

    @property
    def size(self) -> int:
        """The bytes of one element, rounded up."""
        return (self.bitwidth + 7) // 8

    @property
    def is_dynamic(self) -> Answer:  # type: ignore[override]
        return _answer(self is DYNAMIC)

    @property
    def is_static(self) -> Answer:
        return _answer(self is not DYNAMIC)

    @property
    def is_real(self) -> Answer:  # type: ignore[override]
        return _answer(self.kind == "f")

    @property
    def is_signed(self) -> Answer:  # type: ignore[override]
        return _answer(self.kind in "if")

    @property
    def is_integral(self) -> Answer:  # type: ignore[override]
        return _answer(self.kind in "iu")

    @property
    def is_integral_number(self) -> Answer:
        return _answer(self.kind in "iu" and self is not BOOLEAN)

    @property
    def is_quantized(self) -> Answer:
        return _answer(self.name in _QUANTIZED)

    @property
    def integral(self) -> bool:
        return self.is_integral()

    @property
    def integral_number(self) -> bool:
        return self.is_integral_number()

    @property
    def quantized(self) -> bool:
        return self.is_quantized()

    @property
    def real(self) -> bool:
        return self.is_real()

    @property
    def signed(self) -> bool:
        return self.is_signed()

    def __repr__(self) -> str:
        return f"<Type: '{_NAMED_IN_C.get(self.name, self.name)}'>"

    def get_type_name(self) -> str:
        return self.name

    def get_size(self) -> int:
        return (self.bitwidth + 7) // 8

    def get_bitwidth(self) -> int:
        return self.bitwidth

    def to_string(self) -> str:
        return self.name

    def to_dtype(self) -> np.dtype[Any]:
        """The dtype of a Tensor's `data`: bf16 shows as float16, packed and 8-bit float types as bytes."""
        return shown_dtype(self)

    def compatible(self, other: types.ElementType) -> bool:
        return self is other or DYNAMIC in (self, other)

    def merge(self, other: types.ElementType) -> types.ElementType | None:
        """The type that is both, dynamic being any; None where there is none."""
        if self is other or other is DYNAMIC:
            return self
        return other if self is DYNAMIC else None


ElementType = types.ElementType

for _kind in list(types.ElementType.by_name.values()):
    if _kind not in types.FOREIGN:
        setattr(types.ElementType, _kind.name, _kind)


def shown_dtype(kind: types.ElementType) -> np.dtype[Any]:
    """The dtype that OpenVINO's Python API shows for a type. Raises IndexError for dynamic, which has none."""
    if kind.dtype is None:
        raise IndexError("the dynamic type has no dtype")
    if kind is STRING:
        return np.dtype("S")
    if kind.name == "bf16":
        return np.dtype(np.float16)
    if kind.name == "i4":
        return np.dtype(np.int8)
    if kind.is_packed or kind is NF4 or kind.name.startswith(("f8", "f4")):
        return np.dtype(np.uint8)
    return kind.dtype
