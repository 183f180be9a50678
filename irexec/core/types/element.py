"""Element types: their names in ports and attributes, their width in a file, and their NumPy dtype in memory.

Source: OpenVINO IR, element type names of ports (`FP32`) and of attributes (`f32`).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

import numpy as np

from irexec.core.arguments import expected

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


class Answer(int):
    """A truth value that can also be called: `Type.f32.is_real()` as in OpenVINO, or `Type.f32.is_real`."""

    def __call__(self) -> bool:
        return bool(self)

    def __repr__(self) -> str:
        return repr(bool(self))


_NO, _YES = Answer(0), Answer(1)
# The names of element types in OpenVINO's messages.
_NAMED_IN_C = {
    "bf16": "bfloat16", "f16": "float16", "f32": "float32", "f64": "double64", "nf4": "nfloat4", "boolean": "char",
}  # fmt: skip
_NAMED_IN_C |= {f"i{bits}": f"int{bits}_t" for bits in (4, 8, 16, 32, 64)}
_NAMED_IN_C |= {f"u{bits}": f"uint{bits}_t" for bits in (1, 2, 3, 4, 6, 8, 16, 32, 64)}
# The types that OpenVINO counts as quantized, including i32, the type of sums of quantized products.
_QUANTIZED = frozenset({"i4", "i8", "i32", "u8", "nf4", "f8e4m3", "f8e5m2", "f8e8m0", "f4e2m1"})


class NoElementType(TypeError, RuntimeError):
    """Raised for a NumPy dtype that corresponds to no element type. (OpenVINO raises RuntimeError for it.)"""


class ElementType:
    """An element type. There is one object per type, so compare with `is`; `ElementType(numpy.float32)` returns `f32`.

    The members are those of OpenVINO's `Type`; the types of the IR are attributes of the class, as in `Type.f32`.
    `name` is OpenVINO's name ("f32"), `bitwidth` the number of bits of one element in a `.bin` (0: not fixed), and
    `dtype` the NumPy dtype of an array of the type (None for dynamic).
    """

    __slots__ = ("_scalar", "bitwidth", "dtype", "kind", "name", "port_name")
    dtype: np.dtype[Any] | None

    by_name: ClassVar[dict[str, ElementType]] = {}
    dynamic: ClassVar[ElementType]
    boolean: ClassVar[ElementType]
    string: ClassVar[ElementType]
    bf16: ClassVar[ElementType]
    f16: ClassVar[ElementType]
    f32: ClassVar[ElementType]
    f64: ClassVar[ElementType]
    i4: ClassVar[ElementType]
    i8: ClassVar[ElementType]
    i16: ClassVar[ElementType]
    i32: ClassVar[ElementType]
    i64: ClassVar[ElementType]
    u1: ClassVar[ElementType]
    u2: ClassVar[ElementType]
    u3: ClassVar[ElementType]
    u4: ClassVar[ElementType]
    u6: ClassVar[ElementType]
    u8: ClassVar[ElementType]
    u16: ClassVar[ElementType]
    u32: ClassVar[ElementType]
    u64: ClassVar[ElementType]
    nf4: ClassVar[ElementType]
    f8e4m3: ClassVar[ElementType]
    f8e5m2: ClassVar[ElementType]
    f8e8m0: ClassVar[ElementType]
    f4e2m1: ClassVar[ElementType]

    def __new__(cls, name: TypeLike, *definition: Any) -> Self:
        """Return a new type; for a dtype alone, the existing type with this dtype. Raises TypeError, like `of`."""
        if cls is ElementType and not definition:
            return cls.of(name)  # type: ignore[return-value]
        return object.__new__(cls)

    def __init__(
        self, name: TypeLike, bitwidth: int = 0, scalar: str = "", kind: str = "", port_name: str = ""
    ) -> None:
        """`scalar`: the name of the dtype in NumPy ("float32"), or its qualified name ("ml_dtypes.bfloat16")."""
        if not kind:  # `__new__` returned an existing type.
            return
        assert isinstance(name, str)
        self.name: str = name
        self.bitwidth = bitwidth
        self._scalar = scalar
        self.kind = kind
        self.port_name = port_name or name.upper()
        ElementType.by_name[name] = self

    def __getattr__(self, name: str) -> Any:
        # The dtype is created on first use, so that files can be checked without ml_dtypes and usually without NumPy.
        if name != "dtype":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self.dtype = _dtype(self._scalar) if self._scalar else None
        return self.dtype

    @property
    def type_name(self) -> str:
        """The name in attributes, such as f32."""
        return self.name

    @property
    def size(self) -> int:
        """The bytes of one element, rounded up."""
        return (self.bitwidth + 7) // 8

    @property
    def is_real(self) -> Answer:
        """Whether values are floating-point numbers."""
        return _YES if self.kind == "f" else _NO

    @property
    def is_integral(self) -> Answer:
        """Whether values are integers or booleans, as OpenVINO defines it."""
        return _YES if self.kind in "iu" or self.name == "boolean" else _NO

    @property
    def is_integral_number(self) -> Answer:
        """Whether values are integers."""
        return _YES if self.kind in "iu" else _NO

    @property
    def is_signed(self) -> Answer:
        """Whether values may be negative."""
        return _YES if self.kind in "if" else _NO

    @property
    def is_quantized(self) -> Answer:
        """Whether OpenVINO counts the type as quantized."""
        return _YES if self.name in _QUANTIZED else _NO

    @property
    def is_dynamic(self) -> Answer:
        """Whether the type is unknown."""
        return _NO if self._scalar else _YES

    @property
    def is_static(self) -> Answer:
        """Whether the type is known."""
        return _YES if self._scalar else _NO

    @property
    def real(self) -> bool:
        """Whether values are floating-point numbers."""
        return bool(self.is_real)

    @property
    def integral(self) -> bool:
        """Whether values are integers or booleans, as OpenVINO defines it."""
        return bool(self.is_integral)

    @property
    def integral_number(self) -> bool:
        """Whether values are integers."""
        return bool(self.is_integral_number)

    @property
    def signed(self) -> bool:
        """Whether values may be negative."""
        return bool(self.is_signed)

    @property
    def quantized(self) -> bool:
        """Whether OpenVINO counts the type as quantized."""
        return bool(self.is_quantized)

    def get_type_name(self) -> str:
        """Return the name in attributes, such as f32."""
        return self.name

    def get_size(self) -> int:
        """Return the bytes of one element, rounded up."""
        return self.size

    def get_bitwidth(self) -> int:
        """Return the bits of one element."""
        return self.bitwidth

    def to_string(self) -> str:
        """Return the name in attributes, such as f32."""
        return self.name

    def to_dtype(self) -> np.dtype[Any]:
        """Return the NumPy dtype of a Tensor's `data`; it is float16 for bf16, and bytes for packed and 8-bit float
        types.

        Raises IndexError for the dynamic type, which has no dtype.
        """
        if self.dtype is None:
            raise IndexError("the dynamic type has no dtype")
        if self.name == "string":
            return np.dtype("S")
        if self.name == "bf16":
            return np.dtype(np.float16)
        if self.name == "i4":
            return np.dtype(np.int8)
        if self.is_packed or self.name.startswith(("f8", "f4")):
            return np.dtype(np.uint8)
        return self.dtype

    def compatible(self, other: ElementType) -> bool:
        """Return True if the types are equal or one of them is dynamic."""
        return self is other or DYNAMIC in (self, other)

    def merge(self, other: ElementType) -> ElementType | None:
        """Return the more specific of two compatible types (dynamic is compatible with any type); None if they
        differ.
        """
        if self is other or other is DYNAMIC:
            return self
        return other if self is DYNAMIC else None

    @property
    def is_packed(self) -> bool:
        """True when several elements share a byte in the `.bin`."""
        return 0 < self.bitwidth < 8

    @property
    def is_carried(self) -> bool:
        """True if the type has no NumPy dtype of its own: its values are stored as uint8 (codes for nf4)."""
        return self.name in ("u1", "u3", "u6", "nf4")

    def nbytes(self, count: int) -> int:
        """Return the bytes that `count` elements take in a `.bin`: whole bytes, and for u3 and u6 whole groups of
        three.
        """
        if self.bitwidth in (3, 6):
            return -(-count * self.bitwidth // 24) * 3
        return (count * self.bitwidth + 7) >> 3

    @staticmethod
    def from_port(text: str) -> ElementType | None:
        """Return the type that a port's `precision` names, exactly spelled; None if there is no such type."""
        return _PORT_NAMES.get(text)

    @staticmethod
    def from_attribute(text: str) -> ElementType | None:
        """Return the type that an attribute such as `element_type` names, in any letter case; None if there is no such
        type.
        """
        return _ATTRIBUTE_NAMES.get(expected(text, str, "Type.from_attribute()").lower())

    @staticmethod
    def meant_by(text: str) -> ElementType | None:
        """Return the type with this name; None if there is no such type. Names of other frameworks are known:
        `float32`, `torch.half`.
        """
        name = expected(text, str, "Type.meant_by()").strip()
        if "." in name:
            name = name[name.rindex(".") + 1 :]
        exact = ElementType.from_port(name) or ElementType.from_attribute(name)
        return exact or _PORT_NAMES.get(name.upper()) or OTHER_NAMES.get(name.lower().replace("_", ""))

    @staticmethod
    def of(dtype: DTypeLike) -> ElementType:
        """Return the element type of a NumPy dtype. Raises TypeError for a dtype without an element type."""
        dtype = np.dtype(dtype)
        found = _by_dtype(False).get(dtype)
        if found is None and dtype.kind in "UTSO":
            found = STRING
        if found is None:
            found = _by_dtype(False).get(dtype.newbyteorder("=")) or _by_dtype(True).get(dtype)
        if found is None:
            raise NoElementType(f"no element type corresponds to NumPy's {dtype}")
        return found

    def __repr__(self) -> str:
        return f"<Type: '{_NAMED_IN_C.get(self.name, self.name)}'>"

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return _lookup, (self.name,)


