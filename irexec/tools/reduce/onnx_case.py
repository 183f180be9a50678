"""Reducing an ONNX model as ONNX, for a runtime that reads nothing else: its cases, and the stages of its reduction."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from irexec.core.diagnostics import IRError
from irexec.core.structure import RESULT
from irexec.core.types import Array, ElementType
from irexec.frontends.onnx import parts
from irexec.frontends.reading import accepted, read
from irexec.ir.io.writing import Together
from irexec.model.arrays.saving import save_atomically
from irexec.tools.compare.compare import compare
from irexec.tools.compare.errors import Bounds
from irexec.tools.compare.runtimes.runtime import CannotRun, Runtime
from irexec.tools.reduce.case import Case, Steps
from irexec.tools.reduce.simpler import some
from irexec.tools.reduce.stages import Stage
from irexec.tools.run.record import Reference


@dataclass(frozen=True, slots=True, eq=False)
class OnnxCase(Case):
    """A case that is an ONNX model: `proto`, from which `model` was made. `folder`: a temporary folder that is kept as
    long as the case, because the model's file is in it; None for a file of the user."""

    proto: Any
    folder: Any

    def write(self, path: Path, files: Together | None = None) -> list[Path]:
        file = path.with_suffix(".onnx")
        _save(self.proto, file, files)
        return [file]


def _save(proto: Any, path: Path, files: Together | None = None) -> bytes:
    """Write the model to a file, and return the bytes."""
    data: bytes = proto.SerializeToString()

    def write(stream: IO[bytes]) -> None:
        stream.write(data)

    save_atomically(path, write, files)
    return data


def onnx_case(proto: Any, steps: Steps) -> OnnxCase:
    """Return the case of an ONNX model. Raises IRError if it is not valid, or cannot be run with these inputs."""
    folder = tempfile.TemporaryDirectory(prefix="irexec-")
    path = Path(folder.name) / "model.onnx"  # Other runtimes read this file.
    model = accepted(read(_save(proto, path), file=path))
    return OnnxCase(model, steps, Reference(model, steps).results(), proto, folder)


def onnx_case_of(path: Path, steps: Steps) -> OnnxCase:
    """Return the case of an ONNX file. Raises IRError and OSError."""
    return onnx_case(parts.load(path), steps)


def onnx_whole(reference: Reference) -> OnnxCase:
    """Return a case of the whole ONNX model that `reference` runs. Raises CannotRun if it was not read from a file of
    ONNX, IRError and OSError.
    """
    file = reference.model.file
    if file is None or not file.lower().endswith(".onnx"):
        raise CannotRun("ONNX Runtime cannot read an IR; give the original .onnx file instead", "U012")
    proto = parts.load(file)
    return OnnxCase(reference.model, reference.steps, reference.results(), proto, None)


def onnx_guesses(reference: Reference, runtime: Runtime, bounds: Bounds | None = None) -> Iterator[OnnxCase]:
    """Yield candidates to reduce, smallest first: the node that a comparison names, then the whole model."""
    whole = onnx_whole(reference)
    try:
        found = compare(reference, runtime, bounds=bounds).culprit
        names = {name for node in found.nodes for value in node.outputs for name in value.names} if found else set()
        nodes = parts.makers(whole.proto, names)
        if nodes:
            yield _part(whole, nodes)
    except (CannotRun, IRError, ValueError):
        pass
    yield whole


def _part(case: Case, nodes: Collection[int], outputs: Collection[str] = ()) -> OnnxCase:
    """Return a case that consists of these nodes; its inputs are the values that they read in irexec's run. Raises
    IRError and ValueError.
    """
    recorded = _recorded(case, [*parts.boundary(_proto(case), nodes), *parts.leaving(_proto(case), nodes)])
    proto = parts.part(_proto(case), nodes, recorded[0], outputs)
    return onnx_case(proto, [[step[name] for name in parts.input_names(proto)] for step in recorded])


def _recorded(case: Case, names: Sequence[str]) -> list[dict[str, Array]]:
    """Return the tensors with these names that irexec computed, per step."""
    made = [value for node in case.model.nodes if node.type != RESULT for value in node.outputs]
    values = {name: value for value in made for name in value.names if name in names}
    runs = Reference(case.model, case.steps).record(set(values.values()))
    return [{name: run[value] for name, value in values.items() if value in run} for run in runs]


def _proto(case: Case) -> Any:
    assert isinstance(case, OnnxCase)
    return case.proto


# Stages


def _keep_steps(case: Case, kept: list[int]) -> OnnxCase:
    return onnx_case(_proto(case), [case.steps[number] for number in kept])


def _outputs(case: Case) -> Sequence[str]:
    return some(parts.output_names(_proto(case)))


def _keep_outputs(case: Case, kept: list[str]) -> OnnxCase:
    return _part(case, parts.needed(_proto(case), kept), kept)


def _nodes(case: Case) -> Sequence[int]:
    return some(parts.layers(_proto(case)))


def _extents(case: Case) -> list[int]:
    arrays = [*parts.weights(_proto(case)).values(), *(array for step in case.steps for array in step)]
    return sorted({extent for array in arrays for extent in array.shape if extent > 1}, reverse=True)


def _shrink(target: Callable[[int], int]) -> Callable[[Case, list[int]], Case]:
    """Return a function that replaces every extent not in `kept` by `target(extent)`, everywhere in the model."""

    def keep(case: Case, kept: list[int]) -> OnnxCase:
        smaller = {extent: target(extent) for extent in _extents(case) if extent not in kept}
        if all(extent == less for extent, less in smaller.items()):
            raise ValueError("nothing would be smaller")

        def cut(array: Array) -> Array:
            return array[tuple(slice(smaller.get(extent, extent)) for extent in array.shape)].copy()

        proto = parts.with_extents(_proto(case), cut, lambda extent: smaller.get(extent, extent))
        return onnx_case(proto, [[cut(array) for array in step] for step in case.steps])

    return keep


def _constants(case: Case) -> list[str]:
    found = {name: a for name, a in parts.weights(_proto(case)).items() if a.size > 1 and a.dtype.kind not in "OSTU"}
    real = {name: array for name, array in found.items() if ElementType.of(array.dtype).is_real}
    return [name for name, array in real.items() if not bool(np.all(array == array.reshape(-1)[0]))]


def _keep_constants(case: Case, kept: list[str]) -> OnnxCase:
    """Return the case with all weights except those in `kept` set to ones."""
    known = parts.weights(_proto(case))
    ones = {name: np.ones_like(known[name]) for name in _constants(case) if name not in kept}
    return onnx_case(parts.with_weights(_proto(case), ones), case.steps)


def _attributes(case: Case) -> Sequence[tuple[int, str]]:
    return parts.attributes(_proto(case))


def _keep_attributes(case: Case, kept: list[tuple[int, str]]) -> OnnxCase:
    return onnx_case(parts.with_attributes(_proto(case), kept), case.steps)


ONNX_STAGES: tuple[Stage, ...] = (
    Stage("steps", lambda case: some(range(len(case.steps))), _keep_steps),
    Stage("outputs", _outputs, _keep_outputs),
    Stage("layers", _nodes, _part),
    Stage("extents to 1", _extents, _shrink(lambda extent: 1)),
    Stage("extents to 2", _extents, _shrink(lambda extent: min(extent, 2))),
    Stage("extents halved", _extents, _shrink(lambda extent: -(-extent // 2))),
    Stage("constants", _constants, _keep_constants),
    Stage("attributes", _attributes, _keep_attributes),
)
