"""LLVM for the host machine: compiles modules to callables."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from llvmlite import binding, ir


class Native(NamedTuple):
    """A compiled function, whose parameters are numbers and addresses, and the address of its code. Calls release the
    GIL.
    """

    call: Callable[..., None]
    address: int


class Tile(NamedTuple):
    """The sums that registers hold at a time: the numbers of rows, of vectors per row, and of single sums after these.

    If `narrow` is not 0, the last tile of a range of columns may have only `narrow` vectors per row.
    """

    height: int
    width: int
    extra: int = 0
    narrow: int = 0

    @property
    def across(self) -> int:
        """The number of vectors that hold the sums of a row."""
        return self.width + (self.extra > 0)


# Tiles as (rows, vectors), by the number of registers, some of which remain for vectors that are read and for a weight.
TILES = {
    32: [(6, 4), (8, 3), (12, 2), (16, 1), (4, 4), (2, 8), (1, 8), (1, 4)],
    16: [(4, 3), (6, 2), (8, 1), (2, 4), (1, 4)],
}
# The maximum number of single sums, by the number of registers.
EXTRA = {32: 4, 16: 0}
# Heights that fill a vector: the single sums of all rows are held in one vector.
VECTOR_HEIGHTS = (4, 8, 16)


class Compiler:
    """Compiles each function once, one at a time under a lock, and keeps it as long as the process lives."""

    def __init__(self, lock: AbstractContextManager[Any]) -> None:
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        features = binding.get_host_cpu_features()
        self.target = binding.Target.from_default_triple().create_target_machine(
            cpu=binding.get_host_cpu_name(), features=features.flatten(), opt=2
        )
        # The number of f32 in a vector register, and the number of vector registers.
        self.lanes, self.registers = _vectors(features)
        # Whether there are instructions that convert f16; without them LLVM calls functions that may be missing.
        self.converts_halves = any(map(features.get, ("f16c", "avx512f", "neon")))
        # Whether there are instructions that permute the lanes of vectors.
        self.permutes = self.lanes in (8, 16) and bool(features.get("avx2"))
        # Whether there are instructions for sums of products of bytes.
        self.has_bytes = _multiplies_bytes(features, self.lanes)
        # Whether there are instructions for sums of products of pairs of bf16.
        self.has_pairs = self.lanes == 16 and bool(features.get("avx512bf16"))
        self._engine = binding.create_mcjit_compiler(binding.parse_assembly(""), self.target)
        self._made: dict[Any, Native] = {}
        self._lock = lock

    def tile(self, rows: int, columns: int) -> Tile:
        """Return the tile that covers this number of rows and columns in the least time.

        If there are fewer columns than lanes, some lanes of the tile are unused.
        """
        most = EXTRA[self.registers]

        def cycles(tile: tuple[int, int]) -> float:
            height, width = tile
            whole, rest = divmod(columns, width * self.lanes)
            single = rest if whole and rest <= most and height in VECTOR_HEIGHTS else 0
            last = 0 if rest == single else -(-rest // self.lanes) if whole else width
            # Vectors are read unaligned; reading a vector takes longer than multiplying it.
            once, narrow = (max(height * n, 1.5 * n + height) + 2 for n in (width, last))
            return -(-rows // height) * (whole * once + (last > 0) * narrow + single)

        height, width = min(TILES[self.registers], key=cycles)
        whole, rest = divmod(columns, width * self.lanes)
        has_single = whole > 0 and 0 < rest <= most and height in VECTOR_HEIGHTS
        return Tile(height, width, (1 if rest == 1 else most) if has_single else 0)

    def height(self, rows: int, vectors: int) -> int:
        """Return the height (at most `rows`) of tiles, `vectors` wide, that cover this number of rows fastest."""
        most = min((self.registers - 1) // vectors - 1, rows)

        def cycles(height: int) -> int:
            return -(-rows // height) * max(height * vectors, height + vectors)

        return min(range(most, 0, -1), key=cycles)

    def written(self, write: Callable[..., object], *arguments: Any) -> Native:
        """Return the compiled function whose code `write(module, name, lanes, *arguments)` generates; it is compiled on
        first use.
        """
        with self._lock:
            if (key := (write, arguments)) not in self._made:
                module = ir.Module()
                name = "_".join(filter(None, map(_shown, (write.__name__.removeprefix("write_"), *arguments))))
                name = f"{name}.{len(self._made)}"
                write(module, name, self.lanes, *arguments)
                parameters = len(module.get_global(name).args)
                parsed = binding.parse_assembly(str(module))
                _clear(module)
                self._engine.add_module(parsed)
                self._engine.finalize_object()
                address = self._engine.get_function_address(name)
                # Only the machine code is kept; the module that it was compiled from takes more memory.
                self._engine.remove_module(parsed)
                kind = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * parameters)
                self._made[key] = Native(kind(address), address)
            return self._made[key]


def _clear(module: Any) -> None:
    """Break the reference cycles between instructions, so that their memory (megabytes) is freed immediately."""
    for block in [block for function in module.functions for block in function.blocks]:
        for instruction in block.instructions:
            if isinstance(instruction, ir.PhiInstr):
                instruction.incomings.clear()
        block.instructions.clear()
        block.terminator = None


def _shown(argument: Any) -> str:
    """Return an argument of a code generator as a part of the generated function's name."""
    if isinstance(argument, (tuple, list)) and not hasattr(argument, "name"):
        return "-".join(map(_shown, argument))
    return str(getattr(argument, "name", argument))


def _vectors(features: dict[str, bool]) -> tuple[int, int]:
    if features.get("avx512f"):
        return 16, 32
    if features.get("avx"):
        return 8, 16
    return 4, 32 if features.get("neon") else 16


def _multiplies_bytes(features: dict[str, bool], lanes: int) -> bool:
    if lanes == 16:
        return bool(features.get("avx512vnni") and features.get("avx512vl"))
    return lanes == 8 and bool(features.get("avxvnni"))
