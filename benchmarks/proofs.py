"""The proof of a verdict, tried again: every experiment that it states is run a second time, and has to hold."""

from __future__ import annotations

import numpy as np

from irexec.core.diagnostics import IRError
from irexec.tools.compare.blame import largest
from irexec.tools.compare.proof import with_ours
from irexec.tools.compare.result import Comparison
from irexec.tools.compare.rounding import Results
from irexec.tools.compare.runtimes.runtime import Runtime
from irexec.tools.run.record import Reference

_REPAIR = "with irexec's "
"""How the statement of the second experiment begins. Of several layers, only their sum is tried."""


def unproved(run: Reference, found: Comparison, other: Runtime | None = None) -> str:
    """Return what is wrong with the proof of a comparison; empty if all experiments were run and hold.

    The first experiment gives irexec the other side's values of the named layers: its results change. The second gives
    the other side, if irexec runs it (`other`), irexec's values: its results do not move away from irexec's. Layers in
    bodies are named there, but the experiments are those of the layer that contains them.
    """
    culprit = found.culprit
    if culprit is None or found.failure is not None:
        return ""
    if not found.proof:
        return "no proof"
    if "; " not in found.proof:
        return f"an experiment was not run: {found.proof}"
    values = (
        {}
        if culprit.outer
        else {
            # An integer that the other model computes in fewer bits.
            v: a.astype(v.element_type.dtype, copy=False)
            for v, a in culprit.outputs.items()
            if v.node in run.model.nodes
        }
    )
    if not values:
        return ""
    changes = [values if step == culprit.step else {} for step in range(len(run.steps))]
    try:
        made = run.changed(changes)
    except IRError as error:
        # Values of another shape, which the proof says; or values of one step alone, which do not fit those of others.
        told = "irexec cannot be run" in found.proof or len(run.steps) > 1
        return "" if told else f"the experiment fails: {error}"
    if _same(run.results(), made):
        return "the values of the named layers do not change the results"
    repaired = with_ours(run, other.load(run.model), culprit) if other is not None and _REPAIR in found.proof else None
    if repaired is not None and _is_farther(run.results(), repaired, found.plain):
        now, before = (f"{largest(run.results(), results).ulp:g}" for results in (repaired, found.plain))
        return f"with irexec's values of the named layers, the other side is {now} ulp off, before {before}"
    return ""


def _is_farther(ours: Results, repaired: Results, before: Results) -> bool:
    """Return whether the repaired results are farther from irexec's than the other side's were before."""
    return largest(ours, repaired).ulp > largest(ours, before).ulp


def _same(ours: Results, made: Results) -> bool:
    pairs = (pair for mine, other in zip(ours, made, strict=True) for pair in zip(mine, other, strict=True))
    return all(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc") for a, b in pairs)
