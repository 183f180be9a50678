"""The scripts of reproducers: they give the runtime the values of the case, in its element types."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.waiting import PATIENCE

import irexec
from irexec.tools.conformance.defendant import Answer
from irexec.tools.conformance.made import case_named
from irexec.tools.conformance.reduced import write_reproducer
from irexec.tools.conformance.verdict import Verdict

pytest.importorskip("openvino")


def test_a_script_gives_openvino_the_values_of_bf16(tmp_path: Path) -> None:
    """Abs is exact in bf16 on every processor, whatever OpenVINO computes it in."""
    case = case_named("Abs-1/bf16/x=[2,3]@1,0/seed1")
    right = irexec.compile_model(case.model)(case.inputs[0])[0]
    answer = Answer("results", [[right + right]])
    config = {"device": "CPU", "INFERENCE_PRECISION_HINT": "f32"}
    script = write_reproducer(tmp_path, case, answer, Verdict("wrong", "twice"), "openvino", config, PATIENCE)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.stdout.splitlines()[-1] == "not here", done.stdout
