"""Dumping the results of a runtime for a model, step by step, to a folder that can be compared on another machine."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from irexec.core.types import Array, ElementType
from irexec.ir.io.writing import remove
from irexec.model.arrays.plain import exact_array
from irexec.model.arrays.saving import safe_name, save_array, save_json
from irexec.model.graph.cut import Cutter
from irexec.model.graph.model import Node, Value
from irexec.tools.compare.culprit import body_of, iterations
from irexec.tools.compare.runtimes.runtime import CannotRun, Died, Failed, Loaded, Runtime
from irexec.tools.compare.windows import SHOWN_BYTES, comparable, observed, read_values, sizes_of, windows
from irexec.tools.run.dump import INDEX, INPUTS, body_folder, save_inputs
from irexec.tools.run.record import Reference
from irexec.tools.status import Progress

# The number of iterations of a body after which no further group of iterations is written.
_MOST_ITERATIONS = 1024


def dump(
    reference: Reference,
    runtime: Runtime,
    folder: str | os.PathLike[str],
    *,
    window: int | None = None,
    progress: Progress | None = None,
    first: int = 0,
) -> list[Path]:
    """Write the results of a runtime to one folder per step (`first`, ...), and return these folders. Each contains
    index.json in the format of `irexec run --dump`, inputs.npz, a .npy file for each output of a layer and each result
    of the model when no layer is observed, and a similar folder for each body, with its iterations as steps.

    Raises IRError when irexec cannot run the model, CannotRun when the runtime cannot, OSError.
    """
    model, steps = reference.model, reference.steps
    loaded = runtime.load(model)
    places = [_Step(Path(folder) / str(first + number), runtime.name, loaded) for number in range(len(steps))]
    failure: Failed | None = None
    try:
        results = loaded.results(steps)
    except Failed as error:
        # The values before the error show its cause.
        failure, results = error, [list[Array]() for _ in steps]
    for place, step, shown_results in zip(places, steps, results, strict=True):
        save_inputs(model, step, place.folder / INPUTS)
        for result, array in zip(model.results, shown_results, strict=False):
            place.add(result.outputs[0], array)
    nodes, read = comparable(model), read_values(model)

    def made(some: Sequence[Node]) -> list[Value]:
        return [value for node in some for value in node.outputs if value in read]

    done = 0
    for some in windows(nodes, window, SHOWN_BYTES, sizes_of(model, steps)):
        for shown, found in observed(loaded, steps, some, made):
            for place, values in zip(places, found, strict=False):
                for value in made(shown):
                    if value in values:
                        place.add(value, values[value])
            done += len(shown)
            if progress is not None:
                progress(done, len(nodes))
    for place in places:
        place.close(failure)
    whole = Cutter(reference.model)
    for node in nodes:
        if node.bodies:
            _dump_bodies(node, whole, reference, runtime, [place.folder for place in places])
    return [place.folder for place in places]


class _Step:
    """The folder of one step, and the index of its files."""

    def __init__(self, folder: Path, runtime: str, loaded: Loaded) -> None:
        self.folder = folder
        self._about: dict[str, Any] = {"runtime": runtime, "precision": loaded.precision, "about": loaded.about}
        self._about["repeats"] = loaded.repeats
        self._entries: list[dict[str, Any]] = []
        folder.mkdir(parents=True, exist_ok=True)
        remove(folder / INDEX)  # The index of an earlier run lists other arrays.

    def add(self, value: Value, array: Array) -> None:
        node = value.node
        kind = ElementType.of(array.dtype) if value.element_type.is_dynamic else value.element_type
        name = f"{len(self._entries):05d}_{safe_name(node.friendly_name or node.type)}.npy"
        save_array(self.folder / name, exact_array(array, kind))
        layer = {"id": node.id, "name": node.friendly_name, "type": node.type, "version": node.version}
        about = {"output": value.index, "call": 0, "element_type": str(kind), "shape": list(array.shape)}
        self._entries.append({"file": name, "layer": layer} | about)

    def close(self, failure: Failed | None) -> None:
        """Write the index: a folder with an index is complete. `failure`: the error with which the run ended."""
        failed = {} if failure is None else {"failure": {"layer": failure.layer, "message": str(failure)}}
        save_json(self.folder / INDEX, self._about | failed | {"tensors": self._entries})


def _dump_bodies(node: Node, whole: Cutter, reference: Reference, runtime: Runtime, folders: Sequence[Path]) -> None:
    """Dump each body of a layer as a separate model, with the inputs that irexec computes in each iteration."""
    given = reference.record({value for value in node.inputs if value is not None})
    for step, folder in enumerate(folders):
        for number, first, inner in iterations(whole, node, given[step]):
            if first >= _MOST_ITERATIONS:
                continue
            inside = body_of(runtime, node, number, step)
            if inside is None:
                continue
            try:
                dump(inner, inside[0], folder / body_folder(node.friendly_name or node.id, number), first=first)
            except Died:
                raise
            except CannotRun:
                continue
