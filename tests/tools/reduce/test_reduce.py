"""irexec reduce: the smallest model that fails in the same way, for planted faults; interrupted, resumed, written."""

from __future__ import annotations

import ast
import contextlib
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.amounts import amount
from support.failing import SAMPLES, reference
from support.faults import Exchanging, Fault, Forgetful, Planted, chain, faults, of_type
from support.waiting import PATIENCE

import irexec
from irexec import Model, Node
from irexec import opset15 as ops
from irexec.cli.main import INTERRUPTED, main
from irexec.tools.compare.compare import compare
from irexec.tools.reduce import repro
from irexec.tools.reduce.case import Case
from irexec.tools.reduce.case_files import load_case, save_case
from irexec.tools.reduce.reduce import Reduction, begin, guesses, reduce, whole
from irexec.tools.reduce.stages import STAGES, Stage
from irexec.tools.reduce.verdict import ByRuntime
from irexec.tools.run.record import Reference, same

pytestmark = pytest.mark.any_python

FAULTS = list(faults())


class Valid:
    """A watcher that writes every smaller case and checks that irexec finds no error in the file."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.count = folder, 0

    def tried(self, reduction: Reduction, stage: Stage, smaller: bool) -> None:
        if smaller:
            self.count += 1
            files = save_case(reduction.case, self.folder / "case.xml")
            report = irexec.validate(files[0])
            assert report.ok, (stage.name, report.errors)
            again = load_case(files[0])
            for ours, theirs in zip(reduction.case.results, again.results, strict=True):
                assert all(same(a, b) for a, b in zip(ours, theirs, strict=True)), stage.name


def reduced(name: str, planted: Planted, *watchers: Any) -> Reduction:
    run, judge = reference(name), ByRuntime(planted)
    found = begin(judge, guesses(run, planted))
    assert found is not None
    return reduce(found, judge, watchers)


@pytest.mark.by_hand(1)
@pytest.mark.parametrize("fault", random.Random(7).sample(FAULTS, 12), ids=lambda fault: f"{fault.model}: {fault.name}")
def test_what_is_left_is_near_the_minimum(fault: Fault, tmp_path: Path) -> None:
    found = reduced(fault.model, fault.planted, Valid(tmp_path))
    assert 0 < found.case.size <= fault.minimum + 3, [node.type for node in found.case.layers]
    judged = ByRuntime(fault.planted).fault(found.case, found.fault)
    assert judged == found.fault


def test_there_are_fifty_faults() -> None:
    assert len(FAULTS) >= 50
    assert len({(fault.model, fault.name) for fault in FAULTS}) == len(FAULTS)


@pytest.mark.by_hand(0)
def test_everything_becomes_simple() -> None:
    """One convolution of 64 channels is wrong: it is reduced to 1x1 with one channel."""
    found = reduced("classifier", Planted(of_type("Convolution")))
    (layer,) = found.case.layers
    assert layer.type == "Convolution"
    assert [array.shape for array in found.case.steps[0]] == [(1, 1, 1, 1)]
    (weights,) = [n.constant for n in found.case.model.nodes if n.constant is not None]
    assert weights.shape == (1, 1, 1, 1)


def test_a_fault_of_a_variable_keeps_the_steps_and_the_variable() -> None:
    x = ops.parameter([1, 4], np.float32, name="x")
    total = ops.add(ops.read_value(ops.constant(np.zeros((1, 4), np.float32)), "total", "f32", [1, 4]), ops.sin(x))
    model = irexec.Model([ops.tanh(ops.exp(total))], [ops.assign(total, "total")], [x], "sums")
    run = Reference(model, [[np.full((1, 4), value, np.float32)] for value in (0.5, 0.25, 0.125)])
    forgetful = Forgetful(of_type("ReadValue"))
    judge = ByRuntime(forgetful)
    found = begin(judge, guesses(run, forgetful))
    assert found is not None
    reduce(found, judge)
    assert len(found.case.steps) == 2
    assert {"ReadValue", "Assign"} <= {node.type for node in found.case.layers}


def test_it_does_not_slip_to_another_fault() -> None:
    """Two layers are wrong, one of them slightly: the layer that a comparison names remains."""
    x = ops.parameter([2, 8], np.float32, name="x")
    bent = ops.tanh(ops.multiply(x, np.float32(2)), name="bent")
    model = irexec.Model([ops.exp(ops.sin(bent, name="wave"), name="large")], [x], "two")
    run = Reference(model, [[np.linspace(-1, 1, 16, dtype=np.float32).reshape(2, 8)]])
    planted = Planted(lambda model: [node for node in model.walk() if node.type in ("Tanh", "Sin")])
    judge = ByRuntime(planted)
    found = begin(judge, guesses(run, planted))
    assert found is not None
    reduce(found, judge)
    assert [node.friendly_name for node in found.case.layers] == ["bent"]


def test_another_operator_that_is_wrong_does_not_take_the_place_of_the_first() -> None:
    """Tanh is wrong only after Multiply, so that it cannot be judged alone; a Divide in the same model is
    always wrong.
    """
    x = ops.parameter([2, 8], np.float32, name="x")
    bent = ops.tanh(ops.multiply(x, x), name="bent")
    model = irexec.Model([ops.divide(ops.exp(bent), np.float32(3), name="part")], [x], "two")
    run = Reference(model, [[np.linspace(-1, 1, 16, dtype=np.float32).reshape(2, 8)]])
    pair, single = chain("Multiply", "Tanh"), of_type("Divide")
    planted = Planted(lambda model: [*pair(model), *single(model)])
    judge = ByRuntime(planted)
    found = begin(judge, guesses(run, planted))
    assert found is not None and found.fault.layers == ("bent",)
    reduce(found, judge)
    assert [node.type for node in found.case.layers] == ["Multiply", "Tanh"]


def _subtractions() -> tuple[Reference, ByRuntime, Planted]:
    """Return a model of two subtractions whose inputs are exchanged: of the first one beside a Tanh, of the second one
    always. Neither can be judged alone, because exchanged inputs need a layer that reads the result.
    """
    x, y = (ops.parameter([2, 8], np.float32, name=name) for name in "xy")
    first = ops.subtract(ops.multiply(x, x, name="square"), y, name="first")
    second = ops.subtract(ops.exp(first, name="exp"), y, name="second")
    model = irexec.Model([ops.tanh(ops.sin(second, name="wave"), name="bent")], [x, y], "two")

    def exchanged(model: Model) -> list[Node]:
        types = {node.type for node in model.nodes}
        after = {node: {user.type for user in node.outputs[0].users} for node in model.nodes if node.type == "Subtract"}
        return [n for n, users in after.items() if ("Exp" in users and "Tanh" in types) or "Sin" in users]

    rng = np.random.default_rng(0)
    steps = [[rng.standard_normal((2, 8)).astype(np.float32) for _ in "xy"]]
    planted = Exchanging(exchanged)
    return Reference(model, steps), ByRuntime(planted), planted


@pytest.mark.by_hand(0)
def test_another_layer_of_the_type_does_not_take_the_place_of_the_first() -> None:
    run, judge, planted = _subtractions()
    found = begin(judge, guesses(run, planted))
    assert found is not None and found.fault.layers == ("first",)
    reduce(found, judge)
    assert {"first", "exp", "bent"} <= {node.friendly_name for node in found.case.layers}
    culprit = compare(Reference(found.case.model, found.case.steps), planted).culprit
    assert culprit is not None and [node.friendly_name for node in culprit.nodes] == ["first"]


def test_a_value_has_no_users_that_were_removed() -> None:
    """A layer that was removed would still be among the readers of its inputs, which decide what is wrong."""
    run, _, _ = _subtractions()
    case = whole(run)
    for stage in STAGES:
        if things := [*stage.things(case)]:
            with contextlib.suppress(ValueError, irexec.IRError):
                case = stage.keep(case, things[: len(things) // 2])
        present = {*case.model.nodes}
        assert all({*value.users} <= present for node in present for value in node.outputs), stage.name


@pytest.mark.parametrize("type", ["LSTMSequence", "GRUSequence", "GRUCell"])
def test_hidden_sizes_and_directions_become_one(type: str) -> None:
    rng = np.random.default_rng(0)
    x = ops.parameter([3, 4, 6] if "Sequence" in type else [3, 6], np.float32, name="x")
    gates = 4 if "LSTM" in type else 3

    def weights(*shape: int) -> Any:
        return rng.normal(0, 0.4, shape).astype(np.float32)

    if type == "GRUCell":
        state = ops.constant(np.zeros((3, 5), np.float32))
        parts = (weights(15, 6), weights(15, 5), weights(15))
        made = [ops.gru_cell(x, state, *parts, 5, name="cell").outputs[0]]
    else:
        state = ops.constant(np.zeros((3, 2, 5), np.float32))
        parts = (weights(2, gates * 5, 6), weights(2, gates * 5, 5), weights(2, gates * 5))
        lengths = np.array([4, 4, 3])
        if type == "LSTMSequence":  # Both states are one constant.
            made = [ops.lstm_sequence(x, state, state, lengths, *parts, 5, "bidirectional", name="lstm").outputs[0]]
        else:
            made = [ops.gru_sequence(x, state, lengths, *parts, 5, "bidirectional", name="gru").outputs[0]]
    model = irexec.Model([ops.relu(made[0])], [x], "recurrent")
    planted = Planted(of_type(type))
    judge = ByRuntime(planted)
    run = Reference(model, [[rng.normal(size=x.outputs[0].shape).astype(np.float32)]])
    found = begin(judge, guesses(run, planted))
    assert found is not None
    (left,) = [node for node in reduce(found, judge).case.layers if node.type == type]
    assert left.attributes["hidden_size"] == 1 and left.all_attributes.get("direction", "forward") == "forward"
    assert left.outputs[0].partial_shape.to_shape()[-1] == 1


def test_a_crash_is_not_a_difference() -> None:
    """The model crashes at one layer and is wrong at another: only the crash counts."""

    class Both(Planted):
        def load(self, model: Any) -> Any:
            wrong = Planted(of_type("ReLU"))
            return super().load(model) if self.pattern(model) else wrong.load(model)

    found = reduced("classifier", Both(of_type("MaxPool"), "crash"))
    assert [node.type for node in found.case.layers] == ["MaxPool"]
    assert found.fault.kind == "crash"


def test_shared_constants_do_not_become_outputs() -> None:
    """Only the values that layers of the part compute become outputs."""
    x = ops.parameter([2, 3], np.float32, name="x")
    bias = ops.constant(np.ones(3, np.float32))
    first = ops.add(x, bias, name="first")
    model = irexec.Model([ops.multiply(first, bias, name="second")], [x], "shared")
    case = whole(Reference(model, [[np.zeros((2, 3), np.float32)]]))
    (layers,) = [stage for stage in STAGES if stage.name == "layers"]
    kept = layers.keep(case, [unit for unit in layers.things(case) if unit[0].friendly_name == "first"])
    assert [result.inputs[0].node.friendly_name for result in kept.model.results if result.inputs[0]] == ["first"]


def test_nothing_fails() -> None:
    run = reference("classifier")
    assert begin(ByRuntime(Planted(of_type("Erf"))), [whole(run)]) is None


class Interrupted(Exception):
    pass


@pytest.mark.by_hand(0)
def test_it_continues_where_it_was_interrupted(tmp_path: Path) -> None:
    planted = Planted(chain("Multiply", "Add"))
    judge = ByRuntime(planted)
    kept = repro.Repro(tmp_path / "repro.xml", "this")

    class Stop:
        def tried(self, reduction: Reduction, stage: Stage, smaller: bool) -> None:
            if reduction.tried == 12:
                raise Interrupted

    begun = begin(judge, [whole(reference("transformer"))])
    assert begun is not None
    with pytest.raises(Interrupted):
        reduce(begun, judge, [Stop()])
    kept.write(begun)
    assert repro.Repro(tmp_path / "repro.xml", "something else").resumed() is None
    resumed = kept.resumed()
    assert resumed is not None
    assert (resumed.tried, resumed.stage, resumed.case.size) == (begun.tried, begun.stage, begun.case.size)
    reduce(resumed, judge, [kept])
    assert resumed.case.size == 2
    assert resumed.tried > 12


def test_steps_and_types_survive_writing(tmp_path: Path) -> None:
    x = ops.parameter([2, 3], "bf16", name="x")
    y = ops.parameter([], "boolean", name="y")
    model = irexec.Model([ops.select(y, x, ops.multiply(x, x))], [x, y], "typed")
    values: list[Any] = [np.ones((2, 3)), np.zeros((2, 3))]
    steps = [[v.astype(model.inputs[0].element_type.dtype), np.array(number == 0)] for number, v in enumerate(values)]
    case: Case = whole(Reference(model, steps))
    save_case(case, tmp_path / "case.xml")
    again = load_case(tmp_path / "case.xml")
    assert [[a.dtype for a in step] for step in again.steps] == [[a.dtype for a in step] for step in steps]
    for ours, theirs in zip(case.steps, again.steps, strict=True):
        assert all(same(a, b) for a, b in zip(ours, theirs, strict=True))


# The command


COMMAND = """
import re, sys

