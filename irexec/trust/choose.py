"""Choosing a runtime by what `--with` says; the packages of others are imported only then."""

from __future__ import annotations

from pathlib import Path

from irexec.graph.model import Model
from irexec.trust.process import LIMIT
from irexec.trust.runtimes import CannotRun, OtherModel, Runtime

ONNX_RUNTIME = "onnxruntime"


def runtime_of(
    text: str, config: dict[str, str] | None = None, original: Model | None = None, limit: float = LIMIT
) -> Runtime:
    """The runtime that `--with` names: openvino[:DEVICE], onnxruntime, a model, or a folder of arrays.

    `config`: settings of the runtime. `original`: the model that it may read from its own file. `limit`: seconds that
    one in a process of its own may take for an answer.

    Raises CannotRun.
    """
    kind, _, device = text.partition(":")
    if kind == "openvino":
        from irexec.trust.openvino_runtime import OpenVINO

        return OpenVINO(device or "CPU", config, original, limit=limit)
    if text == ONNX_RUNTIME:
        from irexec.trust.onnx_runtime import OnnxRuntime

        return OnnxRuntime(limit=limit)
    path = Path(text)
    if path.is_dir():
        from irexec.trust.folder import Folder

        return Folder(path)
    if path.suffix.lower() in (".xml", ".onnx"):
        return OtherModel(text)
    raise CannotRun(f"{text!r} is no runtime (openvino, openvino:DEVICE, onnxruntime), model or folder")
