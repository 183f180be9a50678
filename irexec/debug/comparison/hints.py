"""Hints: possible causes of the verdict of a comparison, and suggested next steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from irexec.debug.comparison.culprit import Culprit
from irexec.debug.comparison.noise import GROUP, packed
from irexec.debug.errors import Error
from irexec.graph.model import Node

LOWER = ("f16", "bf16")
"""The types other than f32 in which devices compute models in f32."""
_CACHE = "KV_CACHE_PRECISION"
# The relative error of results above which hints are given.
_NOTABLE = 1e-3


def hints(
    other: str,
    precision: str,
    culprit: Culprit | None,
    results: Sequence[Error],
    file: str | None,
    agrees: bool,
    cache: str,
) -> Iterator[str]:
    """Yield hints about a comparison.

    `other`: the name of the other side, with its settings. `results`: the errors of the model's results. `file`: the
    file of the model. `agrees`: the verdict. `cache`: the type in which OpenVINO keeps the caches of attention, if
    known.
    """
    if precision in LOWER:
        yield (
            f"the device or the settings chose {precision}, which hides smaller errors; --config "
            "INFERENCE_PRECISION_HINT=f32 compares in f32"
        )
    if culprit is None:
        if agrees and precision not in LOWER and any(error.relative > _NOTABLE for error in results):
            yield "each layer is within its tolerance; the difference in the results is accumulated rounding"
        return
    if other.startswith("OpenVINO") and GROUP not in other and any(map(packed, culprit.nodes)):
        yield (
            f"OpenVINO may quantize activations that are multiplied with low-bit weights; --config {GROUP}=0 "
            "disables this"
        )
    if other.startswith("OpenVINO") and _CACHE not in other and any(n.type == "ReadValue" for n in culprit.nodes):
        kept = f"keeps the caches of attention in {cache}" if cache else "may keep the caches of attention in u8 or f16"
        yield f"OpenVINO {kept}; --config {_CACHE}=f32 keeps them in f32"
    if other.startswith("PyTorch") and any(map(_halved, culprit.nodes)):
        yield "the model has weights in f16; ovc and save_model keep f32 with compress_to_fp16=False"
    if any(text.endswith("rounded to f16") for text in culprit.changes):
        yield "ovc and save_model compress weights to f16 by default; compress_to_fp16=False keeps f32"
    if other.lower().endswith((".xml", ".onnx")) and file is not None:
        yield f"irexec diff {file} {other} lists the differences between the files"


def _halved(node: Node) -> bool:
    """Return whether a layer reads a constant in f16 that is converted to another type."""
    sources = [value.node for value in node.inputs if value is not None]
    sources += [value.node for source in sources for value in source.inputs if value is not None]
    return any(
        s.type == "Convert" and s.inputs[0] is not None and s.inputs[0].element_type.name == "f16" for s in sources
    )
