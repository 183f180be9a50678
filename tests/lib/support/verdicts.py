"""Verdicts of comparisons, for tests of irexec compare."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from irexec import Model
from irexec.tools.compare.compare import compare
from irexec.tools.compare.result import Comparison
from irexec.tools.compare.runtimes.dumping import dump
from irexec.tools.compare.runtimes.folder import Folder
from irexec.tools.compare.runtimes.runtime import OtherModel
from irexec.tools.run.record import Reference

ROWS = np.random.default_rng(0).normal(0, 1, (4, 8)).astype(np.float32)


def compared(right: Model, other: Model, *steps: Any) -> Comparison:
    """Return the comparison of two models on the inputs of one or more steps."""
    return compare(Reference(right, [list(step) for step in steps]), OtherModel("other.xml", other))


def through_a_dump(right: Model, other: Model, folder: Path, *steps: Any) -> Comparison:
    """Return the comparison with a recording of the other model, in which layers are identified by name only."""
    run = Reference(right, [list(step) for step in steps])
    dump(run, OtherModel("other.xml", other), folder)
    return compare(run, Folder(folder))


def named(found: Comparison) -> list[str]:
    """Return the layers that a verdict names."""
    return [node.friendly_name for node in found.culprit.nodes] if found.culprit is not None else []