types = set(re.findall(r'<layer [^>]*type="(\\w+)"', open(sys.argv[1]).read()))
sys.exit(3 if {"MaxPool", "SoftMax"} <= types else 5 if not "SoftMax" in types else 0)
"""


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "check.py").write_text(COMMAND)
    return ["reduce", str(SAMPLES / "classifier" / "model.xml"), "--check", f"{sys.executable} check.py {{}}"]


@pytest.mark.by_hand(0)
def test_a_command_that_fails(command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command) == 0
    text = capsys.readouterr().out
    assert "exits with code 3" in text.splitlines()[0]
    assert "2 layers of 20 still fail" in text
    assert max(map(len, text.splitlines()[1:-1])) <= 100
    for suffix in ("xml", "bin", "npz", "py", "md", "json"):
        assert (tmp_path / f"repro.{suffix}").is_file()
    shown = subprocess.run([sys.executable, "repro.py"], capture_output=True, text=True, cwd=tmp_path, timeout=PATIENCE)
    assert shown.stdout.splitlines() == ["exit code 3", "reproduced"] and shown.returncode == 1, shown.stderr
    report = (tmp_path / "repro.md").read_text("utf-8")
    assert "2 layers, reduced from 20 by `irexec reduce model.xml --check" in report
    assert "= MaxPool-" in report and "= SoftMax-" in report
    assert main(["run", "repro.xml", "--input", "repro.npz"]) == 0


@pytest.mark.by_hand(0)
def test_several_candidates_at_a_time(command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    models = []
    for jobs in ("1", "3"):
        file = tmp_path / f"small{jobs}.xml"
        assert main([*command, "-o", str(file), "-j", jobs]) == 0
        models.append([(node.type, str(node.outputs[0].partial_shape)) for node in irexec.read_model(file).get_ops()])
    assert models[0] == models[1]


NAMES = [
    'q"""+print(1)+"""',
    "q'+print(1)+'",
    "q\\",
    "q\n\nprint(1)",
    "q{model}{0}%s",
    "$(touch x)`touch x`",
    "q\x1b[31m\u202e",
    "q\udcff",
]
"""Names of files that a script, a shell, a page or a terminal could interpret as syntax."""


@pytest.mark.skipif(sys.platform != "linux", reason="file names that are any bytes")
@pytest.mark.parametrize("name", [NAMES[-1], NAMES[0], NAMES[-2]][: amount(3, 1)])
def test_no_name_in_a_script_is_code(
    name: str, command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, "-o", f"{name}.xml"]) == 0
    printed = capsys.readouterr().out
    assert not set(printed) & set("\x1b\u202e\udcff")
    script = f"{name}.py"
    shown = subprocess.run([sys.executable, script], capture_output=True, text=True, cwd=tmp_path, timeout=PATIENCE)
    assert shown.stdout == "exit code 3\nreproduced\n" and shown.returncode == 1, shown.stderr
    report = (tmp_path / f"{name}.md").read_text("utf-8")
    assert not set(report) & set("\x1b\u202e")
    assert [
        line for line in report.splitlines() if "reproduces the failure." in line and "2 layers, reduced from" in line
    ]


@pytest.mark.skipif(sys.platform != "linux", reason="file names that are any bytes")
@pytest.mark.parametrize("name", NAMES)
def test_scripts_of_runtimes_hold_names_as_literals(name: str, tmp_path: Path) -> None:
    """The device, the settings and the names of files are literals, and nothing else differs."""
    case = whole(reference("classifier"))

    def trees(word: str) -> list[ast.Module]:
        made = repro.Repro(tmp_path / f"{word}.xml", "")
        reduction = Reduction(case, repro.Fault("difference", word, word), word)
        files = [
            *made.write_openvino_script(reduction, word, {word: word}, None, 60),
            *made.write_onnx_runtime_script(reduction, None, 60),
        ]
        return [ast.parse(path.read_text("utf-8")) for path in files if path.suffix == ".py"]

    for tree, plain in zip(trees(name), trees("plain"), strict=True):
        literals = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
        assert {f"{name}.xml", f"{name}.npz", name} <= literals
        for each in (tree, plain):
            for node in ast.walk(each):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    node.value = ""
        assert ast.dump(tree) == ast.dump(plain)


def test_what_hangs_is_shown_to_hang(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The script ends although the command does not."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hang.py").write_text("import time\ntime.sleep(1000)\n")
    model = str(SAMPLES / "classifier" / "model.xml")
    assert main(["reduce", model, "--check", f"{sys.executable} hang.py {{}}", "--timeout", "0.2"]) == 0
    assert "does not finish within 0.2 s" in capsys.readouterr().out.splitlines()[0]
    shown = subprocess.run([sys.executable, "repro.py"], capture_output=True, text=True, cwd=tmp_path, timeout=PATIENCE)
    assert shown.stdout.splitlines() == ["no end within 0.2 s", "reproduced"] and shown.returncode == 1, shown.stderr


@pytest.mark.by_hand(0)
def test_an_interrupted_command_continues(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    right = repro.Repro.tried

    def interrupt(self: repro.Repro, reduction: Reduction, stage: Stage, smaller: bool) -> None:
        right(self, reduction, stage, smaller)
        if reduction.tried == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(repro.Repro, "tried", interrupt)
    assert main(command) == INTERRUPTED
    assert "run the same command again" in capsys.readouterr().err
    tried = json.loads((tmp_path / "repro.json").read_text("utf-8"))["tried"]
    assert tried == 4
    monkeypatch.setattr(repro.Repro, "tried", right)
    assert main(command) == 0
    assert "2 layers of 20" in capsys.readouterr().out
    assert json.loads((tmp_path / "repro.json").read_text("utf-8"))["tried"] > 4


def test_what_cannot_be_reduced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = str(SAMPLES / "classifier" / "model.xml")

    def refused(*options: str) -> str:
        assert main(["reduce", model, *options, "-o", str(tmp_path / "repro.xml")]) == 2
        return capsys.readouterr().err

    assert "nothing to reduce" in refused("--check", "true {}")
    assert "must contain {}" in refused("--check", "true")
    assert "cannot be run" in refused("--check", "./not_there {}")
    assert "--save-culprit DIR saves the first wrong layer" in refused("--with", model)
