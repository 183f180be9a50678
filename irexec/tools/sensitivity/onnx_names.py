"""Layers under their names in the original ONNX file, which tools for ONNX models use."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from irexec.core.diagnostics.findings import Findings
from irexec.model.graph.model import Model

# Types of layers that compute with quantized values, in addition to the types that begin with QLinear.
_WHOLE = ("ConvInteger", "MatMulInteger", "QGemm", "QAttention", "MatMulIntegerToFloat", "DynamicQuantizeMatMul")


def onnx_names(file: str, layers: Iterable[str]) -> list[str]:
    """Return the names of the nodes of an ONNX file from which these layers were made, each once; empty for another
    file.

    A node becomes several layers: `conv3` becomes `conv3/WithoutBiases` and `conv3`, `head` becomes `head` and
    `head_1`.
    """
    names = {node.name or next(iter(node.output), "") for node in _nodes(file)}
    return list(dict.fromkeys(_node_of(layer, names) for layer in layers)) if names else []


def in_whole_numbers(model: Model) -> list[str]:
    """Return the types of a model's ONNX nodes that compute with quantized values themselves."""
    types = dict.fromkeys(node.op_type for node in _nodes(model.file or ""))
    return [type for type in types if type.startswith("QLinear") or type in _WHOLE]


def _node_of(layer: str, names: set[str]) -> str:
    parts = layer.split("/")
    shorter = ["/".join(parts[:count]) for count in range(len(parts), 0, -1)]
    found = (name for begin in shorter for name in (begin, re.sub(r"_\d+$", "", begin)) if name in names)
    return next(found, layer)


def _nodes(file: str) -> Sequence[Any]:
    if not file.lower().endswith(".onnx"):
        return []
    from irexec.frontends.onnx.file import read_file

    found = read_file(file, Findings(file=file))
    return [] if found is None else list(found.proto.graph.node)
