"""LLVM for the machine that this runs on: modules in, callables out."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from llvmlite import binding, ir


class Native(NamedTuple):
    """A function that takes numbers and addresses, and where its code is. Calls release the interpreter's lock."""

    call: Callable[..., None]
    address: int


class Tile(NamedTuple):
    """Sums that stay in registers: so many rows, vectors of each, and single sums behind the last vector."""

    height: int
    width: int
    extra: int = 0


# Tiles of (rows, vectors) that leave registers for the vectors that are read and a weight, by their number.
TILES = {
    32: [(6, 4), (8, 3), (12, 2), (16, 1), (4, 4), (2, 8), (1, 8), (1, 4)],
    16: [(4, 3), (6, 2), (8, 1), (2, 4), (1, 4)],
}
# The single sums that there are registers for.
EXTRA = {32: 4, 16: 1}
# Heights of which a vector can be made: the single sums of all rows.
VECTOR_HEIGHTS = (4, 8, 16)


class Compiler:
    """Compiles functions once each, one at a time under a lock, and keeps them as long as the process lives."""

    def __init__(self, lock: AbstractContextManager[Any]) -> None:
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        features = binding.get_host_cpu_features()
        self.target = binding.Target.from_default_triple().create_target_machine(
            cpu=binding.get_host_cpu_name(), features=features.flatten(), opt=2
        )
        # Elements of f32 in a vector register, and how many of those there are.
        self.lanes, self.registers = _vectors(features)
        self._engine = binding.create_mcjit_compiler(binding.parse_assembly(""), self.target)
        self._made: dict[Any, Native] = {}
        self._lock = lock

    def tile(self, rows: int, columns: int) -> Tile:
        """The tile that covers so many rows and columns in the least time.

        Where there are fewer columns than it has, it is as wide as need be, and some lanes have nothing to do.
        """
        most = EXTRA[self.registers]

        def cycles(tile: tuple[int, int]) -> float:
            height, width = tile
            whole, rest = divmod(columns, width * self.lanes)
            single = rest if whole and rest <= most and height in VECTOR_HEIGHTS else 0
            # Vectors are read wherever they begin, which takes longer than to multiply them.
            once = max(height * width, 1.5 * width + height) + 2
            return -(-rows // height) * ((whole + (rest > single)) * once + single)

        height, width = min(TILES[self.registers], key=cycles)
        whole, rest = divmod(columns, width * self.lanes)
        has_single = whole > 0 and 0 < rest <= most and height in VECTOR_HEIGHTS
        return Tile(height, width, (1 if rest == 1 else most) if has_single else 0)

    def height(self, rows: int, vectors: int) -> int:
        """The rows of a tile so many `vectors` wide, no more than there are, which covers `rows` in the least time."""
        most = min((self.registers - 1) // vectors - 1, rows)

        def cycles(height: int) -> int:
            return -(-rows // height) * max(height * vectors, height + vectors)

        return min(range(most, 0, -1), key=cycles)

    def made(self, name: str, parameters: int, build: Callable[[Any, str], object]) -> Native:
        """The function of this name and number of parameters, which `build(module, name)` writes on first demand."""
        with self._lock:
            if name not in self._made:
                module = ir.Module()
                build(module, name)
                parsed = binding.parse_assembly(str(module))
                self._engine.add_module(parsed)
                self._engine.finalize_object()
                address = self._engine.get_function_address(name)
                # The code stays; what it was made of takes more memory than it does.
                self._engine.remove_module(parsed)
                kind = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * parameters)
                self._made[name] = Native(kind(address), address)
            return self._made[name]


def _vectors(features: dict[str, bool]) -> tuple[int, int]:
    if features.get("avx512f"):
        return 16, 32
    if features.get("avx"):
        return 8, 16
    return 4, 32 if features.get("neon") else 16
