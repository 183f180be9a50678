"""Unpacks vectors of packed weights to f32, with the same roundings as the layers of the model that would unpack
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from llvmlite import ir

from irexec.core.types import ElementType
from irexec.ops.compute.precision import limits_of
from irexec.runtime.engine.packed.rounding import OF_BF16, OF_HALF
from irexec.runtime.lowering.llvm.code import F32, I32, Code, Number

HALF, I8, I16 = ir.HalfType(), ir.IntType(8), ir.IntType(16)
# The number of values of 4-bit elements. AVX-512 looks up one of sixteen floats by a permutation, AVX2 by two of eight.
TABLE, HALF_TABLE = 16, 8
# The number of 4-bit elements in a dword.
IN_DWORD = 8
_INTEGERS = ("i4", "u4", "i8", "u8")
# By the types of bytes, the number for which all bits are 0.
_BYTES = {"u8": 0, "i8": -0x80}
# The float whose last 8 bits, or more, are those of an integer that is added to it.
_ORIGIN, _ORIGIN_BITS = 2.0**23, 0x4B00_0000
_DROPPED = {"f16": OF_HALF, "bf16": OF_BF16}
_NORMAL, _INFINITE = 0x3880_0000, 0x477F_F000


class Packing(NamedTuple):
    """How the elements of a packed matrix are computed from its stored codes: (code - zero) · scale.

    `type` is the type of the codes. `steps` are the operations after the conversion: "zero" subtracts the zero point,
    "whole" one that is an integer, "scale" multiplies, "raised" multiplies and rounds as `round_raised`
    (engine/packed/rounding.py) does, and the name of a type rounds to that type. `table`: the values of nf4.
    `permutes`, `halves`: whether the processor can permute the lanes of vectors, and convert f16.
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
    def in_dword(self) -> int:
        """The number of elements in a dword."""
        return 8 if self.is_nibble else 2 if self.type in ("f16", "bf16") else 4

    @property
    def least(self) -> int:
        """The smallest number of elements that can be unpacked: the elements of a byte."""
        return 2 if self.is_nibble else 1

    @property
    def is_looked_up(self) -> bool:
        """Whether elements are looked up in a vector of the group's 16 possible values, by permutation."""
        return self.is_nibble and self.permutes

    @property
    def is_of_dwords(self) -> bool:
        """Whether elements are best unpacked as parts of dwords: those that are looked up, and bytes of integers."""
        return self.is_looked_up or self.type in _BYTES

    def nbytes(self, count: int | Number) -> Any:
        """Return the size in bytes of this number of elements, which is even for 4-bit elements."""
        if self.is_nibble:
            return count // 2
        return count * 2 if self.type in ("f16", "bf16") else count

    @property
    def name(self) -> str:
        return "_".join((self.type, *self.steps))


class Group(NamedTuple):
    """The zero points and scales of elements, as scalars or vectors."""

    zero: Any
    scale: Any


class _Factors(NamedTuple):
    """What vectors of a group are computed with: its zero points, where floats that end with the bits of a code begin,
    and the factors of its products, two if the step is "raised".
    """

    zero: Any
    origin: Any
    above: Any
    raised: Any