def is_numpys(dtype: np.dtype[Any]) -> bool:
    """Return whether a dtype of numbers or booleans is NumPy's own, and not one of ml_dtypes.

    `dtype.isbuiltin` is not sufficient: it is 0 even for int32 in an array that was unpickled, as in another process.
    """
    return dtype.kind in "biufc" and dtype.type.__module__ == "numpy"


def _lookup(name: str) -> ElementType:
    return ElementType.by_name[name]


def _dtype(scalar: str) -> np.dtype[Any]:
    """Return the dtype with this name, such as "float32" or "ml_dtypes.int4"."""
    if scalar == "StringDType":
        return np.dtypes.StringDType()
    if not scalar.startswith("ml_dtypes."):
        return np.dtype(scalar)
    import ml_dtypes

    found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, scalar.removeprefix("ml_dtypes.")))
    return found


@cache
def _by_dtype(of_ml_dtypes: bool) -> dict[np.dtype[Any], ElementType]:
    """Return, by dtype, the element types with a dtype of NumPy, or the element types with a dtype of ml_dtypes."""
    types = [t for t in ElementType.by_name.values() if t._scalar and not t.is_carried]
    chosen = [t for t in types if t._scalar.startswith("ml_dtypes.") == of_ml_dtypes]
    return {t.dtype: t for t in chosen if t.dtype is not None}


