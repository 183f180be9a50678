"""The committed reproducers: each has its files, and the page is the output of the script for them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import irexec
from irexec.tools.conformance.defendant import Answer
from irexec.tools.conformance.made import case_named
from irexec.tools.conformance.reduced import write_reproducer
from irexec.tools.conformance.verdict import Verdict

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "conformance" / "reproducers"

pytestmark = pytest.mark.any_python


def test_each_script_has_a_model_that_irexec_reads() -> None:
    scripts = sorted(FOLDER.glob("*.py"))
    assert len(scripts) >= 15
    for script in scripts:
        assert irexec.read_model(script.with_suffix(".xml")).outputs
        assert (
            Path(f"{script.with_suffix('')}.expected.npz").is_file() and Path(f"{script.with_suffix('')}.npz").is_file()
        )


def test_a_script_gives_openvino_the_values_of_bf16(tmp_path: Path) -> None:
    """Abs is exact in bf16 on every processor, whatever OpenVINO computes it in."""
    case = case_named("Abs-1/bf16/x=[2,3]@1,0/seed1")
    right = irexec.compile_model(case.model)(case.inputs[0])[0]
    answer = Answer("results", [[right + right]])
    config = {"device": "CPU", "INFERENCE_PRECISION_HINT": "f32"}
    script = write_reproducer(tmp_path, case, answer, Verdict("wrong", "twice"), "openvino", config, 60.0)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, timeout=100)
    assert done.stdout.splitlines()[-1] == "not here", done.stdout


def test_the_page_is_made_of_them() -> None:
    command = [sys.executable, ROOT / "benchmarks" / "conformance_reproducers.py"]
    made = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    assert made == (ROOT / "docs" / "conformance" / "reproducers.md").read_text("utf-8")