class Decoder:
    """Converts codes to values. `parameters`: the zero points and scales of a vector, by its number of lanes."""

    def __init__(self, code: Code, packing: Packing, parameters: Mapping[int, Group]) -> None:
        self._code, self._packing = code, packing
        # They are computed here, before the loop that unpacks: LLVM would compute some of them again in each pass.
        self._factors = {lanes: self._prepared(group) for lanes, group in parameters.items()}
        self._of_codes: Any = None

    @classmethod
    def of_group(cls, code: Code, packing: Packing, group: Group, lanes: Sequence[int]) -> Decoder:
        """Return the decoder of elements of one group."""
        widths = {*lanes, TABLE} if packing.is_looked_up else {*lanes}
        made = cls(code, packing, {n: Group(*[code.splat(number, n) for number in group]) for n in widths})
        if packing.is_looked_up:
            # The values that the sixteen codes represent.
            values = packing.table or [n - 16 if n > 7 and packing.type == "i4" else n for n in range(16)]
            made._of_codes = made._arithmetic(_constants(values))
        return made

    def _prepared(self, group: Group) -> _Factors:
        b, steps, (zero, scale) = self._code.builder, self._packing.steps, group
        origin = ir.Constant(zero.type, [_ORIGIN - _BYTES.get(self._packing.type, 0)] * zero.type.count)
        if steps[:1] == ("whole",):
            origin = b.fadd(origin, zero)
        if "raised" not in steps:
            return _Factors(zero, origin, scale, None)
        # Both factors are exact.
        factor = float(_DROPPED[steps[steps.index("raised") + 1]].factor)
        above, raised = (b.fmul(scale, ir.Constant(scale.type, [f] * scale.type.count)) for f in (factor + 1, -factor))
        return _Factors(zero, origin, above, raised)

    def vector(self, address: Number, lanes: int) -> Any:
        """Return the values of `lanes` elements at an address, in their order; `lanes` is even for 4-bit elements."""
        type, b, wide = self._packing.type, self._code.builder, _of(I32, lanes)
        if self._packing.is_nibble:
            bits = b.zext(self._nibbles(address, lanes), wide)
            is_looked_up = self._of_codes is not None and lanes == TABLE
            return self._permuted(self._of_codes, bits) if is_looked_up else self._from_bits(bits)
        bits = _load(self._code, address, _of(I16 if type in ("f16", "bf16") else I8, lanes))
        return self._from_bits(b.sext(bits, wide) if type == "i8" else b.zext(bits, wide))

    def permuted(self, dwords: Any, place: int) -> Any:
        """Return the values of the 4-bit elements at this place in each of the dwords, by permutation."""
        b, lanes = self._code.builder, dwords.type.count
        bits = b.lshr(dwords, _whole(4 * place, lanes)) if place else dwords
        if lanes == TABLE:
            return self._permuted(self._of_codes, bits)
        halves = [_constants_of(range(first, first + HALF_TABLE)) for first in (0, HALF_TABLE)]
        low, high = (self._permuted(b.shuffle_vector(self._of_codes, self._of_codes, half), bits) for half in halves)
        highest = b.shl(dwords, _whole(28 - 4 * place, lanes)) if place < IN_DWORD - 1 else dwords
        return b.select(b.icmp_signed("<", highest, _whole(0, lanes)), high, low)

    def in_dwords(self, dwords: Any, place: int) -> Any:
        """Return the values of the elements at this place in each of the dwords."""
        b, lanes, bits = self._code.builder, dwords.type.count, 32 // self._packing.in_dword
        if self._packing.type == "i4":
            left = b.shl(dwords, _whole(32 - bits * (place + 1), lanes))
            return self._from_integers(b.ashr(left, _whole(32 - bits, lanes)))
        right = b.lshr(dwords, _whole(bits * place, lanes)) if place else dwords
        found = b.and_(right, _whole((1 << bits) - 1, lanes))
        return self._from_byte(found) if self._packing.type in _BYTES else self._from_bits(found)

    def _permuted(self, values: Any, indices: Any) -> Any:
        # The other bits of an index have no effect.
        lanes = indices.type.count
        kinds = ir.FunctionType(_of(F32, lanes), [_of(F32, lanes), _of(I32, lanes)])
        name = "llvm.x86.avx512.permvar.sf.512" if lanes == TABLE else "llvm.x86.avx2.permps"
        found = self._code.module.globals.get(name) or ir.Function(self._code.module, kinds, name)
        return self._code.builder.call(found, [values, indices])

    def _nibbles(self, address: Number, lanes: int) -> Any:
        """Return the 4-bit elements as bytes."""
        b, kind = self._code.builder, _of(I16, lanes // 2)
        words = b.zext(_load(self._code, address, _of(I8, lanes // 2)), kind)
        both = b.or_(words, b.shl(words, ir.Constant(kind, [4] * (lanes // 2))))
        return b.bitcast(b.and_(both, ir.Constant(kind, [0x0F0F] * (lanes // 2))), _of(I8, lanes))

    def _from_bits(self, bits: Any) -> Any:
        """Return the values of elements with these bits; bits of i8 are sign-extended."""
        b, lanes, type = self._code.builder, bits.type.count, self._packing.type
        if type == "i4":
            bits = b.sub(b.xor(bits, _whole(8, lanes)), _whole(8, lanes))
        if type in _INTEGERS:
            return self._from_integers(bits)
        if type == "nf4":
            return self._arithmetic(self._from_table(bits))
        if type == "bf16":
            return self._arithmetic(b.bitcast(b.shl(bits, _whole(16, lanes)), _of(F32, lanes)))
        if type == "f16" and self._packing.halves:
            return self._arithmetic(
                b.fpext(b.bitcast(b.trunc(bits, _of(I16, lanes)), _of(HALF, lanes)), _of(F32, lanes))
            )
        form = limits_of(ElementType.by_name[type].dtype)
        return self._arithmetic(_floats(self._code, bits, form.nexp, form.nmant, has_infinity=type != "f8e4m3"))

    def _from_table(self, bits: Any) -> Any:
        b, lanes, table = self._code.builder, bits.type.count, self._packing.table
        if self._packing.permutes and lanes == TABLE:
            return self._permuted(_constants(table), bits)
        value = ir.Constant(_of(F32, lanes), [table[0]] * lanes)
        for number, entry in enumerate(table[1:], 1):
            same = b.icmp_signed("==", bits, _whole(number, lanes))
            value = b.select(same, ir.Constant(_of(F32, lanes), [entry] * lanes), value)
        return value

    def _from_byte(self, bits: Any) -> Any:
        """Return the values of 8-bit integers: a float that ends with these bits needs no conversion."""
        b, lanes, type = self._code.builder, bits.type.count, self._packing.type
        ending = b.xor(bits, _whole(_ORIGIN_BITS | (_BYTES[type] & 0xFF), lanes))
        value = b.fsub(b.bitcast(ending, _of(F32, lanes)), self._factors[lanes].origin)
        return self._arithmetic(value, self._packing.steps[self._packing.steps[:1] == ("whole",) :])

    def _from_integers(self, numbers: Any) -> Any:
        return self._arithmetic(self._code.builder.sitofp(numbers, _of(F32, numbers.type.count)))

    def _arithmetic(self, value: Any, steps: Sequence[str] | None = None) -> Any:
        b, lanes = self._code.builder, value.type.count
        steps = self._packing.steps if steps is None else steps
        for number, step in enumerate(steps):
            if step == "raised":
                value = self._raised(value)
            elif number and steps[number - 1] == "raised":
                continue
            elif step in ("zero", "whole"):
                value = b.fsub(value, self._factors[lanes].zero)
            elif step == "scale":
                value = b.fmul(value, self._factors[lanes].above)
            else:
                value = rounded(self._code, value, step, self._packing.halves)
        return value

    def _raised(self, value: Any) -> Any:
        """Return values times their scale, rounded to a type as `round_raised` does."""
        _, _, above, raised = self._factors[value.type.count]
        # The second product is exact.
        return self._code.call("fmuladd", value, raised, self._code.builder.fmul(value, above))


def rounded(code: Code, value: Any, type: str, halves: bool) -> Any:
    """Return f32 rounded to the nearest numbers of f16 or bf16, ties to even."""
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
    # Subnormal f16 numbers are as far apart as f32 numbers from 0.5 to 1.
    half = ir.Constant(value.type, [0.5] * lanes)
    low = b.fsub(b.fadd(b.bitcast(size, value.type), half), half)
    low = b.bitcast(b.or_(b.bitcast(low, bits.type), sign), value.type)
    found = b.select(b.icmp_signed("<", size, _whole(_NORMAL, lanes)), low, found)
    infinite = b.bitcast(b.or_(_whole(0x7F80_0000, lanes), sign), value.type)
    is_beyond = b.icmp_signed(">=", size, _whole(_INFINITE, lanes))
    found = b.select(is_beyond, infinite, found)
    return b.select(b.fcmp_unordered("uno", value, value), value, found)


def _floats(code: Code, bits: Any, exponent: int, fraction: int, *, has_infinity: bool) -> Any:
    """Return floats with this number of bits as f32. In types without infinity, NaN has all bits set."""
    b, lanes = code.builder, bits.type.count
    kind = _of(F32, lanes)
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


def load_dwords(code: Code, address: Number, lanes: int) -> Any:
    """Return the dwords at an address."""
    return _load(code, address, _of(I32, lanes))


def _load(code: Code, address: Number, kind: Any) -> Any:
    return code.builder.load(code.builder.inttoptr(address.value, kind.as_pointer()), align=1)


def _constants(values: Sequence[float]) -> Any:
    return ir.Constant(_of(F32, len(values)), [float(value) for value in values])


def _constants_of(numbers: Sequence[int]) -> Any:
    return ir.Constant(_of(I32, len(numbers)), list(numbers))


def _of(kind: Any, lanes: int) -> Any:
    return ir.VectorType(kind, lanes)


def _whole(number: int, lanes: int) -> Any:
    return ir.Constant(_of(I32, lanes), [number] * lanes)
