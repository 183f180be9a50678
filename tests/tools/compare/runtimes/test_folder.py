"""Arrays of any tool as the other side: the names that are found, and the outcome for a recording without layers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import irexec
from irexec import Model
from irexec import opset15 as ops
from irexec.cli.main import main
from irexec.tools.compare.compare import compare
from irexec.tools.compare.result import Comparison
from irexec.tools.compare.runtimes.choose import runtime_of
from irexec.tools.compare.runtimes.runtime import CannotRun
from irexec.tools.run.record import Reference

pytestmark = pytest.mark.any_python

X = np.float32([[-1, 2], [3, -4]])
RELU, SUM = np.maximum(X, 0), np.maximum(X, 0) + np.float32(1)


def model() -> Model:
    x = ops.parameter([2, 2], np.float32, name="x")
    relu = ops.relu(x, name="stage 1/relu::0")
    return Model([ops.add(relu, np.float32([[1]]), name="last"), ops.relu(relu, name="other")], [x], "small")


def compared(model: Model, path: Path) -> Comparison:
    return compare(Reference(model, [[X]]), runtime_of(str(path)))


@pytest.mark.parametrize("kind", ["archive", "folder"])
def test_results_alone_are_compared_by_name(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "expected.npz" if kind == "archive" else tmp_path
    if kind == "archive":
        np.savez(path, last=SUM, other=RELU)
    else:
        np.save(tmp_path / "last.npy", SUM)
        np.save(tmp_path / "other.npy", RELU)
    found = compared(model(), path)
    assert found.verdict == f"the results agree with {path} (the other layers were not observed)"


def test_results_as_run_writes_them(tmp_path: Path) -> None:
    irexec.save_model(model(), tmp_path / "m.xml")
    np.savez(tmp_path / "in.npz", x=X)
    ir, given, out = (str(tmp_path / name) for name in ("m.xml", "in.npz", "out.npz"))
    assert main(["run", ir, "--input", given, "-o", out]) == 0
    assert main(["compare", ir, "--input", given, "--with", out]) == 0
    arrays = dict(np.load(out))
    np.savez(out, **arrays | {"last": SUM + 1})
    assert main(["compare", ir, "--input", given, "--with", out]) == 1


def test_a_result_whose_name_is_not_a_key_of_an_archive(tmp_path: Path) -> None:
    x = ops.parameter([2, 2], np.float32, name="x")
    made = Model([ops.relu(x, name="../y"), ops.abs(x, name="z")], [x], "named")
    np.savez(tmp_path / "out.npz", output_0=RELU, z=np.abs(X))
    assert compared(made, tmp_path / "out.npz").same


def test_names_of_layers_as_names_of_files(tmp_path: Path) -> None:
    """Every sequence of characters other than letters, digits, dots, hyphens and underscores becomes one underscore."""
    np.save(tmp_path / "stage_1_relu_0.npy", RELU)
    np.save(tmp_path / "last.npy", SUM)
    np.save(tmp_path / "other.npy", RELU)
    found = compared(model(), tmp_path)
    assert found.verdict == f"all 3 layers agree with {tmp_path}"
    assert "stage 1/relu::0" in [row.node.friendly_name for row in found.layers]


@pytest.mark.parametrize("name", ["named", "Result_100000000"])
def test_a_result_is_found_by_its_own_name(name: str, tmp_path: Path) -> None:
    made = model()
    made.results[0].friendly_name = name
    np.savez(tmp_path / "out.npz", **{name: SUM, "other": RELU})
    assert compared(made, tmp_path / "out.npz").same


@pytest.mark.parametrize("kind", ["archive", "folder"])
def test_a_result_under_its_own_name_is_judged_as_its_layer(kind: str, tmp_path: Path) -> None:
    """The tolerance of the layer applies, whichever of the two names another tool used."""
    made = model()
    made.results[0].friendly_name = "own_name"
    (tmp_path / "layer").mkdir()
    (tmp_path / "result").mkdir()
    near = np.nextafter(SUM, np.float32(np.inf))
    found = []
    for name, folder in (("last", tmp_path / "layer"), ("own_name", tmp_path / "result")):
        if kind == "archive":
            np.savez(folder / "out.npz", **{name: near, "other": RELU})
        else:
            np.save(folder / f"{name}.npy", near)
            np.save(folder / "other.npy", RELU)
        found.append(compared(made, folder / "out.npz" if kind == "archive" else folder))
    assert [row.node.friendly_name for row in found[1].layers] == [row.node.friendly_name for row in found[0].layers]
    assert all(each.agrees and not each.same for each in found)


def test_a_missing_result_lists_the_names_that_are_looked_up(tmp_path: Path) -> None:
    np.save(tmp_path / "other.npy", RELU)
    with pytest.raises(CannotRun, match=r"contains no values of the result .*last\.npy"):
        compared(model(), tmp_path)
    np.savez(tmp_path / "out.npz", other=RELU)
    x = ops.parameter([2, 2], np.float32, name="x")
    made = Model([ops.relu(x, name="stage/relu")], [x], "named")
    made.results[0].friendly_name = "own_name"
    with pytest.raises(CannotRun, match=r"'own_name' \('stage/relu' or .*'own_name'\); rename the key .*irexec run -o"):
        compared(made, tmp_path / "out.npz")


def test_results_under_each_others_names(tmp_path: Path) -> None:
    x = ops.parameter([2, 8], np.float32, name="x")
    bent, kept = ops.tanh(x, name="bent"), ops.relu(x, name="kept")
    values = np.linspace(-2, 2, 16, dtype=np.float32).reshape(2, 8)
    np.savez(tmp_path / "swapped.npz", bent=np.maximum(values, 0), kept=np.tanh(values))
    run = Reference(Model([bent, kept], [x], "two"), [[values]])
    found = compare(run, runtime_of(str(tmp_path / "swapped.npz")))
    assert not found.agrees
    assert found.hints == ["bent has the values of kept on the other side"]
