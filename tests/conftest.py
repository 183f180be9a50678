"""Settings of all tests: an exception in a shape rule fails the test instead of becoming a finding, and random values
are the same in every run. Tests marked `in_ci`, and all cases of long tables, run if CI=true; otherwise a run of the
whole suite takes every sixth case, or as many as the marker `by_hand` of an expensive test states.
"""

from __future__ import annotations

import gc
import os
import sys
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Generator
from functools import cache, wraps
from itertools import accumulate
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import HealthCheck, settings
from support.amounts import IN_CI, spread
from support.kept import Kept, end_all, keep

from irexec.ops.spec import operator

# The tests start hundreds of processes, and xdist its workers: without bytecode files each compiles the checkout.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


@wraps(operator.failed_rule)
def _raise(_: operator.Operator, error: Exception) -> NoReturn:
    raise error


operator.failed_rule = _raise
# Hypothesis measures the time of an example and of its creation, which may be long on a busy machine.
settings.register_profile(
    "steady", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True, database=None
)
settings.load_profile("steady")

EXTRAS = {"PIL", "distributed", "llvmlite", "lsprotocol", "onnx", "onnxruntime", "openvino", "pygls", "torch"}
"""Modules of the extras of pyproject.toml: irexec works without them, and so does the rest of the suite."""


def _skip_without_extra() -> Generator[None]:
    """Skip a test that imports the module of an extra that is not installed; irexec itself must not fail so."""
    try:
        yield
    except ModuleNotFoundError as error:
        frame = error.__traceback__
        while frame is not None and frame.tb_next is not None:
            # The frames of the import itself belong to no file.
            if frame.tb_next.tb_frame.f_code.co_filename.startswith("<frozen importlib"):
                break
            frame = frame.tb_next
        is_ours = frame is not None and Path(__file__).parent in Path(frame.tb_frame.f_code.co_filename).parents
        if is_ours and (error.name or "").partition(".")[0] in EXTRAS:
            pytest.skip(f"{error.name} is not installed")
        raise


pytest_runtest_setup = pytest.hookimpl(wrapper=True)(_skip_without_extra)
pytest_runtest_call = pytest.hookimpl(wrapper=True)(_skip_without_extra)


TESTS = Path(__file__).parent
ANY_PYTHON = (
    "benchmarks", "docs", "frontends", "model/weightless", "runtime/lowering", "tools/bisect", "tools/blame",
    "tools/compare", "tools/conformance", "tools/cut", "tools/diff", "tools/doctest", "tools/edit",
    "tools/fixes", "tools/language", "tools/passes", "tools/reduce", "tools/render", "tools/sensitivity",
    "tools/script", "tools/shapes",
)  # fmt: skip
"""Folders of tests that do not depend on the interpreter: they are marked `any_python`, as are rows of operators."""
OF_BLAS = ("convolution", "matrix")
"""Folders whose rows depend on the BLAS kernels, which are others with each Python, see `.ci/run`."""


OTHER_PYTHONS = "not models and not any_python"
"""What `.ci/run` selects for the newest Python, if that is not the first; smoke tests run with those between."""
LEFT_OUT = pytest.StashKey[int]()
"""The number of cases that a run by hand of the whole suite leaves out."""
WHOLE_SUITE = "IREXEC_TESTS_WHOLE_SUITE"
"""The variable that tells the workers of xdist, which are always given paths, that the user gave none."""


keep()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> None:
    """Let tests share the processes of runtimes, except those that end them."""
    Kept.keeps = item.get_closest_marker("processes") is None


def pytest_sessionfinish(session: pytest.Session) -> None:
    end_all()
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left out"] = session.config.stash.get(LEFT_OUT, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    node.config.stash[LEFT_OUT] = getattr(node, "workeroutput", {}).get("left out", 0)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return one worker more than there are cores: some tests wait for processes that hang or for time limits."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        no_choice = not config.option.keyword and config.option.markexpr in ("not models", OTHER_PYTHONS)
        is_whole = config.args_source is config.ArgsSource.TESTPATHS and no_choice
        os.environ[WHOLE_SUITE] = "1" if is_whole else ""
        if is_whole and not IN_CI:
            # The workers share the cores, on which idle threads of BLAS would spin.
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    elif os.environ.get(WHOLE_SUITE):
        worker: dict[str, Any] = config.workerinput
        config.args = _rotated(int(worker["workerid"].removeprefix("gw")) / int(worker["workercount"]))


def _rotated(share: float) -> list[str]:
    """Return all files and folders of tests, beginning after a share of their text.

    Every worker of xdist imports all test files, which the first run in a checkout compiles. Because they begin at
    different files, each worker finds most of the files already compiled by another one.
    """
    tests, size = Path(__file__).parent, Counter[Path]()
    for path in sorted(tests.rglob("test_*.py")):
        size[tests / path.relative_to(tests).parts[0]] += path.stat().st_size
    first = bisect_right(list(accumulate(size.values())), share * size.total())
    entries = [str(entry) for entry in size]
    return [*entries[first:], *entries[:first]]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests of some folders, skip tests that take long or need a machine of their own, with the reason that
    their marker gives, and leave out most cases of long tables if the whole suite is run by hand.
    """
    for item in items:
        if _is_of_any_python(item.path):
            item.add_marker("any_python")
        if not IN_CI and (marker := item.get_closest_marker("in_ci")) is not None:
            item.add_marker(pytest.mark.skip(reason=f"{marker.args[0]}: in CI only (CI=true)"))
    if os.environ.get(WHOLE_SUITE):
        items.sort(key=lambda item: str(item.path))  # The workers collect in different orders and must agree on one.
    if not IN_CI and os.environ.get(WHOLE_SUITE):
        tables: dict[str, list[pytest.Item]] = defaultdict(list)
        for item in items:
            tables[item.nodeid.partition("[")[0]].append(item)
        kept = {item for table in tables.values() for item in _by_hand(table)}
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        in_ci = [item for item in kept if item.get_closest_marker("in_ci")]
        config.stash[LEFT_OUT] = len(items) - len(kept) + len(in_ci)
        items[:] = [item for item in items if item in kept]


@cache
def _is_of_any_python(path: Path) -> bool:
    is_row = path.suffix == ".rows" and path.parent.name not in OF_BLAS
    return is_row or path.relative_to(TESTS).as_posix().startswith(tuple(f"{folder}/" for folder in ANY_PYTHON))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """State what a run of the whole suite by hand leaves out."""
    if count := config.stash.get(LEFT_OUT, 0):
        terminalreporter.write_line(
            f"Left out: {count:,} cases (five of six in tests with more than 8 cases, more in expensive tests, and all "
            "that are marked in_ci). CI=true runs them."
        )


def _by_hand(table: list[pytest.Item]) -> list[pytest.Item]:
    """Return the cases of a test that a run by hand of the whole suite takes."""
    marker = table[0].get_closest_marker("by_hand")
    return spread(table) if marker is None else spread(table, marker.args[0])


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None]:
    """Keep the garbage collector away from modules and collected tests, which are a million objects that stay, and let
    it look for cycles less often: with the interpreter's threshold a test that parses the source spends two thirds of
    its time on that.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.set_threshold(20_000)
        gc.enable()
