"""Whether records of compiled code hold the memory that they address."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from irexec.runtime.engine import InferRequest
from irexec.runtime.lowering.llvm import compiler
from irexec.runtime.lowering.llvm.memory import Records
from irexec.runtime.lowering.tasks import Sequence

# Counts are smaller, and addresses larger.
LEAST_ADDRESS = 1 << 44


def sequences(request: InferRequest) -> list[Sequence]:
    """Return the sequences in the programs of a request."""
    programs = [runner._program for runner in request._runners.values() if runner._program is not None]
    return [call[0] for program in programs for call in program.calls if isinstance(call[0], Sequence)]


def unheld(request: InferRequest) -> list[int]:
    """Return the addresses in the programs of a request whose memory the records do not hold."""
    functions = {made.address for made in compiler()._made.values()}
    found = []
    for sequence in sequences(request):
        for records in {id(records): records for records in _records([sequence.jobs])}.values():
            spans = [np.lib.array_utils.byte_bounds(array) for array in _arrays([records])]
            addresses = {int(number) for number in records.numbers.flat if number >= LEAST_ADDRESS} - functions
            found += [place for place in addresses if not any(start <= place <= stop for start, stop in spans)]
    return found


def _records(things: Iterable[Any]) -> Iterator[Records]:
    """Yield all records among these objects, and among the objects that they hold."""
    for thing in things:
        if isinstance(thing, Records):
            yield thing
            yield from _records(thing.held)
        elif isinstance(thing, (list, tuple)):
            yield from _records(thing)


def _arrays(things: Iterable[Any]) -> Iterator[np.ndarray]:
    """Yield all arrays among these objects, and among the objects that they hold."""
    for thing in things:
        if isinstance(thing, np.ndarray):
            yield thing
        elif isinstance(thing, Records):
            yield from _arrays([thing.numbers, thing.held])
        elif isinstance(thing, (list, tuple)):
            yield from _arrays(thing)
