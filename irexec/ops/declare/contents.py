"""The table of contents of the operators: (type, opset) → module, and which operator a file's type and version mean.

Source: OpenVINO's opset tables, opset1 to opset17. Tables are cumulative: `version="opsetN"` means the newest
operator of that type introduced at or before N. Only the last one, in the making, is not: see BEGUN.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator

from irexec.diagnostics.nearest import nearest
from irexec.ops.declare.operator import REGISTRY, Operator

NEWEST = 17
OPSETS = {f"opset{number}": number for number in range(1, NEWEST + 1)}
"""Version text → opset number; no other spelling names an opset."""

ONNX_OPSETS = {f"onnx{number}": number for number in range(1, 29)}
"""The same for ONNX's opsets, of which irexec has what IR cannot say; they are cumulative, too."""

# type as a file writes it → (module below irexec.ops, opsets that introduced a version)
CONTENTS: dict[str, tuple[str, tuple[int, ...]]] = {
    "Clamp": ("activation.pointwise", (1,)),
    "Elu": ("activation.pointwise", (1,)),
    "Gelu": ("activation.pointwise", (2, 7)),
    "HSigmoid": ("activation.pointwise", (5,)),
    "HSwish": ("activation.pointwise", (4,)),
    "HardSigmoid": ("activation.pointwise", (1,)),
    "Mish": ("activation.pointwise", (4,)),
    "PReLU": ("activation.pointwise", (1,)),
    "ReLU": ("activation.pointwise", (1,)),
    "Selu": ("activation.pointwise", (1,)),
    "Sigmoid": ("activation.pointwise", (1,)),
    "SoftPlus": ("activation.pointwise", (4,)),
    "SoftSign": ("activation.pointwise", (9,)),
    "Swish": ("activation.pointwise", (4,)),
    "LogSoftmax": ("activation.softmax", (5,)),
    "SoftMax": ("activation.softmax", (1, 8)),
    "Add": ("arithmetic.binary", (1,)),
    "Divide": ("arithmetic.binary", (1,)),
    "FloorMod": ("arithmetic.binary", (1,)),
    "Maximum": ("arithmetic.binary", (1,)),
    "Minimum": ("arithmetic.binary", (1,)),
    "Mod": ("arithmetic.binary", (1,)),
    "Multiply": ("arithmetic.binary", (1,)),
    "Power": ("arithmetic.binary", (1,)),
    "SquaredDifference": ("arithmetic.binary", (1,)),
    "Subtract": ("arithmetic.binary", (1,)),
    "CumSum": ("arithmetic.cumsum", (3,)),
    "Abs": ("arithmetic.unary", (1,)),
    "Acos": ("arithmetic.unary", (1,)),
    "Acosh": ("arithmetic.unary", (4,)),
    "Asin": ("arithmetic.unary", (1,)),
    "Asinh": ("arithmetic.unary", (4,)),
    "Atan": ("arithmetic.unary", (1,)),
    "Atanh": ("arithmetic.unary", (4,)),
    "Ceiling": ("arithmetic.unary", (1,)),
    "Cos": ("arithmetic.unary", (1,)),
    "Cosh": ("arithmetic.unary", (1,)),
    "Erf": ("arithmetic.unary", (1,)),
    "ErfInv": ("arithmetic.unary", (17,)),
    "Exp": ("arithmetic.unary", (1,)),
    "Floor": ("arithmetic.unary", (1,)),
    "Log": ("arithmetic.unary", (1,)),
    "Negative": ("arithmetic.unary", (1,)),
    "Round": ("arithmetic.unary", (5,)),
    "Sign": ("arithmetic.unary", (1,)),
    "Sin": ("arithmetic.unary", (1,)),
    "Sinh": ("arithmetic.unary", (1,)),
    "Sqrt": ("arithmetic.unary", (1,)),
    "Tan": ("arithmetic.unary", (1,)),
    "Tanh": ("arithmetic.unary", (1,)),
    "BitwiseAnd": ("bitwise.bitwise", (13,)),
    "BitwiseLeftShift": ("bitwise.bitwise", (15,)),
    "BitwiseNot": ("bitwise.bitwise", (13,)),
    "BitwiseOr": ("bitwise.bitwise", (13,)),
    "BitwiseRightShift": ("bitwise.bitwise", (15,)),
    "BitwiseXor": ("bitwise.bitwise", (13,)),
    "IsFinite": ("comparison.classify", (10,)),
    "IsInf": ("comparison.classify", (10,)),
    "IsNaN": ("comparison.classify", (10,)),
    "Equal": ("comparison.comparison", (1,)),
    "Greater": ("comparison.comparison", (1,)),
    "GreaterEqual": ("comparison.comparison", (1,)),
    "Less": ("comparison.comparison", (1,)),
    "LessEqual": ("comparison.comparison", (1,)),
    "NotEqual": ("comparison.comparison", (1,)),
    "Bucketize": ("condition.bucketize", (3,)),
    "If": ("condition.if_", (8,)),
    "NonZero": ("condition.non_zero", (3,)),
    "Select": ("condition.select", (1,)),
    "ConvolutionBackpropData": ("convolution.backprop_data", (1,)),
    "GroupConvolutionBackpropData": ("convolution.backprop_data", (1,)),
    "BinaryConvolution": ("convolution.binary_convolution", (1,)),
    "Convolution": ("convolution.convolution", (1,)),
    "GroupConvolution": ("convolution.convolution", (1,)),
    "DeformableConvolution": ("convolution.deformable_convolution", (1, 8)),
    "DetectionOutput": ("detection.detection_output", (1, 8)),
    "ExperimentalDetectronDetectionOutput": ("detection.detectron", (6,)),
    "ExperimentalDetectronPriorGridGenerator": ("detection.detectron", (6,)),
    "ExperimentalDetectronROIFeatureExtractor": ("detection.detectron", (6,)),
    "ExperimentalDetectronGenerateProposalsSingleImage": ("detection.generate_proposals", (6,)),
    "GenerateProposals": ("detection.generate_proposals", (9,)),
    "PriorBox": ("detection.prior_box", (1, 8)),
    "PriorBoxClustered": ("detection.prior_box", (1,)),
    "Proposal": ("detection.proposal", (1, 4)),
    "DeformablePSROIPooling": ("detection.psroi_pooling", (1,)),
    "PSROIPooling": ("detection.psroi_pooling", (1,)),
    "ROIAlign": ("detection.roi_align", (3, 9)),
    "ROIAlignRotated": ("detection.roi_align", (15,)),
    "ROIPooling": ("detection.roi_pooling", (2,)),
    "RegionYolo": ("detection.yolo", (1,)),
    "ReorgYolo": ("detection.yolo", (2,)),
    "Eye": ("generation.eye", (9,)),
    "Multinomial": ("generation.multinomial", (13,)),
    "RandomUniform": ("generation.random_uniform", (8,)),
    "Range": ("generation.range", (1, 4)),
    "BGRtoNV12": ("image.color_convert", (17,)),
    "I420toBGR": ("image.color_convert", (8,)),
    "I420toRGB": ("image.color_convert", (8,)),
    "NV12toBGR": ("image.color_convert", (8,)),
    "NV12toRGB": ("image.color_convert", (8,)),
    "RGBtoNV12": ("image.color_convert", (17,)),
    "GridSample": ("image.grid_sample", (9,)),
    "Interpolate": ("image.interpolate", (1, 4, 11)),
    "Const": ("infrastructure.constants", (1,)),
    "Parameter": ("infrastructure.constants", (1,)),
    "Result": ("infrastructure.constants", (1,)),
    "Identity": ("infrastructure.identity", (16,)),
    "Loop": ("infrastructure.loops", (5,)),
    "TensorIterator": ("infrastructure.loops", (1,)),
    "Assign": ("infrastructure.state", (3, 6)),
    "ReadValue": ("infrastructure.state", (3, 6)),
    "LogicalAnd": ("logical.logical", (1,)),
    "LogicalNot": ("logical.logical", (1,)),
    "LogicalOr": ("logical.logical", (1,)),
    "LogicalXor": ("logical.logical", (2,)),
    "Xor": ("logical.logical", (1,)),
    "Einsum": ("matrix.einsum", (7,)),
    "GroupedMatMul": ("matrix.grouped_matmul", (17,)),
    "Inverse": ("matrix.inverse", (14,)),
    "MatMul": ("matrix.matmul", (1,)),
    "BatchToSpace": ("movement.batch_to_space", (2,)),
    "SpaceToBatch": ("movement.batch_to_space", (2,)),
    "Broadcast": ("movement.broadcast", (1, 3)),
    "Col2Im": ("movement.col2im", (15,)),
    "Concat": ("movement.concat", (1,)),
    "DepthToSpace": ("movement.depth_to_space", (1,)),
    "SpaceToDepth": ("movement.depth_to_space", (1,)),
    "ExtractImagePatches": ("movement.extract_image_patches", (3,)),
    "Gather": ("movement.gather", (1, 7, 8)),
    "GatherElements": ("movement.gather_elements", (6,)),
    "GatherND": ("movement.gather_nd", (5, 8)),
    "GatherTree": ("movement.gather_tree", (1,)),
    "Pad": ("movement.pad", (1, 12)),
    "Reverse": ("movement.reverse", (1,)),
    "ReverseSequence": ("movement.reverse", (1,)),
    "Roll": ("movement.roll", (7,)),
    "ScatterElementsUpdate": ("movement.scatter_elements_update", (3, 12)),
    "ScatterNDUpdate": ("movement.scatter_nd_update", (4, 15)),
    "ScatterUpdate": ("movement.scatter_update", (3,)),
    "ShuffleChannels": ("movement.shuffle_channels", (1,)),
    "Slice": ("movement.slice", (8,)),
    "SliceScatter": ("movement.slice_scatter", (15,)),
    "Split": ("movement.split", (1,)),
    "VariadicSplit": ("movement.split", (1,)),
    "StridedSlice": ("movement.strided_slice", (1,)),
    "Tile": ("movement.tile", (1,)),
    "Transpose": ("movement.transpose", (1,)),
    "Unique": ("movement.unique", (10,)),
    "BatchNormInference": ("normalization.batch_norm", (1, 5)),
    "GRN": ("normalization.grn", (1,)),
    "GroupNormalization": ("normalization.group_normalization", (12,)),
    "LRN": ("normalization.lrn", (1,)),
    "MVN": ("normalization.mvn", (2, 6)),
    "NormalizeL2": ("normalization.normalize_l2", (1,)),
    "AdaptiveAvgPool": ("pooling.adaptive", (8,)),
    "AdaptiveMaxPool": ("pooling.adaptive", (8,)),
    "AvgPool": ("pooling.avg_pool", (1, 14, 16)),
    "MaxPool": ("pooling.max_pool", (1, 8, 14)),
    "FakeConvert": ("quantization.fake_convert", (13,)),
    "FakeQuantize": ("quantization.fake_quantize", (1,)),
    "ReduceL1": ("reduction.reduction", (4,)),
    "ReduceL2": ("reduction.reduction", (4,)),
    "ReduceLogicalAnd": ("reduction.reduction", (1,)),
    "ReduceLogicalOr": ("reduction.reduction", (1,)),
    "ReduceMax": ("reduction.reduction", (1,)),
    "ReduceMean": ("reduction.reduction", (1,)),
    "ReduceMin": ("reduction.reduction", (1,)),
    "ReduceProd": ("reduction.reduction", (1,)),
    "ReduceSum": ("reduction.reduction", (1,)),
    "CTCGreedyDecoder": ("sequence.ctc_greedy_decoder", (1,)),
    "CTCGreedyDecoderSeqLen": ("sequence.ctc_greedy_decoder", (6,)),
    "CTCLoss": ("sequence.ctc_loss", (4,)),
    "GRUCell": ("sequence.gru", (3,)),
    "GRUSequence": ("sequence.gru", (5,)),
    "LSTMCell": ("sequence.lstm", (1, 4)),
    "LSTMSequence": ("sequence.lstm", (5,)),
    "OneHot": ("sequence.one_hot", (1, 16)),
    "RNNCell": ("sequence.rnn", (1,)),
    "RNNSequence": ("sequence.rnn", (5,)),
    "ScaledDotProductAttention": ("sequence.scaled_dot_product_attention", (13,)),
    "Reshape": ("shape.reshape", (1,)),
    "ShapeOf": ("shape.shape_of", (1, 3)),
    "Squeeze": ("shape.squeeze", (1, 15)),
    "Unsqueeze": ("shape.squeeze", (1,)),
    "DFT": ("signals.dft", (7,)),
    "IDFT": ("signals.dft", (7,)),
    "IRDFT": ("signals.rdft", (9,)),
    "RDFT": ("signals.rdft", (9,)),
    "ISTFT": ("signals.stft", (16,)),
    "STFT": ("signals.stft", (15,)),
    "MatrixNms": ("sort.matrix_nms", (8,)),
    "MulticlassNms": ("sort.multiclass_nms", (8, 9)),
    "NMSRotated": ("sort.nms_rotated", (13,)),
    "NonMaxSuppression": ("sort.non_max_suppression", (1, 3, 4, 5, 9)),
    "SearchSorted": ("sort.search_sorted", (15,)),
    "TopK": ("sort.top_k", (1, 3, 11)),
    "ExperimentalDetectronTopKROIs": ("sort.topk_rois", (6,)),
    "EmbeddingBagOffsets": ("sparse.embedding_bag", (15,)),
    "EmbeddingBagOffsetsSum": ("sparse.embedding_bag", (3,)),
    "EmbeddingBagPacked": ("sparse.embedding_bag", (15,)),
    "EmbeddingBagPackedSum": ("sparse.embedding_bag", (3,)),
    "EmbeddingSegmentsSum": ("sparse.embedding_bag", (3,)),
    "SegmentMax": ("sparse.segment_max", (16,)),
    "SparseFillEmptyRows": ("sparse.sparse_fill_empty_rows", (16,)),
    "Convert": ("type.convert", (1,)),
    "ConvertLike": ("type.convert", (1,)),
    "ConvertPromoteTypes": ("type.convert_promote_types", (14,)),
    "StringTensorPack": ("type.string_tensor", (15,)),
    "StringTensorUnpack": ("type.string_tensor", (15,)),
}

