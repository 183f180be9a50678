"""Mutants of kernels that no case can kill, with the reason for each kind of them."""

from __future__ import annotations

import re

from irexec.ops.declare.operator import Operator

_OPEN = "the page leaves results of integers open, so that they are not judged"
_BLOCKS = "decides into which blocks work is cut: each row is computed alone, and no case is larger than a block"
_FASTER = "chooses between two ways of computing the same"
_BEYOND = "matters only beyond the range of f32, in which devices compute"

REASONS: tuple[tuple[str, str], ...] = (
    (r"Atanh-4 atanh_4:(9|10): .*", _OPEN),
    (r"Sigmoid-1 _sigmoid_of:.*", _OPEN),
    (r"AvgPool-\d+ _divided:.*", _OPEN),
    (r"AvgPool-\d+ _means:9: .*", _BEYOND),
    (r"(Log)?Soft[mM]ax-\d+ _along:(12|14|19|21): .*", _BLOCKS),
    (r"FakeQuantize-1 _blocks:3: .*", _BLOCKS),
    (r"ScaledDotProductAttention-13 (_blocks:\d+|scaled_dot_product_attention_13:3[78]): .*", _BLOCKS),
    (r"Select-1 (_blend:\d+|select_1:10): .*", _FASTER),
    (r"Unique-10 _keys:10: .*", _FASTER),
    (r"MatMul-1 matmul_1:(9|10): .*|GroupedMatMul-17 grouped_matmul_17:11: .*", _FASTER),
    (r"DepthToSpace-1 depth_to_space_1:25: .*", _FASTER),
    (r"ErfInv-17 erfinv_17:4: .*|Erf-1 erf_1:7: .*", "f64 is compared in f32, in which devices compute it"),
    (r"SoftPlus-4 softplus_4:4: 20.0 \+ 1", "beyond 20 both formulas round to the same number"),
    (r"ExperimentalDetectronROIFeatureExtractor-6 roi_feature_extractor_6:26: dropped operand", _FASTER),
)
"""Patterns of `OPERATOR FUNCTION:LINE: CHANGE`, each with the reason."""


def reason_of(operator: Operator, what: str) -> str | None:
    """Why a mutant is equivalent to the kernel; None if it is not."""
    text = f"{operator} {what}"
    return next((reason for pattern, reason in REASONS if re.fullmatch(pattern, text)), None)
