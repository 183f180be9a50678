"""Transformation passes: a caller's patterns and rewrites, and the OpenVINO passes useful in an interpreter."""

from __future__ import annotations

from irexec.api.openvino.passes.base import ModelPass, PassBase
from irexec.api.openvino.passes.conversions import ConstantFolding, ConvertFP32ToFP16
from irexec.api.openvino.passes.manager import Manager
from irexec.api.openvino.passes.matcher import Matcher
from irexec.api.openvino.passes.patterns import AnyInput, Optional, Or, WrapType
from irexec.api.openvino.passes.predicates import (
    Predicate,
    attrs_match,
    consumers_count,
    has_static_dim,
    has_static_dims,
    has_static_rank,
    has_static_shape,
    rank_equals,
    rank_more_than,
    shape_matches,
    type_matches,
    type_matches_any,
)
from irexec.api.openvino.passes.rewrite import BackwardGraphRewrite, GraphRewrite, MatcherPass
from irexec.api.openvino.passes.stateful import LowLatency2, MakeStateful
from irexec.api.openvino.passes.symbols import PatternSymbolValue
from irexec.api.openvino.passes.writing import Serialize, Version, VisualizeTree

__all__ = [
    "AnyInput", "BackwardGraphRewrite", "ConstantFolding", "ConvertFP32ToFP16", "GraphRewrite", "LowLatency2",
    "MakeStateful", "Manager", "Matcher", "MatcherPass", "ModelPass", "Optional", "Or", "PassBase",
    "PatternSymbolValue", "Predicate", "Serialize", "Version", "VisualizeTree", "WrapType", "attrs_match",
    "consumers_count", "has_static_dim", "has_static_dims", "has_static_rank", "has_static_shape", "rank_equals",
    "rank_more_than", "shape_matches", "type_matches", "type_matches_any",
]  # fmt: skip
