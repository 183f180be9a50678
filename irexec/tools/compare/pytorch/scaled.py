"""Results of modules that a model contains with another scale, because an exporter folded a factor into the weights."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from irexec.core.types import Array
from irexec.model.graph.model import Model, Node, Value
from irexec.runtime.engine import CompiledModel
from irexec.tools.compare.numbers import ENOUGH, SAME
from irexec.tools.compare.pytorch.pairing import Made, has_narrow_weights
from irexec.tools.compare.pytorch.samples import NARROW


def scaled(
    model: Model, inputs: Sequence[Array], results: Mapping[Made, Array], paired: Collection[Value]
) -> set[Made]:
    """Return the results that equal a value of the model except for a factor and an offset of each channel.

    ConvNeXt, for example, multiplies the result of a convolution by a vector, which becomes part of its weights.
    `results`: the results of modules without a pair, for these `inputs`. `paired`: the values with a pair.
    """
    by_shape: dict[tuple[int, ...], list[Made]] = {}
    for made, array in results.items():
        by_shape.setdefault(array.shape, []).append(made)
    found: set[Made] = set()
    near = NARROW if has_narrow_weights(model) else SAME

    class Comparing:
        def before(self, node: Node, inputs: Sequence[Array | None]) -> None:
            """Do nothing: only results are compared."""

        def after(self, node: Node, inputs: object, outputs: Sequence[Array], seconds: float) -> None:
            for value, array in zip(node.outputs, outputs, strict=False):
                if value not in paired:
                    waiting = (made for made in by_shape.get(array.shape, ()) if made not in found)
                    found.update(made for made in waiting if is_scaled(results[made], array, near))

    CompiledModel(model).create_infer_request([Comparing()]).infer(list(inputs))
    return found


def is_scaled(one: Array, other: Array, near: float = SAME) -> bool:
    """Return whether an array equals another one except for a factor and an offset of each channel, along any axis
    other than the first. `near`: the deviation that rounding may cause.
    """
    if one.shape != other.shape or one.dtype.kind != "f" or other.dtype.kind != "f":
        return False
    axes = (axis for axis, size in enumerate(one.shape) if axis and size > 1 and one.size // size >= ENOUGH)
    return any(_is_scaled_along(one, other, axis, near) for axis in axes)


def _is_scaled_along(one: Array, other: Array, axis: int, near: float) -> bool:
    # For most unrelated arrays, comparing the first channel is enough.
    for channels in (slice(1), slice(None)):
        x, y = (np.moveaxis(each, axis, 0)[channels].astype(np.float64) for each in (one, other))
        x, y = (each.reshape(len(each), -1) for each in (x, y))
        x, y = (each - each.mean(1, keepdims=True) for each in (x, y))
        spread = np.square(x).sum(1)
        moving = spread > 0
        factor = np.divide((x * y).sum(1), spread, out=np.zeros_like(spread), where=moving)
        rest = np.sqrt(np.square(y - factor[:, None] * x).mean(1))
        if not np.all(rest <= near * np.sqrt(np.square(y).mean(1))):
            return False
    return bool(2 * np.count_nonzero(moving & (factor != 0)) > len(moving))
