"""A process that computes the same with several numbers of threads, and prints the calls whose results differ in bits.

    python -m support.bits

All work is divided, however small it is. Prints a JSON object: the core types whose kernels BLAS uses, a digest of all
results with one thread, and the calls whose bits differ with another number of threads, of irexec and of BLAS.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import threadpoolctl

from irexec.core.threads import parallel
from support.calls import Call
from support.sums import sums

COUNTS = (1, 2, 3, 8)
Bits = list[tuple[Any, ...]]


def bits(call: Call) -> Bits:
    """Return the results of a call in a form that can be compared bit by bit."""
    attributes, _ = call.operator.parse_attributes(call.attributes)
    results = call.operator(*call.arrays, **attributes)
    arrays = [np.asarray(r) for r in (results if isinstance(results, (tuple, list)) else [results])]
    return [(a.dtype.str, a.shape, a.tolist() if a.dtype.kind == "T" else a.tobytes()) for a in arrays]


@contextmanager
def cutting(**changes: Any) -> Iterator[None]:
    """Make all work worth several threads, with other changes to constants in the imported modules of operators."""
    changes |= {"WORTH_PRODUCTS": 1, "WORTH_BYTES": 1}
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("irexec.ops")]
    before = [(module, name, getattr(module, name)) for module in modules for name in changes if hasattr(module, name)]
    try:
        for module, name, _ in before:
            setattr(module, name, changes[name])
        yield
    finally:
        for module, name, value in before:
            setattr(module, name, value)


def results(given: Sequence[Call], threads: int) -> list[Bits]:
    """Return the bits of calls with this number of threads, of irexec and of BLAS."""
    try:
        parallel.set_num_threads(threads)
        with threadpoolctl.threadpool_limits(threads, "blas"):
            return [bits(call) for call in given]
    finally:
        parallel.set_num_threads(None)


def differing(given: Sequence[Call], expected: list[Bits]) -> list[Call]:
    """Return the calls whose results differ from the expected bits for some number of threads."""
    found = [results(given, threads) for threads in COUNTS]
    return [call for n, call in enumerate(given) if any(each[n] != expected[n] for each in found)]


def main() -> None:
    given = list(sums())
    # Import the modules that the calls need.
    results(given, 1)
    with cutting():
        alone = results(given, 1)
        wrong = [str(call) for call in differing(given, alone)]
    cores = [found.get("architecture") for found in threadpoolctl.threadpool_info() if found["user_api"] == "blas"]
    digest = hashlib.sha256(repr(alone).encode()).hexdigest()
    print(json.dumps({"cores": cores, "digest": digest, "differing": wrong}))


if __name__ == "__main__":
    main()
