"""Vectors of packed weights become vectors of f32, rounded as each layer of the model rounds them."""

from __future__ import annotations

from typing import Any, NamedTuple

from llvmlite import ir

from irexec.lowering.llvm.code import F32, I32, Code, Number

HALF, I8, I16 = ir.HalfType(), ir.IntType(8), ir.IntType(16)
# The lanes of AVX-512, whose permutations look up sixteen floats.
TABLE = 16
# The codes in a dword of 4-bit elements, and those of the widest vector.
IN_DWORD, IN_BLOCK = 8, 128
_INTEGERS = {"i4": True, "u4": False, "i8": True, "u8": False}
_NORMAL, _INFINITE = 0x3880_0000, 0x477F_F000


class Packing(NamedTuple):
    """How the elements of a matrix are computed: (code - zero) · scale.

    `type` is that of the codes, `steps` what follows the conversion: "zero" and "scale", or the names of types to which
    is rounded. `table` are the bits of the values of nf4. `permutes`, `halves`: whether the processor permutes vectors
    of 16 lanes, and converts f16.
    """

    type: str
    steps: tuple[str, ...]
    table: tuple[float, ...]
    permutes: bool
    halves: bool

    @property
    def is_nibble(self) -> bool:
        return self.type in ("i4", "u4", "nf4")

    @property
    def is_looked_up(self) -> bool:
        """Whether the values of a group are in a vector that is permuted."""
        return self.is_nibble and self.permutes

    def nbytes(self, count: int | Number) -> Any:
        """Return the bytes of an even number of elements."""
        if self.is_nibble:
            return count // 2
        return count * 2 if self.type in ("f16", "bf16") else count

    @property
    def name(self) -> str:
        return "_".join((self.type, *self.steps))


class Group(NamedTuple):
    """The zero point and the scale of a group, as scalars."""

    zero: Any
    scale: Any


