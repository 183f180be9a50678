"""The messages of ONNX's own checks, its reference and ONNX Runtime about a file, in addition to irexec's findings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import irexec

onnx = pytest.importorskip("onnx")

from irexec.frontends.onnx import others, questions

HEADER = '<ir_version: 9, opset_import: ["" : 17, "d" : 1]>\n'


def saved(folder: Path, text: str, **more: str) -> Path:
    model = onnx.parser.parse_model(HEADER + text)
    for number, node in enumerate(model.graph.node):
        node.name = f"node{number}"
    for name, value in more.items():
        setattr(model, name, value)
    path = folder / "model.onnx"
    onnx.save(model, path)
    return path


FAULTY = """g (float[3,4] x, float[5] b) => (float[3,4] y) {
    t = Relu<slope = 1.0>(x)
    u = Add(t, b)
    v = MatMul(t, b)
    y = Sigmod(u)
}"""


@pytest.mark.by_hand(0)
def test_all_findings_together_with_what_onnx_states_about_each(tmp_path: Path) -> None:
    report = irexec.validate(saved(tmp_path, FAULTY, producer_name="maker", producer_version="2.1"), others=True)
    found = [(d.code, d.layer and d.layer.name) for d in report.errors]
    assert found == [("F004", "node0"), ("O001", "node1"), ("O001", "node2"), ("F003", "node3")]
    version = onnx.__version__
    messages = [dict(d.notes) for d in report.errors]
    assert messages[0][f"onnx.checker {version}"] == "Unrecognized attribute: slope for operator Relu"
    # Values of untranslated nodes have the type that ONNX infers, so that later nodes are checked.
    assert messages[1]["inputs"] == "t f32[3,4] from Relu 'node0', b f32[5]"
    assert messages[1][f"onnx.shape_inference {version}"] == "Incompatible dimensions"
    assert f"onnx.shape_inference {version}" in messages[2]
    assert messages[3][f"onnx.checker {version}"].startswith("No Op registered for Sigmod")


@pytest.mark.by_hand(0)
def test_what_runtimes_do_with_a_file_that_has_findings(tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    report = irexec.validate(saved(tmp_path, FAULTY, producer_name="maker", producer_version="2.1"), others=True)
    reference, other = (d for d in report if d.code == "F014")
    assert reference.message.startswith(f"onnx.reference {onnx.__version__} rejects the model: ")
    assert other.message.startswith(f"ONNX Runtime {runtime.__version__} rejects the model: ")
    assert dict(other.notes)["model"] == "written by maker 2.1; IR version 9, opset 17"


@pytest.mark.by_hand(0)
def test_a_file_that_is_refused_only_here(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    path = saved(tmp_path, "g (float[3] x, float[3] e) => (float[3] y) { y = Dropout<unheard = 1>(x) }")
    model = onnx.load(path)
    model.graph.node[0].op_type, model.graph.node[0].domain = "Unheard", "d"
    onnx.save(model, path)
    report = irexec.validate(path, others=True)
    assert [d.code for d in report.errors] == ["F003"]
    assert all("rejects the model" in d.message for d in report if d.code == "F014")


@pytest.mark.by_hand(0)
def test_a_rejection_of_onnx_runtime_is_reported_without_other_findings(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    path = saved(tmp_path, "g (float[3] x) => (float[3] y) { y = Relu(x) }", doc_string="text")
    model = onnx.load(path)
    model.opset_import.add(domain="unheard.of", version=1)
    model.graph.node[0].domain = "ai.onnx"
    model.ir_version = 99
    onnx.save(model, path)
    (finding,) = [d for d in irexec.validate(path, others=True) if d.code == "F014"][-1:]
    assert "rejects the model" in finding.message and finding.message.startswith("ONNX Runtime")


@pytest.mark.by_hand(0)
def test_a_missing_kernel_of_onnx_runtime_is_no_fault_of_the_file(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    path = saved(tmp_path, "g (uint64[3] x) => (uint64[3] y) { y = Neg(x) }")
    path = saved(tmp_path, "g (bfloat16[3] x) => (bfloat16[3] y) { y = Selu(x) }".replace("Selu", "Sqrt"))
    assert list(irexec.validate(path, others=True)) == []


@pytest.mark.parametrize("inside", [False, True])
def test_two_nodes_of_one_name(tmp_path: Path, inside: bool) -> None:
    body = "{ t = Relu(x) r = Abs(t) }"
    text = f"g (float[3] x) => (float[3] r) {body}"
    if inside:
        text = f"g (float[3] x, bool c) => (float[3] y) {{ y = If (c) <then_branch = a () => (float[3] r) {body}, "
        text += "else_branch = b () => (float[3] s) { s = Relu(x) }> }"
    model = onnx.parser.parse_model(HEADER + text)
    nodes = model.graph.node[0].attribute[0].g.node if inside else model.graph.node
    for node in nodes:
        node.name = "same"
    (finding,) = irexec.validate(model.SerializeToString())
    assert finding.code == "F016" and finding.layer is not None
    assert (finding.layer.id, finding.layer.type) == ("0/1" if inside else "1", "Abs")
    assert irexec.validate(model.SerializeToString(), mode="openvino").ok


@pytest.mark.by_hand(0)
def test_a_sound_file_has_no_findings(tmp_path: Path) -> None:
    path = saved(tmp_path, "g (float[3,4] x, float[4] b) => (float[3,4] y) { y = Add(x, b) }")
    assert list(irexec.validate(path, others=True)) == []


@pytest.mark.by_hand(0)
def test_bodies_and_functions_see_what_is_around_them(tmp_path: Path) -> None:
    path = saved(
        tmp_path,
        "g (float[3,4] x, bool c) => (float[3,4] y) { t = d.f(x) y = If (c) <then_branch = a () => (float[3,4] r) "
        "{ r = Add(t, x) }, else_branch = b () => (float[3,4] s) { s = Relu(t) }> }\n"
        '<domain: "d", opset_import: ["" : 17]> f (a) => (b) { b = Relu(a) }',
    )
    assert list(irexec.validate(path, others=True)) == []


@pytest.mark.by_hand(0)
def test_a_fault_that_only_onnx_finds(tmp_path: Path) -> None:
    path = saved(tmp_path, "g (float[3] x) => (float[3] y) { y = Relu(x) }")
    model = onnx.load(path)
    for value in "ab":
        model.metadata_props.add(key="twice", value=value)
    onnx.save(model, path)
    (finding,) = irexec.validate(path, others=True).errors
    assert finding.code == "F013" and "duplicate keys" in finding.message
    assert irexec.validate(path, others=True, mode="openvino").ok


@pytest.mark.by_hand(0)
def test_a_finding_about_an_output_names_it(tmp_path: Path) -> None:
    path = saved(tmp_path, "g (float[3] x) => (float[3] y) { y = Relu(x) }")
    model = onnx.load(path)
    model.graph.output[0].type.tensor_type.ClearField("shape")
    onnx.save(model, path)
    (finding,) = irexec.validate(path, others=True).errors
    assert finding.code == "F013" and finding.message.startswith("the output 'y': ")


@pytest.mark.parametrize("depth", [40, 200])
def test_functions_that_would_keep_inference_busy(depth: int) -> None:
    text = "g (float[3] x) => (float[3] y) { y = d.f0(x) }\n"
    for i in range(depth):
        text += f'<domain: "d", opset_import: ["" : 17, "d" : 1]> f{i} (x) => (y) '
        text += f"{{ t = d.f{i + 1}(x) y = d.f{i + 1}(t) }}\n"
    text += f'<domain: "d", opset_import: ["" : 17]> f{depth} (x) => (y) {{ y = Relu(x) }}'
    assert questions.inferred(onnx.parser.parse_model(HEADER + text)) == ([], b"")


def test_nobody_is_asked_about_functions_that_multiply(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tools would run until their time limit; irexec knows in advance that the file is rejected."""
    monkeypatch.setattr(others, "Question", None)
    text = "g (float[3] x) => (float[3] y) { y = d.f0(x) }\n"
    for i in range(30):
        text += f'<domain: "d", opset_import: ["" : 17, "d" : 1]> f{i} (x) => (y) '
        text += f"{{ t = d.f{i + 1}(x) y = d.f{i + 1}(t) }}\n"
    text += '<domain: "d", opset_import: ["" : 17]> f30 (x) => (y) { y = Relu(x) }'
    (finding,) = irexec.validate(saved(tmp_path, text), others=True)
    assert finding.code == "F009" and "inlined functions" in finding.message