# The second spelling that OpenVINO's reader takes for a type.
RENAMED = {"Constant": "Const", "PRelu": "PReLU", "Relu": "ReLU", "Softmax": "SoftMax"}

# Opset tables that break the cumulative rule: types an opset lacks, and types it has before their version text says.
ABSENT = {2: {"RNNCell", "ShuffleChannels"}, **{n: {"Reverse", "Xor"} for n in range(3, NEWEST + 1)}}
ABSENT[2] |= {"Reverse", "Xor"}
# An opset that its makers have begun and not filled: a file that names it may name only these.
BEGUN = {17: {"BGRtoNV12", "Convert", "ErfInv", "GroupedMatMul", "Parameter", "RGBtoNV12", "ShapeOf"}}
EARLY = {("LogicalXor", 1): 2, ("MVN", 1): 2, ("ROIPooling", 1): 2, ("ReorgYolo", 1): 2}

_FOLDED = {name.lower(): name for name in CONTENTS} | {old.lower(): new for old, new in RENAMED.items()}


def canonical_type(text: str) -> str | None:
    """The type as a file writes it, for any letter case OpenVINO takes; None for a type that no opset has."""
    return text if text in CONTENTS else RENAMED.get(text) or _FOLDED.get(text.lower())


def nearest_types(text: str, count: int = 3) -> list[str]:
    """Known types that look like the text, best first."""
    by_folded = _FOLDED | {type.lower(): type for type, _ in REGISTRY}
    return list(dict.fromkeys(by_folded[folded] for folded in nearest(text, by_folded, count)))


