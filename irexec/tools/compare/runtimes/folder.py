"""A folder or an archive of arrays as a runtime: written by `irexec compare --dump`, by `irexec run --dump` or `-o`, or
by any other tool."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from irexec.core.structure import RESULT
from irexec.core.types import DYNAMIC, F16, Array, ElementType
from irexec.ir.beside import Unreadable, json_of, written_by
from irexec.ir.io.guard import reads
from irexec.model.arrays.brief import plural
from irexec.model.arrays.given import convert
from irexec.model.arrays.loading import BadArrayFile, load
from irexec.model.arrays.saving import archive_names, safe_name
from irexec.model.graph.model import Model, Node, Value
from irexec.model.graph.ports import port_name
from irexec.tools.compare.runtimes.runtime import CannotRun, Failed, Loaded, Runtime, Steps
from irexec.tools.run.dump import INDEX, INPUTS, body_folder, input_names, numbered_folders
from irexec.tools.run.record import known_value, same


class Folder(Runtime):
    """Arrays by layer, listed in index.json or in files named after the layers (`conv_1.npy`, `split.1.npy`).
    Sub-folders `0`, `1`, ... are steps. A `.npz` file holds the arrays of one step by name. Raises CannotRun.
    """

    is_recording = True

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, str(path)
        for file in path.rglob("*"):  # Registered now, because most files are read later.
            reads(file, "a recording")
        places = numbered_folders(path) if path.is_dir() else []
        missing = {*range(len(places))} - {int(place.name) for place in places}
        if missing:
            raise CannotRun(f"{path} does not contain step {min(missing)}")
        self.steps = [_Step(place) for place in places] or [_Step(path)]
        if self.steps[0].runtime:
            self.name = f"{self.steps[0].runtime}, recorded in {path}"

    def load(self, model: Model) -> Loaded:
        return _Loaded(self, model)

    def body(self, node: Node, number: int, step: int) -> tuple[Runtime, Steps | None] | None:
        place = self.steps[step].folder / body_folder(node.friendly_name or node.id, number)
        if not place.is_dir():
            return None
        inner = Folder(place)
        return inner, inner.given(node.bodies[number].model)

    def given(self, model: Model) -> Steps | None:
        """Return the inputs of the steps, if they were recorded."""
        found = [step.given(model) for step in self.steps]
        return None if any(step is None for step in found) else [step for step in found if step is not None]

    @property
    def archives(self) -> list[Path]:
        """The files with the inputs of the steps, if there are any."""
        found = [step.folder / INPUTS for step in self.steps]
        return found if all(path.is_file() for path in found) else []


class _Step:
    """The arrays of one inference, by layer."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runtime = self.precision = ""
        self.about: dict[str, str] = {}
        self.failure: Failed | None = None
        self.repeats = False
        self._values: dict[str, Path | Array] = {}
        if folder.is_dir():
            self._values |= self._indexed() or {file.stem: file for file in sorted(folder.glob("*.npy"))}
        elif isinstance(arrays := _read(folder), dict):
            self._values |= {safe_name(name): array for name, array in arrays.items()}
        if not self._values and self.failure is None:
            raise CannotRun(f"{folder} contains neither {INDEX} nor .npy files")

    def _indexed(self) -> dict[str, Path]:
        """Return files by the layer's name and output, of the layers' first calls."""
        path = self.folder / INDEX
        try:
            index = json_of(path, "a recording")
            with written_by("--dump"):
                return self._files_of(index)
        except FileNotFoundError:
            return {}
        except (OSError, Unreadable) as error:
            raise CannotRun(f"{path} cannot be read: {error}") from None

    def _files_of(self, index: Any) -> dict[str, Path]:
        self.runtime, self.precision = str(index.get("runtime", "")), str(index.get("precision", ""))
        self.about = {str(name): str(value) for name, value in dict(index.get("about", {})).items()}
        self.repeats = index.get("repeats") is True
        if failed := index.get("failure"):
            self.failure = Failed(str(failed["layer"]), str(failed["message"]))
        first = [entry for entry in index["tensors"] if entry["call"] == 0]
        keys = [_key(e["layer"]["name"], e["output"], e["layer"]["type"]) for e in first]
        counts = Counter(keys)
        # If several layers share a name, the file cannot be assigned to one of them.
        known = zip(keys, first, strict=True)
        return {key: self.folder / Path(e["file"]).name for key, e in known if counts[key] == 1}

    def precision_of(self, model: Model) -> str:
        """Return the type in which the runtime computed, or in which another tool wrote f32 values."""
        if self.runtime or self.precision or any(v.element_type is F16 for n in model.nodes for v in n.outputs):
            return self.precision
        return "f16" if _is_narrow(self._values.values()) else ""

    @property
    def is_empty(self) -> bool:
        """Whether the run ended with an error before this step."""
        return not self._values

    def given(self, model: Model) -> list[Array] | None:
        """Return the inputs of the model; None if they were not recorded."""
        path = self.folder / INPUTS
        if not path.is_file():
            return None
        arrays = _read(path)
        found = []
        for name, port in zip(input_names(model), model.inputs, strict=True):
            if not isinstance(arrays, dict) or name not in arrays:
                raise CannotRun(f"{path} does not contain {name}")
            found.append(_converted(arrays[name], port.element_type, path))
        return found

    def array(self, value: Value) -> Array | None:
        """Return the recorded array of a value; None if the value was not recorded. Raises CannotRun if its file cannot
        be read.
        """
        return self._named(_keys(value), value.element_type)

    def result(self, model: Model, number: int) -> Array | None:
        """Return the result of a model at a position by its own name, or by the key that `irexec run -o` writes."""
        found = self.array(model.results[number].outputs[0])
        if found is None:
            found = self._named([safe_name(_archive_key(model, number))], model.outputs[number].element_type)
        return found

    def _named(self, keys: Sequence[str], kind: ElementType) -> Array | None:
        found = next((self._values[key] for key in keys if key in self._values), None)
        if isinstance(found, Path):
            return _converted(_read(found), kind, found)
        return None if found is None else _converted(found, kind, self.folder)


