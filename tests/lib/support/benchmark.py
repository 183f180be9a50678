"""Scripts of benchmarks/ as modules: tests use their measurements."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


def benchmark(name: str) -> ModuleType:
    """Return the module of a script, imported under its own name."""
    spec = importlib.util.spec_from_file_location(f"benchmarks_{name}", BENCHMARKS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses searches for it here.
    spec.loader.exec_module(module)
    return module
