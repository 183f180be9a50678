"""Mutants of kernels that no case can detect, with the reason for each kind."""

from __future__ import annotations

import re

from irexec.ops.spec.operator import Operator

_OPEN = "the page leaves results of integers open, so that they are not judged"
_NEGATIVE = "every negative extent of a reshape means the same"
_BLOCKS = "decides into which blocks work is cut: each row is computed alone, and no case is larger than a block"
_FASTER = "chooses between two ways of computing the same"
_DOUBLES = "f64 is compared in f32, in which devices compute it"
_NO_RESULT = "integers have no result for negative exponents, so that they are not judged"
_CHECK = "decides whether a constraint is checked, which every legal call meets"
_BORDER = "changes results only at a border where both cases give the same, or by less than rounding"
_BEYOND = "matters only beyond the range of f32, in which devices compute"

REASONS: tuple[tuple[str, str, str], ...] = (
    (r".*", "BLOCK", _BLOCKS),
    (r"BGRto\w+-17 _to_\w+: .*", "if bgr else (0, 1, 2)", "BGR takes the first of the two orders"),
    (r"ScatterElementsUpdate-\d+ _inside: .*", "", _CHECK),
    (r"Interpolate-\d+ _resized: rint replaced: .*", "", _OPEN),
    (r"NonMaxSuppression-\d select: .*", "order = np.lexsort", "the order of boxes with equal scores is undefined"),
    (r"GatherTree-1 gather_tree_1: .*", "valid = ", _CHECK),
    (r"Reshape-1 _target: (1 \+ 1|other comparison): .*", "others = prod(", _NEGATIVE),
    (r"Gather-7 _take_batched: .*", "np.where(index < 0", "only Gather-8 defines negative indices"),
    (
        r"GroupedMatMul-17 grouped_matmul_17: 0 \+ 1: .*",
        "target[start:] = 0",
        "no token follows the last group",
    ),
    (r"ReverseSequence-1 reverse_sequence_1: other comparison: .*", "if batch < along", "the two axes differ there"),
    (r"NMSRotated-13 _convex_areas: exchanged arguments: .*", "np.arctan2(", "both directions give the same area"),
    (r"PSROIPooling-1 _average: 0 \+ 1: .*", "ends = np.clip(", "the page leaves bins outside of the map open"),
    (r"DeformablePSROIPooling-1 .*", "at_once = max(", _BLOCKS),
    (r"ROIAlign(Rotated)?-\d+ bin_samples: .*", "if sampling_ratio or count <=", _FASTER),
    (r"NonMaxSuppression-[134] _soft: .*", "", "versions before 5 have no soft_nms_sigma and never call it"),
    (r"(I420|NV12)to\w+-8 _clipped: .*", "np.floor(bounded +", _OPEN),
    (r"Unique-10 unique_10: 0 \+ 1: .*", "at = 0", "the value is used only with an axis"),
    (r"SliceScatter-15 slice_scatter_15: .*", "given: list[Any] =", _CHECK),
    (r"(Group)?ConvolutionBackpropData-1 _spread: .*", "parts = ", _BLOCKS),
    (r"Clamp-1 _bounded: 0 \+ 1: .*", "value > 0", "the value is infinite"),
    (r"MVN-[12] _normalized: .*", "else np.sqrt(squares) +", "versions before 6 always add inside the root"),
    (r"Embedding(BagOffsetsSum|BagPackedSum|SegmentsSum)-3 _bags: .*", "divisor", "only later operators take the mean"),
    (r"FakeQuantize-1 _by_cases: other comparison: .*", "np.minimum(low, high), output_low", _BORDER),
    (r"ROIAlign-\d+ average_or_max: .*", "at_once = max(", _BLOCKS),
    (r"ROIAlignRotated-15 pool: .*", "samples.max(", "ROIAlignRotated has no mode and always averages"),
    (r"ExperimentalDetectronROIFeatureExtractor-6 .*: dropped operand: .*", "size + kind(1e-06)", _BORDER),
    (r"VariadicSplit-1 variadic_split_1: .*", "if sum(lengths) != extent or min(", _CHECK),
    (r"SearchSorted-15 search_sorted_15: .*", "for first in range(0, wanted", _BLOCKS),
    (r"ConvertPromoteTypes-14 _range: dropped operand: .*", "(0, (1 << bits) - 1)", _BORDER),
    (r"Atanh-4 atanh_4: .*", "np.copyto(result, np.where(x > 0, bounds.max", _OPEN),
    (r"Sigmoid-1 _sigmoid_of: .*", "", _OPEN),
    (r"AvgPool-\d+ _divided: .*", "", _OPEN),
    (r"AvgPool-\d+ _means: .*", "wider(dtype)", _BEYOND),
    (r"(Log)?Soft[mM]ax-\d+ _along: (inverse operation|dropped operand): .*", "index * step", _BLOCKS),
    (r"(Log)?Soft[mM]ax-\d+ _along: .* -> .*\(-2, .*", "shape = (-1, x.shape[axis])", _NEGATIVE),
    (r"(Log)?Soft[mM]ax-\d+ _along: (inverse operation|0 \+ 1): .*", "for_blocks(-(-source.shape[0] // step)", _BLOCKS),
    (r"ScaledDotProductAttention-13 _blocks: .*", "", _BLOCKS),
    (r"ScaledDotProductAttention-13 scaled_dot_product_attention_13: .*", "work = prod(batch)", _BLOCKS),
    (r"ScaledDotProductAttention-13 scaled_dot_product_attention_13: .*", "tasks = _blocks(", _BLOCKS),
    (r"Select-1 _blend: .*", "bits = {2: np.uint16", _FASTER),
    (r"Select-1 _blend: .*", "if bits is None or then.dtype.kind", _FASTER),
    (r"Select-1 select_1: .*", "if cond.size >= _MANY else np.where", _FASTER),
    (r"Unique-10 _keys: other comparison: .*", "if width <= _WIDE", _FASTER),
    (r"MatMul-1 matmul_1: .*", "right = right if right.dtype == np.float16", _FASTER),
    (r"Power-1 _integer_power: .*", "below = np.where", _NO_RESULT),
    (r"Power-1 _integer_power: .*", "odd = (b", _NO_RESULT),
    (r"Power-1 _integer_power: (0 \+ 1|other comparison): .*", "or not np.any(b < 0)", _FASTER),
    (r"GatherND-8 gather_nd_8: .*", "if ((index < -limit) | (index >= limit)).any()", _CHECK),
    (r"GatherND-5 gather_nd_5: other comparison: .*", "if batch_dims > 1", "one dimension is already flat"),
    (
        r"BatchToSpace-2 batch_to_space_2: exchanged arguments: .*",
        "zip(space, inner",
        "the order of two factors does not change their product",
    ),
    (r"DepthToSpace-1 depth_to_space_1: negated condition: .*", "result = out if out is not None", _FASTER),
    (r"ErfInv-17 erfinv_17: .*", "erfinv_f64 if x.dtype == np.float64", _DOUBLES),
    (r"Erf-1 erf_1: .*", "if x.dtype == np.float64", _DOUBLES),
    (r"SoftPlus-4 softplus_4: 20.0 \+ 1: .*", "threshold=", "beyond 20 both formulas round to the same number"),
    (
        r"ExperimentalDetectronROIFeatureExtractor-6 roi_feature_extractor_6: dropped operand: .*",
        "real & np.isfinite(boxes)",
        _FASTER,
    ),
)
"""Patterns of `OPERATOR FUNCTION: CHANGE: STATEMENT -> CHANGED STATEMENT`, a part of the statement before the change,
and the reason.
"""


def reason_of(operator: Operator, what: str) -> str | None:
    """Return the reason why a mutant is equivalent to the kernel; None if it is not."""
    text = f"{operator} {what}"
    before = what.partition(" -> ")[0]
    found = (reason for pattern, part, reason in REASONS if re.fullmatch(pattern, text, re.S) and part in before)
    return next(found, None)
