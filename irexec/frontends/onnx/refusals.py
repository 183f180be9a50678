"""Operators and domains that are refused, and what to do: one line for each that exporters may write."""

from __future__ import annotations

_LOOP = "a loop of a decoder's steps: convert the decoder that is its attribute, and call it in a loop"
_TEXT = "work on texts: do it before the model, or with ONNX Runtime"
_RARE = "of one model only: run that part with ONNX Runtime"
_NOISE = "draws from a random state of its own: no other runtime can draw the same"

_LAYOUT = "laid out for the processor that ONNX Runtime optimised the model on: save it with ORT_ENABLE_EXTENDED"
_ATEN = "a call into PyTorch, which had no ONNX for it: export again, with dynamo=True or a newer opset"

# Domains of which no operator runs → what these are, and what to do.
DOMAINS = {
    "ai.onnx.ml": "classical machine learning: run that part with ONNX Runtime, or convert it into tensor operators"
    " (Hummingbird does)",
    "ai.onnx.contrib": "work on texts and media, of onnxruntime-extensions: do it before the model",
    "aten": _ATEN,
    "com.microsoft.nchwc": _LAYOUT,
    "com.ms.internal.nhwc": _LAYOUT,
    "org.pytorch.aten": _ATEN,
}

# Whose operators these are.
RUNTIME = "1.31"
# Those that ONNX Runtime runs on CPUs → why, and what to do.
ON_CPU = {
    "AttnLSTM": "an LSTM with attention from before ONNX had both: export the model again",
    "BeamSearch": _LOOP,
    "BifurcationDetector": "of speculative decoding: run the decoder's steps one by one",
    "ConvTransposeWithDynamicPads": "pads that are computed: export with constant pads, as ConvTranspose",
    "DynamicTimeWarping": "an alignment in order of time, after the model: run that part with ONNX Runtime",
    "EngramGate": _RARE,
    "GreedySearch": _LOOP,
    "HyperConnectionPostMix": _RARE,
    "HyperConnectionPreMix": _RARE,
    "MRotaryEmbedding": "places in three axes: export with the rotation as plain operators",
    "MatMulFpQ4": "weights packed for one processor: quantise again, which makes MatMulNBits",
    "MaxpoolWithMask": _RARE,
    "MurmurHash3": _TEXT,
    "NGramHashMapping": _TEXT,
    "NGramRepeatBlock": "part of a search: do it after the model",
    "SampleOp": "an example of ONNX Runtime's own tests",
    "Sampling": _NOISE,
    "SparseAttention": "attention to blocks that a table lists: export without sparse attention",
    "SparseToDenseMatMul": "a product with a sparse tensor at run time: give it dense",
    "Tokenizer": _TEXT,
    "VarlenNGramHashMapping": _TEXT,
    "WhisperBeamSearch": _LOOP,
    "WordConvEmbedding": _TEXT,
}

# Those that ONNX Runtime has for other devices alone.
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
_ON_GPU = "optimise the model for CPUs, or not at all: exporters make it for GPUs"


def why_not_domain(domain: str) -> tuple[str, str] | None:
    """What the operators of a domain are, and what to do; None for a domain that nobody knows."""
    about, _, advice = DOMAINS.get(domain, "").partition(": ")
    return (about, advice) if about else None


def why_not(type: str) -> tuple[str, str] | None:
    """What an operator of com.microsoft is, and what to do; None for one that nobody knows."""
    if type in ON_CPU:
        about, _, advice = ON_CPU[type].partition(": ")
        return about, advice or "run that part with ONNX Runtime"
    return ("ONNX Runtime has it for GPUs alone", _ON_GPU) if type in ELSEWHERE else None
