"""Cases that run together, as one model: compiling a model has a cost that does not depend on its size."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence

from irexec.model.graph.model import Model
from irexec.tools.conformance.case import Case
from irexec.tools.conformance.defendant import Answer

MOST = 6
"""The number of cases in one model."""
_ALONE = frozenset({"forbidden", "cache"})
_RUN = frozenset({"default", "one-thread", "requests", "reset"})
"""The flags that cases of one model must share: they determine how the model runs."""


def groups_of(cases: Iterable[Case], most: int = MOST) -> Iterator[list[Case]]:
    """Yield the cases in groups that can run together: with the same operator and settings, and either only static or
    only dynamic shapes, since runtimes treat these models differently.
    """
    waiting: dict[tuple[object, ...], list[Case]] = {}
    operator = ""
    for case in cases:
        if case.operator != operator:
            yield from waiting.values()
            waiting, operator = {}, case.operator
        if most == 1 or not _can_join(case):
            yield [case]
            continue
        key = (_RUN.intersection(case.flags), _is_static(case.model))
        group = waiting.setdefault(key, [])
        group.append(case)
        if len(group) == most:
            yield waiting.pop(key)
    yield from waiting.values()


def _can_join(case: Case) -> bool:
    """Return whether a case may run beside others. A kernel that reads beyond an empty input finds what others have
    left in memory.
    """
    if (
        case.source is not None
        or case.operator.startswith("graph.")
        or case.model.sinks
        or _ALONE.intersection(case.flags)
    ):
        return False
    return all(array.size for call in case.inputs for array in call)


def _is_static(model: Model) -> bool:
    return all(value.type.shape.is_static for node in model.nodes for value in node.outputs)


@contextlib.contextmanager
def joined(cases: Sequence[Case]) -> Iterator[Case]:
    """Yield one case with the inputs and results of all cases, whose layers have distinct names inside the context. A
    case with fewer calls than others repeats its first call after them.
    """
    if len(cases) == 1:
        yield cases[0]
        return
    models = [case.model for case in cases]
    whole = Model((r for m in models for r in m.results), (p for m in models for p in m.parameters), "together")
    steps = range(max(len(case.calls) for case in cases))
    inputs = [[array for case in cases for array in case.inputs[_call(case, step)]] for step in steps]
    names = {node: node.given_name for node in whole.nodes}
    tensors = {value: value.names for node in whole.nodes for value in node.outputs}
    for number, model in enumerate(models):
        for node in model.nodes:
            node.given_name = f"{node.given_name}.{number}"
            for value in node.outputs:
                value.names = {f"{name}.{number}" for name in value.names}
    try:
        yield Case("together", whole, inputs, tuple(steps), cases[0].flags, cases[0].operator)
    finally:
        for node, name in names.items():
            node.given_name = name
        for value, found in tensors.items():
            value.names = found


def _call(case: Case, step: int) -> int:
    return case.calls[step] if step < len(case.calls) else case.calls[0]


def answers_of(cases: Sequence[Case], answer: Answer) -> list[Answer]:
    """Return the answer to each case. The cases of a model without results have no answers."""
    if len(cases) == 1:
        return [answer]
    if answer.how != "results":
        return []
    per_call = len(answer.results) // max(len(case.calls) for case in cases)
    found, begin = [], 0
    for case in cases:
        end = begin + len(case.model.results)
        found.append(Answer("results", [step[begin:end] for step in answer.results[: per_call * len(case.calls)]]))
        begin = end
    return found
