"""Many files and many inputs: one task for each, on processes, on a cluster, or on any `concurrent.futures.Executor`.

from irexec.tools import parallel

with parallel.Processes(4) as workers:
    for outcome in parallel.gather(parallel.Validate(), files, workers):
        print(outcome.item, outcome.report)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from irexec.tools.parallel.cluster import Cluster
    from irexec.tools.parallel.comparisons import CompareInput
    from irexec.tools.parallel.gathering import Outcome, gather
    from irexec.tools.parallel.inputs import RunInput, inputs_of
    from irexec.tools.parallel.log import Log
    from irexec.tools.parallel.models import Validate, models_in
    from irexec.tools.parallel.pages import CheckPage
    from irexec.tools.parallel.processes import Processes
    from irexec.tools.parallel.task import Task

__all__ = [
    "CheckPage", "Cluster", "CompareInput", "Log", "Outcome", "Processes", "RunInput", "Task", "Validate", "gather",
    "inputs_of", "models_in",
]  # fmt: skip

# Imported when first used: validation does not need the modules that run models.
_HOMES = {
    "cluster": "Cluster",
    "comparisons": "CompareInput",
    "gathering": "Outcome gather",
    "inputs": "RunInput inputs_of",
    "log": "Log",
    "models": "Validate models_in",
    "pages": "CheckPage",
    "processes": "Processes",
    "task": "Task",
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'irexec.tools.parallel' has no attribute {name!r}")
    return getattr(importlib.import_module(f"irexec.tools.parallel.{_HOME_OF[name]}"), name)
