"""Scripts that reproduce a failure of a runtime; they need only NumPy and the runtime."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

import numpy as np

from irexec.core.types import Array, ElementType
from irexec.model.arrays.units import Typical, apart, squeezed, unit, widened


def _template(name: str) -> str:
    """Return a part of a script. Values are filled in as literals, so that a name cannot be executed as code."""
    return files("irexec.tools.reduce").joinpath(f"repro_{name}.txt").read_text("utf-8")


def openvino_script(device: str, config: dict[str, str], **values: object) -> str:
    """Return the script for OpenVINO. `values`: model, archives, inputs, expected, kind, message,
    words (of the message, without names) and limit.
    """
    settings = f"DEVICE = {device!r}\nCONFIG = {config!r}"
    return _filled("openvino and numpy", "import openvino as ov", settings, "openvino", values)


def class_script(file: str, name: str, config: dict[str, str], **values: object) -> str:
    """Return the script for a runtime that is the class `name` in a Python file. `values`: the values of
    `openvino_script`, types (of the results' elements) and dtypes (their NumPy types; empty if not checked).
    """
    own = {"FILE": file, "CLASS": name, "CONFIG": config, "TYPES": values.pop("types"), "DTYPES": values.pop("dtypes")}
    settings = "\n".join(f"{key} = {value!r}" for key, value in own.items())
    return _filled("numpy, and the runtime's class in FILE", "import importlib.util", settings, "class", values)


def onnx_runtime_script(**values: object) -> str:
    """Return the script for ONNX Runtime, on its CPU."""
    return _filled("onnxruntime and numpy", "import onnxruntime", "", "onnx_runtime", values)


def command_script(**values: object) -> str:
    """Return the script for a command. `values`: command (its words), limit, kind, code and same (the expression that
    its output matches).
    """
    return _template("command").format(**{name: repr(value) for name, value in values.items()})


def _filled(needs: str, imports: str, settings: str, run: str, values: dict[str, object]) -> str:
    literals = {name: repr(value) for name, value in values.items()}
    known = {"needs": needs, "imports": imports, "settings": settings, "run": _template(run)}
    return _template("runtime").format(**known, **literals)


def known_results(expected: Sequence[Sequence[Array]], found: Sequence[Sequence[Array]]) -> dict[str, Array]:
    """Return the expected results, and the results of the runtime, if any, in the form that the script compares: with
    them, which elements are at least half as wrong as the worst one. Among larger elements, rounding may exceed a
    failure.
    """
    kept: dict[str, Array] = {}
    errors: dict[str, Array] = {}
    for step, pairs in enumerate(zip(expected, found, strict=False)):
        for number, (right, wrong) in enumerate(zip(*pairs, strict=False)):
            if right.shape == wrong.shape and right.size and right.dtype.kind not in "TUO":
                errors[f"step{step}_result{number}"] = _units_apart(right, wrong)
    most = max((float(error.max()) for error in errors.values()), default=0.0)
    kept |= {f"{name}_failing": (error >= most / 2) & (error > 0) for name, error in errors.items()}
    for word, steps in (("expected", expected), ("found", found)):
        for step, results in enumerate(steps):
            for number, array in enumerate(results):
                if array.dtype.kind not in "TUO":
                    kept[f"step{step}_result{number}_{word}"] = array.astype(np.float64)
    return kept


def _units_apart(right: Array, wrong: Array) -> Array:
    """Return the error of each element in units in the last place of typical elements around it."""
    flat = squeezed(right)
    scale = np.maximum(np.abs(widened(flat)), Typical(flat)[:]).reshape(right.shape)
    return np.asarray(apart(right, wrong) / unit(scale, ElementType.of(right.dtype)))
