"""A dump that another process wrote contains every element type as that process computed it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.amounts import amount
from support.dying import Fragile
from support.waiting import PATIENCE

import irexec
from irexec import opset15 as ops
from irexec.tools.compare.compare import compare
from irexec.tools.compare.runtimes.dumping import dump
from irexec.tools.compare.runtimes.folder import Folder
from irexec.tools.compare.runtimes.separate import Apart
from irexec.tools.run.record import Reference

pytestmark = pytest.mark.processes

FRAGILE = f"{Fragile.__module__}:{Fragile.__qualname__}"
WIDE = {"i64": 2**40, "i32": 70_000, "i16": 300, "u64": 2**40, "u32": 70_000, "u16": 300, "f64": 1e60}
KINDS = ["boolean", "i4", "i8", "i16", "i32", "i64", "u4", "u8", "u16", "u32", "u64"]
KINDS += ["f16", "bf16", "f32", "f64", "f8e4m3", "f8e5m2"]


def model_of(kind: str, large: float | None) -> irexec.Model:
    """Return a model whose layers compute in one type. `large`: a value that narrower types cannot represent."""
    x = ops.parameter([2, 3], np.float32, name="x")
    data = ops.convert(x, kind, name="converted")
    if large is not None:
        data = ops.add(data, ops.constant(np.array(large), kind), name="large")
    return irexec.Model([ops.reshape(data, np.int64([3, 2]), False, name="reshaped")], [x], f"of_{kind}")


def reference(kind: str, large: float | None) -> Reference:
    return Reference(model_of(kind, large), [[np.arange(6, dtype=np.float32).reshape(2, 3)]])


@pytest.fixture(scope="module")
def apart() -> Apart:
    """A runtime in another process, used for all types."""
    return Apart(FRAGILE, {"deadly": "nothing", "how": "crash"})


@pytest.mark.parametrize("kind", KINDS)
def test_a_clean_model_agrees_with_the_dump_of_another_process(kind: str, apart: Apart, tmp_path: Path) -> None:
    run = reference(kind, WIDE.get(kind))
    dump(run, apart, tmp_path)
    entries = json.loads((tmp_path / "0" / "index.json").read_text())["tensors"]
    assert {entry["element_type"] for entry in entries} == {kind}
    found = compare(run, Folder(tmp_path))
    assert found.agrees and found.unseen == 0, found.verdict
    assert not any(error for _, error in found.results)
    assert all(row.own is not None and not row.own for row in found.layers)


@pytest.mark.parametrize("kind", ["i64", "i32", "f64"][: amount(3, 1)])
def test_commands_in_processes_of_their_own(kind: str, tmp_path: Path) -> None:
    """One process writes OpenVINO's results, another one compares them."""
    pytest.importorskip("openvino")
    run = reference(kind, 70_000)  # OpenVINO's CPU plugin computes i64 in i32, and f64 in f32.
    irexec.save_model(run.model, tmp_path / "model.xml")
    np.save(tmp_path / "x.npy", run.steps[0][0])

    def command(*options: str) -> subprocess.CompletedProcess[str]:
        given = ["compare", str(tmp_path / "model.xml"), "--input", f"x={tmp_path / 'x.npy'}", *options]
        return subprocess.run(
            [sys.executable, "-m", "irexec", *given], capture_output=True, text=True, timeout=PATIENCE
        )

    written = command("--with", "openvino", "--config", "INFERENCE_PRECISION_HINT=f32", "--dump", str(tmp_path / "D"))
    assert written.returncode == 0, written.stderr
    compared = command("--with", str(tmp_path / "D"))
    assert compared.returncode == 0, compared.stdout + compared.stderr
    assert "all 3 layers agree" in compared.stdout


@pytest.mark.parametrize("squeezed", [False, True])
def test_values_in_another_layout_get_a_hint(squeezed: bool, tmp_path: Path) -> None:
    x = ops.parameter([1, 3, 4, 5], np.float32, name="x")
    end = ops.reduce_mean(ops.exp(x, name="wide"), np.int64([2, 3]), name="mean")
    run = Reference(irexec.Model([end], [x], "m"), [[np.random.default_rng(0).random((1, 3, 4, 5), np.float32)]])
    wide = np.exp(run.steps[0][0]).transpose(0, 2, 3, 1)
    np.save(tmp_path / "wide.npy", wide[0] if squeezed else wide)
    np.save(tmp_path / "mean.npy", run.results()[0][0])
    found = compare(run, Folder(tmp_path))
    shape = "[4,5,3]" if squeezed else "[1,4,5,3]"
    text = f"{shape} instead of [1,3,4,5], with the axes 2, 3, 1 in this order"
    assert found.hints == [f"wide has the same values in another layout: {text}"]
