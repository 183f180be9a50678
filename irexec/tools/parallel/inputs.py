"""A model on many inputs: each is a file of arrays or a sample of a batch, and the results of each are a file."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

import numpy as np

from irexec.core.diagnostics import IRError, Place, Report
from irexec.core.diagnostics.findings import Findings, Mode
from irexec.core.types import Array
from irexec.frontends.reading import Reading, read
from irexec.ir.io.files import named_files, unreadable
from irexec.model.arrays.given import Given
from irexec.model.arrays.loading import BadArrayFile
from irexec.model.arrays.loading import load as load_arrays
from irexec.model.arrays.saving import save_arrays
from irexec.model.graph.model import Model
from irexec.runtime.engine import CompiledModel
from irexec.tools.parallel.task import PathLike, Task, content, state
from irexec.tools.run.run import ModelInput, completed, run_model
from irexec.tools.run.values import file_of_option, read_inputs, read_shapes

SUFFIXES = (".npy", ".npz")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class InputRun:
    """The run of an input: the file with its results, their names, element types and shapes, seconds, and findings."""

    saved: str | None
    outputs: list[tuple[str, str, list[int]]]
    seconds: float
    report: Report


@dataclass(frozen=True)
class OnInputs(Task[R]):
    """Work with a model on items that are inputs. An item is a .npz file with an array for each input, by name, a .npy
    file with the array of the first input, or a sample of a batch: `FILE.npz:17`.

    The other fields are what --weights, --input, --shape and --seed state, for all items.
    """

    model: str
    weights: str | None = field(default=None, kw_only=True)
    inputs: tuple[str, ...] = field(default=(), kw_only=True)
    shapes: tuple[str, ...] = field(default=(), kw_only=True)
    seed: int = field(default=0, kw_only=True)

    def given(self, item: str | None, model: Model, findings: Findings, *, typical: bool = True) -> Given:
        """Return what is given for the inputs of the model, with the arrays of an item."""
        arrays = {} if item is None else arrays_of(item, model, findings)
        shapes = read_shapes(self.shapes, findings)
        return Given(read_inputs(self.inputs, findings) | arrays, shapes=shapes, seed=self.seed, typical=typical)

    def entries(self, item: str | None, model: Model) -> list[ModelInput]:
        """Return the inputs of the model for an item. Raises IRError."""
        findings = Findings(file=item or self.model)
        return completed(model, self.given(item, model, findings), findings)

    def files(self, item: str) -> list[PathLike]:
        return [*model_files(self.model, self.weights), *option_files(self.inputs), split_item(item)[0]]


@dataclass(frozen=True)
class RunInput(OnInputs[InputRun]):
    """Run a model on an item of `folder`, and write the results, by name, to the same place below the folder `save`."""

    words = (InputRun,)

    folder: str
    save: str
    mode: Mode = "openvino"

    def __call__(self, item: str) -> InputRun:
        compiled = compiled_model(self.model, self.weights, self.mode)
        findings = Findings(file=item)
        given = self.given(item, compiled.model, findings, typical=False)
        if not findings.report.ok:
            return InputRun(None, [], 0.0, findings.report)
        begun = time.perf_counter()
        run = run_model(compiled.model, given, compiled=compiled)
        seconds = time.perf_counter() - begun
        findings.report.extend(run.report)
        if not findings.report.ok:
            return InputRun(None, [], seconds, findings.report)
        target = self.target(item)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            save_arrays(target, run.arrays())
        except OSError as error:
            message = f"the results cannot be written: {error.strerror or error}"
            findings.add("U007", message, place=Place(file=str(target)))
            return InputRun(None, [], seconds, findings.report)
        outputs = [(name, str(kind), list(array.shape)) for name, array, kind in run.outputs]
        return InputRun(str(target), outputs, seconds, findings.report)

    def report(self, result: InputRun) -> Report:
        return result.report

    def outputs(self, item: str) -> list[PathLike]:
        return [self.target(item)]

    def target(self, item: str) -> Path:
        """Return the file that the results of an item are written to."""
        path, sample = split_item(item)
        if sample is not None:
            return Path(self.save, f"{sample:06}.npz")
        return Path(self.save, os.path.relpath(path, self.folder)).with_suffix(".npz")


def inputs_of(source: PathLike, findings: Findings) -> tuple[str, list[str]]:
    """Return a folder and its items, or the samples of a batch: a .npz whose arrays have one row per sample.

    Unusable files are reported as findings.
    """
    source = os.fspath(source)
    if os.path.isdir(source):
        items = named_files([source], SUFFIXES)
        stems: dict[str, str] = {}
        for item in items:
            if (first := stems.setdefault(os.path.splitext(item)[0], item)) is not item:
                findings.add("U003", f"--inputs: the results of {item} and {first} would have the same file name")
        if not items:
            findings.add("U001", "--inputs: the folder contains no .npy or .npz files", place=Place(file=source))
        return source, items
    arrays = _read(source, findings)
    if arrays is None:
        return "", []
    counts = {name: len(array) if array.ndim else 0 for name, array in arrays.items()}
    if len(set(counts.values())) != 1 or 0 in counts.values():
        found = ", ".join(f"{name}: {count}" for name, count in counts.items())
        message = "--inputs: the first extent of every array in a batch must be the number of samples"
        findings.add("U004", message, place=Place(file=source), found=found)
        return "", []
    return "", [f"{source}:{number}" for number in range(next(iter(counts.values())))]


def split_item(item: str) -> tuple[str, int | None]:
    """Return the file of an item and the number of the sample in it; None if the item is the whole file."""
    path, _, number = item.rpartition(":")
    return (path, int(number)) if number.isdecimal() and path.endswith(SUFFIXES) else (item, None)


def compiled_model(path: str, weights: str | None, mode: Mode = "openvino") -> CompiledModel:
    """Return the model, compiled once in each process for as long as its files stay the same. Raises IRError."""
    return _compiled(path, weights, mode, *_states(path, weights))


def reading_of(path: str, weights: str | None, mode: Mode = "openvino") -> Reading:
    """Return the contents of a model's files, read once in each process as long as the files do not change."""
    return _read_model(path, weights, mode, *_states(path, weights))