def introduced(type: str, opset: int) -> int | None:
    """The opset that introduced the operator which `type` means in opset `opset`; None when that opset lacks it."""
    if type not in CONTENTS or type in ABSENT.get(opset, ()) or type not in BEGUN.get(opset, CONTENTS):
        return None
    versions = [v for v in CONTENTS[type][1] if v <= opset]
    return max(versions) if versions else EARLY.get((type, opset))


def opsets_with(type: str) -> list[int]:
    """The opsets in which a file may name this type."""
    return [n for n in range(1, NEWEST + 1) if introduced(type, n) is not None]


def versioned(type: str, number: int | None) -> str | None:
    """The version text of the operator that a page calls `type-number`; of the newest one without a number.

    A page's number is not always the opset's (ScatterNDUpdate-3 came in opset4): then the next opset is meant.
    """
    own = [version for name, version in REGISTRY if name == type]
    if type not in CONTENTS:
        return own[-1] if own else None
    versions = CONTENTS[type][1]
    if number is None:
        return f"opset{versions[-1]}"
    return f"opset{next((v for v in versions if v >= number), versions[-1])}"


def find(type: str, version: str) -> Operator | None:
    """The operator of a canonical type and a version text; None when there is none or it is not implemented."""
    if (type, version) in REGISTRY:
        return REGISTRY[type, version]
    number = OPSETS.get(version)
    if number is None:
        return _find_foreign(type, version)
    found = introduced(type, number)
    return None if found is None else load(type, found)


