"""The layer at which a runtime that cannot run a model begins to fail."""

from __future__ import annotations

from collections.abc import Sequence

from irexec.core.diagnostics import IRError
from irexec.core.types import Array
from irexec.model.graph.cut import Cutter, leaving
from irexec.model.graph.model import Node, Value
from irexec.tools.compare.culprit import alone
from irexec.tools.compare.runtimes.runtime import CannotRun, CannotWrite, Died, Runtime
from irexec.tools.compare.windows import comparable
from irexec.tools.run.record import Reference

# If the first layer cannot be run, it is named only if at least one of this many layers after it can.
_OTHERS = 3


def refused_at(reference: Reference, runtime: Runtime, error: CannotRun) -> Node | None:
    """Return the first layer at which the runtime fails: without this layer and the layers after it, it can run the
    model. None if the runtime runs whole models only, does not answer in time, or cannot run any layer.
    """
    if not runtime.runs_parts or isinstance(error, CannotWrite) or (isinstance(error, Died) and error.how == "hang"):
        return None
    whole, nodes = Cutter(reference.model), comparable(reference.model)
    low, high = 0, len(nodes)  # The first `low` layers run, the first `high` do not.
    while high - low > 1:
        middle = (low + high) // 2
        if _runs(reference, runtime, whole, nodes[:middle]):
            low = middle
        else:
            high = middle
    if high == 1 and not any(_runs(reference, runtime, whole, [node]) for node in nodes[1 : 1 + _OTHERS]):
        return None
    return nodes[high - 1] if nodes else None


def _runs(reference: Reference, runtime: Runtime, whole: Cutter, nodes: Sequence[Node]) -> bool:
    ends = leaving(reference.model, nodes)
    try:
        begins = whole.cut(nodes, ends).begins
        given: list[dict[Value, Array]] = reference.record(set(begins))
        _, part = alone(whole, nodes, ends, given[0])
        runtime.load(part).results([[step[value] for value in begins] for step in given])
    except CannotRun:
        return False
    except (IRError, KeyError, ValueError):  # The layers cannot form a separate model.
        return True
    return True
