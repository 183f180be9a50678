"""Model API, optimum-intel and sentence-transformers with irexec in OpenVINO's place: the same results."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.clients import STEPS
from support.waiting import PATIENCE

pytest.importorskip("openvino")
pytest.importorskip("optimum.intel")
pytestmark = pytest.mark.models

SUPPORT = Path(__file__).parents[2] / "lib" / "support"
ROOT = Path(__file__).parents[3]


def run(*arguments: object) -> str:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "NO_TELEMETRY": "1", "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stderr.strip().splitlines()[-1]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any]]:
    folder = tmp_path_factory.mktemp("models")
    steps = SUPPORT / "clients.py"
    run(steps, folder, "export")
    return json.loads(run(steps, folder)), json.loads(run(SUPPORT / "in_openvinos_place.py", steps, folder))


@pytest.mark.parametrize("name", STEPS)
def test_a_client_finds_the_same(results: tuple[dict[str, Any], dict[str, Any]], name: str) -> None:
    theirs, mine = results
    if name not in theirs:
        pytest.skip("the library of this step is not installed")
    if name == "model api classifies":
        assert [label for label, _ in mine[name]] == [label for label, _ in theirs[name]]
        mine, theirs = ({name: [score for _, score in found[name]]} for found in (mine, theirs))
    # Products of compressed weights and scales are f16 in the file, and irexec rounds them; OpenVINO's device computes
    # them in f32: see test_quantization.py.
    tolerance = 1e-4 if name == "optimum compresses to 8 bits" else 1e-5
    np.testing.assert_allclose(mine[name], theirs[name], rtol=1e-4, atol=tolerance)
