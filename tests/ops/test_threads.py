"""Results have the same bits for any number of threads, whichever kernels BLAS uses, even for little work."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.bits import COUNTS, cutting, differing, results
from support.calls import Call, calls
from support.instructions import IS_X86, found
from support.sums import sums
from support.waiting import PATIENCE

import irexec
from irexec.core.threads import parallel
from irexec.ops.spec.traits import Random

TESTS = Path(__file__).parents[1]
OPS = Path(irexec.__file__).parent / "ops"
# Families of OpenBLAS's kernels for x86-64 → NumPy's names of the instructions that they need.
NEEDED = {
    "Prescott": set(),
    "Nehalem": set(),
    "Sandybridge": {"AVX", "X86_V3"},
    "Haswell": {"AVX2", "X86_V3"},
    "SkylakeX": {"AVX512_SKX", "X86_V4"},
}


def executable_cores() -> list[str]:
    """Return the families that this processor can execute: any other family would end the process."""
    return [core for core, needed in NEEDED.items() if not needed or needed & found()] if IS_X86 else []


def in_a_process(**environment: str) -> dict[str, Any]:
    """Return the output of `support.bits` in a new process."""
    chosen = ("OPENBLAS_CORETYPE", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "IREXEC_NUM_THREADS")
    inherited = {name: value for name, value in os.environ.items() if name not in chosen}
    path = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-m", "support.bits"],
        env=inherited | environment | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.in_ci("computes everything with the BLAS kernels of each processor")
@pytest.mark.parametrize("core", executable_cores())
def test_with_the_kernels_of_a_core_type(core: str) -> None:
    assert in_a_process(OPENBLAS_CORETYPE=core)["differing"] == []


@pytest.mark.by_hand(0)
def test_with_what_the_environment_states_of_threads() -> None:
    found = in_a_process(OMP_NUM_THREADS="1", IREXEC_NUM_THREADS="1")
    assert found["differing"] == []
    assert in_a_process(OPENBLAS_NUM_THREADS="8")["digest"] == found["digest"]


@pytest.fixture
def imported() -> None:
    """Import the modules that the calls need, so that they can be changed."""
    results([*calls(), *sums()], 1)


def test_every_operator(imported: None) -> None:
    """Exact operators give the same bits as without a division of the work."""
    same = [call for call in calls() if Random not in call.operator.traits]
    exact = [call for call in same if call.operator.oracle.tolerance.kind == "exact"]
    assert len({call.operator for call in exact}) > 100
    whole = results(exact, 1)
    with cutting():
        assert differing(same, results(same, 1)) == differing(exact, whole) == []


class Planted:
    """An operator that divides a sum by the number of threads."""

    def parse_attributes(self, attributes: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
        return attributes, []

    def __call__(self, array: np.ndarray) -> np.ndarray:
        return np.sum([part.sum() for part in np.array_split(array, parallel.num_threads())], dtype=np.float32)


def test_a_cut_by_the_number_of_threads_is_found() -> None:
    operator: Any = Planted()
    call = Call(operator, [np.random.default_rng(0).random(1001, np.float32)], {})
    assert differing([call], results([call], 1)) == [call]


def test_no_kernel_asks_for_the_number_of_threads() -> None:
    """The number is used where work is distributed, and nowhere else."""
    assert [path.name for path in OPS.rglob("*.py") if "num_threads" in path.read_text()] == []


def test_there_are_more_parts_for_more_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "WORTH_PRODUCTS", 100)
    for threads in COUNTS:
        parallel.set_num_threads(threads)
        parts = [parallel.parts_for(work) for work in (0, 99, 100, 399, 400, 1599, 1600, 6400)]
        assert parts == [1, 1, 2, 2, 4, 4, 8, 16]
    parallel.set_num_threads(None)


def test_more_than_two_parts_get_enough_of_an_axis_each() -> None:
    assert [parallel.parts_along(extent, 8, 100) for extent in (1, 399, 400, 799, 800)] == [2, 2, 4, 4, 8]
    assert parallel.parts_along(1, 1, 100) == 1
