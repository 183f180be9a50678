"""`gather`: the order of outcomes, errors, workers that die, and resuming from a log."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from pickle import PicklingError
from typing import Any

import pytest
from support.programs import environment, run_python
from support.tasks import Held, Threads, Words, no_more
from support.waiting import PATIENCE, until

import irexec
from irexec.tools import parallel
from irexec.tools.parallel import processes

pytestmark = pytest.mark.processes


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Ten files of two words each."""
    for number in range(10):
        (tmp_path / f"{number}.txt").write_text(f"file {number}")
    return [str(tmp_path / f"{number}.txt") for number in range(10)]


EXECUTORS: dict[str, Callable[[], Executor]] = {
    "threads": lambda: ThreadPoolExecutor(3),
    "the standard library's processes": lambda: ProcessPoolExecutor(2, get_context("spawn")),
    "processes": lambda: parallel.Processes(2),
}


@pytest.fixture(params=["here", *EXECUTORS])
def executor(request: pytest.FixtureRequest) -> Iterator[Executor | None]:
    if request.param == "here":
        yield None
        return
    with EXECUTORS[request.param]() as workers:
        yield workers


def test_outcomes_in_the_order_of_the_items(files: list[str], executor: Executor | None) -> None:
    done: list[str] = []
    outcomes = list(parallel.gather(Words(), files, executor, done=lambda outcome: done.append(outcome.item)))
    assert [outcome.item for outcome in outcomes] == files
    assert [outcome.result for outcome in outcomes] == [["file", str(number)] for number in range(10)]
    assert sorted(done) == files


def test_an_error_is_the_outcome_of_its_item(files: list[str], executor: Executor | None) -> None:
    Path(files[2]).write_text("raise")
    Path(files[3]).write_text("leave")
    Path(files[4]).unlink()
    outcomes = list(parallel.gather(Words(), files, executor))
    failed = [outcome for outcome in outcomes if outcome.error is not None]
    assert [outcome.item for outcome in failed] == files[2:5]
    messages = [finding.message for outcome in failed for finding in outcome.report]
    assert messages[0] == "there is no result: ValueError: no words"
    assert "SystemExit" in messages[1] and "FileNotFoundError" in messages[2]
    assert {(d.code, d.file) for o in failed for d in o.report} == {("U008", file) for file in files[2:5]}
    assert sum(outcome.result is not None for outcome in outcomes) == 7


@pytest.mark.by_hand(0)
def test_a_process_that_dies_takes_nothing_with_it(files: list[str]) -> None:
    Path(files[0]).write_text("die")
    Path(files[5]).write_text("die")
    with parallel.Processes(2) as workers:
        outcomes = list(parallel.gather(Words(), files, workers))
    assert [outcome.item for outcome in outcomes if outcome.result is None] == [files[0], files[5]]
    (finding,) = outcomes[0].report
    assert finding.message == "there is no result: the worker process was killed or crashed"