@pytest.mark.by_hand(1)
@pytest.mark.parametrize("dims", [[1 << 60], [0, 1 << 60]])
def test_no_runtime_is_asked_about_a_tensor_that_no_memory_holds(
    dims: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    class Noting(others.Question):
        def __init__(self, path: Any, tools: Any) -> None:
            asked.extend(tools)
            super().__init__(path, tools)

    monkeypatch.setattr(others, "Question", Noting)
    path = saved(tmp_path, "g (float[3] x) => (float[3] y) <float[1] w = {1.0}> { y = Add(x, w) }")
    model = onnx.load(path)
    model.graph.initializer[0].dims[:] = dims
    onnx.save(model, path)
    assert "F006" in {finding.code for finding in irexec.validate(path, others=True).errors}
    assert asked == list(questions.CHECKS)


def test_a_tool_has_ten_seconds() -> None:
    assert others._SECONDS <= 10


@pytest.mark.by_hand(0)
def test_a_tool_that_crashes_is_named_and_the_others_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "onnxruntime"
    package.mkdir()
    (package / "__init__.py").write_text("import os\nos.abort()\n")
    monkeypatch.syspath_prepend(tmp_path)
    path = saved(tmp_path, "g (float[3] x) => (float[3] y) { y = Relu(x) }")
    crashed, reference = others.Question(path, ["ONNX Runtime", "onnx.reference"]).answers()
    assert (crashed.tool, crashed.messages) == ("ONNX Runtime", [(None, "crashed (SIGABRT)")])
    assert reference.messages == [(None, "runs the model with ones as inputs")]


@pytest.mark.by_hand(0)
def test_nothing_in_the_current_folder_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "onnx.py").write_text("import os\nos.abort()\n")
    monkeypatch.chdir(tmp_path)
    path = saved(tmp_path, "g (float[3] x) => (float[3] y) { y = Relu(x) }")
    assert [answer.messages for answer in others.Question(path, ["onnx.checker"]).answers()] == [[]]


