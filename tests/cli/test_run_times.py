"""irexec run: the time of each stage, several runs, the trace by time with totals per type."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from irexec.cli.main import main
from irexec.runtime.lowering import backend

CLASSIFIER = Path(__file__).parents[2] / "samples" / "classifier"
COMMAND = ["run", str(CLASSIFIER / "model.xml"), "--input", f"image={CLASSIFIER / 'image.npy'}"]


def test_the_stages_are_timed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMAND, "--json"]) == 0
    seconds = json.loads(capsys.readouterr().out)["seconds"]
    assert list(seconds) == ["read", "check", "compile", "run"]
    assert all(time > 0 for time in seconds.values())
    assert main(COMMAND) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  read ")]
    assert [word.split()[0] for word in line.split(", ")] == ["read", "check", "compile", "run"]


def test_several_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMAND, "--repeat", "3", "--trace", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["seconds"]["fastest"] <= result["seconds"]["run"]
    assert {row["calls"] for row in result["trace"]} == {1}, "the trace contains means"
    assert sum(row["seconds"] for row in result["trace"]) < 2 * result["seconds"]["run"]


def test_the_most_expensive_layers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMAND, "--worst", "2"]) == 0
    table, _, _ = capsys.readouterr().out.partition("\nmost expensive layers (2 of ")[2].partition("\n\n")
    _, _, *rows = table.splitlines()
    assert sum(not row.startswith("    ") for row in rows) == 2, "further outputs of a layer have no name"


@pytest.mark.parametrize("is_installed", [False, True])
def test_what_the_extra_would_gain(
    is_installed: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend, "is_installed", lambda: is_installed)
    for options, is_printed in (([], False), (["--repeat", "2"], not is_installed)):
        assert main([*COMMAND, *options]) == 0
        assert ("pip install '.[fast]'" in capsys.readouterr().out) is is_printed


def test_states_are_the_same_in_every_run(capsys: pytest.CaptureFixture[str]) -> None:
    """The transformer stores keys and values, which would be twice as many in a second run."""
    folder = CLASSIFIER.parent / "transformer"
    command = ["run", str(folder / "model.xml"), "--input", f"words={folder / 'words.npy'}", "--json"]
    outputs = []
    for more in ([], ["--repeat", "3"]):
        assert main([*command, *more]) == 0
        outputs.append(json.loads(capsys.readouterr().out)["outputs"])
    assert outputs[0] == outputs[1]


def test_the_trace_by_time(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMAND, "--sort", "time", "--json"]) == 0
    times = [row["seconds"] for row in json.loads(capsys.readouterr().out)["trace"]]
    assert times == sorted(times, reverse=True)
    assert main([*COMMAND, "--sort", "time"]) == 0
    lines = capsys.readouterr().out.splitlines()
    start = lines.index("time per type")
    table = [line.split() for line in lines[start + 2 : lines.index("", start)]]
    assert {row[0]: int(row[1]) for row in table}["Convolution"] == 3
    assert sum(float(row[-1]) for row in table) == pytest.approx(100, abs=1)


def test_at_least_one_run(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([*COMMAND, "--repeat", "0"])
    assert "'0' is not an integer of 1 or more" in capsys.readouterr().err
