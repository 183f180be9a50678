"""The writer of one random program: its statements so far, and the known properties of the variables in them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")
NUMPY = {
    "f32": "float32",
    "f16": "float16",
    "f64": "float64",
    "i64": "int64",
    "i32": "int32",
    "i8": "int8",
    "u8": "uint8",
    "boolean": "bool_",
}


@dataclass(frozen=True)
class Variable:
    """A node in a variable of the program: its element type, and its shape with None for dynamic dimensions."""

    name: str
    type: str
    shape: tuple[int | None, ...]

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def is_static(self) -> bool:
        return None not in self.shape

    @property
    def is_float(self) -> bool:
        return self.type.startswith("f")


@dataclass
class Writer:
    """Statements, one per line, and the nodes, Parameters and models that they define.

    `wrong`: the share of arguments that are chosen wrongly, so that exceptions are compared as well.
    """

    rng: random.Random
    wrong: float = 0.08
    lines: list[str] = field(default_factory=list)
    nodes: list[Variable] = field(default_factory=list)
    parameters: list[Variable] = field(default_factory=list)
    counted: int = 0

    def say(self, line: str) -> None:
        self.lines.append(line)

    def fresh(self, prefix: str) -> str:
        self.counted += 1
        return f"{prefix}{self.counted}"

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def errs(self) -> bool:
        """Return whether the next argument is to be wrong."""
        return self.chance(self.wrong)

    def choose(self, options: Sequence[T]) -> T:
        return self.rng.choice(options)

    def node(self, type: str, shape: Sequence[int | None], expression: str) -> Variable:
        """Define a variable for a new node."""
        made = Variable(self.fresh("n"), type, tuple(shape))
        self.say(f"{made.name} = {expression}")
        self.nodes.append(made)
        return made

    def any_node(self) -> Variable:
        """Return a node, mostly one of the last: programs then become deep, not only wide."""
        return self.choose(self.nodes[-3:] if self.chance(0.7) else self.nodes)

    def node_where(self, wanted: str, *, rank: int = 0) -> Variable:
        """Return a node of these types ("float", "number" or one type) and at least this rank; create one if needed."""
        found = [n for n in self.nodes if _is_of(n, wanted) and n.rank >= rank]
        if found and not self.errs():
            return self.choose(found[-3:])
        if self.errs():
            return self.any_node()
        kind = {"float": "f32", "number": "f32"}.get(wanted, wanted)
        numbers = [n for n in self.nodes if _is_of(n, "number") and n.rank >= rank]
        if numbers and kind != "boolean" and self.chance(0.8):
            taken = self.choose(numbers[-3:])
            return self.node(kind, taken.shape, f"ops.convert({taken.name}, '{kind}')")
        return self.constant(kind, self.sizes(max(rank, 1)))

    def constant(self, kind: str, shape: Sequence[int]) -> Variable:
        """Define a Constant of random values."""
        return self.node(kind, shape, f"ops.constant({self.array(kind, shape)})")

    def array(self, kind: str, shape: Sequence[int]) -> str:
        """Return the expression of an array of random values, the same with every library."""
        return f'data({list(shape)}, "{NUMPY[kind]}", {self.rng.randrange(1000)})'

    def sizes(self, rank: int) -> list[int]:
        return [self.choose((1, 2, 3, 4)) for _ in range(rank)]

    def axis(self, rank: int) -> int:
        """Return an axis for this rank, sometimes an invalid one."""
        if self.errs() or rank == 0:
            return self.choose((rank, -rank - 1, 7))
        return self.rng.randrange(-rank, rank) if self.chance(0.5) else self.rng.randrange(rank)


def _is_of(node: Variable, wanted: str) -> bool:
    if wanted == "float":
        return node.is_float
    if wanted == "number":
        return node.type != "boolean"
    return wanted in ("any", node.type)
