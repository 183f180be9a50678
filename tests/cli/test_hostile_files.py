"""Small files that once took all memory or time, or caused a traceback: the findings of the commands about them.

All run in one process that is limited to 2 GB of memory and 60 s of processor time.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.waiting import PATIENCE

HOSTILE = Path(__file__).parents[1] / "data" / "hostile"

# The codes of validate, and of run; None if run may lack the memory, and otherwise computes the results.
EXPECTED: dict[str, tuple[set[str], set[str] | None]] = {
    "avg_pool_of_a_huge_kernel.xml": (set(), set()),
    "broadcast_to_a_terabyte.xml": (set(), {"O011"}),
    "concat_along_axis_4294967295.xml": ({"N002", "P004", "O001", "E010"}, {"N002", "P004", "O001", "E010"}),
    "empty_initializer_of_huge_extent.onnx": ({"F006"}, {"F006"}),
    "initializer_of_rank_65.onnx": ({"F006"}, {"F006"}),
    "interpolate_up_far_and_down.xml": (set(), None),
    "interpolate_with_huge_pads.xml": (set(), None),
    "max_pool_of_a_huge_kernel.xml": (set(), set()),
    "port_dims_of_another_shape.xml": (set(), set()),
    "reshape_to_rank_65.xml": (set(), {"U006"}),
    "shape_of_a_huge_input.xml": (set(), {"U006"}),
    "split_into_a_hundred_million.xml": ({"O001"}, {"O001"}),
    "two_layers_of_one_id.xml": ({"L002"}, {"L002"}),
}

SCRIPT = """
import contextlib, io, json, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
from irexec.cli.main import main

def codes(*arguments):
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(io.StringIO()):
        main(arguments)
    return [d["code"] for d in json.loads(shown.getvalue())["diagnostics"] if d["severity"] != "note"]

print(json.dumps({f: [codes("validate", f, "--format", "json"), codes("run", f, "--json")] for f in sys.argv[1:]}))
"""


@pytest.fixture(scope="module")
def said() -> dict[str, list[list[str]]]:
    if sys.platform != "linux":
        pytest.skip("the memory that a process may take is limited by Linux alone")
    files = [name for name in EXPECTED if name.endswith(".xml")]
    command = [sys.executable, "-c", SCRIPT, *files]
    # Threads reserve memory: on a machine with many cores it would be all of the limit.
    threads = {"OPENBLAS_NUM_THREADS": "1", "IREXEC_NUM_THREADS": "2"}
    environment = {"IREXEC_TRACEBACK": "1", "PATH": "", **threads}
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, cwd=HOSTILE, check=False, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("name", sorted(name for name in EXPECTED if name.endswith(".xml")))
def test_small_files_that_require_much_memory(name: str, said: dict[str, list[list[str]]]) -> None:
    validated, run = map(set, said[name])
    expected, computed = EXPECTED[name]
    assert validated == expected
    assert run == computed if computed is not None else run <= {"O011"}


@pytest.mark.parametrize("name", sorted(name for name in EXPECTED if name.endswith(".onnx")))
def test_small_onnx_files_that_require_much_memory(name: str) -> None:
    pytest.importorskip("onnx")
    import irexec

    assert EXPECTED[name][0] == {d.code for d in irexec.validate(HOSTILE / name).errors}
    with pytest.raises(irexec.IRError) as error:
        irexec.compile_model(HOSTILE / name)
    assert {d.code for d in error.value.report.errors} == EXPECTED[name][1]


def test_declared_dims_of_another_shape_run_with_the_shape_that_comes() -> None:
    import numpy as np

    import irexec

    path = HOSTILE / "port_dims_of_another_shape.xml"
    given = np.ones((2, 5), np.float32)
    assert irexec.compile_model(path)([given])[0].shape == (2, 5)
    strict = irexec.compile_model(irexec.read_model(path, mode="strict"))
    with pytest.raises(irexec.IRError, match=r"\[1,3\]"):
        strict([given])


def test_a_repeated_id_is_reported_in_every_mode() -> None:
    import irexec

    for mode in ("strict", "openvino"):
        with pytest.raises(irexec.IRError, match="has the same"):
            irexec.read_model(HOSTILE / "two_layers_of_one_id.xml", mode=mode)
