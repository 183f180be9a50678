"""Commands and `gather` on Dask: a scheduler and two workers started from the command line; each is killed once."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import pytest
from support import programs
from support.interrupting import interrupted
from support.tasks import Held, Words
from support.waiting import PATIENCE, until

import irexec
from irexec import opset15
from irexec.cli.main import main
from irexec.tools import parallel
from irexec.tools.parallel import cluster as parallel_cluster

pytest.importorskip("distributed", reason="the cluster extra is not installed")

pytestmark = pytest.mark.in_ci("starts a scheduler and workers")

SAMPLES = Path(__file__).parents[3] / "samples"


@contextmanager
def dask(folder: Path, workers: int = 2, *paths: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Yield the address of a scheduler with workers that are restarted when they die, and its process.

    The workers search `paths` for modules first.
    """
    from distributed import Client

    file = str(folder / "scheduler.json")
    given = programs.environment()["PYTHONPATH"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([*map(str, paths), given])}
    commands = [
        ["scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", file],
        *[["worker", "--scheduler-file", file, "--nthreads", "1", "--no-dashboard"]] * workers,
    ]
    processes = []
    with ExitStack() as stack:
        for command in commands:
            process = subprocess.Popen(
                [sys.executable, "-m", "dask", *command], cwd=folder, env=environment, stderr=subprocess.DEVNULL
            )
            stack.callback(process.wait)
            # A worker's nanny terminates its worker if it receives SIGTERM, not if it is killed.
            stack.callback(process.terminate)
            processes.append(process)
        until(lambda: os.path.exists(file), "the scheduler is there")
        with Client(scheduler_file=file, set_as_default=False, timeout=PATIENCE) as client:
            if workers:
                client.wait_for_workers(workers, timeout=PATIENCE)
            address = client.scheduler.address
        yield address, processes[0]


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with dask(tmp_path_factory.mktemp("cluster")) as (address, _):
        yield address


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that contains no worker: a model of two inputs, many samples of one input, and a value of the other."""
    x, y = (opset15.parameter([2, 3], np.float32, name=name) for name in "xy")
    irexec.save_model(irexec.Model([opset15.add(x, y)], [x, y], "sum"), tmp_path / "sum.xml")
    (tmp_path / "x").mkdir()
    for number in range(12):
        np.savez(tmp_path / "x" / f"{number:02}.npz", x=np.full((2, 3), number, np.float32))
    np.savez(tmp_path / "y.npz", one=np.ones((2, 3), np.float32))
    monkeypatch.chdir(tmp_path)
    return tmp_path


COMMANDS = {
    "validate": ["validate", str(SAMPLES / "scatter_nd_update"), "--format", "json"],
    "doctest": ["doctest", str(SAMPLES / "scatter_nd_update"), "--format", "json"],
    "run": ["run", "sum.xml", "--inputs", "x", "--input", "y=@y.npz:one", "--save", "out", "--format", "json"],
    "compare": ["compare", "sum.xml", "--with", "sum.xml", "--inputs", "x", "--input", "y=y.npz", "--format", "json"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_cluster_prints_the_same_as_one_process(
    command: str, scheduler: str, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    codes, said = [], []
    for options in (["--resume", "log.jsonl"], ["--cluster", scheduler]):
        codes.append(main([*COMMANDS[command], *options]))
        text = capsys.readouterr().out.replace(f"{files}{os.sep}", "")
        said.append(re.sub(r'"seconds": [\d.e-]+', "", text))
    assert codes[0] == codes[1] < 2
    assert len(said[0]) > 500
    assert said[0] == said[1]


def test_a_worker_is_killed_while_inputs_are_compared(
    scheduler: str, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from distributed import Client

    log, killed = files / "log.jsonl", []

    def kill_one() -> None:
        with Client(scheduler, set_as_default=False) as client:
            pids = list(client.run(os.getpid).values())
            until(lambda: log.exists() and log.read_text().count("\n") > 1, "two are in the log")
            os.kill(pids[0], signal.SIGKILL)
            killed.append(pids[0])

    killer = threading.Thread(target=kill_one)
    killer.start()
    assert main([*COMMANDS["compare"], "--resume", str(log), "--cluster", scheduler]) == 0
    killer.join(PATIENCE)
    runs = json.loads(capsys.readouterr().out)["runs"]
    assert [Path(run["input"]).stem for run in runs] == [f"{number:02}" for number in range(12)]
    assert all(run["agrees"] for run in runs) and len(killed) == 1
    assert len({json.loads(line)["item"] for line in log.read_text().splitlines()}) == 12


class Lost:
    """A future of Dask whose worker dies as soon as its result has arrived."""

    status = "pending"

    async def _result(self, raiseit: bool = True) -> tuple[str, ...]:
        return "the", "three", "parts"


def test_a_result_is_not_an_exception_when_its_worker_dies_after_sending_it() -> None:
    future: Future[tuple[str, ...]] = Future()
    asyncio.run(parallel_cluster._settle(Lost(), future))
    assert future.result(0) == ("the", "three", "parts")


def test_a_file_that_kills_every_worker_is_a_finding(
    scheduler: str, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = {"a": "some words", "b": "die", "c": "more words"}
    for name, text in texts.items():
        (files / name).write_text(text)
    with parallel.Cluster(scheduler) as cluster:
        assert cluster.worker_count > 0
        outcomes = list(parallel.gather(Words(), [str(files / name) for name in texts], cluster))
    assert [outcome.result for outcome in outcomes] == [["some", "words"], None, ["more", "words"]]
    (finding,) = outcomes[1].report
    assert finding.code == "U008" and "KilledWorker" in finding.message


def test_the_scheduler_is_killed_in_the_middle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel_cluster, "_PATIENCE", 2)
    items = [str(number) for number in range(100)]
    (tmp_path / "dask").mkdir()
    (tmp_path / "begun").mkdir()
    with dask(tmp_path / "dask") as (address, process), parallel.Cluster(address) as cluster:
        outcomes = []
        for outcome in parallel.gather(Held(str(tmp_path / "begun"), free=10), items, cluster):
            outcomes.append(outcome)
            process.kill()
        (tmp_path / "begun" / "go").touch()
    assert [outcome.item for outcome in outcomes] == items
    lost = [outcome for outcome in outcomes if outcome.result is None]
    assert lost and all(outcome.report.errors[0].code == "U008" for outcome in lost)
    assert "the scheduler stopped responding" in lost[-1].report.errors[0].message


def test_a_worker_is_killed_in_the_middle(scheduler: str, tmp_path: Path) -> None:
    items = [str(number) for number in range(30)]
    pids: dict[str, int | None] = {}
    killed: list[int] = []

    def kill_one(outcome: parallel.Outcome[int]) -> None:
        """Kill the worker after it has completed some tasks, while it works on the next: at most ten are completed
        before.
        """
        if not killed and outcome.result is not None and int(outcome.item) > 4:
            killed.append(outcome.result)
            os.kill(outcome.result, signal.SIGKILL)
            (tmp_path / "go").touch()

    # Dask's own executor is not used: it reports a result as an exception if the worker dies before it is collected.
    with parallel.Cluster(scheduler) as cluster:
        for outcome in parallel.gather(Held(str(tmp_path), free=10), items, cluster, done=kill_one):
            assert outcome.error is None
            pids[outcome.item] = outcome.result
    assert list(pids) == items
    # A worker that died is restarted with another process id.
    assert 2 <= len(set(pids.values())) <= 3
    # Other workers have repeated the tasks that it was working on.
    begun = [path.name.split(".") for path in tmp_path.glob("*.*")]
    assert {pid for _, pid in begun} == {str(pid) for pid in pids.values()}
    assert {item for item, _ in begun} == set(items)


@pytest.mark.skipif(os.name == "nt", reason="signals as on POSIX")
def test_ctrl_c_leaves_whole_files_and_idle_workers(scheduler: str, tmp_path: Path) -> None:
    from distributed import Client

    said = interrupted(tmp_path, ["--cluster", scheduler])
    assert re.fullmatch(
        r"interrupted: \d+ of 2004 inputs completed; run the same command again to continue from log.jsonl\n", said
    )
    with Client(scheduler, set_as_default=False) as client:
        until(lambda: not any(client.processing().values()), "nothing waits for a worker")
        (tmp_path / "go").touch()
        # Between two tasks a worker has no call, so the test also requires that the files are complete.
        until(lambda: not client.call_stack() and not list(tmp_path.glob("out/.*")), "what had begun has ended")


def test_a_worker_without_irexec_reports_it_and_lives(tmp_path: Path) -> None:
    (tmp_path / "paths" / "irexec").mkdir(parents=True)
    (tmp_path / "paths" / "irexec" / "__init__.py").write_text('raise ModuleNotFoundError("No module named irexec")')
    file = str(SAMPLES / "wrong.xml")
    with dask(tmp_path, 1, tmp_path / "paths") as (address, _), parallel.Cluster(address) as cluster:
        for _ in range(2):
            (outcome,) = parallel.gather(parallel.Validate(), [file], cluster)
            (finding,) = outcome.report
            assert finding.message == "there is no result: ModuleNotFoundError: No module named irexec"
        assert cluster.worker_count == 1


def test_a_scheduler_without_workers(tmp_path: Path) -> None:
    alone = threading.Event()
    with dask(tmp_path, 0) as (address, _), parallel.Cluster(address, alone=alone.set) as cluster:
        assert alone.wait(PATIENCE)
        assert cluster.worker_count == 0


def test_the_address_is_that_of_a_worker(scheduler: str, capsys: pytest.CaptureFixture[str]) -> None:
    from distributed import Client

    with Client(scheduler, set_as_default=False) as client:
        address = next(iter(client.nthreads()))
    assert main(["validate", str(SAMPLES), "--cluster", address]) == 2
    assert f"error[U005]: --cluster {address}: no scheduler responded: this is the address of a worker" in (
        capsys.readouterr().err
    )


def test_another_program_listens_there(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel_cluster, "_PATIENCE", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        assert main(["validate", str(SAMPLES), "--cluster", address]) == 2
    assert "no scheduler responded: no response within 0.5 s" in capsys.readouterr().err


def test_there_is_no_scheduler(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(SAMPLES), "--cluster", "no scheme://x"]) == 2
    assert "error[U005]: --cluster no scheme://x: " in capsys.readouterr().err