DYNAMIC = ElementType("dynamic", 0, "", "?", "UNSPECIFIED")
BOOLEAN = ElementType("boolean", 8, "bool", "b", "BOOL")
STRING = ElementType("string", 0, "StringDType", "s")
F16 = ElementType("f16", 16, "float16", "f", "FP16")
BF16 = ElementType("bf16", 16, "ml_dtypes.bfloat16", "f")
F32 = ElementType("f32", 32, "float32", "f", "FP32")
F64 = ElementType("f64", 64, "float64", "f", "FP64")
I4 = ElementType("i4", 4, "ml_dtypes.int4", "i")
I8 = ElementType("i8", 8, "int8", "i")
I16 = ElementType("i16", 16, "int16", "i")
I32 = ElementType("i32", 32, "int32", "i")
I64 = ElementType("i64", 64, "int64", "i")
U1 = ElementType("u1", 1, "uint8", "u", "BIN")
U2 = ElementType("u2", 2, "ml_dtypes.uint2", "u")
U3 = ElementType("u3", 3, "uint8", "u")
U4 = ElementType("u4", 4, "ml_dtypes.uint4", "u")
U6 = ElementType("u6", 6, "uint8", "u")
U8 = ElementType("u8", 8, "uint8", "u")
U16 = ElementType("u16", 16, "uint16", "u")
U32 = ElementType("u32", 32, "uint32", "u")
U64 = ElementType("u64", 64, "uint64", "u")
NF4 = ElementType("nf4", 4, "uint8", "f")
F8E4M3 = ElementType("f8e4m3", 8, "ml_dtypes.float8_e4m3fn", "f")
F8E5M2 = ElementType("f8e5m2", 8, "ml_dtypes.float8_e5m2", "f")
F8E8M0 = ElementType("f8e8m0", 8, "ml_dtypes.float8_e8m0fnu", "f")
F4E2M1 = ElementType("f4e2m1", 4, "ml_dtypes.float4_e2m1fn", "f")
# Types of ONNX only: no element type name of the IR refers to them.
C64 = ElementType("c64", 64, "complex64", "c")
C128 = ElementType("c128", 128, "complex128", "c")
F8E4M3FNUZ = ElementType("f8e4m3fnuz", 8, "ml_dtypes.float8_e4m3fnuz", "f")
F8E5M2FNUZ = ElementType("f8e5m2fnuz", 8, "ml_dtypes.float8_e5m2fnuz", "f")
I2 = ElementType("i2", 2, "ml_dtypes.int2", "i")
FOREIGN = frozenset({C64, C128, F8E4M3FNUZ, F8E5M2FNUZ, I2})

