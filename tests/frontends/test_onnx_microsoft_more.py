"""Further operators of com.microsoft, compared with ONNX Runtime: low-bit weights, mixtures of experts, small
operators.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irexec

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from support.microsoft import assert_close, beside_onnx_runtime, model_of

RNG = np.random.default_rng(1)


def f(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def u8(*shape: int) -> np.ndarray:
    return RNG.integers(0, 256, shape).astype(np.uint8)


def i8(*shape: int) -> np.ndarray:
    return RNG.integers(-128, 128, shape).astype(np.int8)


def i32(values: Any) -> np.ndarray:
    return np.array(values, np.int32)


def i64(values: Any) -> np.ndarray:
    return np.array(values, np.int64)


def scale(*shape: int) -> np.ndarray:
    return RNG.uniform(0.01, 0.1, shape).astype(np.float32)


ONE, ZERO = np.float32(0.05).reshape(()), np.array(128, np.uint8)

Case = tuple[str, list[Any], dict[str, Any], int, tuple[int, ...]]
CASES: dict[str, Case] = {
    "trilu": ("Trilu", [f(2, 4, 5), np.array(1)], {"upper": 0}, 1, ()),
    "gathernd": ("GatherND", [f(3, 4, 5), i32([[0, 1], [2, 3]])], {}, 1, ()),
    "gridsample": ("GridSample", [f(1, 2, 5, 6), f(1, 3, 4, 2)], {"align_corners": 1, "padding_mode": "border"}, 1, ()),
    "gridsample cubic": ("GridSample", [f(1, 2, 5, 6), f(1, 3, 4, 2)], {"mode": "bicubic"}, 1, ()),
    "pad": ("Pad", [f(3, 4), i64([0, 2, 1, 0]), np.float32([7])], {}, 1, (1,)),
    "pad row": ("Pad", [f(3, 4), i64([[0, 2, 1, 0]])], {"mode": "reflect"}, 1, (1,)),
    "range": ("Range", [i32([1]), i32([9]), i32([3])], {}, 1, (0, 1, 2)),
    "range of real numbers": ("Range", [np.array(0.5, np.float32), np.array(3, np.float32)], {}, 1, ()),
    "unfold": ("UnfoldTensor", [f(2, 9, 3)], {"dim": 1, "size": 4, "step": 2}, 1, ()),
    "unfold last": ("UnfoldTensor", [f(2, 9)], {"size": 3}, 1, ()),
    "cdist": ("CDist", [f(4, 6), f(5, 6)], {"metric": "euclidean"}, 1, ()),
    "cdist squared": ("CDist", [f(4, 6), f(5, 6)], {"metric": "sqeuclidean"}, 1, ()),
    "nhwcmaxpool": (
        "NhwcMaxPool",
        [u8(1, 6, 6, 8)],
        {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]},
        1,
        (),
    ),
    "crop": (
        "CropAndResize",
        [
            f(2, 3, 6, 7),
            np.float32([[0.1, 0.2, 0.9, 0.7], [0, 0, 1, 1], [-0.2, 0.5, 0.4, 1.3]]),
            i32([0, 1, 1]),
            i32([4, 5]),
        ],
        {"extrapolation_value": 9.0},
        1,
        (3,),
    ),
    "crop to one": (
        "CropAndResize",
        [f(1, 2, 6, 7), np.float32([[0.1, 0.2, 0.9, 0.7]]), i32([0]), i32([1, 1])],
        {},
        1,
        (3,),
    ),
    "gated add": ("GatedAdd", [f(2, 3, 4), f(2, 3, 4), f(2, 3, 1)], {}, 1, ()),
    "scaled silu": ("ScaledSiLU", [f(2, 3)], {"alpha": 0.7}, 1, ()),
    "scaled silu by an input": ("ScaledSiLU", [f(2, 3), np.array(0.3, np.float32)], {}, 1, ()),
    "linear gate": ("LinearAttentionGate", [f(2, 3, 4), f(4), f(4), f(2, 3, 4)], {}, 2, ()),
    "gated norm": ("GatedRMSNorm", [f(2, 3, 8), f(4), f(2, 3, 8)], {"activation": "silu", "epsilon": 1e-6}, 1, ()),
    "branches": ("BranchwiseRMSNorm", [f(2, 3, 8), f(8)], {"num_branches": 2}, 1, ()),
    "branches apart": ("BranchwiseRMSNorm", [f(2, 3, 8), f(8)], {}, 1, ()),
    "fused, batches turned": ("FusedMatMul", [f(3, 2, 4), f(2, 4, 5)], {"transBatchA": 1}, 1, ()),
    "fused, all turned": (
        "FusedMatMul",
        [f(4, 2, 3), f(4, 2, 5)],
        {"transBatchA": 1, "transBatchB": 1, "transA": 1, "alpha": 2.0},
        1,
        (),
    ),
    "where": (
        "QLinearWhere",
        [f(3, 4) > 0, u8(3, 4), ONE, ZERO, u8(3, 1), ONE * 2, ZERO, ONE * 1.5, ZERO],
        {},
        1,
        (2, 3, 5, 6, 7, 8),
    ),
    "qconv": (
        "QLinearConv",
        [
            u8(1, 6, 6, 4),
            ONE,
            ZERO,
            u8(3, 4, 3, 3),
            scale(3),
            np.full(3, 128, np.uint8),
            ONE * 9,
            ZERO,
            i32([10, -30, 500]),
        ],
        {"channels_last": 1, "pads": [1, 1, 1, 1]},
        1,
        (1, 2, 3, 4, 5, 6, 7, 8),
    ),
    "qembed": (
        "QEmbedLayerNormalization",
        [
            i32([[1, 2, 0]]),
            i32([[0, 1, 1]]),
            u8(5, 8),
            u8(4, 8),
            u8(2, 8),
            u8(8),
            u8(8),
            i32([[1, 1, 0]]),
            *[ONE] * 5,
            *[ZERO] * 5,
        ],
        {},
        2,
        tuple(range(2, 7)) + tuple(range(8, 18)),
    ),
    "bits, order of rows": (
        "MatMulNBits",
        [f(3, 32), u8(4, 2, 8), scale(8), None, i32(RNG.permutation(32) // 16)],
        {"K": 32, "N": 4, "bits": 4, "block_size": 16},
        1,
        (1, 2, 4),
    ),
    "bits, 8": (
        "MatMulNBits",
        [f(3, 32), u8(4, 2, 16), scale(8)],
        {"K": 32, "N": 4, "bits": 8, "block_size": 16},
        1,
        (1, 2),
    ),
    "bits, 8 with zeros": (
        "MatMulNBits",
        [f(3, 32), u8(4, 2, 16), scale(8), u8(8)],
        {"K": 32, "N": 4, "bits": 8, "block_size": 16},
        1,
        (1, 2, 3),
    ),
    "bits, 2": (
        "MatMulNBits",
        [f(3, 64), u8(4, 2, 8), scale(8)],
        {"K": 64, "N": 4, "bits": 2, "block_size": 32},
        1,
        (1, 2),
    ),
    "bits, 2 with zeros": (
        "MatMulNBits",
        [f(3, 64), u8(4, 2, 8), scale(8), u8(4, 1)],
        {"K": 64, "N": 4, "bits": 2, "block_size": 32},
        1,
        (1, 2, 3),
    ),
    "bits, real zeros and a bias": (
        "MatMulNBits",
        [f(3, 32), u8(4, 2, 8), scale(8), RNG.uniform(6, 9, 8).astype(np.float32), None, f(4)],
        {"K": 32, "N": 4, "bits": 4, "block_size": 16},
        1,
        (1, 2, 3, 5),
    ),
    "bits, level 1": (
        "MatMulNBits",
        [f(2, 3, 32), u8(4, 2, 8), scale(8), u8(4)],
        {"K": 32, "N": 4, "bits": 4, "block_size": 16, "accuracy_level": 1},
        1,
        (1, 2, 3),
    ),
    "bnb fp4": (
        "MatMulBnb4",
        [f(3, 32), u8(64), scale(8)],
        {"K": 32, "N": 4, "quant_type": 0, "block_size": 16},
        1,
        (1, 2),
    ),
    "bnb nf4": (
        "MatMulBnb4",
        [f(3, 32), u8(64), scale(8)],
        {"K": 32, "N": 4, "quant_type": 1, "block_size": 16},
        1,
        (1, 2),
    ),
    "rows of 4 bits": (
        "GatherBlockQuantized",
        [u8(5, 16), i64([[1, 4], [0, -1]]), scale(5, 2)],
        {"bits": 4, "block_size": 16, "gather_axis": 0, "quantize_axis": 1},
        1,
        (0, 2),
    ),
    "rows of 4 bits with zeros": (
        "GatherBlockQuantized",
        [u8(5, 16), i64([1, 4]), scale(5, 2), u8(5, 1)],
        {"bits": 4, "block_size": 16, "gather_axis": 0, "quantize_axis": 1},
        1,
        (0, 2, 3),
    ),
    "rows of 8 bits": (
        "GatherBlockQuantized",
        [u8(5, 32), i32([1, 4]), scale(5, 2)],
        {"bits": 8, "block_size": 16, "gather_axis": 0, "quantize_axis": 1},
        1,
        (0, 2),
    ),
    "rows of 2 bits": (
        "GatherBlockQuantized",
        [u8(5, 8), i32([1, 4]), scale(5, 2)],
        {"bits": 2, "block_size": 16, "gather_axis": 0, "quantize_axis": 1},
        1,
        (0, 2),
    ),
}
for rule, more in {
    "linear": (),
    "gated": (f(2, 5, 2),),
    "delta": (None, f(2, 5, 2)),
    "gated_delta": (f(2, 5, 2), f(2, 5, 2)),
}.items():
    CASES[f"recurrence {rule}"] = (
        "LinearAttention",
        [f(2, 5, 8), f(2, 5, 8), f(2, 5, 6), f(2, 2, 4, 3), *(None if m is None else -np.abs(m) / 2 for m in more)],
        {"q_num_heads": 2, "kv_num_heads": 2, "update_rule": rule},
        2,
        (),
    )
CASES["causal convolution"] = (
    "CausalConvWithState",
    [f(2, 4, 6), f(4, 1, 3), f(4), f(2, 4, 2)],
    {"activation": "silu"},
    2,
    (),
)
for name, activation in (("relu", {}), ("silu", {}), ("gelu", {}), ("identity", {})):
    CASES[f"experts {name}"] = (
        "MoE",
        [f(6, 8), f(6, 4), f(4, 12, 8), f(4, 12), f(4, 8, 12), f(4, 8)],
        {"k": 2, "activation_type": name, "normalize_routing_weights": len(name) % 2} | activation,
        1,
        (),
    )
GATED = {"activation_type": "swiglu", "activation_alpha": 1.702, "activation_beta": 1.0, "swiglu_limit": 7.0, "k": 2}
CASES |= {
    "experts swiglu": (
        "MoE",
        [f(2, 3, 8), f(6, 4), f(4, 24, 8), f(4, 24), f(4, 8, 12), f(4, 8)],
        GATED | {"swiglu_fusion": 1, "normalize_routing_weights": 1},
        1,
        (),
    ),
    "experts of 4 bits": (
        "QMoE",
        [f(6, 32), f(6, 4), u8(4, 64, 16), scale(4, 64), f(4, 64), u8(4, 32, 16), scale(4, 32), f(4, 32)],
        GATED | {"swiglu_fusion": 1, "normalize_routing_weights": 1, "expert_weight_bits": 4},
        1,
        (2, 3, 4, 5, 6, 7),
    ),
    "experts of 8 bits": (
        "QMoE",
        [f(6, 32), f(6, 4), u8(4, 64, 32), scale(4, 64), f(4, 64), u8(4, 32, 32), scale(4, 32), f(4, 32)],
        GATED | {"swiglu_fusion": 1, "normalize_routing_weights": 1, "expert_weight_bits": 8},
        1,
        (2, 3, 4, 5, 6, 7),
    ),
    "experts in blocks": (
        "QMoE",
        [f(6, 32), f(6, 4), u8(4, 64, 16), scale(4, 64, 2), None, u8(4, 32, 16), scale(4, 32, 2)],
        GATED | {"swiglu_fusion": 1, "normalize_routing_weights": 1, "block_size": 16},
        1,
        (2, 3, 5, 6),
    ),
}
for direction in ("forward", "bidirectional"):
    n = 1 + (direction == "bidirectional")
    of_rows = (scale(n), np.full(n, 128, np.uint8))
    of_columns = (scale(n, 16), np.zeros((n, 16), np.int8))
    CASES |= {
        f"lstm {direction}": (
            "DynamicQuantizeLSTM",
            [f(5, 2, 3), u8(n, 3, 16), u8(n, 4, 16), f(n, 32), None, None, None, None, *of_rows, *of_rows],
            {"hidden_size": 4, "direction": direction},
            3,
            (1, 2, 3, 8, 9, 10, 11),
        ),
        f"lstm by columns {direction}": (
            "DynamicQuantizeLSTM",
            [
                f(5, 2, 3),
                # 7 bits only: ONNX Runtime's sums of two products have 16 bits on a processor without VNNI.
                i8(n, 3, 16) // 2,
                i8(n, 4, 16) // 2,
                f(n, 32),
                None,
                f(n, 2, 4),
                f(n, 2, 4),
                None,
                *of_columns,
                *of_columns,
            ],
            {"hidden_size": 4, "direction": direction},
            3,
            (1, 2, 3, 8, 9, 10, 11),
        ),
    }


@pytest.mark.parametrize("name", CASES)
def test_beside_onnx_runtime(name: str, tmp_path: Path) -> None:
    type, inputs, attributes, outputs, constants = CASES[name]
    model, fed = model_of(type, inputs, attributes, outputs, constants)
    for wanted, got in beside_onnx_runtime(model, fed, tmp_path):
        assert_close(got, wanted, atol=1e-5 * max(1.0, float(np.abs(wanted).max(initial=0))))


def test_every_operator_that_onnx_runtime_has_is_translated_or_refused_with_what_to_do() -> None:
    import onnxruntime
    from onnxruntime.capi import _pybind_state as known

    from irexec.frontends.onnx import refusals
    from irexec.frontends.onnx.registry import MICROSOFT, OF_ONNX, translators

    if not onnxruntime.__version__.startswith(refusals.RUNTIME):
        pytest.skip(f"the table is of ONNX Runtime {refusals.RUNTIME}, this is {onnxruntime.__version__}")
    everything = {schema.name for schema in known.get_all_operator_schema() if schema.domain == MICROSOFT}
    on_cpu = {
        kernel.op_name
        for kernel in known.get_all_opkernel_def()
        if (kernel.domain, kernel.provider) == (MICROSOFT, "CPUExecutionProvider")
    }
    translated = {type for domain, type, _ in translators() if domain == MICROSOFT} | set(OF_ONNX)
    assert not translated & refusals.ON_CPU.keys()
    assert translated | refusals.ON_CPU.keys() == on_cpu | {"SimplifiedLayerNormalization"}
    assert everything - on_cpu == refusals.ELSEWHERE


@pytest.mark.parametrize(
    ("type", "message", "hint"),
    [
        ("BeamSearch", "a loop over the steps of a decoder", "call it in a loop"),
        ("GroupNorm", "ONNX Runtime supports it on GPUs only", "for CPUs"),
    ],
)
def test_what_is_refused_states_what_to_do(type: str, message: str, hint: str, tmp_path: Path) -> None:
    model, _ = model_of(type, [f(3)], {}, 1)
    onnx.save(model, tmp_path / "model.onnx")
    (finding,) = irexec.validate(tmp_path / "model.onnx").errors
    assert finding.code == "F003" and message in finding.message and hint in (finding.hint or "")


def test_an_attribute_that_onnx_does_not_define_is_named(tmp_path: Path) -> None:
    type, inputs, attributes, outputs, _ = CASES["recurrence linear"]
    model, _ = model_of(type, inputs, attributes | {"state_window": 2}, outputs)
    onnx.save(model, tmp_path / "model.onnx")
    (finding,) = irexec.validate(tmp_path / "model.onnx").errors
    assert (finding.code, finding.attribute) == ("F009", "state_window")
