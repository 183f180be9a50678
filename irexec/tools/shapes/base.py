"""The base: a first combination of sizes that the model accepts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from irexec.core.types import Stored
from irexec.model.graph.model import Model
from irexec.tools.shapes.probe import OutOfProbes, Refusal, Sizes
from irexec.tools.shapes.solving import solve
from irexec.tools.shapes.tracer import Tracer

# Sizes that models are exported with or made for, the most usual first. With sizes above 1, dimensions do not broadcast
# by accident.
_LADDER = (
    *(64, 8, 4, 224, 32, 128, 16, 256, 2, 7, 5, 3, 112, 384, 512, 96, 299, 640, 320, 192, 416, 1024),
    *(240, 288, 518, 336, 260, 300, 380, 480, 14, 77),
)
_BATCHES = (2, 1, 3, 4, 8)
# The largest constant of the file that is tried as a size, and the number of such constants.
_LARGEST_CONSTANT, _MOST_CONSTANTS = 4096, 40
# The maximum number of rounds, each of which changes one or two dimensions that the refusing layer depends on.
_MAX_ROUNDS = 60
# The number of combinations from which such rounds start.
_MOST_STARTS = 8


def find_base(prober: Tracer) -> tuple[Sizes | None, Refusal | None]:
    """Return sizes that the model accepts; None with the refusal at the latest layer that was reached.

    In the first attempts all dimensions have the same size, except that axis 0 may have another size. Starting from the
    attempts that reached the latest layers, the failing comparisons are solved for a size, or the dimensions on which
    the refusing layer depends are changed one by one. Sizes of 1 are tried last, because they broadcast.
    """
    refused: dict[Sizes, int] = {}
    try:
        for candidates in (_simple(prober, _LADDER), None, _simple(prober, (1,))):
            for sizes in candidates or ():
                position = prober.position(sizes)
                if position is None:
                    return sizes, None
                refused[sizes] = position
            for climb in (_solved, _climbed) if candidates is None else ():
                for sizes in _furthest(refused):
                    reached, position = climb(prober, sizes)
                    if position is None:
                        return reached, None
                    refused[reached] = position
    except OutOfProbes:
        pass
    furthest = _furthest(refused)
    return None, prober.refusal(furthest[0]) if furthest else None


def _furthest(refused: dict[Sizes, int]) -> list[Sizes]:
    """Return the combinations that reached the latest layers, in the order in which they were tried."""
    latest = max(refused.values(), default=0)
    return [sizes for sizes, position in refused.items() if position == latest][:_MOST_STARTS]


def _solved(prober: Tracer, sizes: Sizes) -> tuple[Sizes, int | None]:
    reached = solve(prober, sizes)
    return reached, prober.position(reached)


def _simple(prober: Tracer, ladder: Iterable[int]) -> Iterator[Sizes]:
    dims = prober.dims
    seen: set[Sizes] = set()
    for size in ladder:
        for batch in _BATCHES[:3]:
            sizes = tuple(
                _bounded(batch if dim.axis == 0 and len(prober.shapes[dim.input]) > 1 else size, dim.low, dim.high)
                for dim in dims
            )
            if sizes not in seen:
                seen.add(sizes)
                yield sizes


def _bounded(size: int, low: int, high: int | None) -> int:
    return max(low, size if high is None else min(size, high))


def _climbed(prober: Tracer, sizes: Sizes) -> tuple[Sizes, int | None]:
    """Change dimensions to sizes that reach later layers, until the model accepts them or no change helps; return the
    last sizes with the position of the layer that refuses them.
    """
    constants = _constants(prober.model)
    seen: set[Sizes] = {sizes}
    position = prober.position(sizes)
    for _ in range(_MAX_ROUNDS):
        best: tuple[int, Sizes] | None = None
        refusal = prober.refusal(sizes)
        for candidate in _neighbours(prober, sizes, refusal, constants) if refusal is not None else ():
            if candidate in seen:
                continue
            seen.add(candidate)
            reached = prober.position(candidate)
            if reached is None:
                return candidate, None
            if position is not None and reached > position and (best is None or reached > best[0]):
                best = reached, candidate
        if best is None:
            break
        position, sizes = best
    return sizes, position


def _neighbours(prober: Tracer, sizes: Sizes, refusal: Refusal, constants: list[int]) -> Iterator[Sizes]:
    """Yield combinations that differ in one dimension, or in equal dimensions, on which the refusing layer depends."""
    bits = prober.reached.get(refusal.node, 0) if refusal.node is not None else -1
    concerned = [number for number, dim in enumerate(prober.dims) if bits & dim.bits] or range(len(sizes))
    groups: list[tuple[int, ...]] = [(number,) for number in concerned]
    by_size: dict[int, list[int]] = {}
    for number in concerned:
        by_size.setdefault(sizes[number], []).append(number)
    groups += [tuple(group) for group in by_size.values() if len(group) > 1]
    mentioned = sorted({extent for extents in refusal.extents for extent in extents})
    for group in groups:
        own = sizes[group[0]]
        others = [size for number, size in enumerate(sizes) if number not in group]
        candidates = dict.fromkeys(
            [
                *others,
                *(first + second for first in dict.fromkeys(others) for second in dict.fromkeys(others)),
                *(own + first - second for first in mentioned for second in mentioned),
                *(own * first // second for first in mentioned for second in mentioned if second),
                *mentioned,
                *_LADDER,
                *_BATCHES,
                *constants,
                1,
            ]
        )
        for candidate in candidates:
            if candidate > 0 and all(prober.dims[number].allows(candidate) for number in group):
                yield tuple(candidate if number in group else size for number, size in enumerate(sizes))


def _constants(model: Model) -> list[int]:
    """Return the small integers among the model's scalars and shapes, the most frequent first."""
    count: dict[int, int] = {}
    for node in model.nodes:
        held = node.held
        if held is None or not node.outputs:
            continue
        found = list(held.shape)
        if node.outputs[0].element_type.is_integral_number and held.size <= 8:
            found += [int(v) for v in (held.values if isinstance(held, Stored) else held.ravel())]
        for value in found:
            if 1 < value <= _LARGEST_CONSTANT:
                count[value] = count.get(value, 0) + 1
    return sorted(count, key=lambda value: (-count[value], value))[:_MOST_CONSTANTS]
