"""The start of a command's process: a short process hardly collects garbage, a long-running process does."""

from __future__ import annotations

import subprocess
import sys

import pytest
from support.waiting import PATIENCE

USUAL = "import gc, sys\nusual = gc.get_threshold()\n"


def told(code: str) -> str:
    """Return the output of a process."""
    done = subprocess.run([sys.executable, "-c", USUAL + code], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.by_hand(0)
def test_a_server_looks_for_garbage_as_often_as_any_python_process() -> None:
    pytest.importorskip("pygls", reason="the language server is the extra irexec[lsp]")
    code = """
import irexec.cli.start as start
import irexec.lsp.server as server
def serve(*_):
    print(gc.get_threshold() == usual, gc.isenabled(), gc.get_freeze_count() > 10_000, file=sys.__stdout__)
server.Server.start_io = serve
sys.argv = ["irexec", "lsp"]
start.start()
"""
    assert told(code).split() == ["True", "True", "True"]


def test_a_short_command_does_not() -> None:
    code = """
import irexec.cli.start as start
import irexec.cli.explain as explain
explain.run = lambda _: print(gc.get_threshold()[0] > 10 * usual[0]) or 0
sys.argv = ["irexec", "explain", "P004"]
start.start()
"""
    assert told(code).split() == ["True"]