def _states(path: str, weights: str | None) -> Iterator[tuple[int, ...]]:
    for file in model_files(path, weights):
        try:
            yield state(file)
        except (OSError, ValueError):
            yield ()


@lru_cache(maxsize=1)
def _read_model(path: str, weights: str | None, mode: Mode, *_state: tuple[int, ...]) -> Reading:
    return read(path, weights, mode=mode)


def model_files(path: str, weights: str | None) -> list[PathLike]:
    """Return the files of a model."""
    return [path, weights or os.path.splitext(path)[0] + ".bin"]


def option_files(inputs: Iterable[str]) -> list[PathLike]:
    """Return the files from which values of --input are read."""
    return [found[1] for option in inputs if (found := file_of_option(option)) is not None]


@lru_cache(maxsize=1)
def _compiled(path: str, weights: str | None, mode: Mode, *states: tuple[int, ...]) -> CompiledModel:
    reading = _read_model(path, weights, mode, *states)
    if reading.model is None or not reading.report.ok:
        raise IRError(reading.report)
    return CompiledModel(reading.model)


def arrays_of(item: str, model: Model, findings: Findings) -> dict[str, Array]:
    """Return the arrays of an item by the name of their input."""
    path, number = split_item(item)
    if number is None:
        return _read(path, findings) or {}
    batch = _read_batch(path, content(path))
    ranks = {name: entry.port.type.rank for entry in map(ModelInput, model.inputs) for name in entry.names}
    # A model with a batch axis gets a batch of one.
    return {
        name: array[number : number + 1] if array.ndim == ranks.get(name) else array[number]
        for name, array in batch.items()
    }


@lru_cache(maxsize=1)
def _read_batch(path: str, _state: str) -> dict[str, Array]:
    findings = Findings(file=path)
    arrays = _read(path, findings)
    if arrays is None:
        raise IRError(findings.report)
    return arrays


def _read(path: str, findings: Findings) -> dict[str, Array] | None:
    """Return the arrays of a file by name; the array of a .npy file has the name of the first input."""
    try:
        loaded = load_arrays(path)
    except BadArrayFile as error:
        findings.add("U004", f"the file contains no arrays: {error}", place=Place(file=path))
    except OSError as error:
        message, hint = unreadable(path, error)
        findings.add("U001", message, place=Place(file=path), hint=hint)
    else:
        return {"0": loaded} if isinstance(loaded, np.ndarray) else loaded
    return None
