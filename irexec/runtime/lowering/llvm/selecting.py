"""Selecting: each plane of the result consists of elements of the same plane of another array, at constant positions.

The positions are known when the code is generated.
"""

from __future__ import annotations

from typing import Any

from irexec.runtime.lowering.llvm.code import Code, begun, copy_run

# The fields of `select`'s record, each a 64-bit number. Lengths and positions count elements of f32.
LAYER = (
    "source", "result", "places",  # addresses; `places` has the position in a plane of the source of each run
    "run",  # the elements of a run
    "plane", "runs",  # the elements of a plane of the source, the runs in a plane of the result
)  # fmt: skip
TASK = ("first_plane", "last_plane", "first_run", "last_run")


def write_select(module: Any, name: str, lanes: int, is_single: bool) -> Code:
    """Write `select(layer, task, scratch, round)`: copy some runs of some planes. `is_single`: a run has one
    element.
    """
    code, layer, task = begun(module, name, lanes, LAYER, TASK)
    places = layer.places.numbers()
    with code.loop(task.first_plane, task.last_plane) as plane:
        source = layer.source.floats() + plane * layer.plane
        result = layer.result.floats() + plane * layer.runs * layer.run
        with code.loop(task.first_run, task.last_run) as number:
            begin = source + places.number(number)
            if is_single:
                result.put(number, begin.scalar(0))
            else:
                copy_run(begin, result + number * layer.run, layer.run)
    return code.end()
