"""The legacy `<pre-process>`: OpenVINO still subtracts a mean from an input, as do nodes that irexec adds to the model.

Source: OpenVINO IR, pre-process. The mean has the input's element type, regardless of `mean-precision`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irexec.core.diagnostics.findings import At, Findings
from irexec.core.forms import F64, ID, read
from irexec.core.structure import PARAMETER
from irexec.core.types import Array, ElementType, PartialShape, TensorType
from irexec.ir.document import Element
from irexec.ir.weights.file import Weights
from irexec.model.graph.ends import constant_node
from irexec.model.graph.model import Node

Refuse = Callable[..., None]
# The channel axis by rank; a tensor of rank 3 is a single image.
_CHANNEL_AXIS = {2: 1, 3: 0, 4: 1, 5: 1}


def subtract_mean(section: Element, nodes: list[Node], weights: Weights, findings: Findings) -> None:
    """Insert `input - mean` after the input that the section names; add the new nodes to `nodes`.

    Reports R008 if the means do not fit the input; faults that the reader has reported are skipped.
    """
    parameter = _named(section, [node for node in nodes if node.type == PARAMETER])
    if parameter is None or not parameter.outputs:
        return

    def refuse(message: str, element: Element = section, **details: Any) -> None:
        findings.add("R008", message, at=At(element.at), layer=parameter.ref, **details)

    mean = _mean(section, parameter, weights, refuse, findings)
    if mean is None:
        return
    value = parameter.outputs[0]
    kind = parameter.attributes["element_type"]
    made = type(parameter)
    constant = constant_node(made, mean, kind, f"{_name(parameter)}/mean")
    from irexec.ops.arithmetic.binary import subtract_1

    defaults = {attribute.name: attribute.default for attribute in subtract_1.attributes}
    difference = made(subtract_1, [value, constant.outputs[0]], defaults, name=f"{_name(parameter)}/minus_mean")
    difference.set_outputs([TensorType()])
    value.replace_uses(difference.outputs[0], keep=[difference])
    nodes += [constant, difference]


def _name(parameter: Node) -> str:
    return parameter.given_name or f"Parameter_{parameter.id}"


def _named(section: Element, parameters: Sequence[Node]) -> Node | None:
    """Return the Parameter that the section names; without a name, the first of rank 4, or else the first."""
    name = section.attributes.get("reference-layer-name", "").strip()
    if name:
        return next((p for p in parameters if p.given_name == name), None)
    of_rank_4 = (p for p in parameters if getattr(p.attributes.get("shape"), "rank", None) == 4)
    return next(of_rank_4, parameters[0] if parameters else None)


def _mean(section: Element, parameter: Node, weights: Weights, refuse: Refuse, findings: Findings) -> Array | None:
    """Return the mean in a shape that broadcasts with the input; None without a mean, or if it does not fit."""
    means = {}
    for number, channel in enumerate(c for c in section.children if c.tag == "channel"):
        chosen = read(ID, channel.attributes.get("id")).value
        mean = next((child for child in channel.children if child.tag == "mean"), None)
        if mean is None:
            continue
        if (key := number if chosen is None else chosen) in means:
            refuse(f"channel {key} has two means, expected one", channel)
            return None
        means[key] = mean
    if not means:
        return None
    shape, kind = parameter.attributes.get("shape"), parameter.attributes.get("element_type")
    if not isinstance(shape, PartialShape) or not isinstance(kind, ElementType):
        return None
    if shape.rank not in _CHANNEL_AXIS or not shape.is_static:
        refuse(
            f"the input has shape {shape}, expected a static shape of rank 2 to 5",
            found=str(shape),
            allowed="a static shape of rank 2 to 5",
        )
        return None
    if kind.kind not in "fiu" or kind.is_packed:
        refuse(
            f"the input is {kind}, expected a numeric type of at least 8 bits",
            found=str(kind),
            allowed="a numeric type",
        )
        return None
    channels, image = _split(shape)
    if len(means) != channels or max(means) >= channels:
        known = f"means are given for {len(means)} channels ({sorted(means)[:8]})"
        message = f"{known}, expected one for each of the input's {channels} channels"
        refuse(message, found=str(len(means)), allowed=str(channels))
        return None
    parts = [_one(means[index], image, kind, weights, refuse, findings) for index in range(channels)]
    found = [part for part in parts if part is not None]
    if len({part.shape for part in found}) != 1 or len(found) < channels:
        return None
    joined = np.concatenate(found)
    return joined.reshape(channels) if shape.rank == 2 else joined


def _split(shape: PartialShape) -> tuple[int, tuple[int, ...]]:
    """Return the number of channels, and the shape of one channel's mean image with a leading 1."""
    extents = shape.to_shape()
    axis = _CHANNEL_AXIS[len(extents)]
    return extents[axis], (1, *extents[axis + 1 :])


def _one(
    mean: Element, image: tuple[int, ...], kind: ElementType, weights: Weights, refuse: Refuse, findings: Findings
) -> Array | None:
    """Return the mean of one channel: a number as an array of the rank of an image, or an image from the weights."""
    if "value" in mean.attributes:
        number = read(F64, mean.attributes["value"]).value
        with np.errstate(all="ignore"):
            return None if number is None else np.full((1,) * len(image), number).astype(kind.dtype)
    offset, size = (read(ID, mean.attributes.get(name)).value for name in ("offset", "size"))
    needed = kind.nbytes(int(np.prod(image, dtype=object)))
    if offset is None or size is None:
        return None
    if size != needed:
        refuse(
            f"a mean image of shape {list(image)} needs {needed} bytes, but its size is {size}",
            mean,
            found=str(size),
            allowed=str(needed),
        )
        return None
    stored = weights.constant(kind, image, offset, size, findings, mean.at)
    return None if stored is None else stored.array
