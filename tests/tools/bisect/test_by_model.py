"""The search by the results of a model: the same failure, other failures, settings, and interrupted searches."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irexec
from irexec import opset13 as ops
from irexec.cli.main import main
from irexec.core.types import Array
from irexec.model.graph.model import Model, Value
from irexec.tools.bisect.bisect import bisect
from irexec.tools.bisect.by_model import ByModel
from irexec.tools.bisect.environments import Environments
from irexec.tools.bisect.settings import OPENVINO, Search
from irexec.tools.compare.runtimes.runtime import CannotRun, Died, Loaded, Runtime, Steps
from irexec.tools.run.record import Reference

RELEASES = [f"{year}.{minor}.0" for year in (2023, 2024, 2025) for minor in range(4)]


def model() -> Model:
    x = ops.parameter([4], np.float32, name="x")
    relu = ops.relu(ops.negative(x, name="turned"), name="relu")
    return irexec.Model([ops.exp(relu, name="out")], [x])


@pytest.fixture
def reference() -> Reference:
    return Reference(model(), [[np.float32([-2, -1, 1, 2])]])


class Played(Runtime, Loaded):
    """A runtime that computes what irexec does, except for a failure of the layer `relu`, or another one."""

    runs_parts = True
    printed = ""

    def __init__(self, failure: str, release: str = "") -> None:
        self.name, self.precision, self.failure = f"played {release} ({failure})".replace("  ", " "), "f32", failure

    def load(self, model: Model) -> Played:
        if self.failure == "refusal":
            raise CannotRun("the operator is not supported")
        if self.failure == "crash":
            raise Died("crash", f"{self.name} crashed (SIGSEGV)")
        return self

    def results(self, steps: Steps) -> list[list[Array]]:
        return [[self._values(step)["out"]] for step in steps]

    def observe(self, steps: Steps, values: Sequence[Value]) -> list[dict[Value, Array]]:
        names = {value: value.node.friendly_name for value in values}
        return [{v: self._values(step)[name] for v, name in names.items()} for step in steps]

    def _values(self, step: Sequence[Array]) -> dict[str, Array]:
        turned = -step[0] + np.float32(self.failure == "elsewhere")
        relu = np.maximum(turned, 0) + np.float32(self.failure == "difference")
        return {"x": step[0], "turned": turned, "relu": relu, "out": np.exp(relu)}

    def close(self) -> None:
        pass


def found(reference: Reference, failures: Mapping[str, str]) -> Any:
    """Search; releases are played by their "interpreters"."""
    check = ByModel(reference, lambda python: Played(failures.get(python, "none"), python))
    made = bisect(check, RELEASES, Environments("openvino", None, {r: r for r in RELEASES}))
    made.others = check.others
    return made


def test_the_first_release_with_a_difference(reference: Reference) -> None:
    made = found(reference, dict.fromkeys(RELEASES[5:], "difference"))
    assert (made.release, made.before) == (RELEASES[5], RELEASES[4])


def test_another_difference_is_not_the_failure(reference: Reference) -> None:
    failures = dict.fromkeys(RELEASES[5:], "difference") | dict.fromkeys(RELEASES[:5], "elsewhere")
    made = found(reference, failures)
    assert (made.release, made.before) == (RELEASES[5], RELEASES[4])
    assert "another failure" in made.text()


def test_releases_that_reject_the_model_are_skipped(reference: Reference) -> None:
    made = found(reference, dict.fromkeys(RELEASES[6:], "difference") | dict.fromkeys(RELEASES[:2], "refusal"))
    assert (made.release, made.before) == (RELEASES[6], RELEASES[5])
    assert made.skipped == {RELEASES[0]: "it refuses the model: the operator is not supported"}


def test_a_refusal_of_old_releases_is_not_the_failure(reference: Reference) -> None:
    refusing = dict.fromkeys(RELEASES[:3], "refusal")
    made = found(reference, refusing | dict.fromkeys(RELEASES[3:7], "difference"))
    assert (made.release, made.before) == (RELEASES[7], RELEASES[6])
    assert {*made.skipped} <= {*refusing}
    verdict = found(reference, refusing).verdict
    assert verdict.startswith(f"no change: the failure is not there in {RELEASES[3]}, ")
    assert verdict.endswith(
        f"; {RELEASES[2]} and older ones could not be asked: it refuses the model: the operator is not supported"
    )


@pytest.mark.parametrize("failure", ["crash", "refusal"])
def test_the_failure_may_be_a_crash_or_a_refusal(reference: Reference, failure: str) -> None:
    made = found(reference, dict.fromkeys(RELEASES[3:], failure))
    assert (made.release, made.before) == (RELEASES[3], RELEASES[2])


def settings(reference: Reference, *needed: str, refused: str = "") -> Any:
    """Search settings of a runtime that is right with all of these."""

    def runtime_of(config: Mapping[str, str], environment: Mapping[str, str], cached: bool) -> Any:
        given = {*config, *environment, *(["CACHE_DIR"] if cached else [])}
        return Played("refusal" if refused in given else "none" if given >= {*needed} else "difference")

    return Search(ByModel(reference, lambda python: Played("none")), runtime_of).run()


def test_a_setting_that_removes_the_failure(reference: Reference) -> None:
    made = settings(reference, "NUM_STREAMS", refused="CACHE_DIR")
    assert made.verdict == "NUM_STREAMS=1 removes the failure"
    assert list(made.refused) == ["CACHE_DIR"]
    assert len(made.stays) == len(OPENVINO) - 2


@pytest.mark.by_hand(0)
def test_settings_that_remove_the_failure_together(reference: Reference) -> None:
    made = settings(reference, "NUM_STREAMS", "ONEDNN_MAX_CPU_ISA", refused="KV_CACHE_PRECISION")
    assert made.removes == []
    assert [name.partition("=")[0] for name in made.together] == ["NUM_STREAMS", "OV_CPU_MAX_ISA"]


def test_without_a_failure_no_setting_is_tried(reference: Reference) -> None:
    assert settings(reference).verdict == "the failure is not there in played (none)"


@pytest.fixture
def file(tmp_path: Path) -> str:
    irexec.save_model(model(), tmp_path / "model.xml")
    return str(tmp_path / "model.xml")


@pytest.mark.by_hand(0)
def test_a_model_on_the_command_line(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("openvino")
    log = tmp_path / "log.json"
    given = [word for r in ("2024.1", "2024.2") for word in ("--python", f"{sys.executable}={r}")]
    command = ["bisect", file, "--releases", "2024.1,2024.2", *given, "--settings", "--resume", str(log)]
    for _ in range(2):
        assert main([*command, "--config", "INFERENCE_PRECISION_HINT=f32"]) == 2
        text = capsys.readouterr().out
        assert text.startswith("no change: the failure is not there in 2024.1 and 2024.2\n")
        assert "\nthe failure is not there in OpenVINO " in text
        assert json.loads(log.read_text())["failures"] == {"2024.1": False, "2024.2": False}
    assert main(command) == 2
    assert "it is the log of another search" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ([], "give a model, or a command with --check"),
        (["model.xml"], "give --releases, --settings or both"),
        (["--check", "{python}", "--settings"], "--settings requires the failure of a model"),
        (["model.xml", "--releases", "1,2", "--with", "torch:a:b"], "has no releases to search"),
    ],
)
def test_what_is_refused(options: list[str], reason: str, file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bisect", *(file if word == "model.xml" else word for word in options)]) == 2
    assert reason in "".join(capsys.readouterr())


@pytest.mark.by_hand(0)
def test_onnx_runtimes_optimizers_are_found(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    from irexec.frontends.reading import read
    from irexec.tools.compare.runtimes.onnx_runtime import OnnxRuntime

    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    nodes = [helper.make_node("Identity", ["x"], ["a"]), helper.make_node("MatMul", ["a", "w"], ["b"])]
    nodes.append(helper.make_node("Add", ["b", "c"], ["y"]))
    given = [helper.make_tensor("w", kind, [2, 2], [1.0] * 4), helper.make_tensor("c", kind, [2], [1.0] * 2)]
    ports = [helper.make_tensor_value_info(name, kind, [2, 2]) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "g", ports[:1], ports[1:], given)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), tmp_path / "m.onnx")
    read_model = read(tmp_path / "m.onnx").model
    assert read_model is not None
    reference = Reference(read_model, [[np.float32([[1, 2], [3, 4]])]])

    def wrong(config: Mapping[str, str]) -> bool:
        """Play a defect of one optimizer."""
        return "MatMulAddFusion" not in config.get("without", "").split(",") and "level" not in config

    class WithDefect(OnnxRuntime):
        def __init__(self, config: Mapping[str, str]) -> None:
            super().__init__(config)
            self.wrong = wrong(config)

        def ask(self, method: str, *arguments: Any) -> Any:
            found = super().ask(method, *arguments)
            return [[array + 1 for array in step] for step in found] if method == "results" and self.wrong else found

    check = ByModel(reference, lambda python: WithDefect({}))
    made = Search(check, lambda config, environment, cached: WithDefect(config)).run()
    assert made.optimizers == ["MatMulAddFusion"]
    assert made.verdict == "the failure is gone without MatMulAddFusion (disabled_optimizers)"


@pytest.mark.by_hand(0)
def test_compare_takes_another_interpreter(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("openvino")
    command = ["compare", file, "--with", "openvino", "--config", "INFERENCE_PRECISION_HINT=f32", "--python"]
    assert main([*command, sys.executable]) == 0
    assert "layers agree with OpenVINO" in capsys.readouterr().out
    assert main([*command, "missing/python"]) == 2
    assert "missing/python: No such file or directory" in capsys.readouterr().err
    assert main(["compare", file, "--with", "torch:a:b", "--python", sys.executable]) == 2
    assert "give openvino, openvino:DEVICE or onnxruntime" in capsys.readouterr().err
