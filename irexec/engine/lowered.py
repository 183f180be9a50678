"""The interface between the engine and a back end, which replaces kernels of a plan: see irexec.lowering."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from irexec.engine.plan import Plan
from irexec.types import Array

Call = tuple[Any, ...]
"""A step as the runner executes it: (call, input slots, whether it has a single result, output slots, the expected
dtypes and shapes, slots that are free afterwards)."""
RunCalls = Callable[[list[Any], list[Call], Sequence[int]], None]
"""Executes calls of the steps with these numbers on the slots."""


class Program(NamedTuple):
    """The entries of a run: the calls and the initial slots; `numbers` gives the step of each call, or the step it
    follows.
    """

    template: list[Any]
    calls: list[Call]
    numbers: Sequence[int]


class Backend(Protocol):
    """Lowers the plans of one compiled model. Any thread may use it."""

    def begin(self, plan: Plan) -> bool:
        """Count an inference that is about to run this plan; return whether it runs lowered, with all its bodies."""

    def calls(self, plan: Plan) -> Mapping[int, Callable[..., Any]]:
        """Return the calls that replace kernels, by the number of the step."""

    def run_first(
        self, plan: Plan, calls: list[Call], outs: Mapping[int, Array], slots: list[Any], run: RunCalls
    ) -> Program:
        """Run the plan once on its slots with `run`; return the program for all further runs with these buffers.

        `calls` are those of all steps, lowered where `calls` has a replacement; `outs` are the buffers by step.
        """
