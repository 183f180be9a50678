"""Scripts of benchmarks/ as modules: their measurements are tested where they serve as tests."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


def benchmark(name: str) -> ModuleType:
    """The module of a script, which is imported under a name of its own."""
    spec = importlib.util.spec_from_file_location(f"benchmarks_{name}", BENCHMARKS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # Where dataclasses look for it.
    spec.loader.exec_module(module)
    return module
