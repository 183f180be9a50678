"""Cases on disk: the model as .xml and .bin, or as .onnx, the inputs of each step as .npz."""

from __future__ import annotations

import os
from pathlib import Path

from irexec.api.openvino.core import read_model
from irexec.core.types import Array
from irexec.ir.io.writing import Together, together
from irexec.model.arrays.given import convert
from irexec.model.arrays.loading import load
from irexec.tools.reduce.case import Case, case_of
from irexec.tools.run.dump import input_names, save_inputs
from irexec.tools.run.record import Reference


def save_case(case: Case, path: str | os.PathLike[str], files: Together | None = None) -> list[Path]:
    """Write the model and its inputs: model.xml and .bin, or model.onnx; model.npz, further steps model.1.npz, ...

    These files and `files` are all written, or none. Raises IRError and OSError.
    """
    file, archives = Path(path), []
    with together(files) as all_files:
        for number, step in enumerate(case.steps):
            archives.append(_archive(file, number))
            save_inputs(case.model, step, archives[-1], all_files)
        return [*case.write(file, all_files), *archives]


def save_steps(reference: Reference, folder: str | os.PathLike[str]) -> list[Path]:
    """Write the inputs of each step to a folder: 0.npz, 1.npz, ... Raises OSError."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    paths = [place / f"{number}.npz" for number in range(len(reference.steps))]
    for path, step in zip(paths, reference.steps, strict=True):
        save_inputs(reference.model, step, path)
    return paths


def load_case(path: str | os.PathLike[str]) -> Case:
    """Load a case that `save_case` wrote. Raises IRError, OSError and ValueError."""
    file = Path(path)
    model = read_model(file)
    names = input_names(model)
    steps: list[list[Array]] = []
    while (archive := _archive(file, len(steps))).is_file():
        arrays = load(archive)
        kinds = (port.element_type for port in model.inputs)
        given = [arrays.get(name) if isinstance(arrays, dict) else None for name in names]
        step = [None if array is None else convert(array, kind) for array, kind in zip(given, kinds, strict=True)]
        if any(array is None for array in step):
            raise ValueError(f"{archive} does not contain the inputs of the model")
        steps.append([array for array in step if array is not None])
    if not steps:
        raise ValueError(f"{_archive(file, 0)} does not exist")
    if file.suffix.lower() == ".onnx":
        from irexec.tools.reduce.onnx_case import onnx_case_of

        return onnx_case_of(file, steps)
    return case_of(model, steps)


def _archive(file: Path, step: int) -> Path:
    return file.with_suffix(f".{step}.npz" if step else ".npz")
