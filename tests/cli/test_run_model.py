"""`irexec run` on whole models: inputs, outputs, trace, dump, until, failures, interruption."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.nets import Net, iterating, two_inputs
from support.running import codes, run, run_json
from support.waiting import PATIENCE

import irexec


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "two.xml").write_text(two_inputs().text)
    (tmp_path / "loop.xml").write_text(iterating().text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_model_with_inputs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save("y.npy", np.array([[2, 2, 2]], np.float32))
    code, text = run(capsys, "two.xml", "--input", "first=[[-1, 2, 3]]", "--input", "y=y.npy", "--save", "out.npz")
    assert code == 0
    assert "  first  f32  [1,3]  [[-1, 2, 3]]  --input\n" in text
    assert "  out   f32   [1,3]  0    6    3.333  [[0, 4, 6]]\n" in text
    assert "results of 2 layers" in text
    with np.load("out.npz") as saved:
        np.testing.assert_array_equal(saved["out"], [[0, 4, 6]])


def test_a_refused_model_refers_to_all_its_errors(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.xml").write_text(two_inputs().text.replace('type="ReLU"', 'type="Absent"'))
    code, text = run(capsys, "bad.xml")
    assert code == 1 and text.endswith("\nfor all errors of the model: irexec validate bad.xml\n")
    _, text = run(capsys, "two.xml", "--input", "none=1")
    assert "irexec validate" not in text


def test_inputs_of_a_model_that_are_not_given_are_drawn(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, result = run_json(capsys, "two.xml", "--shape", "y=2,3", "--shape", "x=2,3")
    assert code == 0
    assert [(i["name"], i["shape"], i["values_from"]) for i in result["inputs"]] == [
        ("first", [2, 3], "random (seed 0)"),
        ("y", [2, 3], "random (seed 0)"),
    ]
    x, y = (np.array(entry["values"], np.float32) for entry in result["inputs"])
    np.testing.assert_array_equal(np.array(result["outputs"][0]["values"], np.float32), np.maximum(x, 0) * y)
    assert "shape chosen for [?,3]" in " ".join(run(capsys, "two.xml")[1].split())


def test_a_trace(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, result = run_json(capsys, "loop.xml", "--trace", "--input", "x=[[-1, 2], [3, -4], [nan, -5]]")
    assert code == 0
    outer, inner = result["trace"]
    assert (outer["name"], outer["depth"], outer["calls"]) == ("outer", 0, 1)
    assert (inner["name"], inner["depth"], inner["calls"]) == ("inner", 1, 3)
    histogram = outer["outputs"][0].pop("histogram")
    assert (histogram["edges"][0], histogram["edges"][-1], sum(histogram["counts"])) == (1.0, 5.0, 5)
    assert len(histogram["edges"]) == len(histogram["counts"]) + 1
    assert outer["outputs"][0] | {"mean": None} == {
        "element_type": "f32",
        "shape": [3, 2],
        "min": 1.0,
        "max": 5.0,
        "mean": None,
        "nan": 1,
        "inf": 0,
    }
    _, text = run(capsys, "loop.xml", "--trace")
    assert "\ntrace\n  layer    type            precision  shape" in text
    assert "\n    inner  Abs" in text


def test_a_dump(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "loop.xml", "--dump", "deep/d", "--input", "x=[[-1, 2], [3, -4], [0, -5]]")[0] == 0
    index = json.loads((folder / "deep/d/index.json").read_text())["tensors"]
    assert [(e["file"], e["layer"]["name"], e["call"]) for e in index] == [
        ("00000_inner.npy", "inner", 0),
        ("00001_inner.npy", "inner", 1),
        ("00002_inner.npy", "inner", 2),
        ("00003_outer.npy", "outer", 0),
    ]
    np.testing.assert_array_equal(np.load("deep/d/00001_inner.npy"), [[3, 4]])
    np.testing.assert_array_equal(np.load("deep/d/00003_outer.npy"), [[1, 2], [3, 4], [0, 5]])
    assert len(list((folder / "deep/d").iterdir())) == 6
    np.testing.assert_array_equal(np.load("deep/d/inputs.npz")["x"], [[-1, 2], [3, -4], [0, -5]])
    (folder / "no folder").touch()
    assert run_json(capsys, "loop.xml", "--dump", "no folder")[0] == 2


@pytest.mark.parametrize(("name", "values"), [("positive", [[0, 2, 3]]), ("x", [[-1, 2, 3]]), ("2", [[0, 2, 3]])])
def test_until_a_layer(name: str, values: list[list[float]], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, result = run_json(capsys, "two.xml", "--until", name, "--input", "x=[[-1, 2, 3]]")
    assert code == 0
    assert [entry["name"] for entry in result["inputs"]] == ["first"]
    assert [output["values"] for output in result["outputs"]] == [values]


@pytest.mark.parametrize(
    ("file", "name", "hint"),
    [("two.xml", "positiv", "did you mean positive?"), ("loop.xml", "inner", "use --until outer; ")],
)
def test_until_a_layer_that_is_not_there(
    file: str, name: str, hint: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, result = run_json(capsys, file, "--until", name)
    assert (code, codes(result)) == (2, ["U005"])
    assert result["diagnostics"][-1]["hint"].startswith(hint)


@pytest.mark.parametrize(
    ("arguments", "code", "exit_code"),
    [
        (("--input", "z=[1]"), "U005", 2),
        (("--input", "x=[[1, 2]]"), "O008", 2),
        (("--shape", "x=2,4"), "O008", 2),
        (("--precision", "f16"), "U003", 2),
        (("--duplicates",), "U003", 2),
        (("--input", "x=[[1, 2, 3]]", "--input", "y=[[1, 2, 3], [4, 5, 6], [7, 8, 9]]"), "", 0),
        (("--input", "x=[[1, 2, 3], [1, 2, 3]]", "--input", "y=[[1, 2, 3], [4, 5, 6], [7, 8, 9]]"), "O001", 1),
    ],
)
def test_what_does_not_fit_a_model(
    arguments: tuple[str, ...], code: str, exit_code: int, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found, result = run_json(capsys, "two.xml", *arguments)
    assert found == exit_code
    assert codes(result) == ([code] if code else [])


def test_a_failure_while_running_is_located(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    net = Net()
    data, indices = net.parameter("data", "4"), net.parameter("indices", "2", "i64")
    axis = net.parameter("axis", "", "i64")
    net.result(net.layer("Gather", [data, indices, axis], "2", name="pick", version="opset7", data='batch_dims="0"'))
    (folder / "gather.xml").write_text(net.text)
    code, result = run_json(capsys, "gather.xml", "--input", "indices=[0, 9]", "--input", "axis=0")
    assert code == 1
    (finding,) = (d for d in result["diagnostics"] if d["severity"] == "error")
    assert finding["code"] == "O005"
    assert finding["layer"]["name"] == "pick"
    assert finding["line"] == 6
    assert finding["constraint"].startswith("Gather-7 C")


def test_a_model_with_an_error_is_not_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "bad.xml").write_text(two_inputs().text.replace('type="ReLU"', 'type="ReLUU"'))
    code, text = run(capsys, "bad.xml")
    assert code == 1
    assert "error[L004]" in text and "outputs" not in text


@pytest.mark.by_hand(0)
@pytest.mark.skipif(not hasattr(signal, "SIGINT") or os.name == "nt", reason="signals as on POSIX")
def test_ctrl_c_leaves_nothing_half_written(folder: Path) -> None:
    """The command is interrupted while it writes an array: this file is absent, the previous ones are complete."""
    code = (
        # In a shell's background SIGINT is ignored, which child processes inherit.
        "import signal, time\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "import numpy as np\nfrom irexec.cli.main import main\n"
        "count = 0\nwrite = np.lib.format.write_array\n"
        "def slow(stream, array, **options):\n"
        "    global count\n    count += 1\n"
        "    if count == 3:\n        stream.write(b'half'); stream.flush()\n"
        f"        print('up', flush=True); time.sleep({PATIENCE})\n"
        "    write(stream, array, **options)\n"
        "np.lib.format.write_array = slow\nraise SystemExit(main(['run', 'loop.xml', '--dump', 'd']))\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path(irexec.__file__).parents[1])},
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == "up\n"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors) == (130, "")
    assert sorted(p.name for p in (folder / "d").iterdir()) == ["00000_inner.npy", "00001_inner.npy", "index.json"]
    assert len(json.loads((folder / "d/index.json").read_text())["tensors"]) == 2


def test_the_documented_json_is_what_is_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[2] / "docs" / "commands" / "run.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"`(?:\w+(?:\[\])?\.)?(\w+)(?:\[\])?`", page[page.index("## JSON") :]))
    sample = Path(__file__).parents[2] / "samples" / "slice_scatter" / "example_1.xml"
    results = [
        run_json(capsys, str(sample))[1],
        run_json(capsys, "loop.xml", "--trace", "--as", "f16")[1],
        run_json(capsys, "nowhere.xml")[1],
    ]

    def keys(value: object) -> set[str]:
        if isinstance(value, dict):
            free = {"attributes", "diagnostics"}
            return set(value) | {k for key, item in value.items() if key not in free for k in keys(item)}
        return {k for item in value for k in keys(item)} if isinstance(value, list) else set()

    printed = set().union(*map(keys, results))
    assert printed <= documented
    assert documented - printed == {"null"}


def test_random_inputs_are_such_as_the_layers_take(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Random integers must be valid indices of a small table."""
    net = Net()
    data, indices = net.parameter("data", "3,2"), net.parameter("indices", "-1", "i64")
    axis = net.parameter("axis", "", "i64")
    net.result(net.layer("Gather", [data, indices, axis], "-1,-1", name="pick", version="opset7"))
    (folder / "gather.xml").write_text(net.text)
    for seed in range(5):
        code, result = run_json(capsys, "gather.xml", "--seed", str(seed), "--shape", "indices=4")
        assert (code, codes(result)) == (0, [])
