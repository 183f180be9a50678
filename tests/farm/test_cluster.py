"""`gather` on Dask: a scheduler and two workers started by command line, one of which is killed in the middle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from support.tasks import Held
from support.waiting import PATIENCE, until

from irexec import farm
from irexec.cli.main import main

pytest.importorskip("distributed", reason="the cluster extra is not installed")

SAMPLES = Path(__file__).parents[2] / "samples"


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a scheduler that has two workers."""
    from distributed import Client

    folder = tmp_path_factory.mktemp("cluster")
    file = str(folder / "scheduler.json")
    tests = str(Path(__file__).parents[1])
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([tests, os.path.dirname(tests)])}
    commands = [
        ["scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", file],
        *[["worker", "--scheduler-file", file, "--nthreads", "1", "--no-nanny", "--no-dashboard"]] * 2,
    ]
    with ExitStack() as stack:
        for command in commands:
            process = subprocess.Popen(
                [sys.executable, "-m", "dask", *command], cwd=folder, env=environment, stderr=subprocess.DEVNULL
            )
            stack.callback(process.wait)
            stack.callback(process.kill)
        until(lambda: os.path.exists(file), "the scheduler is there")
        with Client(scheduler_file=file, set_as_default=False, timeout=PATIENCE) as client:
            client.wait_for_workers(2, timeout=PATIENCE)
            yield client.scheduler.address


def test_findings_are_those_of_one_process(scheduler: str, capsys: pytest.CaptureFixture[str]) -> None:
    codes, texts = [], []
    for options in ([], ["--cluster", scheduler]):
        codes.append(main(["validate", str(SAMPLES), "--format", "json", *options]))
        texts.append(capsys.readouterr().out)
    assert codes == [1, 1]
    assert texts[0] == texts[1]


def test_a_worker_is_killed_in_the_middle(scheduler: str, tmp_path: Path) -> None:
    from distributed import Client

    items = [str(number) for number in range(30)]
    pids: dict[str, int | None] = {}
    killed: list[int] = []

    def kill_one(outcome: farm.Outcome[int]) -> None:
        """When it has done something, and is in the middle of the next: no more than ten are done before."""
        if not killed and outcome.result is not None and int(outcome.item) > 4:
            killed.append(outcome.result)
            os.kill(outcome.result, signal.SIGKILL)
            (tmp_path / "go").touch()

    with Client(scheduler, set_as_default=False) as client, client.get_executor(pure=False) as executor:
        for outcome in farm.gather(Held(str(tmp_path), free=10), items, executor, done=kill_one):
            assert outcome.error is None
            pids[outcome.item] = outcome.result
    assert list(pids) == items
    assert len(set(pids.values())) == 2
    # What it had when it died, others have done again.
    begun = [path.name.split(".") for path in tmp_path.glob("*.*")]
    assert {pid for _, pid in begun} == {str(pid) for pid in pids.values()}
    assert {item for item, _ in begun} == set(items)


def test_there_is_no_scheduler(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(SAMPLES), "--cluster", "no scheme://x"]) == 2
    assert "error[U005]: --cluster no scheme://x: " in capsys.readouterr().err
