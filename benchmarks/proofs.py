"""The proof of a verdict, tried again: with the named layers' values of the other side, irexec's results differ."""

from __future__ import annotations

import numpy as np

from irexec.core.diagnostics import IRError
from irexec.tools.compare.result import Comparison
from irexec.tools.run.record import Reference


def unproved(run: Reference, found: Comparison) -> str:
    """Return what is wrong with the proof of a comparison; empty if both experiments were run and hold.

    Layers in bodies are named there, but the experiments are those of the layer that contains them.
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
    pairs = (pair for mine, other in zip(run.results(), made, strict=True) for pair in zip(mine, other, strict=True))
    same = all(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc") for a, b in pairs)
    return "the values of the named layers do not change the results" if same else ""
