"""Refused operators and domains, with the reason and a workaround: one line for each that exporters may write."""

from __future__ import annotations

_LOOP = "a loop over the steps of a decoder: convert the decoder in its attribute, and call it in a loop"
_TEXT = "text processing: run it before the model, or with ONNX Runtime"
_RARE = "used by a single model: run that part with ONNX Runtime"
_NOISE = "uses its own random state, which no other runtime can reproduce"

_LAYOUT = "layout for the processor on which ONNX Runtime optimized the model: save it with ORT_ENABLE_EXTENDED"
_ATEN = "an operator that PyTorch could not export: export again, with dynamo=True or a newer opset"

# Domains without runnable operators → their purpose, and a workaround.
DOMAINS = {
    "ai.onnx.ml": "classical machine learning: run that part with ONNX Runtime, or convert it into tensor operators"
    " (Hummingbird does)",
    "ai.onnx.contrib": "text and media processing of onnxruntime-extensions: run it before the model",
    "aten": _ATEN,
    "com.microsoft.nchwc": _LAYOUT,
    "com.ms.internal.nhwc": _LAYOUT,
    "org.pytorch.aten": _ATEN,
}

# The version of ONNX Runtime whose operators are listed below.
RUNTIME = "1.31"
# Operators that ONNX Runtime runs on CPUs → the reason for refusal, and a workaround.
ON_CPU = {
    "AttnLSTM": "an LSTM with attention, older than ONNX's Attention: export the model again",
    "BeamSearch": _LOOP,
    "BifurcationDetector": "used by speculative decoding: run the steps of the decoder one by one",
    "ConvTransposeWithDynamicPads": "pads that are computed: export with constant pads, as ConvTranspose",
    "DynamicTimeWarping": "time alignment after the model: run that part with ONNX Runtime",
    "EngramGate": _RARE,
    "ExpandDims": "older than ONNX's Unsqueeze: export the model again",
    "GreedySearch": _LOOP,
    "HyperConnectionPostMix": _RARE,
    "HyperConnectionPreMix": _RARE,
    "MRotaryEmbedding": "positions along three axes: export with the rotation as plain operators",
    "MatMulFpQ4": "weights packed for one processor: quantize again, which produces MatMulNBits",
    "MatMulInteger16": "a product that no exporter writes: use MatMulInteger, or floats",
    "MaxpoolWithMask": _RARE,
    "MurmurHash3": _TEXT,
    "NGramHashMapping": _TEXT,
    "NGramRepeatBlock": "part of a search: run it after the model",
    "SampleOp": "an example of ONNX Runtime's own tests",
    "Sampling": _NOISE,
    "SparseAttention": "attention to a table of blocks: export without sparse attention",
    "SparseToDenseMatMul": "a product with a sparse run-time tensor: provide a dense tensor",
    "Tokenizer": _TEXT,
    "Unique": "older than ONNX's Unique: export the model again",
    "VarlenNGramHashMapping": _TEXT,
    "WhisperBeamSearch": _LOOP,
    "WordConvEmbedding": _TEXT,
}

# Operators that ONNX Runtime implements for other devices only.
_NAMES = """
BiasAdd BiasDropout BiasSoftmax BiasSplitGelu BitmaskBiasDropout BitmaskDropout ComplexMul ComplexMulConj
DecoderAttention DecoderMaskedSelfAttention DequantizeBFP DequantizeWithOrder DynamicSparseAttention EPContext
FusedMatMulActivation GatedDeltaNet GatedRelativePositionBias GemmFastGelu GemmFloat8 GemmaRotaryEmbedding GroupNorm
Irfft IsAllFinite LongformerAttention MatMulBlockQuantizedFp4Weight MatMulBlockQuantizedFp8Weight MatMulNBitsMlp
MatMulNBitsQkv MulInteger NhwcConv NhwcFusedConv PackedAttention PackedMultiHeadAttention
PackedSparseAttentionIndexer PagedAttention QLinearReduceMean QOrderedAttention QOrderedGelu
QOrderedLayerNormalization QOrderedLongformerAttention QOrderedMatMul QuantizeBFP QuantizeWithOrder ReduceSumInteger
RelativePositionBias RemovePadding RestorePadding Rfft SkipGroupNorm Snpe SparseAttentionIndexer
SparsePagedAttention TorchEmbedding VarlenCausalConvWithState
"""
ELSEWHERE = frozenset(_NAMES.split())
_ON_GPU = "exported for GPUs: optimize the model for CPUs, or not at all"


def why_not_domain(domain: str) -> tuple[str, str] | None:
    """Return the purpose of a domain's operators, and a workaround; None for an unknown domain."""
    about, _, advice = DOMAINS.get(domain, "").partition(": ")
    return (about, advice) if about else None


def why_not(type: str) -> tuple[str, str] | None:
    """Return the purpose of a com.microsoft operator, and a workaround; None for an unknown operator."""
    if type in ON_CPU:
        about, _, advice = ON_CPU[type].partition(": ")
        return about, advice or "run that part with ONNX Runtime"
    return ("ONNX Runtime supports it on GPUs only", _ON_GPU) if type in ELSEWHERE else None
