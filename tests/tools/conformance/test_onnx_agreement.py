"""Cases of ONNX nodes on which irexec, ONNX Runtime and onnx.reference agree: what is computed, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from irexec.tools.compare.adapters.onnx_reference import OnnxReference
from irexec.tools.compare.adapters.onnx_runtime import OnnxRuntime
from irexec.tools.conformance.defendant import Answer
from irexec.tools.conformance.made import case_named
from irexec.tools.conformance.verdict import judge_case

COMPUTED = (
    "AveragePool-22/averagepool_2d_pads/count_include_pad=1",
    "AveragePool-22/averagepool_2d_precomputed_pads/auto_pad=SAME_UPPER",
    "Celu-28/celu/alpha=-1.0",
    "Clip-13/clip_example/omit:max",
    "Conv-22/conv_bias/strides=2,2",
    "ConvTranspose-22/convtranspose_bias/strides=2,2",
    "CumSum-14/cumsum_2d_axis_0/reverse=1",
    "GRU-22/gru_with_initial_bias/unchanged",
    "Gather-13/gather_1/unchanged",
    "GatherND-13/gathernd_example_int32/unchanged",
    "Gemm-13/gemm_all_attributes/transA=1",
    "GroupNormalization-21/group_normalization_example/epsilon=0.0",
    "InstanceNormalization-22/instancenorm_example/epsilon=0.0",
    "InstanceNormalization-22/instancenorm_example/epsilon=0.5",
    "LSTM-22/lstm_with_peepholes/unchanged",
    "LayerNormalization-17/layer_normalization_4d_axis0/epsilon=0.0",
    "LayerNormalization-17/layer_normalization_4d_axis1/epsilon=0.5",
    "MaxPool-22/maxpool_2d_pads/strides=2,2",
    "NonMaxSuppression-11/nonmaxsuppression_two_batches/omit:score_threshold",
    "Pad-25/edge_pad/mode=reflect",
    "RNN-22/simple_rnn_with_initial_bias/unchanged",
    "ReduceL2-18/reduce_l2_do_not_keepdims_example/keepdims=1",
    "Resize-19/resize_upsample_scales_linear/coordinate_transformation_mode=asymmetric",
    "STFT-17/stft/size:signal.2=+1",
    "ScatterElements-18/scatter_elements_with_axis/reduction=add",
    "Softmax-13/softmax_axis_1/axis=0",
    "Split-18/split_variable_parts_1d_opset18/unchanged",
    "TopK-24/top_k/largest=0",
    "Unsqueeze-25/unsqueeze_axis_0/size:axes.0=-1",
)
REFUSED = (
    "Attention-23/attention_4d/kv_num_heads=1",
    "BatchNormalization-15/batchnorm_example/size:s.0=+1",
    "Conv-22/conv_bias/kernel_shape=2,2",
    "ConvTranspose-22/convtranspose/output_padding=1,1",
    "GRU-22/gru_defaults/layout=2",
    "Gemm-13/gemm_all_attributes/size:c.1=+1",
    "GridSample-22/gridsample/mode=bilinear",
    "LSTM-22/lstm_with_initial_bias/size:W.1=+1",
    "MatMul-13/matmul_2d/size:a.1=+1",
    "MelWeightMatrix-17/melweightmatrix/output_datatype=0",
    "NegativeLogLikelihoodLoss-22/nllloss_NCd1d2/size:target.1=-1",
    "QLinearConv-10/qlinearconv/rank:w=-1",
    "QuantizeLinear-28/quantizelinear/output_dtype=3",
    "RegexFullMatch-20/regex_full_match_basic/omit:pattern",
    "RotaryEmbedding-23/rotary_embedding_no_position_ids/size:cos_cache.2=+1",
    "Scan-8/scan_sum/num_scan_inputs=0",
    "Squeeze-25/squeeze/rank:axes=-1",
    "SwiGLU-28/swiglu/size:a.0=-1",
    "TensorScatter-24/tensorscatter/size:update.1=-1",
)


def answer(runtime: OnnxRuntime | OnnxReference, name: str, folder: Path) -> tuple[str, str]:
    """Return irexec's view of a case, and the verdict on a runtime."""
    case = case_named(f"onnx.{name}")
    path = folder / "case.onnx"
    path.write_bytes(case.source or b"")
    try:
        runtime.load(str(path), False)
        given = Answer("results", [runtime.infer(case.inputs[0])])
    except Exception as error:
        given = Answer("refused", message=str(error))
    return " ".join(case.flags), judge_case(case, given, {}).word


@pytest.mark.parametrize("runtime", [OnnxRuntime, OnnxReference])
@pytest.mark.parametrize("name", COMPUTED)
def test_all_compute_the_same(name: str, runtime: type[OnnxRuntime | OnnxReference], tmp_path: Path) -> None:
    assert answer(runtime(), name, tmp_path) == ("", "passed")


@pytest.mark.parametrize("name", REFUSED)
def test_what_onnx_runtime_refuses_is_forbidden(name: str, tmp_path: Path) -> None:
    assert answer(OnnxRuntime(), name, tmp_path) == ("forbidden", "passed")