@pytest.mark.by_hand(0)
@pytest.mark.skipif(os.name == "nt", reason="signals as on POSIX")
def test_a_process_that_is_asked_to_leave_is_replaced(files: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    Path(files[2]).write_text("end")
    with parallel.Processes(1) as workers:
        outcomes = list(parallel.gather(Words(), files, workers))
    assert [outcome.item for outcome in outcomes if outcome.result is None] == [files[2]]
    (finding,) = outcomes[2].report
    assert finding.message == "there is no result: the worker process was killed or crashed"
    assert capfd.readouterr() == ("", "")


SENT_EARLY = """import os, signal

from support.waiting import PATIENCE, until

from irexec.tools import parallel

if __name__ == "__main__":
    with parallel.Processes(1) as workers:
        first = workers.submit(len, "abc")
        until(lambda: workers._children, "the process is there")
        os.kill(next(iter(workers._children)).worker.pid, SENT)
        print(repr(first.exception(PATIENCE)), workers.submit(len, "abcd").result(PATIENCE))
"""


@pytest.mark.by_hand(1)
@pytest.mark.skipif(os.name == "nt", reason="signals as on POSIX")
@pytest.mark.parametrize(
    ("sent", "printed"),
    [(signal.SIGINT, "None 4\n"), (signal.SIGTERM, "BrokenExecutor('the process terminated unexpectedly') 4\n")],
)
def test_a_signal_finds_a_process_that_has_not_begun(tmp_path: Path, sent: signal.Signals, printed: str) -> None:
    """The signal is held back until the process can exit without output; the parent handles Ctrl-C."""
    (tmp_path / "early.py").write_text(SENT_EARLY.replace("SENT", str(int(sent))))
    program = run_python(tmp_path / "early.py", env=environment())
    assert (program.stdout, program.stderr) == (printed, "")


def test_what_a_process_cannot_send_is_an_error_of_its_call() -> None:
    with parallel.Processes(1) as workers:
        number = workers.submit(os.getpid).result(PATIENCE)
        with pytest.raises(TypeError, match="pickle"):
            workers.submit(threading.Lock).result(PATIENCE)
        with pytest.raises((AttributeError, PicklingError), match="local object"):
            workers.submit(lambda: None).result(PATIENCE)
        with pytest.raises(EOFError) as raised:
            workers.submit(no_more).result(PATIENCE)
        assert "in no_more" in str(raised.value.__cause__)
        assert workers.submit(os.getpid).result(PATIENCE) == number != os.getpid()


@pytest.mark.by_hand(0)
def test_processes_end_after_the_last_call_though_nobody_waits() -> None:
    workers = parallel.Processes(2)
    futures = [workers.submit(os.getpid) for _ in range(4)]
    workers.shutdown(wait=False)
    numbers = {future.result(PATIENCE) for future in futures}
    until(lambda: not any(map(_is_there, numbers)), "they have ended")


def _is_there(number: int) -> bool:
    """Return whether a process with this id exists, even if it has ended and no process has waited for it."""
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_process_has_one_thread() -> None:
    with parallel.Processes(1) as workers:
        (outcome,) = parallel.gather(Threads(), ["x"], workers)
    assert outcome.result is not None
    assert set(outcome.result) == {1} and len(outcome.result) > 1


def test_leaving_early_cancels_what_has_not_begun(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as workers:
        outcomes = parallel.gather(Held(str(tmp_path), 1), [str(n) for n in range(100)], workers)
        next(outcomes)
        outcomes.close()  # type: ignore[attr-defined]
        (tmp_path / "go").touch()
    assert {path.name.split(".")[0] for path in tmp_path.iterdir()} <= {"0", "1", "go"}


@pytest.mark.by_hand(0)
def test_an_exception_ends_what_processes_do(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), parallel.Processes(2) as workers:
        for _ in parallel.gather(Held(str(tmp_path), 1), [str(n) for n in range(100)], workers):
            raise ZeroDivisionError
    assert {path.name.split(".")[0] for path in tmp_path.iterdir()} <= {"0", "1", "2"}


KILLED = """from support.tasks import Held

from irexec.tools import parallel

if __name__ == "__main__":
    with parallel.Processes(2) as workers:
        list(parallel.gather(Held(FOLDER), ["0", "1"], workers))
"""


@pytest.mark.skipif(os.name == "nt", reason="signals as on POSIX")
def test_processes_end_with_a_program_that_is_killed(tmp_path: Path) -> None:
    (tmp_path / "killed.py").write_text(KILLED.replace("FOLDER", repr(str(tmp_path))))
    program = subprocess.Popen(
        [sys.executable, str(tmp_path / "killed.py")],
        env=environment(),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    until(lambda: len(list(tmp_path.glob("[01].*"))) == 2 or program.poll() is not None, "both have begun")
    program.kill()
    # The output ends when no process has it open any more: all processes that the program started have ended.
    said, _ = program.communicate(timeout=PATIENCE)
    assert program.returncode == -signal.SIGKILL, said
    assert b"Traceback" not in said


INTERRUPTED = """from support.tasks import Held
from support.waiting import until

from irexec.tools import parallel

if __name__ == "__main__":
    with parallel.Processes(2) as workers:
        calls = [workers.submit(Held(FOLDER), str(number)) for number in range(4)]
        until(lambda: sum(call.running() for call in calls) == 2, "both have begun")
        for call in calls:
            call._condition.acquire()
        raise KeyboardInterrupt
"""


@pytest.mark.by_hand(0)
def test_an_interruption_that_leaves_futures_locked_ends_all(tmp_path: Path) -> None:
    """The interruption may occur inside any method of a future; `as_completed` holds the locks of all. Threads then
    never end.
    """
    (tmp_path / "interrupted.py").write_text(INTERRUPTED.replace("FOLDER", repr(str(tmp_path))))
    program = run_python(tmp_path / "interrupted.py", env=environment())
    assert program.stderr.endswith("KeyboardInterrupt\n") and program.stderr.count("Traceback") == 1
    assert not any(_is_there(int(path.suffix[1:])) for path in tmp_path.glob("[0-9].*"))


class Elsewhere(Executor):
    """Executes everything at once, as if on a machine that differs from this one in what `arrive` changes."""

    def __init__(self, arrive: Callable[[], object]) -> None:
        self._arrive = arrive

    def submit(self, call: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self._arrive()
        try:
            future.set_result(call(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


def test_a_worker_with_another_version_does_nothing(
    files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = irexec.__version__
    there = Elsewhere(lambda: monkeypatch.setattr("irexec.version.__version__", "0.0"))
    with parallel.Log(tmp_path / "log.jsonl", Words()) as log:
        outcomes = list(parallel.gather(Words(), files[:1], there, log=log))
    (finding,) = outcomes[0].report
    assert (finding.code, finding.message) == (
        "U008",
        f"there is no result: the worker has irexec 0.0, expected {here}",
    )
    assert (tmp_path / "log.jsonl").read_text() == ""


def test_a_worker_that_does_not_see_a_file_reports_nothing_about_it(files: list[str]) -> None:
    there = Elsewhere(Path(files[0]).unlink)
    (outcome,) = parallel.gather(parallel.Validate(), files[:1], there)
    (finding,) = outcome.report
    assert finding.message == f"there is no result: the worker cannot access {files[0]}"
    # A file that does not exist on any machine is reported as missing.
    (outcome,) = parallel.gather(parallel.Validate(), files[:1], Elsewhere(lambda: None))
    assert [finding.code for finding in outcome.report] == ["U001"]


@pytest.mark.skipif(os.name == "nt", reason="signals as on POSIX")
def test_ctrl_c_does_not_reach_a_process_that_starts() -> None:
    with parallel.Processes(1) as workers:
        call = workers.submit(os.getpid)
        while not call.done():
            for process in list(workers._children):
                os.kill(process.worker.pid, signal.SIGINT)
        assert call.result(PATIENCE) != os.getpid()


def test_a_process_that_starts_when_an_exception_occurs_also_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    starting, go_on = threading.Event(), threading.Event()

    class Late(processes.Child):
        def __init__(self) -> None:
            starting.set()
            assert go_on.wait(PATIENCE)
            super().__init__()

    monkeypatch.setattr(processes, "Child", Late)
    stop = parallel.Processes.stop

    def stopping(workers: parallel.Processes) -> None:
        threading.Timer(0.01, go_on.set).start()
        stop(workers)

    monkeypatch.setattr(parallel.Processes, "stop", stopping)
    with pytest.raises(ZeroDivisionError), parallel.Processes(1) as workers:
        call = workers.submit(Held(str(tmp_path)), "0")
        assert starting.wait(PATIENCE)
        raise ZeroDivisionError
    assert call.exception(PATIENCE) is not None
    assert list(tmp_path.iterdir()) == []


def test_a_log_is_continued(files: list[str], executor: Executor | None, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    Path(files[1]).write_text("raise")
    with parallel.Log(path, Words()) as log:
        first = list(parallel.gather(Words(), files[:5], executor, log=log))
    assert [outcome.logged for outcome in first] == [False] * 5
    assert {Path(json.loads(line)["item"]).name for line in path.open()} == {"0.txt", "2.txt", "3.txt", "4.txt"}

    Path(files[0]).write_text("changed")
    Path(files[1]).write_text("file 1")
    with parallel.Log(path, Words()) as log:
        second = list(parallel.gather(Words(), files, executor, log=log))
    assert [outcome.logged for outcome in second] == [False, False, True, True, True, *[False] * 5]
    assert [outcome.result for outcome in second] == [["changed"], *(["file", str(n)] for n in range(1, 10))]


def test_a_line_that_is_torn_or_changed_is_not_used(files: list[str], tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with parallel.Log(path, Words()) as log:
        list(parallel.gather(Words(), files, log=log))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b"[]\n" + b"\xff\n" + b"".join(lines[1:9]) + lines[9][:30])
    with parallel.Log(path, Words()) as log:
        outcomes = list(parallel.gather(Words(), files, log=log))
    assert [outcome.logged for outcome in outcomes] == [True] * 9 + [False]
    with parallel.Log(path, Words()) as log:
        assert all(outcome.logged for outcome in parallel.gather(Words(), files, log=log))


def test_a_logged_result_that_was_changed_is_computed_again(files: list[str], tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with parallel.Log(path, Words()) as log:
        list(parallel.gather(Words(), files[:1], log=log))
    path.write_text(path.read_text().replace('["file", "0"]', '{"Popen": {"args": "ls"}}'))
    with parallel.Log(path, Words()) as log:
        (outcome,) = parallel.gather(Words(), files[:1], log=log)
    assert not outcome.logged and outcome.result == ["file", "0"]


def test_the_key_is_made_of_the_task_the_item_and_the_files(files: list[str]) -> None:
    assert Held("a").key("x") != Held("b").key("x")
    assert Held("a").key("x") != Held("a").key("y")
    before = Words().key(files[0])
    Path(files[0]).write_text("other")
    assert Words().key(files[0]) != before
    Path(files[0]).unlink()
    assert Words().key(files[0]) != before
