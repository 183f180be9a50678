"""`--dump DIR`: a listener that writes every output of every layer as .npy and an index of them, and the inputs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from irexec.core.types import Array, ElementType
from irexec.ir.io.writing import Together, remove
from irexec.model.arrays.plain import exact_array
from irexec.model.arrays.saving import archive_names, safe_name, save_array, save_arrays, save_json
from irexec.model.graph.model import Model, Node
from irexec.model.graph.ports import port_name

INDEX = "index.json"
INPUTS = "inputs.npz"


def numbered_folders(folder: Path) -> list[Path]:
    """Return the subfolders `0`, `1`, ... of a run's steps or a body's iterations, in order."""
    found = {int(place.name): place for place in folder.iterdir() if place.is_dir() and place.name.isdecimal()}
    return [found[number] for number in sorted(found)]


def body_folder(layer: str, number: int) -> str:
    """Return the name of the folder of a layer's body. `layer`: its name, or else its id."""
    return f"body_{number}_{safe_name(layer)}"


def input_names(model: Model) -> list[str]:
    """Return the names of the model's inputs in an archive, by which `--input FILE.npz` reads them. An input whose own
    name cannot be a key is named by its position.
    """
    return archive_names([port_name(port) for port in model.inputs], prefix="")


def save_inputs(model: Model, step: Sequence[Array], path: Path, files: Together | None = None) -> None:
    """Write the inputs of one step as an archive. Raises OSError."""
    kinds = (port.element_type for port in model.inputs)
    arrays = {n: exact_array(a, k) for n, a, k in zip(input_names(model), step, kinds, strict=True)}
    save_arrays(path, arrays, files)


class Dump:
    """A listener that writes outputs to a folder, which is created if necessary.

    Files are written atomically. Raises OSError.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        # The index of an earlier run lists other arrays, which follow from other inputs.
        remove(self.folder / INDEX)
        remove(self.folder / INPUTS)
        self.entries: list[dict[str, Any]] = []
        self._calls: dict[Node, int] = {}

    def before(self, node: Node, inputs: Sequence[Array | None]) -> None:
        """Do nothing before a layer runs."""

    def after(self, node: Node, inputs: Sequence[Array | None], outputs: Sequence[Array], seconds: float) -> None:
        call = self._calls[node] = self._calls.get(node, -1) + 1
        for index, array in enumerate(outputs):
            kind = node.outputs[index].element_type if index < len(node.outputs) else None
            if kind is None or kind.is_dynamic:
                kind = ElementType.of(array.dtype)
            port = f".{index}" if len(outputs) > 1 else ""
            name = f"{len(self.entries):05d}_{safe_name(node.given_name or node.type)}{port}.npy"
            save_array(self.folder / name, exact_array(array, kind))
            self.entries.append(
                {
                    "file": name,
                    "layer": {"id": node.id, "name": node.given_name, "type": node.type, "version": node.version},
                    "output": index,
                    "call": call,
                    "element_type": str(kind),
                    "shape": list(array.shape),
                }
            )

    def close(self) -> None:
        """Write the index of the files written so far, also after a failed run."""
        # "repeats": the results of a run of irexec do not depend on whether values are observed.
        save_json(self.folder / INDEX, {"repeats": True, "tensors": self.entries})
