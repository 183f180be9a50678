"""What is required of the operators that ONNX defines by functions, which compute and check nothing themselves.

Source: ONNX operator pages.
"""

from __future__ import annotations

from irexec.frontends.onnx.errors import Refused
from irexec.frontends.onnx.op import Op
from irexec.frontends.onnx.operators.quantization import real_type
from irexec.frontends.onnx.registry import requires


@requires("AffineGrid", shapes="theta: N 2 3 | N 3 4; size: 4 | 5")
def _affine_grid(op: Op) -> None:
    op.flag("align_corners")
    size = op.known(1)
    if size is not None:
        op.check_shapes(f"theta: N {size.size - 2} {size.size - 1}", N=int(size.reshape(-1)[0]))


@requires(
    "Attention",
    shapes="Q: N q_num_heads L _ | N L _; K: N kv_num_heads S _ | N S _; V: N kv_num_heads S _ | N S _;"
    " attn_mask: _ | _ _ | _ _ _ | _ _ _ _;"
    " past_key: N _ P _; past_value: N _ P _; nonpad_kv_seqlen: N",
)
def _attention(op: Op) -> None:
    op.flag("is_causal")
    if (softcap := op.number("softcap")) < 0:
        message = f"softcap is {softcap:g}, expected 0 or a positive number"
        raise Refused("F004", message, attribute="softcap", found=f"{softcap:g}", allowed="0 or more")
    real_type(op, "softmax_precision")
    if (mode := op.integer("qk_matmul_output_mode")) not in range(4):
        message = f"qk_matmul_output_mode is {mode}, expected 0 to 3"
        raise Refused("F004", message, attribute="qk_matmul_output_mode", found=str(mode), allowed="0 to 3")


@requires("CausalConvWithState", shapes="input: N C L; weight: C 1 K; bias: C; past_state: N C _")
def _causal_conv(op: Op) -> None:
    op.text("activation", "none", allowed=("none", "silu", "swish"))


@requires("CenterCropPad", shapes="input_data:; shape: n")
def _center_crop_pad(op: Op) -> None:
    op.axes("axes")


@requires("BlackmanWindow", "HammingWindow", "HannWindow", shapes="size: scalar")
def _window(op: Op) -> None:
    op.flag("periodic", True)


@requires(
    "LinearAttention",
    shapes="query: N T _; key: N T _; value: N T _; past_state: N _ _ _; decay: N T _; beta: N T _",
)
def _linear_attention(op: Op) -> None:
    op.text("update_rule", "gated_delta", allowed=("linear", "gated", "delta", "gated_delta"))
    op.count("q_num_heads"), op.count("kv_num_heads")


@requires("NegativeLogLikelihoodLoss", shapes="input: N C D...; target: N D...; weight: C")
@requires("SoftmaxCrossEntropyLoss", shapes="scores: N C D...; labels: N D...; weights: C")
def _loss(op: Op) -> None:
    op.text("reduction", "mean", allowed=("none", "sum", "mean"))


@requires("RMSNormalization", shapes="X:; scale: <X")
def _root_mean_square(op: Op) -> None:
    op.axis("axis", -1)
    real_type(op, "stash_type")


@requires("RotaryEmbedding", shapes="X: N _ S _ | N S _")
def _rotary(op: Op) -> None:
    op.flag("interleaved")
    last = op[0].type.shape[-1] if op.rank() is not None else None
    given = op.integer("rotary_embedding_dim")
    if op.rank() == 3:
        heads = op.count("num_heads")
        size = last.value // heads if last is not None and last.is_static else None
    else:
        size = last.value if last is not None and last.is_static else None
    turned = given or size
    if turned is not None and (turned < 0 or turned % 2 or (size is not None and turned > size)):
        most = "" if size is None else f" of at most {size}, the size of a head"
        message = f"rotary_embedding_dim is {turned}, expected an even number{most}"
        raise Refused("F004", message, attribute="rotary_embedding_dim", found=str(turned))
    half = "R" if turned is None else str(turned // 2)
    cache = f"N S {half}" if op.get(3) is None else f"M {half}"
    op.check_shapes(f"X: N _ S _ | N S _; cos_cache: {cache}; sin_cache: {cache}; position_ids: N S")
    positions = op.known(3)
    if positions is not None and positions.min(initial=0) < 0:
        message = f"position_ids contains {positions.min()}, expected 0 or more"
        raise Refused("O001", message, port="position_ids", found=str(positions.min()), allowed="0 or more")


@requires("SwiGLU", shapes="A: D...; B: D...")
def _swiglu(op: Op) -> None:
    """Check nothing but the shapes."""
