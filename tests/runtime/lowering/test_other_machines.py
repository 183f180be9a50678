"""Compiled code for machines with shorter vectors and fewer registers than this one: the same tests pass there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.instructions import IS_X86
from support.waiting import PATIENCE

pytestmark = [pytest.mark.any_python, pytest.mark.in_ci("repeats tests for other processors")]

FOLDER = Path(__file__).parent
COMPILED = [
    "convolution", "attention", "recurrence", "contiguous", "rows", "fusion", "quantized", "packed",
    "packed_convolution", "narrow", "transposed", "group_normalization",
]  # fmt: skip
AS_ANOTHER = """
import sys
import pytest
from llvmlite import binding

name, without = sys.argv[1], tuple(sys.argv[2].split(","))
features = binding.get_host_cpu_features()
for feature in features:
    if feature.startswith(without):
        features[feature] = False
binding.get_host_cpu_features = lambda: features
binding.get_host_cpu_name = lambda: name
sys.exit(pytest.main(["-q", "-x", "-p", "no:cacheprovider", *sys.argv[3:]]))
"""


@pytest.mark.skipif(not IS_X86, reason="the other machines are of this kind")
@pytest.mark.parametrize(
    ("name", "without"),
    [("haswell", "avx512,avx10"), ("nehalem", "avx,fma,f16c,xop,vaes,vpclmulqdq")],
    ids=["8 lanes", "4 lanes"],
)
def test_compiled_code_for_it_computes_the_same(name: str, without: str) -> None:
    files = [str(FOLDER / f"test_{name}.py") for name in COMPILED]
    command = [sys.executable, "-c", AS_ANOTHER, name, without, *files]
    fewer = {name: value for name, value in os.environ.items() if name != "CI"}  # The cases of a run by hand suffice.
    done = subprocess.run(command, cwd=FOLDER.parents[2], env=fewer, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
