"""A command of many runs that is interrupted, and the files that it leaves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from support.nets import Net
from support.programs import environment
from support.waiting import PATIENCE, until

# All runs except those of the first 2000 samples wait for a file `go`.
HELD = """import os, time
from typing import Annotated

import irexec
from irexec.ops.spec.operator import Elements
from irexec.core.types import Array, F32

Float = Annotated[Array, Elements("T", {F32})]


@irexec.operator("Held", "mine", shapes=lambda check, x: x.shape)
def held(x: Float, /) -> Float:
    while x.any() and not os.path.exists(GO):
        time.sleep(0.01)
    return x
"""
# In a shell's background SIGINT is ignored, which child processes inherit.
INTERRUPTIBLE = """import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from irexec.cli.start import start
sys.exit(start())
"""


def interrupted(folder: Path, options: Sequence[str], sent: signal.Signals = signal.SIGINT) -> str:
    """Run a model on many inputs in `folder`, send a signal to all its processes, check the files, and return the
    output.
    """
    (folder / "held.py").write_text(HELD.replace("GO", repr(str(folder / "go"))))
    net = Net()
    net.result(net.layer("Held", [net.parameter("x", "1,2", tensor="x")], "1,2", version="mine", tensor="y"))
    (folder / "held.xml").write_text(net.text)
    np.savez(folder / "large.npz", x=np.repeat(np.float32([0, 1]), [4000, 8]).reshape(2004, 2))
    command = ["run", "held.xml", "--extension", "held.py", "--inputs", "large.npz", "--save", "out"]
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTIBLE, *command, "--resume", "log.jsonl", *options],
        env=environment(),
        cwd=folder, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    until(lambda: len(list(folder.glob("out/*.npz"))) >= 3 or process.poll() is not None, "there are results")
    os.killpg(process.pid, sent)
    _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, said
    # A file that a worker was writing, or is still writing, has another name until it is complete.
    files = sorted(folder.glob("out/*.npz"))
    assert 3 <= len(files) <= 2004
    assert all(np.load(file)["y"].shape == (1, 2) for file in files)
    lines = (folder / "log.jsonl").read_text().splitlines()
    items = {json.loads(line)["item"].removeprefix(f"{folder}{os.sep}") for line in lines}
    assert items <= {f"large.npz:{int(file.stem)}" for file in files}
    return said
