"""The commands of the README in an installation without any extra: no optional package is imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.waiting import PATIENCE

ROOT = Path(__file__).parents[1]
OPTIONAL = (
    "llvmlite",
    "onnx",
    "onnxruntime",
    "openvino",
    "torch",
    "PIL",
    "distributed",
    "regex",
    "jinja2",
    "pygls",
    "lsprotocol",
)
# A module that is None cannot be imported.
BARE = (
    f"import sys; sys.modules.update(dict.fromkeys({OPTIONAL!r})); from irexec.cli.main import main; sys.exit(main())"
)
CLASSIFIER = "samples/classifier/model.xml"


@pytest.mark.by_hand(2)
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["run", CLASSIFIER, "--input", "image=samples/classifier/image.npy"], 0),
        (["validate", "samples/wrong.xml"], 1),
        (["compare", CLASSIFIER, "--with", "samples/converted/model.xml"], 1),
        (["report", CLASSIFIER, "-o", "{}/report.html"], 0),
        (["shapes", CLASSIFIER], 0),
        (["show", CLASSIFIER], 0),
        (["doctest", "samples/scatter_nd_update"], 1),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_command_needs_no_extra(arguments: list[str], code: int, tmp_path: Path) -> None:
    command = [sys.executable, "-c", BARE, *(word.replace("{}", str(tmp_path)) for word in arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == code, done.stdout + done.stderr
    assert "internal error" not in done.stderr
