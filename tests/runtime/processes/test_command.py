"""The user's programs: exit codes, time limits, and where they are searched."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.waiting import PATIENCE

from irexec.runtime.processes.starting import outcome

pytestmark = pytest.mark.processes


def test_the_exit_code_comes_back() -> None:
    assert outcome([sys.executable, "-c", "print(1, flush=True)\nraise SystemExit('two')"], PATIENCE) == (1, "1\ntwo\n")
    assert outcome([sys.executable, "-c", "raise SystemExit(7)"], PATIENCE) == (7, "")


@pytest.mark.skipif(os.name == "nt", reason="sessions as on POSIX")
def test_one_that_does_not_end_is_ended_with_what_it_has_started(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    starts = f"import os, time; os.open({str(pipe)!r}, os.O_WRONLY); os.fork(); time.sleep(600)"
    with ThreadPoolExecutor(1) as threads:
        # The pipe ends when both have ended.
        read = threads.submit(pipe.read_bytes)
        assert outcome([sys.executable, "-c", starts], 3)[0] is None
        assert read.result(PATIENCE) == b""


@pytest.mark.skipif(os.name == "nt", reason="Windows looks in the current folder by itself")
def test_a_program_is_not_looked_for_in_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "mine"
    program.write_text("#!/bin/sh\nexit 5\n")
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.pathsep.join(["", ".", "/nowhere"]))
    with pytest.raises(FileNotFoundError):
        outcome(["mine"], PATIENCE)
    assert outcome(["./mine"], PATIENCE)[0] == 5
    monkeypatch.setenv("PATH", str(tmp_path))
    assert outcome(["mine"], PATIENCE)[0] == 5
