"""Translators of ONNX's operators on signals and strings, which IR does not have: all use ONNX's own kernels.

Source: ONNX operator pages.
"""

from __future__ import annotations

import numpy as np

from irexec.core.types import F32
from irexec.frontends.onnx.errors import Refused
from irexec.frontends.onnx.op import Op
from irexec.frontends.onnx.operators.quantization import typed
from irexec.frontends.onnx.registry import corresponds, translates
from irexec.model.graph.model import Value


@translates("DFT", since=(20,), shapes="input: _ _ ...; dft_length: []; axis: []")
def _dft(op: Op) -> Value:
    options = {"inverse": op.flag("inverse"), "onesided": op.flag("onesided")}
    return op.make("DFT", op[0], op.get(1), op.get(2), opset="onnx20", **options)


@translates("DFT", since=(17,), shapes="input: _ _ ...; dft_length: []")
def _dft_17(op: Op) -> Value:
    options = {"inverse": op.flag("inverse"), "onesided": op.flag("onesided")}
    return op.make("DFT", op[0], op.get(1), op.integer("axis", 1), opset="onnx20", **options)


@translates("STFT", since=(17,), shapes="signal: N T _ | N T; frame_step: []; window: L; frame_length: []")
def _stft(op: Op) -> Value:
    signal = op[0]
    if op.rank() == 2:
        hint = "ONNX Runtime accepts the shape, which PyTorch writes"
        op.warn("F004", "signal has no last axis of 1, by which ONNX marks real numbers", port="signal", hint=hint)
        signal = op.make("Unsqueeze", signal, [2])
    onesided, last = op.flag("onesided", True), signal.type.shape[-1] if signal.type.shape.rank else None
    made = op.make("STFT", signal, op[1], op.get(2), op.get(3), opset="onnx17", onesided=onesided and last != 2)
    if not onesided or last != 2:
        return made
    # The spectrum of a complex signal is not symmetric; its first half is computed as part of the whole.
    half = op.make("Add", op.make("Divide", op.extent(made, [2]), 2), 1)
    return op.make("Slice", made, [0], half, [1], [2], opset=8)


@translates(
    "MelWeightMatrix",
    since=(17,),
    shapes="num_mel_bins: scalar; dft_length: scalar; sample_rate: scalar; lower_edge_hertz: scalar;"
    " upper_edge_hertz: scalar",
)
def _mel_weights(op: Op) -> Value:
    kind = typed(op, "output_datatype") if op.has("output_datatype") else F32
    if kind is None:
        op.refuse("output_datatype is 0, which is not a data type", attribute="output_datatype")
    return op.make("MelWeightMatrix", *(op[i] for i in range(5)), opset="onnx17", output_type=kind)


corresponds("StringConcat", "StringConcat", 2, since=(20,), opset="onnx20")


@translates("StringSplit", since=(20,))
def _string_split(op: Op) -> list[Value]:
    options = {"delimiter": op.text("delimiter"), "maxsplit": op.integer("maxsplit", -1)}
    return list(op.make_node("StringSplit", op[0], opset="onnx20", **options).outputs)


@translates("StringNormalizer", since=(10,))
def _string_normalizer(op: Op) -> Value:
    options = {
        "case_change_action": op.text("case_change_action", "NONE", allowed=("LOWER", "UPPER", "NONE")),
        "is_case_sensitive": op.flag("is_case_sensitive"),
        "stopwords": tuple(op.texts("stopwords") or ()),
    }
    return op.make("StringNormalizer", op[0], opset="onnx10", **options)


@translates("RegexFullMatch", since=(20,))
def _regex(op: Op) -> Value:
    if not op.has("pattern"):
        raise Refused("F004", "the required attribute 'pattern' is missing", attribute="pattern")
    return op.make("RegexFullMatch", op[0], opset="onnx20", pattern=op.text("pattern"))


@translates("TfIdfVectorizer", since=(9,))
def _tf_idf(op: Op) -> Value:
    options = {
        "mode": op.text("mode", allowed=("TF", "IDF", "TFIDF")),
        "pool_strings": tuple(op.texts("pool_strings") or ()),
        "weights": tuple(op.numbers("weights") or ()),
    }
    for name in ("ngram_counts", "ngram_indexes", "pool_int64s"):
        options[name] = tuple(op.integers(name) or ())
    lengths = {name: op.integer(name) for name in ("min_gram_length", "max_gram_length", "max_skip_count")}
    return op.make("TfIdfVectorizer", op[0], opset="onnx9", **options, **lengths)


corresponds("Det", "Det", since=(11, 22), opset="onnx11")


@translates(
    "NonMaxSuppression",
    since=(10, 11),
    shapes="boxes: N B 4; scores: N C B; max_output_boxes_per_class: scalar; iou_threshold: scalar;"
    " score_threshold: scalar",
)
def _non_max_suppression(op: Op) -> Value:
    encoding = "center" if op.flag("center_point_box") else "corner"
    most = op.get(2) if op.get(2) is not None else op.constant(np.array(0))
    options = {"box_encoding": encoding, "sort_result_descending": False, "output_type": "i64"}
    scalars = [
        value if value is None or value.type.shape.rank == 0 else op.reshape(value, [])
        for value in (most, op.get(3), op.get(4))
    ]
    return op.make("NonMaxSuppression", op[0], op[1], *scalars, opset=9, **options)