@pytest.mark.by_hand(0)
def test_the_command_asks_other_tools_unless_this_is_disabled(tmp_path: Path, capsys: Any) -> None:
    from irexec.cli.main import main

    path = saved(tmp_path, FAULTY)
    assert main(["validate", str(path)]) == 1
    assert "onnx.reference" in capsys.readouterr().out
    assert main(["validate", "--alone", str(path)]) == 1
    assert "onnx.reference" not in capsys.readouterr().out


@pytest.mark.by_hand(0)
def test_open_extents_are_those_with_which_the_model_runs(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    path = saved(tmp_path, "g (float[n] x) => (float[2,4] y) <int64[2] s = {2, 4}> { y = Reshape(x, s) }")
    (heard,) = others.Question(path, ["ONNX Runtime"]).answers()
    assert heard.messages == [(None, "runs the model with ones as inputs and dynamic extents of 8")]


@pytest.mark.by_hand(0)
def test_a_model_that_fails_whatever_its_extents_are(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    text = "g (float[n] x) => (float[m] y) <int64[2] s = {3, 5}> { z = Concat<axis = 0>(x, x) y = Reshape(z, s) }"
    (heard,) = others.Question(saved(tmp_path, text), ["ONNX Runtime"]).answers()
    assert heard.messages[0][1].startswith("loads the model, but fails with ones as inputs and any dynamic extents: ")
