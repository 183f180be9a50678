"""Solving: changing sizes until the comparison that made a layer refuse them holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from irexec.tools.shapes.conditions import Guard
from irexec.tools.shapes.guards import guard_of
from irexec.tools.shapes.probe import Sizes
from irexec.tools.shapes.tracer import Tracer
from irexec.tools.shapes.tracing import Trace

# The number of comparisons before a refusal that are tried, from the last one back, and the maximum number of steps.
_LAST, _STEPS = 8, 60


def solve(prober: Tracer, sizes: Sizes) -> Sizes:
    """Change sizes, one comparison after another, until the model accepts them or no change helps; return the last
    sizes.
    """
    current = prober.trace(sizes)
    tried = {sizes}
    for _ in range(_STEPS):
        best: Trace | None = None
        for candidate in _flipped(prober, current):
            if candidate in tried:
                continue
            tried.add(candidate)
            prober.look()
            made = prober.trace(candidate)
            if made.position is None:
                return candidate
            if _progress(made) > _progress(best or current):
                best = made
        if best is None:
            break
        current = best
    return current.sizes


def _progress(made: Trace) -> tuple[int, int]:
    """Return the progress of a trace: the position of the layer that it reached, and the number of comparisons
    there.
    """
    return made.position or 0, len(made.tape.guards)


def _flipped(prober: Tracer, made: Trace) -> Iterator[Sizes]:
    """Yield sizes that change the result of one of the last comparisons; they differ in one dimension, or in equal
    dimensions.
    """
    for (operator, left, right), result in list(reversed(made.tape.guards.items()))[:_LAST]:
        for guard in guard_of(made.tape, operator, left, right, not result):
            for dim in sorted(guard.dims):
                alike = [number for number, size in enumerate(made.sizes) if size == made.sizes[dim]]
                for group in ((dim,), alike) if len(alike) > 1 else ((dim,),):
                    for size in _fitting(guard, made.sizes, group):
                        changed = tuple(size if number in group else own for number, own in enumerate(made.sizes))
                        if all(size > 0 and each.allows(size) for each, size in zip(prober.dims, changed, strict=True)):
                            yield changed


def _fitting(guard: Guard, sizes: Sizes, group: Sequence[int]) -> Iterator[int]:
    """Yield sizes of a dimension, or of equal dimensions that move together, with which a condition holds: the solution
    of the condition, otherwise the nearest sizes found by trial.
    """

    def holds(size: int) -> bool:
        return bool(guard.holds(tuple(size if number in group else own for number, own in enumerate(sizes))))

    first = group[0]
    concerned = [number for number in group if number in guard.dims]
    if len(concerned) == 1 and concerned[0] in guard.solvable:
        yield guard.solved(sizes, concerned[0])
        return
    own = sizes[first]
    for way in (range(own + 1, own + 1025), range(own - 1, 0, -1)):
        found = next((size for size in way if holds(size)), None)
        if found is not None:
            yield found
