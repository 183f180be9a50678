"""How a body's Parameters and Results hang together with the inputs and outputs of the node that holds it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class BodyInput:
    """How one Parameter of a body gets its value.

    `external`: the outer input's position, None when it has none. `axis` not None: a slice per iteration.
    `back`: the body Result that feeds it from the second iteration on. `iteration`: it is the iteration counter.
    """

    parameter: int
    external: int | None = None
    axis: int | None = None
    start: int = 0
    end: int = -1
    stride: int = 1
    part_size: int = 1
    back: int | None = None
    iteration: bool = False
    at: int = -1


@dataclass(slots=True)
class BodyOutput:
    """How an outer output gets its value from a body Result: the last one, or (`axis`) all of them concatenated."""

    result: int
    external: int | None = None
    axis: int | None = None
    start: int = 0
    end: int = -1
    stride: int = 1
    part_size: int = 1
    at: int = -1
