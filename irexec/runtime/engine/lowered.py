"""The interface between the engine and a back end, which replaces kernels of a plan: see irexec.runtime.lowering."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from irexec.core.types import Array
from irexec.runtime.engine.plan import Plan

Call = tuple[Any, ...]
"""A step as the runner executes it: (call, input slots, whether it has a single result, output slots, the expected
dtypes and shapes, slots that are free afterwards)."""
Replacements = Mapping[int, tuple[Callable[..., Any], tuple[int, ...]]]
"""By the number of a step: the call that replaces its kernel, and the slots that the call reads."""


class Program(NamedTuple):
    """The entries of a run: the calls and the initial slots; `numbers`: the step of each call, or the step after which
    the call runs.

    An array in the slot of an input is memory into which every run copies the input.
    """

    template: list[Any]
    calls: Sequence[Call]
    numbers: Sequence[int]


class Backend(Protocol):
    """Lowers the plans of one compiled model. Any thread may use it."""

    def begin(self, plan: Plan) -> bool:
        """Count an inference that is about to run this plan; return whether the plan and its bodies run lowered."""

    def replacements(self, plan: Plan) -> Replacements:
        """Return the calls that replace kernels."""

    def program(self, plan: Plan, calls: Sequence[Call], outs: Mapping[int, Array]) -> Program:
        """Return the program of a plan. `calls`: the calls of all steps, with the replacements; `outs`: the buffers by
        step.
        """