class Decoder:
    """Converts codes of one group, vectors of any number of lanes."""

    def __init__(self, code: Code, packing: Packing, group: Group) -> None:
        self._code, self._packing, self._group = code, packing, group
        self._splats: dict[tuple[int, int], Any] = {}
        self._values = self._looked_up() if packing.is_looked_up else None

    def vector(self, address: Number, lanes: int) -> Any:
        """Return the values of the elements at an address, in their order; of 4-bit elements an even number."""
        type, b = self._packing.type, self._code.builder
        if self._packing.is_nibble:
            bits = self._nibbles(address, lanes)
            if self._values is not None and lanes == TABLE:
                return self._permuted(b.zext(bits, _of(I32, lanes)))
            return self._arithmetic(self._from_nibbles(bits))
        if type in _INTEGERS:
            bits = _load(self._code, address, _of(I8, lanes))
            wide = b.sext(bits, _of(I32, lanes)) if _INTEGERS[type] else b.zext(bits, _of(I32, lanes))
            return self._arithmetic(b.sitofp(wide, _of(F32, lanes)))
        if type == "f16" and self._packing.halves:
            return self._arithmetic(b.fpext(_load(self._code, address, _of(HALF, lanes)), _of(F32, lanes)))
        if type in ("f16", "bf16"):
            bits = b.zext(_load(self._code, address, _of(I16, lanes)), _of(I32, lanes))
            if type == "bf16":
                return self._arithmetic(b.bitcast(b.shl(bits, _whole(16, lanes)), _of(F32, lanes)))
            return self._arithmetic(_floats(self._code, bits, 5, 10, lanes, has_infinity=True))
        bits = b.zext(_load(self._code, address, _of(I8, lanes)), _of(I32, lanes))
        exponent, fraction = (4, 3) if type == "f8e4m3" else (5, 2)
        return self._arithmetic(_floats(self._code, bits, exponent, fraction, lanes, has_infinity=type == "f8e5m2"))

    def permuted(self, dwords: Any, place: int) -> Any:
        """Return the values of the 4-bit elements at this place in each of 16 dwords, by permutation."""
        return self._permuted(self._code.builder.lshr(dwords, _whole(4 * place, TABLE)) if place else dwords)

    def _permuted(self, indices: Any) -> Any:
        # The other bits of an index have no effect.
        kinds = ir.FunctionType(_of(F32, TABLE), [_of(F32, TABLE), _of(I32, TABLE)])
        name = "llvm.x86.avx512.permvar.sf.512"
        found = self._code.module.globals.get(name) or ir.Function(self._code.module, kinds, name)
        return self._code.builder.call(found, [self._values, indices])

    def _looked_up(self) -> Any:
        """Return the vector of the values that the sixteen codes have."""
        values = self._packing.table or [n - 16 if n > 7 and self._packing.type == "i4" else n for n in range(16)]
        return self._arithmetic(ir.Constant(_of(F32, TABLE), [float(value) for value in values]))

    def _nibbles(self, address: Number, lanes: int) -> Any:
        """Return the 4-bit elements as bytes."""
        b, kind = self._code.builder, _of(I16, lanes // 2)
        words = b.zext(_load(self._code, address, _of(I8, lanes // 2)), kind)
        both = b.or_(words, b.shl(words, ir.Constant(kind, [4] * (lanes // 2))))
        return b.bitcast(b.and_(both, ir.Constant(kind, [0x0F0F] * (lanes // 2))), _of(I8, lanes))

    def _from_nibbles(self, bits: Any) -> Any:
        b, lanes, type = self._code.builder, bits.type.count, self._packing.type
        if type == "nf4":
            wide, value = b.zext(bits, _of(I32, lanes)), ir.Constant(_of(F32, lanes), [self._packing.table[0]] * lanes)
            for number, entry in enumerate(self._packing.table[1:], 1):
                same = b.icmp_signed("==", wide, _whole(number, lanes))
                value = b.select(same, ir.Constant(_of(F32, lanes), [entry] * lanes), value)
            return value
        wide = b.zext(bits, _of(I32, lanes))
        if type == "i4":
            wide = b.sub(b.xor(wide, _whole(8, lanes)), _whole(8, lanes))
        return b.sitofp(wide, _of(F32, lanes))

    def _arithmetic(self, value: Any) -> Any:
        b, lanes = self._code.builder, value.type.count
        for step in self._packing.steps:
            if step == "zero":
                value = b.fsub(value, self._splat(0, lanes))
            elif step == "scale":
                value = b.fmul(value, self._splat(1, lanes))
            else:
                value = rounded(self._code, value, step, self._packing.halves)
        return value

    def _splat(self, which: int, lanes: int) -> Any:
        if (which, lanes) not in self._splats:
            self._splats[which, lanes] = self._code.splat(self._group[which], lanes)
        return self._splats[which, lanes]


def rounded(code: Code, value: Any, type: str, halves: bool) -> Any:
    """Return f32 rounded to the numbers of f16 or bf16: nearest, ties to even."""
    b, lanes = code.builder, value.type.count
    if type == "f16" and halves:
        return b.fpext(b.fptrunc(value, _of(HALF, lanes)), value.type)
    dropped = 13 if type == "f16" else 16
    bits = b.bitcast(value, _of(I32, lanes))
    lowest = b.and_(b.lshr(bits, _whole(dropped, lanes)), _whole(1, lanes))
    added = b.add(bits, b.add(lowest, _whole((1 << (dropped - 1)) - 1, lanes)))
    found = b.bitcast(b.and_(added, _whole(-(1 << dropped), lanes)), value.type)
    if type == "bf16":
        return b.select(b.fcmp_unordered("uno", value, value), value, found)
    sign, size = b.and_(bits, _whole(-0x8000_0000, lanes)), b.and_(bits, _whole(0x7FFF_FFFF, lanes))
    # The numbers of f16 below its normal ones have the distance of those of f32 from 0.5 on.
    half = ir.Constant(value.type, [0.5] * lanes)
    low = b.fsub(b.fadd(b.bitcast(size, value.type), half), half)
    low = b.bitcast(b.or_(b.bitcast(low, bits.type), sign), value.type)
    found = b.select(b.icmp_signed("<", size, _whole(_NORMAL, lanes)), low, found)
    infinite = b.bitcast(b.or_(_whole(0x7F80_0000, lanes), sign), value.type)
    is_beyond = b.icmp_signed(">=", size, _whole(_INFINITE, lanes))
    found = b.select(is_beyond, infinite, found)
    return b.select(b.fcmp_unordered("uno", value, value), value, found)


def _floats(code: Code, bits: Any, exponent: int, fraction: int, lanes: int, *, has_infinity: bool) -> Any:
    """Return floats with this number of bits as f32. Without infinity, all bits set are nan."""
    b, kind = code.builder, _of(F32, lanes)
    width, up = exponent + fraction, 23 - fraction
    size = b.and_(bits, _whole((1 << width) - 1, lanes))
    sign = b.shl(b.and_(bits, _whole(1 << width, lanes)), _whole(31 - width, lanes))
    bias = ir.Constant(kind, [2.0 ** (127 - ((1 << (exponent - 1)) - 1))] * lanes)
    value = b.bitcast(b.fmul(b.bitcast(b.shl(size, _whole(up, lanes)), kind), bias), size.type)
    if has_infinity:
        special = b.or_(b.shl(size, _whole(up, lanes)), _whole(0x7F80_0000, lanes))
        is_special = b.icmp_signed(">=", size, _whole(((1 << exponent) - 1) << fraction, lanes))
    else:
        special = _whole(0x7FC0_0000, lanes)
        is_special = b.icmp_signed("==", size, _whole((1 << width) - 1, lanes))
    return b.bitcast(b.or_(b.select(is_special, special, value), sign), kind)


def load_dwords(code: Code, address: Number) -> Any:
    """Return the 16 dwords at an address."""
    return _load(code, address, _of(I32, TABLE))


def _load(code: Code, address: Number, kind: Any) -> Any:
    return code.builder.load(code.builder.inttoptr(address.value, kind.as_pointer()), align=1)


def _of(kind: Any, lanes: int) -> Any:
    return ir.VectorType(kind, lanes)


def _whole(number: int, lanes: int) -> Any:
    return ir.Constant(_of(I32, lanes), [number] * lanes)
