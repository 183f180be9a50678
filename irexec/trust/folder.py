"""A folder of arrays as a runtime: what `irexec run --dump`, or anybody else, wrote where the model was run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from irexec.arrays.given import convert
from irexec.arrays.loading import BadArrayFile, load
from irexec.arrays.saving import safe_name
from irexec.graph.model import Model, Node, Value
from irexec.trust.runtimes import CannotRun, Loaded, Steps
from irexec.types import DYNAMIC, Array
from irexec.watch.dump import INDEX


class Folder:
    """Arrays by layer: as index.json says, or in files of the layers' names (`conv_1.npy`, `split.1.npy`)."""

    runs_parts = False

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, str(path)
        self._files = self._indexed() or {file.stem: file for file in sorted(path.glob("*.npy"))}
        if not self._files:
            raise CannotRun(f"{path} holds no index.json and no .npy file")

    def _indexed(self) -> dict[str, Path]:
        """Files by the layer's name and output, of the layers' first calls."""
        try:
            entries: Any = json.loads((self.path / INDEX).read_text("utf-8"))["tensors"]
            first = [entry for entry in entries if entry["call"] == 0]
            return {_key(e["layer"]["name"], e["output"]): self.path / Path(e["file"]).name for e in first}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CannotRun(f"{self.path / INDEX} cannot be read: {error}") from None

    def load(self, model: Model) -> Loaded:
        return _Loaded(self, model)

    def array(self, value: Value) -> Array | None:
        """The array of a value; None where there is none. Raises CannotRun when its file cannot be read."""
        path = next((self._files[key] for key in _keys(value) if key in self._files), None)
        if path is None:
            return None
        try:
            found = load(path)
        except (OSError, BadArrayFile) as error:
            raise CannotRun(f"{path} cannot be read: {error}") from None
        array = convert(found, value.element_type) if value.element_type is not DYNAMIC else found
        if not isinstance(array, np.ndarray):
            raise CannotRun(f"{path} holds no {value.element_type} values")
        return array


class _Loaded:
    """The arrays of one run: there is nothing that could be run again."""

    precision = ""

    def __init__(self, folder: Folder, model: Model) -> None:
        self._folder, self._model = folder, model

    def results(self, steps: Steps) -> list[list[Array]]:
        if len(steps) > 1:
            raise CannotRun(f"{self._folder.name} holds one run: give the inputs of one")
        found = []
        for result in self._model.results:
            value = result.inputs[0]
            array = self._folder.array(result.outputs[0])
            if array is None and value is not None:
                array = self._folder.array(value)
            if array is None:
                raise CannotRun(f"{self._folder.name} holds nothing for the result {result.friendly_name!r}")
            found.append(array)
        return [found]

    def observe(self, steps: Steps, values: Sequence[Value]) -> list[dict[Value, Array]]:
        found = {value: self._folder.array(value) for value in values}
        return [{value: array for value, array in found.items() if array is not None}]

    def fused(self) -> list[list[str]]:
        return []


def _key(name: str, output: int) -> str:
    return f"{name}\0{output}"


def _keys(value: Value) -> list[str]:
    """How the files of a value may be called."""
    node: Node = value.node
    names = [*sorted(value.names), *([node.friendly_name] if node.friendly_name else [])]
    if node.type == "Result":
        names = sorted(value.names)
    plain = [safe_name(name) for name in names]
    numbered = [f"{name}.{value.index}" for name in plain]
    return [_key(node.friendly_name, value.index), *numbered, *(plain if value.index == 0 else [])]
