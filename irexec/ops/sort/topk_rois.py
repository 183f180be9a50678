"""ExperimentalDetectronTopKROIs: the regions of interest with the highest probabilities.

Source: operation page ExperimentalDetectronTopKROIs-6.
"""

from __future__ import annotations

import numpy as np

from irexec.core.types import Array, PartialShape, TensorType
from irexec.ops.compute.boxes import descending
from irexec.ops.compute.precision import widen
from irexec.ops.rules.boxes import draw_regions, draw_scores
from irexec.ops.rules.extents import Extents
from irexec.ops.spec.attributes import NonNegative
from irexec.ops.spec.operator import Check, operator
from irexec.ops.spec.oracle import Allowed, Undefined
from irexec.ops.spec.tensors import FloatTensor


@operator("ExperimentalDetectronTopKROIs", "opset6")
def experimental_detectron_top_k_rois_6(
    rois: FloatTensor, probabilities: FloatTensor, /, *, max_rois: NonNegative = 0
) -> FloatTensor:
    """The regions by descending probability (of equal probabilities, the earlier first), then zeros: [max_rois, 4].

    C1: rois is [number_of_ROIs, 4]. C2: probabilities is [number_of_ROIs].
    """
    best = descending(widen(probabilities))[:max_rois]
    result = np.zeros((max_rois, 4), rois.dtype)
    result[: len(best)] = rois[best]
    return result


@experimental_detectron_top_k_rois_6.shapes
def _(check: Check, rois: TensorType, probabilities: TensorType, *, max_rois: int) -> PartialShape:
    extents = Extents(check)
    extents.match("C1", "rois", rois, "number_of_ROIs", 4)
    extents.match("C2", "probabilities", probabilities, "number_of_ROIs")
    return PartialShape([max_rois, 4])


@experimental_detectron_top_k_rois_6.oracle.undefined_for
def _(rois: Array, probabilities: Array, *, max_rois: int) -> Undefined:
    """Return a mask of the undefined elements: the rows after the last region."""
    return (np.arange(max_rois)[:, None].repeat(4, 1) >= len(probabilities),)


experimental_detectron_top_k_rois_6.oracle.allowed = Allowed(composes=False)


experimental_detectron_top_k_rois_6.oracle.draw("rois")(draw_regions)
experimental_detectron_top_k_rois_6.oracle.draw("probabilities")(draw_scores)
