"""Ctrl-C and SIGTERM: exit code 130 and no output, at any moment of a command."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.waiting import PATIENCE

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals as on POSIX")

MODEL = str(Path(__file__).parents[2] / "samples" / "classifier" / "model.xml")
# In a shell's background SIGINT is ignored, which child processes inherit.
BEGIN = """import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from irexec.cli.start import start
"""
# The signal is sent at an import: the first imports are those of `start`.
AT_IMPORT = """
left = int(sys.argv.pop(1))

def count(event, arguments):
    global left
    if event == "import":
        left -= 1
        if left == 0:
            os.kill(os.getpid(), SENT)

sys.addaudithook(count)
sys.exit(start())
"""


def run(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=PATIENCE, check=False
    )


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("at", [1, 2, 3, 5, 9, 20, 40, 80])
def test_while_it_starts(at: int, sent: signal.Signals) -> None:
    done = run(BEGIN + AT_IMPORT.replace("SENT", str(int(sent))), str(at), "validate", MODEL)
    assert (done.returncode, done.stderr) == (130, "")


def of_command(work: str, end: str = "sys.exit(start())") -> subprocess.CompletedProcess[str]:
    """Run `irexec explain`, which does other work instead."""
    patched = "from irexec.cli import explain\n" + work + "\nexplain.run = work\nsys.argv[1:] = ['explain']\n"
    return run(BEGIN + patched + end)


SEND = "os.kill(os.getpid(), {})"
WORKS = {
    "at once": "def work(args):\n    {send}\n    return 0",
    "in a destructor, where Python drops what is raised": """
class Object:
    def __del__(self):
        {send}

def work(args):
    Object()
    import time
    time.sleep(600)
    return 0""",
    "and what fails then fails because of it": """
def work(args):
    try:
        {send}
    except KeyboardInterrupt:
        raise ImportError("half of a module") from None""",
    "and is passed over": """
def work(args):
    try:
        {send}
    except BaseException:
        return 0""",
    "again, while it is put in order": """
def work(args):
    try:
        {send}
    finally:
        {send}
        print("this is not reached", file=sys.stderr)""",
}


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("work", WORKS)
def test_while_it_works(work: str, sent: signal.Signals) -> None:
    done = of_command(WORKS[work].replace("{send}", SEND.format(int(sent))))
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


ENDS = {
    "after the command": ("code = start()\n{send}\nsys.exit(code)", 130),
    "in what others do at the end": (
        "import atexit\ncode = start()\natexit.register(lambda: {send})\nsys.exit(code)",
        130,
    ),
    "when Python takes itself apart": ("import atexit\natexit.register(lambda: {send})\nsys.exit(start())", 0),
}


@pytest.mark.parametrize("end", ENDS)
def test_while_it_ends(end: str) -> None:
    """Functions that were registered before irexec run after it, when nothing remains to be interrupted."""
    code, expected = ENDS[end]
    done = of_command("def work(args):\n    return 0", code.replace("{send}", SEND.format(int(signal.SIGINT))))
    assert (done.returncode, done.stderr) == (expected, "")


def test_files_are_whole_or_not_there(tmp_path: Path) -> None:
    work = f"""
def work(args):
    from irexec.ir.io.writing import together
    with together() as files, files.create({str(tmp_path / "whole")!r}) as stream:
        stream.write(b"half")
        {SEND.format(int(signal.SIGTERM))}
    return 0"""
    assert of_command(work).returncode == 130
    assert list(tmp_path.iterdir()) == []


def test_a_signal_that_is_ignored_stays_so() -> None:
    """The signal is ignored as by `nohup` and shell scripts."""
    code = BEGIN.replace("default_int_handler", "SIG_IGN")
    work = f"from irexec.cli import explain\nexplain.run = lambda args: {SEND.format(int(signal.SIGINT))} or 0\n"
    done = run(code + work + "sys.argv[1:] = ['explain']\nsys.exit(start())")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("arguments", [["explain"], ["--version"], ["validate", MODEL]])
def test_importing_the_command_changes_no_handler(arguments: Sequence[str]) -> None:
    """Only the command's own process has the handlers: a program that uses irexec keeps its own."""
    code = "import signal, sys\nbefore = signal.getsignal(2), signal.getsignal(15), sys.unraisablehook\n"
    code += "import irexec.cli.start, irexec.cli.main\n"
    code += "try:\n    irexec.cli.main.main(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
    code += "assert before == (signal.getsignal(2), signal.getsignal(15), sys.unraisablehook)"
    done = run(code, *arguments)
    assert (done.returncode, done.stderr) == (0, "")


def test_before_that_little_is_imported() -> None:
    """Until `start` is called, an interrupt prints the interpreter's traceback."""
    code = "import sys\nbefore = set(sys.modules)\nimport irexec.cli.start\nprint(*sorted(set(sys.modules) - before))"
    own = {
        "__future__",
        "atexit",
        "gc",
        "irexec",
        "irexec.api",
        "irexec.api.aliases",
        "irexec.cli",
        "irexec.cli.interrupts",
        "irexec.cli.start",
        "irexec.version",
    }
    assert set(run(code).stdout.split()) <= own


STARTS = """
import _signal, importlib.machinery
real = importlib.machinery.ExtensionFileLoader.exec_module

def interrupted(self, module):
    if self.name == NAME:
        os.kill(os.getpid(), SENT)
        for _ in range(100):
            pass
        print("started", flush=True)
    return real(self, module)

importlib.machinery.ExtensionFileLoader.exec_module = interrupted
sys.exit(start())
"""


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("name", ["ml_dtypes._ml_dtypes_ext", "numpy.core._multiarray_umath"])
def test_an_extension_is_started_as_a_whole(name: str, sent: signal.Signals) -> None:
    """NumPy is loaded inside the start of some extensions, which crash if it is interrupted."""
    if name.startswith("numpy"):
        import numpy

        name = next(m for m in sys.modules if m.endswith("._multiarray_umath") and numpy.__name__ in m)
    code = BEGIN + STARTS.replace("NAME", repr(name)).replace("SENT", str(int(sent)))
    done = run(code, "compare", MODEL, "--with", MODEL, "--shape", "image=1,3,32,32")
    assert (done.returncode, done.stdout, done.stderr) == (130, "started\n", "")
