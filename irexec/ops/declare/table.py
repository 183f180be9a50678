"""The module in which each operator is declared, so that it is imported when a model needs it.

Generated from the declarations: python -m irexec.catalog.table
"""

from __future__ import annotations

# module below irexec.ops → types as a file writes them, each with the opsets that introduced a version
MODULES = {
    "activation.pointwise": (
        "Clamp-1 Elu-1 Gelu-2-7 HSigmoid-5 HSwish-4 HardSigmoid-1 Mish-4 PReLU-1 ReLU-1 Selu-1 Sigmoid-1 SoftPlus-4 "
        "SoftSign-9 Swish-4"
    ),
    "activation.softmax": "LogSoftmax-5 SoftMax-1-8",
    "arithmetic.binary": (
        "Add-1 Divide-1 FloorMod-1 Maximum-1 Minimum-1 Mod-1 Multiply-1 Power-1 SquaredDifference-1 Subtract-1"
    ),
    "arithmetic.cumsum": "CumSum-3",
    "arithmetic.unary": (
        "Abs-1 Acos-1 Acosh-4 Asin-1 Asinh-4 Atan-1 Atanh-4 Ceiling-1 Cos-1 Cosh-1 Erf-1 ErfInv-17 Exp-1 Floor-1 "
        "Log-1 Negative-1 Round-5 Sign-1 Sin-1 Sinh-1 Sqrt-1 Tan-1 Tanh-1"
    ),
    "bitwise.bitwise": (
        "BitwiseAnd-13 BitwiseLeftShift-15 BitwiseNot-13 BitwiseOr-13 BitwiseRightShift-15 BitwiseXor-13"
    ),
    "comparison.classify": "IsFinite-10 IsInf-10 IsNaN-10",
    "comparison.comparison": "Equal-1 Greater-1 GreaterEqual-1 Less-1 LessEqual-1 NotEqual-1",
    "condition.bucketize": "Bucketize-3",
    "condition.if_": "If-8",
    "condition.non_zero": "NonZero-3",
    "condition.select": "Select-1",
    "convolution.backprop_data": "ConvolutionBackpropData-1 GroupConvolutionBackpropData-1",
    "convolution.binary_convolution": "BinaryConvolution-1",
    "convolution.convolution": "Convolution-1 GroupConvolution-1",
    "convolution.deformable_convolution": "DeformableConvolution-1-8",
    "detection.detection_output": "DetectionOutput-1-8",
    "detection.detectron": (
        "ExperimentalDetectronDetectionOutput-6 ExperimentalDetectronPriorGridGenerator-6 "
        "ExperimentalDetectronROIFeatureExtractor-6"
    ),
    "detection.generate_proposals": "ExperimentalDetectronGenerateProposalsSingleImage-6 GenerateProposals-9",
    "detection.prior_box": "PriorBox-1-8 PriorBoxClustered-1",
    "detection.proposal": "Proposal-1-4",
    "detection.psroi_pooling": "DeformablePSROIPooling-1 PSROIPooling-1",
    "detection.roi_align": "ROIAlign-3-9 ROIAlignRotated-15",
    "detection.roi_pooling": "ROIPooling-2",
    "detection.yolo": "RegionYolo-1 ReorgYolo-2",
    "generation.eye": "Eye-9",
    "generation.multinomial": "Multinomial-13",
    "generation.random_uniform": "RandomUniform-8",
    "generation.range": "Range-1-4",
    "image.color_convert": "BGRtoNV12-17 I420toBGR-8 I420toRGB-8 NV12toBGR-8 NV12toRGB-8 RGBtoNV12-17",
    "image.grid_sample": "GridSample-9",
    "image.interpolate": "Interpolate-1-4-11",
    "infrastructure.constants": "Const-1 Parameter-1 Result-1",
    "infrastructure.identity": "Identity-16",
    "infrastructure.loops": "Loop-5 TensorIterator-1",
    "infrastructure.state": "Assign-3-6 ReadValue-3-6",
    "logical.logical": "LogicalAnd-1 LogicalNot-1 LogicalOr-1 LogicalXor-2 Xor-1",
    "matrix.einsum": "Einsum-7",
    "matrix.grouped_matmul": "GroupedMatMul-17",
    "matrix.inverse": "Inverse-14",
    "matrix.matmul": "MatMul-1",
    "movement.batch_to_space": "BatchToSpace-2 SpaceToBatch-2",
    "movement.broadcast": "Broadcast-1-3",
    "movement.col2im": "Col2Im-15",
    "movement.concat": "Concat-1",
    "movement.depth_to_space": "DepthToSpace-1 SpaceToDepth-1",
    "movement.extract_image_patches": "ExtractImagePatches-3",
    "movement.gather": "Gather-1-7-8",
    "movement.gather_elements": "GatherElements-6",
    "movement.gather_nd": "GatherND-5-8",
    "movement.gather_tree": "GatherTree-1",
    "movement.pad": "Pad-1-12",
    "movement.reverse": "Reverse-1 ReverseSequence-1",
    "movement.roll": "Roll-7",
    "movement.scatter_elements_update": "ScatterElementsUpdate-3-12",
    "movement.scatter_nd_update": "ScatterNDUpdate-4-15",
    "movement.scatter_update": "ScatterUpdate-3",
    "movement.shuffle_channels": "ShuffleChannels-1",
    "movement.slice": "Slice-8",
    "movement.slice_scatter": "SliceScatter-15",
    "movement.split": "Split-1 VariadicSplit-1",
    "movement.strided_slice": "StridedSlice-1",
    "movement.tile": "Tile-1",
    "movement.transpose": "Transpose-1",
    "movement.unique": "Unique-10",
    "normalization.batch_norm": "BatchNormInference-1-5",
    "normalization.grn": "GRN-1",
    "normalization.group_normalization": "GroupNormalization-12",
    "normalization.lrn": "LRN-1",
    "normalization.mvn": "MVN-2-6",
    "normalization.normalize_l2": "NormalizeL2-1",
    "pooling.adaptive": "AdaptiveAvgPool-8 AdaptiveMaxPool-8",
    "pooling.avg_pool": "AvgPool-1-14-16",
    "pooling.max_pool": "MaxPool-1-8-14",
    "quantization.fake_convert": "FakeConvert-13",
    "quantization.fake_quantize": "FakeQuantize-1",
    "reduction.reduction": (
        "ReduceL1-4 ReduceL2-4 ReduceLogicalAnd-1 ReduceLogicalOr-1 ReduceMax-1 ReduceMean-1 ReduceMin-1 ReduceProd-1 "
        "ReduceSum-1"
    ),
    "sequence.ctc_greedy_decoder": "CTCGreedyDecoder-1 CTCGreedyDecoderSeqLen-6",
    "sequence.ctc_loss": "CTCLoss-4",
    "sequence.gru": "GRUCell-3 GRUSequence-5",
    "sequence.lstm": "LSTMCell-1-4 LSTMSequence-5",
    "sequence.one_hot": "OneHot-1-16",
    "sequence.rnn": "RNNCell-1 RNNSequence-5",
    "sequence.scaled_dot_product_attention": "ScaledDotProductAttention-13",
    "shape.reshape": "Reshape-1",
    "shape.shape_of": "ShapeOf-1-3",
    "shape.squeeze": "Squeeze-1-15 Unsqueeze-1",
    "signals.dft": "DFT-7 IDFT-7",
    "signals.rdft": "IRDFT-9 RDFT-9",
    "signals.stft": "ISTFT-16 STFT-15",
    "sort.matrix_nms": "MatrixNms-8",
    "sort.multiclass_nms": "MulticlassNms-8-9",
    "sort.nms_rotated": "NMSRotated-13",
    "sort.non_max_suppression": "NonMaxSuppression-1-3-4-5-9",
    "sort.search_sorted": "SearchSorted-15",
    "sort.top_k": "TopK-1-3-11",
    "sort.topk_rois": "ExperimentalDetectronTopKROIs-6",
    "sparse.embedding_bag": (
        "EmbeddingBagOffsets-15 EmbeddingBagOffsetsSum-3 EmbeddingBagPacked-15 EmbeddingBagPackedSum-3 "
        "EmbeddingSegmentsSum-3"
    ),
    "sparse.segment_max": "SegmentMax-16",
    "sparse.sparse_fill_empty_rows": "SparseFillEmptyRows-16",
    "type.convert": "Convert-1 ConvertLike-1",
    "type.convert_promote_types": "ConvertPromoteTypes-14",
    "type.string_tensor": "StringTensorPack-15 StringTensorUnpack-15",
}