def load(type: str, opset: int) -> Operator | None:
    """The operator introduced in exactly this opset; None while it is not implemented."""
    key = (type, f"opset{opset}")
    if key not in REGISTRY:
        module = f"irexec.ops.{CONTENTS[type][0]}"
        try:
            importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name is None or not module.startswith(error.name):
                raise
    return REGISTRY.get(key)


def _find_foreign(type: str, version: str) -> Operator | None:
    """Operators of other origin: ONNX's, or those of the experimental and extension namespaces."""
    if version in ("experimental", "extension") and type in _EXPERIMENTAL:
        return load(type, introduced(type, 6) or 6)
    if version in ONNX_OPSETS:
        importlib.import_module("irexec.ops.onnx")
        since = [n for name, n in ONNX_OPSETS.items() if n <= ONNX_OPSETS[version] and (type, name) in REGISTRY]
        version = f"onnx{max(since)}" if since else version
    return REGISTRY.get((type, version))


_EXPERIMENTAL = {
    "ExperimentalDetectronDetectionOutput",
    "ExperimentalDetectronGenerateProposalsSingleImage",
    "ExperimentalDetectronPriorGridGenerator",
    "ExperimentalDetectronROIFeatureExtractor",
    "ExperimentalDetectronTopKROIs",
    "GRUCell",
    "RNNCell",
    "Proposal",
}


def everything() -> Iterator[tuple[str, int, Operator | None]]:
    """Every (type, opset, operator or None while it is missing), by type."""
    for type, (_, versions) in sorted(CONTENTS.items()):
        for version in versions:
            yield type, version, load(type, version)