_IR_TYPES = [t for t in ElementType.by_name.values() if t not in FOREIGN]
for _type in _IR_TYPES:
    setattr(ElementType, _type.name, _type)
Type = ElementType  # OpenVINO's name of the class
TypeLike: TypeAlias = "ElementType | DTypeLike"
"""An element type: itself, its name, or a NumPy dtype."""
_PORT_NAMES: dict[str, ElementType] = {t.name: t for t in _IR_TYPES} | {t.name.upper(): t for t in _IR_TYPES}
for _wrong in ("F16", "F32", "F64", "BOOLEAN", "DYNAMIC"):
    del _PORT_NAMES[_wrong]
_PORT_NAMES |= {t.port_name: t for t in _IR_TYPES} | {"bin": U1, "undefined": DYNAMIC}

_ATTRIBUTE_NAMES: dict[str, ElementType] = {t.name: t for t in _IR_TYPES} | {"undefined": DYNAMIC}

# Names used by other frameworks and by NumPy.
OTHER_NAMES: dict[str, ElementType] = {f"int{n}": t for n, t in ((4, I4), (8, I8), (16, I16), (32, I32), (64, I64))}
OTHER_NAMES |= {f"u{name}": ElementType.by_name[f"u{name[3:]}"] for name in list(OTHER_NAMES)}
OTHER_NAMES |= {f"float{n}": t for n, t in ((16, F16), (32, F32), (64, F64))}
OTHER_NAMES |= {"half": F16, "float": F32, "single": F32, "double": F64, "bfloat": BF16, "bfloat16": BF16}
OTHER_NAMES |= {"short": I16, "long": I64, "str": STRING}

FLOATS = frozenset({F16, BF16, F32, F64})
SIGNED = frozenset({I8, I16, I32, I64})
UNSIGNED = frozenset({U8, U16, U32, U64})
INTEGERS = SIGNED | UNSIGNED
NUMERIC = FLOATS | INTEGERS
INDICES = frozenset({I32, I64})
LOW_PRECISION = frozenset({I4, U1, U2, U3, U4, U6, NF4, F8E4M3, F8E5M2, F8E8M0, F4E2M1})
ANY = NUMERIC | LOW_PRECISION | {BOOLEAN, STRING}
