"""Child processes: the exchanged data, the outcome of a crash and a hang, and their end."""

from __future__ import annotations

import os
import signal
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from support.programs import environment, run_python
from support.tasks import drops_exceptions, no_more
from support.waiting import until

from irexec.runtime.processes.calls import decoded, encoded
from irexec.runtime.processes.child import Child
from irexec.runtime.processes.worker import Ended

pytestmark = pytest.mark.processes


def test_large_arrays_are_passed_outside_of_the_pickle() -> None:
    array = np.arange(1 << 16, dtype=np.float32).reshape(256, 256)
    parts = encoded({"a": array, "b": array[:, ::2]})
    assert len(parts) == 2 and len(parts[0]) < 3 * array.nbytes
    assert np.shares_memory(np.frombuffer(parts[1], np.float32), array)
    found = decoded([part.copy() for part in parts])
    np.testing.assert_array_equal(found["a"], array)
    np.testing.assert_array_equal(found["b"], array[:, ::2])
    assert found["a"].flags.writeable


def test_calls_are_answered_in_their_order() -> None:
    child = Child()
    for number in range(3):
        child.send(partial(divmod, 7, number))
    with pytest.raises(ZeroDivisionError):
        child.receive()
    assert [child.receive(), child.receive()] == [(7, 0), (3, 1)]
    child.worker.close()


def test_what_a_call_prints_is_not_an_answer(capfd: pytest.CaptureFixture[str]) -> None:
    child = Child()
    child.call(print, "printed")
    assert child.call(os.write, 1, b"written\n") == 8
    assert child.call(os.read, 0, 1) == b""
    child.worker.close()
    assert sorted(capfd.readouterr().err.split()) == ["printed", "written"]


def test_a_crash_and_a_hang_are_reported() -> None:
    child = Child(quiet=True)
    child.call(os.write, 2, b"the last words\n")
    with pytest.raises(Ended, match=r"^crashed \(SIGABRT\): ") as caught:
        child.call(os.abort)
    assert caught.value.how == "crash"
    assert child.call(len, "") == 0  # In another process.
    child = Child()
    with pytest.raises(Ended, match=r"^did not respond within 0.5 s$") as caught:
        child.call(time.sleep, 600, limit=0.5)
    assert caught.value.how == "hang"


def test_an_exception_that_cannot_be_pickled_is_reported_with_its_words() -> None:
    child = Child()
    with pytest.raises(RuntimeError, match="Unsendable: a lock"):
        child.call(exec, "import threading\nclass Unsendable(Exception): pass\nraise Unsendable('a lock')")
    with pytest.raises(EOFError):
        child.call(no_more)
    assert child.call(len, "abc") == 3
    child.worker.close()


@pytest.mark.skipif(os.name == "nt", reason="signals as on POSIX")
def test_sigterm_ends_a_call_that_drops_the_exception(tmp_path: Path) -> None:
    """Compiled code and destructors drop exceptions. The process ends after that call, without an answer."""
    child = Child()
    child.send(partial(drops_exceptions, str(tmp_path / "begun")))
    until((tmp_path / "begun").exists, "the call has begun")
    child.worker.stop()
    with pytest.raises(Ended, match=r"exit code 143"):
        child.receive()


# The second call hangs where no Python thread can interrupt it.
ORPHAN = """import os, sys, time
from functools import partial
from irexec.runtime.processes.child import Child

child = Child()
print(child.call(os.getpid), flush=True)
child.send(partial(CALL), 1)
time.sleep(1)
os._exit(0)
"""


@pytest.mark.skipif(os.name == "nt", reason="process numbers as on POSIX")
@pytest.mark.parametrize("call", ["time.sleep, 600", 'exec, \'import re; re.match("(a*)*b", "a" * 60)\''])
def test_a_child_leaves_when_its_parent_is_gone(call: str) -> None:
    # The output ends when no process has it open any more: the child has also ended.
    done = run_python("-c", ORPHAN.replace("CALL", call), env=environment())
    assert done.stdout.strip().isdecimal(), done.stderr


PROGRAM = """import sys
from dataclasses import dataclass

from irexec.runtime.processes.child import Child

print("run as", __name__, file=sys.stderr)


@dataclass
class Mine:
    number: int

    def more(self):
        return Mine(self.number + 1)


if __name__ == "__main__":
    child = Child()
    assert child.call(len, "abc") == 3
    print(child.call(Mine.more, Mine(1)) == Mine(2))
    child.worker.close()
"""


@pytest.mark.parametrize("as_module", [False, True])
def test_classes_of_the_program_itself_cross(as_module: bool, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    how = ["-m", "program"] if as_module else [str(tmp_path / "program.py")]
    done = run_python(*how, cwd=tmp_path, env=environment())
    assert (done.stdout, done.stderr.splitlines()) == ("True\n", ["run as __main__", "run as __mp_main__"])


def test_a_child_imports_what_its_parent_imports_but_not_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", ".", str(tmp_path / "whole"), *sys.path])
    child = Child()
    path = child.call(eval, "__import__('sys').path")
    assert path == [entry for entry in sys.path if entry not in ("", ".")]
    assert child.call(os.getcwd) == str(tmp_path)
    assert child.call(os.getsid, 0) == child.worker.pid
    assert child.call(signal.getsignal, signal.SIGINT) == signal.SIG_IGN
    child.worker.close()
