"""Runtimes in separate processes: their answers, and the messages when the process ends."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.dying import Fragile

import irexec
from irexec import opset15 as ops
from irexec.cli.main import main
from irexec.core.types import Array, ElementType
from irexec.runtime.processes.worker import Refused, Worker
from irexec.tools.compare.compare import compare
from irexec.tools.compare.runtimes.runtime import Died
from irexec.tools.compare.runtimes.separate import Apart
from irexec.tools.run.record import Reference

pytestmark = pytest.mark.processes

SERVER = f"{Fragile.__module__}:{Fragile.__qualname__}"
X = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)


def reference() -> Reference:
    x = ops.parameter([2, 3], np.float32, name="x")
    model = irexec.Model([ops.relu(ops.tanh(x, name="bend"), name="last")], [x], "small")
    return Reference(model, [[X]])


def test_a_runtime_in_another_process_is_compared_like_any_other() -> None:
    found = compare(reference(), Apart(SERVER, {"deadly": "nothing", "how": "crash"}))
    assert found.agrees
    assert (found.other, found.count, found.unseen) == ("fragile", 2, 0)


def test_observed_values_are_fetched_in_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    runtime, asked = Apart(SERVER, {"deadly": "nothing", "how": "crash"}), []
    ask = runtime.ask
    monkeypatch.setattr(runtime, "ask", lambda method, *given: asked.append(method) or ask(method, *given))
    assert compare(reference(), runtime).count == 2
    assert asked.count("kept") == 1
    assert asked.count("about") == 1


def test_a_crash_is_reported_with_its_signal_and_last_words() -> None:
    with pytest.raises(Died, match=r"^fragile crashed \(SIGSEGV\): the last words$") as caught:
        compare(reference(), Apart(SERVER, {"deadly": "Tanh", "how": "crash"}))
    assert caught.value.how == "crash"


@pytest.mark.by_hand(0)
def test_a_runtime_that_does_not_answer_is_ended() -> None:
    runtime = Apart(SERVER, {"deadly": "Tanh", "how": "hang"})
    runtime.limit = 0.5  # The next answer never arrives.
    with pytest.raises(Died, match=r"^fragile did not respond within 0.5 s$") as caught:
        compare(reference(), runtime)
    assert caught.value.how == "hang"


@pytest.mark.by_hand(0)
def test_after_a_crash_the_next_model_is_run() -> None:
    runtime = Apart(SERVER, {"deadly": "Exp", "how": "crash"})
    x = ops.parameter([2, 3], np.float32, name="x")
    with pytest.raises(Died):
        runtime.load(irexec.Model([ops.exp(x)], [x], "deadly"))
    right = reference()
    np.testing.assert_array_equal(runtime.load(right.model).results(right.steps)[0][0], right.results()[0][0])


@pytest.mark.by_hand(0)
def test_two_models_of_one_runtime_take_turns() -> None:
    runtime = Apart(SERVER, {"deadly": "nothing", "how": "crash"})
    x = ops.parameter([2, 3], np.float32, name="x")
    other = Reference(irexec.Model([ops.exp(x)], [x], "other"), [[X]])
    first, second = runtime.load(reference().model), runtime.load(other.model)
    for _ in range(2):
        np.testing.assert_array_equal(first.results([[X]])[0][0], reference().results()[0][0])
        np.testing.assert_array_equal(second.results([[X]])[0][0], other.results()[0][0])


@pytest.fixture(scope="module")
def echo() -> Worker:
    return Worker("support.dying:Echo")


@pytest.mark.parametrize("kind", ["f32", "bf16", "f8e4m3", "i4", "boolean", "i64"])
def test_arrays_of_every_kind_cross(kind: str, echo: Worker) -> None:
    array: Array = np.array([0, 1, 1, 0]).astype(ElementType.by_name[kind].dtype)
    crossed = echo.call("say", array)
    assert crossed.dtype == array.dtype
    assert crossed.tobytes() == array.tobytes()


def test_texts_cross(echo: Worker) -> None:
    array = np.array(["", "a text that is longer than a few characters"], np.dtypes.StringDType())
    assert echo.call("say", array).tolist() == array.tolist()


def test_a_refusal_does_not_end_the_other_process() -> None:
    process = Worker("support.dying:Echo")
    with pytest.raises(Refused, match="I say nothing"):
        process.call("refuse")
    assert process.call("say", 1) == 1
    assert process.life == 1


@pytest.mark.by_hand(0)
def test_the_command_states_how_openvino_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An `openvino` that crashes when it is first used: exit code 2 and a message about the crash."""
    (tmp_path / "openvino.py").write_text("import os\n\ndef Core():\n    os.abort()\n")
    monkeypatch.syspath_prepend(tmp_path)
    model = tmp_path / "small.xml"
    irexec.save_model(reference().model, model)
    assert main(["compare", str(model), "--with", "openvino"]) == 2
    assert "OpenVINO crashed (SIGABRT)" in capsys.readouterr().err
