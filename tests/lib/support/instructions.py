"""The instructions of the processor, and what OpenVINO cannot compute without some of them."""

from __future__ import annotations

import os
import platform

import numpy as np
import pytest

IS_X86 = platform.machine().lower() in ("x86_64", "amd64")
# What OpenVINO 2026.4.1 computes wrongly or not at all with the instructions before AVX2: operator → the deviation.
WITHOUT_AVX2 = {
    "GroupNormalization-12": "has no kernel",
    "PagedAttentionExtension": "has no kernel",
    "Interpolate-1": "reads other memory for `linear`",
    "RDFT-9": "gives wrong imaginary parts over several axes",
    "IRDFT-9": "gives wrong values over several axes",
    "SoftSign-9": "gives 1 everywhere",
    **dict.fromkeys(("I420toBGR-8", "I420toRGB-8", "NV12toBGR-8", "NV12toRGB-8"), "gives wrong channels"),
}


def found() -> set[str]:
    """Return NumPy's names of the instructions of this processor."""
    instructions = np.show_config(mode="dicts")["SIMD Extensions"]
    return {*instructions.get("baseline", ()), *instructions.get("found", ())}


def has_avx2() -> bool:
    """Return whether OpenVINO's CPU plugin may use AVX2: the processor has it, and no variable forbids it."""
    return bool({"AVX2", "X86_V3"} & found()) and os.environ.get("OV_CPU_MAX_ISA") not in ("SSE41", "SSE42", "AVX")


def rounds_bf16() -> bool:
    """Return whether OpenVINO rounds results to the nearest bf16: before AVX-512, some become the neighbour."""
    lowered = os.environ.get("OV_CPU_MAX_ISA") or "AVX512_CORE"
    return bool({"AVX512F", "X86_V4"} & found()) and lowered.startswith("AVX512")


def skip_unless_computed(name: str) -> None:
    """Skip a test where OpenVINO's CPU plugin computes an operator wrongly with the instructions of this processor."""
    if IS_X86 and name in WITHOUT_AVX2 and not has_avx2():
        pytest.skip(f"OpenVINO's {name} {WITHOUT_AVX2[name]} without AVX2")
