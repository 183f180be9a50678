"""Real models with random weights, exported by the test: they have no findings, and compute the same as in OpenVINO.

Some of the hundred models of benchmarks/exports.py, one of each kind.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support import exported

import irexec

pytestmark = pytest.mark.models

ov = pytest.importorskip("openvino")
pytest.importorskip("torch", reason="exports real models: pip install '.[models]'")

# The same precision on both sides: no bfloat16, no dynamic quantization of activations.
PLAIN = {"INFERENCE_PRECISION_HINT": "f32", "DYNAMIC_QUANTIZATION_GROUP_SIZE": "0"}

CHOSEN = [
    "torchvision/shufflenet_v2_x0_5",
    "timm/lcnet_035",
    "transformers/llama",
    "transformers/bart",
    "transformers/mamba",
    "transformers/vit",
    "nncf/int8",
    *(f"nncf/{kind}" for kind in exported.NNCF if kind.startswith(("int4", "nf4", "fp8", "mxfp4"))),
]


def results(model: exported.Exported, kind: str, path: Path) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return the results of OpenVINO for a variant of a model, and of irexec for the file at `path`."""
    theirs = ov.Core().compile_model(model.files[kind], "CPU", PLAIN)(model.inputs[kind])
    ours = irexec.compile_model(path)(model.inputs[kind])
    return [theirs[i] for i in range(len(theirs))], [ours[i] for i in range(len(theirs))]


def assert_close(ours: list[np.ndarray], theirs: list[np.ndarray], relative: float) -> None:
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, other, rtol=relative, atol=relative * float(np.abs(other).max()))


@pytest.mark.parametrize("name", CHOSEN)
def test_a_model_is_right_and_computes_what_openvino_does(name: str, tmp_path: Path) -> None:
    library = name.partition("/")[0]
    if library in ("torchvision", "timm"):
        exported.import_torchvision()
    pytest.importorskip(library, reason=f"exports a model of {library}: pip install '.[models]'")
    model = exported.export(name, tmp_path)
    assert {"dynamic", "f16"} <= model.files.keys()
    for kind, path in model.files.items():
        assert irexec.validate(path).diagnostics == [], kind
        theirs, ours = results(model, kind, path)
        relative = 1e-4
        if name.startswith(("nncf/int4", "nncf/nf4")):
            # The file specifies that weights are decompressed in f16; OpenVINO decompresses them in f32.
            assert_close(ours, theirs, 2e-3)
            theirs, ours = results(model, kind, exported.widened(path))
            # Its Gather rounds the values of nf4 to f16 nevertheless.
            relative = 5e-4 if name == "nncf/nf4" else 1e-4
        assert_close(ours, theirs, relative)


def test_all_names_differ_and_are_enough() -> None:
    assert len(set(exported.NAMES)) == len(exported.NAMES) >= 60
