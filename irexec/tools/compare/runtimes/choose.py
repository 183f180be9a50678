"""Choosing the runtime for `--with`; the package of a runtime is imported only if it is chosen."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from irexec.model.graph.model import Model
from irexec.tools.compare.runtimes.hosted import LIMIT
from irexec.tools.compare.runtimes.runtime import CannotRun, OtherModel, Runtime

ONNX_RUNTIME = "onnxruntime"
TORCH = "torch:"


def own_config(text: str) -> dict[str, str]:
    """Return the properties in a value of `--with`, such as openvino:CPU,KV_CACHE_PRECISION=u8."""
    pieces = text.split(",") if text.partition(",")[0].partition(":")[0] == "openvino" else []
    return dict(piece.partition("=")[::2] for piece in pieces if "=" in piece)


def runtime_of(
    text: str,
    config: Mapping[str, str] | None = None,
    original: Model | None = None,
    limit: float | None = LIMIT,
    python: str = "",
) -> Runtime:
    """Return the runtime that `--with` names: openvino[:DEVICE][,PROPERTY=VALUE]..., onnxruntime,
    torch:MODULE:FUNCTION, a model, or a folder or an archive of arrays.

    `config`: settings of the runtime. `original`: the model that it may read from its own file. `limit`: seconds that a
    runtime in a separate process may take for an answer; None or 0: no limit. `python`: the interpreter in which
    openvino or onnxruntime is installed.

    Raises CannotRun.
    """
    own = own_config(text)
    named = ",".join(piece for piece in text.split(",") if "=" not in piece) if own else text
    kind, _, device = named.partition(":")
    if kind == "openvino":
        from irexec.tools.compare.runtimes.openvino_runtime import OpenVINO

        return OpenVINO(device or "CPU", {**(config or {}), **own}, original, limit=limit, python=python)
    if text == ONNX_RUNTIME:
        from irexec.tools.compare.runtimes.onnx_runtime import OnnxRuntime

        return OnnxRuntime(config, limit=limit, python=python)
    if python:
        reason = "does not run in another interpreter: give openvino, openvino:DEVICE or onnxruntime"
        raise CannotRun(f"{text!r} {reason}", "U005")
    if text.startswith(TORCH):
        from irexec.tools.compare.pytorch.runtime import Torch

        return Torch(text.removeprefix(TORCH), limit=limit)
    path = Path(text)
    if path.is_dir() or (path.suffix.lower() == ".npz" and path.is_file()):
        from irexec.tools.compare.runtimes.folder import Folder

        return Folder(path)
    if path.suffix.lower() in (".xml", ".onnx", ".irt"):
        return OtherModel(text)
    raise CannotRun(
        f"{text!r} is neither a known runtime (openvino, openvino:DEVICE, onnxruntime, "
        "torch:MODULE:FUNCTION) nor an existing model, folder or .npz file",
        "U005",
    )
