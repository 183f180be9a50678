"""BLAS uses one thread while kernels run, whichever threads begin and end, and has its old setting afterwards."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading

import pytest
import threadpoolctl
from support.waiting import PATIENCE

from irexec.core.threads import blas


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> list[FakeLibrary]:
    """Two libraries that no other code in the process uses."""
    libraries = [FakeLibrary(4), FakeLibrary(1)]
    monkeypatch.setattr(blas, "_libraries", lambda: libraries)
    monkeypatch.setattr(blas, "_users", 0)
    return libraries


class FakeLibrary:
    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.calls = 0

    def get_num_threads(self) -> int:
        return self.threads

    def set_num_threads(self, count: int) -> None:
        self.threads = count
        self.calls += 1


needs_openblas = pytest.mark.skipif(
    [each["internal_api"] for each in threadpoolctl.threadpool_info() if each["user_api"] == "blas"] != ["openblas"],
    reason="this NumPy has another BLAS",
)


@needs_openblas
def test_numpys_own_openblas_is_asked_itself() -> None:
    """It is the library that threadpoolctl finds, which takes much longer."""
    (own,) = blas._libraries()
    assert isinstance(own, blas._OpenBlas)
    (found,) = blas._found_by_threadpoolctl()
    before = found.get_num_threads()
    try:
        for count in (1, 2):
            own.set_num_threads(count)
            assert own.get_num_threads() == found.get_num_threads() == count
    finally:
        found.set_num_threads(before)
    assert own.get_num_threads() == before


@needs_openblas
def test_threadpoolctl_is_not_imported_for_it() -> None:
    code = "import sys\nfrom irexec.core.threads.blas import single_threaded_blas\nwith single_threaded_blas(): pass"
    subprocess.run(
        [sys.executable, "-c", f"{code}\nassert 'threadpoolctl' not in sys.modules"], check=True, timeout=PATIENCE
    )


def test_another_blas_is_found_by_threadpoolctl(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if OpenBLAS used OpenMP's threads, or NumPy used MKL."""
    monkeypatch.setattr(blas._OpenBlas, "of_numpy", lambda: None)
    blas._libraries.cache_clear()
    try:
        assert [type(library) for library in blas._libraries()] == [blas._ForAnyThread]
        test_numpys_blas_is_found_and_has_its_threads_back()
        test_every_thread_can_hold_numpys_blas()
    finally:
        blas._libraries.cache_clear()


def test_numpys_blas_is_found_and_has_its_threads_back() -> None:
    libraries = blas._libraries()
    assert libraries
    before = [library.get_num_threads() for library in libraries]
    with blas.single_threaded_blas(), blas.single_threaded_blas():
        assert {library.get_num_threads() for library in libraries} == {1}
    assert [library.get_num_threads() for library in libraries] == before


def test_every_thread_can_hold_numpys_blas() -> None:
    """threadpoolctl lets only the first thread that set a limit set another one; here any thread may be first."""
    libraries = blas._libraries()
    before = [library.get_num_threads() for library in libraries]
    with blas.single_threaded_blas():
        pass
    inside: list[list[int]] = []

    def hold() -> None:
        with blas.single_threaded_blas():
            inside.append([library.get_num_threads() for library in libraries])

    for _ in range(2):
        thread = threading.Thread(target=hold)
        thread.start()
        thread.join(PATIENCE)
    assert inside == [[1] * len(libraries)] * 2
    assert [library.get_num_threads() for library in libraries] == before


def test_the_limit_is_set_once_however_deep(fakes: list[FakeLibrary]) -> None:
    with blas.single_threaded_blas():
        for _ in range(3):
            with blas.single_threaded_blas():
                assert [library.threads for library in fakes] == [1, 1]
        assert [library.threads for library in fakes] == [1, 1]
    assert [library.threads for library in fakes] == [4, 1]
    assert [library.calls for library in fakes] == [2, 0]


def test_the_last_thread_to_leave_takes_the_limit_back(fakes: list[FakeLibrary]) -> None:
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with blas.single_threaded_blas():
            inside.set()
            leave.wait(PATIENCE)

    with blas.single_threaded_blas():
        thread = threading.Thread(target=other)
        thread.start()
        inside.wait(PATIENCE)
    assert fakes[0].threads == 1
    leave.set()
    thread.join(PATIENCE)
    assert fakes[0].threads == 4


def test_many_threads_at_the_same_time(fakes: list[FakeLibrary]) -> None:
    wrong = []

    def work() -> None:
        for _ in range(500):
            with blas.single_threaded_blas():
                if fakes[0].threads != 1:
                    wrong.append(fakes[0].threads)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert not wrong
    assert fakes[0].threads == 4


def test_an_error_inside_takes_the_limit_back(fakes: list[FakeLibrary]) -> None:
    with pytest.raises(KeyError), blas.single_threaded_blas():
        raise KeyError
    assert fakes[0].threads == 4


@pytest.mark.parametrize("holds", [True, False])
def test_a_forked_process_continues_without_the_other_threads(
    fakes: list[FakeLibrary], holds: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blas, "_lock", blas._lock)
    blas._hold()  # a lock of another thread, which the child process does not have
    with blas.single_threaded_blas() if holds else contextlib.nullcontext():
        blas._forget_threads()
        assert fakes[0].threads == (1 if holds else 4)
    assert fakes[0].threads == 4
