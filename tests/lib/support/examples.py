"""Small inputs for any operator: shapes that its rule accepts, found by trial, and values drawn by its generators."""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from irexec.core.types import DYNAMIC, F32, I64, ElementType, PartialShape, TensorType
from irexec.ops.spec.operator import Breach, ConstraintError, Operator

# Shapes tried for each required port; those of the last port vary fastest.
_SHAPES = ("2,3", "3", "", "1", "2", "2,3,4", "1,2,4,4", "2,4,4,4")
# Shapes that would not be found by trial, or not soon.
_SHAPES_OF = {
    "BGRtoNV12": "1,4,4,3",
    "Col2Im": "1,2,4",
    "DFT": "2,3,2 1",
    "DeformableConvolution": "1,2,4,4 1,2,4,4 3,2,1,1",
    "DeformablePSROIPooling": "1,1,4,4 2,5",
    "DetectionOutput": "1,12 1,6 1,2,15",
    "ExperimentalDetectronDetectionOutput": "3,4 3,8 3,2 1,3",
    "ExperimentalDetectronGenerateProposalsSingleImage": "3 12,4 8,2,3 2,2,3",
    "ExperimentalDetectronPriorGridGenerator": "2,4 1,1,2,3 1,3,8,8",
    "ExperimentalDetectronROIFeatureExtractor": "2,4 1,2,4,4",
    "ExperimentalDetectronTopKROIs": "3,4 3",
    "GRUCell": "2,3 2,4 12,3 12,4",
    "GRUSequence": "2,5,3 2,1,4 2 1,12,3 1,12,4 1,12",
    "GenerateProposals": "1,3 2,3,2,4 1,8,2,3 1,2,2,3",
    "GridSample": "1,2,4,4 1,3,3,2",
    "GroupConvolution": "1,2,4,4 2,1,1,1,1",
    "GroupConvolutionBackpropData": "1,2,4,4 2,1,1,1,1",
    "I420toBGR": "1,6,4,1",
    "I420toRGB": "1,6,4,1",
    "IDFT": "2,3,2 1",
    "IRDFT": "2,3,2 1",
    "ISTFT": "5,3,2 8  ",
    "Interpolate-1": "1,2,4,4 2",
    "Interpolate-4": "1,2,4,4 4 4",
    "Interpolate-11": "1,2,4,4 4",
    "LSTMCell": "2,3 2,4 2,4 16,3 16,4",
    "LSTMSequence": "2,5,3 2,1,4 2,1,4 2 1,16,3 1,16,4 1,16",
    "MatrixNms": "2,5,4 2,3,5",
    "MulticlassNms": "2,5,4 2,3,5",
    "NMSRotated": "2,5,5 2,3,5   ",
    "NV12toBGR": "1,6,4,1",
    "NV12toRGB": "1,6,4,1",
    "NonMaxSuppression": "2,5,4 2,3,5",
    "PSROIPooling": "1,1,4,4 2,5",
    "Proposal": "1,2,3,4 1,4,3,4 3",
    "RGBtoNV12": "1,4,4,3",
    "RNNCell": "2,3 2,4 4,3 4,4 4",
    "RNNSequence": "2,5,3 2,1,4 2 1,4,3 1,4,4 1,4",
    "ROIAlign": "1,2,4,4 3,4 3",
    "ROIAlignRotated": "1,2,4,4 3,5 3",
    "ROIPooling": "1,2,4,4 3,5",
    "RegionYolo": "1,12,2,2",
    "STFT": "2,16 8  ",
    "SparseFillEmptyRows": "4 2 4,2 ",
}
# Values of required attributes, and of some others, with which an operator changes nothing if possible.
_ATTRIBUTES: dict[str, Any] = {
    "strides": (1, 1),
    "pads_begin": (0, 0),
    "pads_end": (0, 0),
    "dilations": (1, 1),
    "kernel": (1, 1),
    "sizes": (1, 1),
    "rates": (1, 1),
    "hidden_size": 4,
    "ratio": (1.0,),
    "scale": (1.0,),
    "keep_top_k": (2,),
    "deltas_weights": (1.0, 1.0, 1.0, 1.0),
    "pyramid_scales": (4,),
    "scale_factor": 1.0,
}
_ATTRIBUTES_OF: dict[str, dict[str, Any]] = {
    "ExperimentalDetectronROIFeatureExtractor": {"output_size": 2},
    "ExperimentalDetectronDetectionOutput": {"num_classes": 2},
    "Col2Im": {"size": (2, 2), "kernel": (1, 1)},
    "DetectionOutput": {"num_classes": 2},
    "Interpolate": {"axes": (2, 3), "shape_calculation_mode": "scales"},
    "RandomUniform": {"output_type": "f32"},
    "RegionYolo": {"axis": 1, "end_axis": 3, "num": 4},
}


