"""NNCF with irexec in OpenVINO's place: the same layers and the same constants as with OpenVINO."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.waiting import PATIENCE

pytest.importorskip("nncf")
pytest.importorskip("openvino")
pytestmark = pytest.mark.models

SUPPORT = Path(__file__).parents[2] / "lib" / "support"
ROOT = Path(__file__).parents[3]


def run(*arguments: Path) -> dict[str, list[Any]]:
    """Return the layers of each path's model, in a new process."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "NO_TELEMETRY": "1"}
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, list[Any]] = json.loads(done.stderr.strip().splitlines()[-1])
    return found


def test_nncf_makes_the_same_of_a_model_with_irexec() -> None:
    paths = SUPPORT / "nncf_paths.py"
    theirs, mine = run(paths), run(SUPPORT / "in_openvinos_place.py", paths)
    assert mine.keys() == theirs.keys()
    for name, layers in theirs.items():
        assert [layer[:2] for layer in mine[name]] == [layer[:2] for layer in layers], name
        for (type, kind, values), (_, _, wanted) in zip(mine[name], layers, strict=True):
            if wanted is None:
                continue
            if kind in ("f32", "f16"):
                # Statistics are sums of products, whose order differs.
                np.testing.assert_allclose(values, wanted, rtol=1e-4, atol=1e-6, err_msg=f"{name}: {type}")
            else:
                assert values == wanted, name