class _Loaded(Loaded):
    """The arrays of one run, which cannot be run again."""

    def __init__(self, folder: Folder, model: Model) -> None:
        self.folder, self.model, self.precision = folder, model, folder.steps[0].precision_of(model)
        self.repeats = folder.steps[0].repeats

    @cached_property
    def about(self) -> dict[str, str]:
        return self.folder.steps[0].about

    def results(self, steps: Steps) -> list[list[Array]]:
        self._check(steps)
        if (failure := self.folder.steps[0].failure) is not None:
            raise failure
        return [
            [self._result(there, number, step) for number in range(len(self.model.results))]
            for there, step in zip(self.folder.steps, steps, strict=True)
        ]

    def _check(self, steps: Steps) -> None:
        """Raise CannotRun unless the recorded run is one of these steps."""
        there = len(self.folder.steps)
        if len(steps) != there:
            given = plural(len(steps), "step")
            raise CannotRun(f"{self.folder.path} contains {plural(there, 'step')}, but inputs of {given} were given")
        for number, (step, recorded) in enumerate(zip(steps, self.folder.given(self.model) or steps, strict=True)):
            for port, ours, theirs in zip(self.model.inputs, step, recorded, strict=True):
                if not same(ours, theirs):
                    name = port.node.friendly_name
                    raise CannotRun(
                        f"{self.folder.path} was recorded with different values of {name!r} in step {number}"
                    )

    def _result(self, there: _Step, number: int, step: Sequence[Array]) -> Array:
        result = self.model.results[number]
        value = result.inputs[0]
        found = there.array(result.outputs[0])
        if found is None and value is not None:
            given = dict(zip(self.model.inputs, step, strict=True))
            found = given[value] if value in given else there.array(value)
            found = known_value(value) if found is None else found
            found = there.result(self.model, number) if found is None else found
        if found is None:
            raise CannotRun(self._missing(there, number))
        return found

    def _missing(self, there: _Step, number: int) -> str:
        """Return the message that no key names a result, with the accepted keys."""
        result = self.model.results[number]
        values = [value for value in (result.outputs[0], result.inputs[0]) if value is not None]
        accepted = [key for value in values for key in _keys(value) if "\0" not in key and not key.endswith(".0")]
        message = f"{there.folder} contains no values of the result {result.friendly_name!r}"
        if there.folder.is_dir():
            return f"{message} ({' or '.join(dict.fromkeys(f'{key}.npy' for key in accepted))})"
        written = _archive_key(self.model, number)
        accepted = [written, *(key for key in accepted if key != safe_name(written))]
        names = " or ".join(repr(key) for key in dict.fromkeys(accepted))
        return f"{message} ({names}); rename the key of the expected values, or write the file with `irexec run -o`"

    def observe(self, steps: Steps, values: Sequence[Value]) -> list[dict[Value, Array]]:
        found = []
        # Apart from results, only the first steps may be requested.
        for there in self.folder.steps[: len(steps)]:
            if there.is_empty:
                break
            arrays = {value: self._observed(there, value) for value in values}
            found.append({value: array for value, array in arrays.items() if array is not None})
        return found

    def _observed(self, there: _Step, value: Value) -> Array | None:
        """Return the recorded array of a value. Another tool may have written it under the name of a result."""
        found = there.array(value)
        if found is None and not there.runtime:
            numbers = [number for number, result in enumerate(self.model.results) if result.inputs[0] is value]
            found = next((a for number in numbers if (a := there.result(self.model, number)) is not None), None)
        return found


def _is_narrow(values: Iterable[Path | Array]) -> bool:
    """Return whether all real numbers were written in f16."""
    kinds = set()
    for value in values:
        with suppress(OSError, BadArrayFile):
            found = load(value) if isinstance(value, Path) else value  # A file is not read into memory.
            kinds |= {found.dtype} if isinstance(found, np.ndarray) else set()
    return {kind for kind in kinds if kind.kind == "f"} == {np.dtype(np.float16)}


def _read(path: Path) -> Any:
    try:
        return load(path)
    except (OSError, BadArrayFile) as error:
        raise CannotRun(f"{path} cannot be read: {error}") from None


def _converted(found: Any, kind: ElementType, path: Path) -> Array:
    array = convert(found, kind) if kind is not DYNAMIC else found
    if not isinstance(array, np.ndarray):
        raise CannotRun(f"{path} does not contain {kind} values")
    return array


def _archive_key(model: Model, number: int) -> str:
    """Return the key under which `irexec run -o` writes the result at a position."""
    return archive_names([port_name(port) or f"output_{index}" for index, port in enumerate(model.outputs)])[number]


def _key(name: str, output: int, type: str) -> str:
    return f"{name}\0{output}" + ("\0result" if type == RESULT else "")


def _keys(value: Value) -> list[str]:
    """Return the possible names of a value's files."""
    node: Node = value.node
    names = [*sorted(value.names), *([node.friendly_name] if node.friendly_name else [])]
    plain = [safe_name(name) for name in names]
    numbered = [f"{name}.{value.index}" for name in plain]
    return [_key(node.friendly_name, value.index, node.type), *numbered, *(plain if value.index == 0 else [])]
