"""A prober with a memory of traces: most combinations of sizes are decided by a trace that holds for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from irexec.core.types import PartialShape
from irexec.model.graph.model import Model
from irexec.tools.shapes.probe import Extents, Prober, Sizes
from irexec.tools.shapes.tracing import Trace, trace

# A trace costs as much as several plain inferences. The number of traces that are always made; the average number of
# combinations that a trace must have decided before another is made; the number of misses after which one is made
# regardless.
_FREE_TRACES, _WORTH, _MISSES = 24, 4, 8


class Tracer(Prober):
    """Infers one model repeatedly, and traces it if no earlier trace holds.

    `accepts`, `position` and `outputs` use an existing trace that holds, if any; `at` always infers without tracing.
    """

    def __init__(self, model: Model, shapes: Sequence[PartialShape], progress: Callable[[int], None] | None = None):
        super().__init__(model, shapes, progress)
        self.traces: list[Trace] = []
        self._recent: list[Trace] = []
        self._answers: dict[Sizes, tuple[int | None, tuple[Extents | None, ...]]] = {}
        self._hits = self._misses = 0

    def position(self, sizes: Sizes) -> int | None:
        return self._answer(sizes)[0]

    def outputs(self, sizes: Sizes) -> tuple[Extents | None, ...]:
        return self._answer(sizes)[1]

    @property
    def combinations(self) -> int:
        return self.probes + self._hits

    @property
    def known(self) -> list[Sizes]:
        """The combinations that were decided, accepted combinations first."""
        return sorted(self._answers, key=lambda sizes: self._answers[sizes][0] is not None)

    def trace(self, sizes: Sizes) -> Trace:
        """Trace the model at these sizes, and remember the trace."""
        made = trace(self, sizes)
        self.traces.append(made)
        self._recent.insert(0, made)
        self.tell()
        return made

    def _answer(self, sizes: Sizes) -> tuple[int | None, tuple[Extents | None, ...]]:
        answer = self._answers.get(sizes)
        if answer is None:
            answer = self._answers[sizes] = self._found(sizes)
        return answer

    def _found(self, sizes: Sizes) -> tuple[int | None, tuple[Extents | None, ...]]:
        # Traces know that sizes are at least 1 and within their declared bounds.
        if all(dim.allows(size) and size > 0 for dim, size in zip(self.dims, sizes, strict=True)):
            for place, each in enumerate(self._recent):
                if (outputs := each.outputs_at(sizes)) is not None:
                    self._hits += 1
                    # The traces that decide most combinations are tried first.
                    self._recent.insert(place // 2, self._recent.pop(place))
                    return each.position, outputs
            self._misses += 1
            is_worth = len(self.traces) < _FREE_TRACES or self._hits > _WORTH * len(self.traces)
            if is_worth or self._misses % _MISSES == 0:
                self.look()
                made = self.trace(sizes)
                return made.position, made.outputs_at(sizes) or ()
        return super().position(sizes), super().outputs(sizes)
