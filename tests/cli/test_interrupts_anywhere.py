"""Ctrl-C at a random moment of every command: it ends as usual or with exit code 130, and never crashes.

INTERRUPTS is the number of tries of each command: `INTERRUPTS=60 CI=true pytest tests/cli/test_interrupts_anywhere.py`
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.programs import environment
from support.waiting import PATIENCE

pytestmark = [
    pytest.mark.processes,
    pytest.mark.in_ci("interrupts every command many times"),
    pytest.mark.skipif(os.name == "nt", reason="signals as on POSIX"),
]

TRIES = int(os.environ.get("INTERRUPTS", "2"))
SAMPLES = Path(__file__).parents[2] / "samples"
MODEL = str(SAMPLES / "classifier" / "model.xml")
SHAPE = ("--shape", "image=1,3,32,32")
COMMANDS = {
    "validate": ("validate", MODEL),
    "validate many": ("validate", MODEL, str(SAMPLES / "wrong.xml"), "-j", "2"),
    "run": ("run", MODEL, *SHAPE),
    "compare": ("compare", MODEL, "--with", MODEL, *SHAPE),
    "compare with OpenVINO": ("compare", MODEL, "--with", "openvino", *SHAPE),
    "show": ("show", MODEL),
    "shapes": ("shapes", MODEL),
    "report": ("report", MODEL, "-o", "page.html"),
    "diff": ("diff", MODEL, MODEL),
    "cut": ("cut", MODEL, "--around", "conv", "-o", "part.xml"),
    "convert": ("convert", MODEL, "-o", "new.xml"),
    "fix": ("fix", str(SAMPLES / "wrong.xml"), "--diff"),
    "doctest": ("doctest", str(SAMPLES.parent / "docs" / "index.md")),
    "reduce": ("reduce", MODEL, "--check", "false {}", *SHAPE, "-o", "small.xml"),
    "sensitivity": ("sensitivity", MODEL, "--as", "f16", *SHAPE),
    "passes": ("passes", MODEL, *SHAPE),
    "bundle": ("bundle", "small.xml"),
    "bisect": ("bisect", MODEL, "--settings", *SHAPE),
    "conformance": ("conformance", "--only", "Abs*", "--cases", "1"),
    "ops": ("ops",),
    "explain": ("explain", "D001"),
    "schema": ("schema", "-o", "schema.json"),
    "completion": ("completion", "bash"),
    "lsp": ("lsp",),
}
# The handlers are there as soon as the first line is printed.
BEGIN = """import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from irexec.cli.start import start
from irexec.cli import interrupts
interrupts.install()
print("up", file=sys.stderr, flush=True)
sys.exit(start())
"""


def interrupted(words: tuple[str, ...], folder: Path, after: float) -> tuple[int, str, float]:
    """Interrupt a command after some seconds; return its exit code, its errors and the seconds that it took."""
    process = subprocess.Popen(
        [sys.executable, "-c", BEGIN, *words], cwd=folder, env=environment(), start_new_session=True, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stderr is not None and process.stderr.readline() == "up\n"
    begun = time.monotonic()
    try:
        process.wait(after)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE)
    return process.returncode, errors, time.monotonic() - begun


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_ends(command: str, tmp_path: Path) -> None:
    if "openvino" in COMMANDS[command] or command in ("passes", "bisect"):
        pytest.importorskip("openvino")
    if command == "bundle":
        interrupted(COMMANDS["reduce"], tmp_path, PATIENCE)
    usual, _, takes = interrupted(COMMANDS[command], tmp_path, PATIENCE)
    drawn = random.Random(command)
    for _ in range(TRIES):
        after = drawn.uniform(0, min(takes, 1.5))
        code, errors, _ = interrupted(COMMANDS[command], tmp_path, after)
        assert code in (usual, 130), (after, errors)
        assert "Traceback" not in errors, (after, errors)