class Example(NamedTuple):
    """Arrays for an operator's required inputs, and its attributes by Python name."""

    arrays: list[np.ndarray]
    attributes: dict[str, Any]


def example_of(op: Operator, kind: ElementType = F32) -> Example | None:
    """Return an example with inputs of `kind` if the ports accept it; None if no accepted shapes are found."""
    attributes = _attributes(op)
    found = _shapes(op)
    arrays = None if found is None else _drawn(op, found, kind, attributes)
    return None if arrays is None else Example(arrays, attributes)


def _attributes(op: Operator) -> dict[str, Any]:
    special = _ATTRIBUTES_OF.get(op.type, {})
    chosen = {
        a.file_name: special.get(a.name, _ATTRIBUTES.get(a.name))
        for a in op.attributes
        if a.name in special or (a.required and a.name in _ATTRIBUTES)
    }
    values, _ = op.parse_attributes(chosen)
    return {name: F32 if value is DYNAMIC else value for name, value in values.items()}


@cache
def _shapes(op: Operator) -> tuple[str, ...] | None:
    count = sum(not port.optional for port in op.inputs)
    written = _SHAPES_OF.get(op.versioned_name, _SHAPES_OF.get(op.type))
    if written is not None:
        return tuple(written.split(" "))
    attributes = _attributes(op)
    for shapes in itertools.product(_SHAPES, repeat=count):
        types = list(_types(op, shapes, F32).values())
        if not _breaches(op, types, attributes) and _drawn(op, shapes, F32, attributes) is not None:
            return shapes
    return None


def _types(op: Operator, shapes: tuple[str, ...], kind: ElementType) -> dict[str, TensorType]:
    ports = [port for port in op.inputs if not port.optional]
    return {
        port.name: TensorType(_kind(port.elements.types, kind), PartialShape.parse(shape))
        for port, shape in zip(ports, shapes, strict=True)
    }


def _kind(types: frozenset[ElementType], wanted: ElementType) -> ElementType:
    return next((t for t in (wanted, F32, I64) if t in types), None) or min(types, key=str)


def _drawn(
    op: Operator, shapes: tuple[str, ...], kind: ElementType, attributes: dict[str, Any]
) -> list[np.ndarray] | None:
    """Return values for the shapes; None if the operator rejects them."""
    rng = np.random.default_rng(0)
    types = _types(op, shapes, kind)
    for name, wanted in types.items():
        draw = op.oracle.generators.get(name)
        shape = wanted.shape.to_shape()
        array = rng.integers(1, 4, shape) if draw is None else draw(rng, name, types, attributes)
        if array is None or array.shape != shape:
            return None
        if draw is None:
            array = array.astype(wanted.element_type.dtype)
        assert array.dtype == wanted.element_type.dtype
        types[name] = TensorType(wanted.element_type, wanted.shape, array)
    if _breaches(op, list(types.values()), attributes):
        return None
    arrays = [t.value for t in types.values() if t.value is not None]
    try:
        op(*arrays, **attributes)
    except ConstraintError:
        return None
    return arrays


def _breaches(op: Operator, types: list[TensorType], attributes: dict[str, Any]) -> list[Breach]:
    breaches: list[Breach] = []
    op.infer(types, attributes, breaches)
    return breaches
