"""Hints: what may be behind the verdict of a comparison, and what to ask next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from irexec.graph.model import Node
from irexec.trust.culprit import Culprit
from irexec.trust.errors import Error
from irexec.trust.extract import MAX_STRUCTURE

LOWER = ("f16", "bf16")
"""In what else than f32 devices compute, whatever the model says."""
_DYNAMIC = "DYNAMIC_QUANTIZATION_GROUP_SIZE"
# A relative error of results that somebody will ask about.
_NOTABLE = 1e-3


def hints(
    other: str, precision: str, culprit: Culprit | None, results: Sequence[Error], file: str | None
) -> Iterator[str]:
    """`other`: the name of the other side, with its settings. `results`: the errors of the model's results. `file`: of
    the model."""
    if precision in LOWER:
        choice = f"{precision} is the choice of the device or of the settings"
        yield f"{choice}: --config INFERENCE_PRECISION_HINT=f32 asks for f32"
    if culprit is None:
        if any(error.relative > _NOTABLE for error in results):
            yield "no layer adds more than rounding: what the results differ by is what that has become on the way"
        return
    if other.startswith("OpenVINO") and _DYNAMIC not in other and any(map(_packed, culprit.nodes)):
        yield (
            f"OpenVINO may quantise what is multiplied with weights of few bits: --config {_DYNAMIC}=0 asks it not to"
        )
    if other.lower().endswith((".xml", ".onnx")) and file is not None:
        yield f"irexec diff {file} {other} tells what is different in the files"


def _packed(node: Node) -> bool:
    """Whether a layer reads a large constant of whole numbers, through layers that depend on constants alone."""
    if node.type != "MatMul":
        return False
    stack, seen = [value.node for value in node.inputs if value is not None], set[Node]()
    while stack:
        source = stack.pop()
        if source.constant is not None:
            if source.constant.dtype.kind != "f" and source.constant.size > MAX_STRUCTURE:
                return True
        elif source.type in ("Convert", "Multiply", "Subtract", "Reshape") and source not in seen:
            seen.add(source)
            stack += [value.node for value in source.inputs if value is not None]
    return False
