"""`passes`: the pass of OpenVINO's compiler that changes a result, with OpenVINO's own dumps."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import irexec
from irexec.cli.main import main
from irexec.core.types import U8
from irexec.model.graph.model import Model
from irexec.tools.compare.runtimes.openvino_runtime import OpenVINO
from irexec.tools.compare.runtimes.runtime import Died, Loaded, OtherModel
from irexec.tools.conformance.made import case_named
from irexec.tools.passes.find import find_passes
from irexec.tools.passes.judging import Judge
from irexec.tools.passes.result import Kernels, PassesFound
from irexec.tools.render.passes import show_passes
from irexec.tools.render.printing import Printout
from irexec.tools.run.record import Reference

pytest.importorskip("openvino")

ROOT = Path(__file__).parents[3]
MODELS = ROOT / "tests" / "data" / "passes"
F32 = {"INFERENCE_PRECISION_HINT": "f32"}


LEVELS = (
    "graph.fake_quantised/f32/r5/levels=255/ranges=asymmetric/layer=pool/weights=float/act=swish/again=no/twice/reset"
    "/sequence/seed250"
)


def reproducer(name: str) -> Path:
    return MODELS / f"{name}.xml"


@pytest.fixture(scope="module")
def reductions() -> irexec.Passes:
    file = reproducer("reductions")
    return irexec.passes(file, inputs=dict(np.load(file.with_suffix(".npz"))), config=F32)


@pytest.mark.by_hand(0)
def test_the_wrong_pass_is_named_with_what_it_changes(reductions: irexec.Passes) -> None:
    assert [one.name for one in reductions.wrong] == ["NopElimination"]
    assert reductions.wrong[0].change == "removes n2 (Reshape) after n1 (ReduceMean)"
    assert reductions.cause == "pass"
    assert not reductions.agrees
    assert reductions.verdict.startswith("first wrong pass: NopElimination (")


def test_the_kernels_compute_the_wrong_graph_correctly(reductions: irexec.Passes) -> None:
    assert reductions.kernels.agrees


def test_the_text_names_the_result_before_and_after(reductions: irexec.Passes) -> None:
    text = " ".join(str(reductions).split())
    order = [
        "before: agrees with the model (0 ulp)",
        "after: result n2 is of shape ",
        "the kernels: agree with the last",
    ]
    assert sorted(order, key=text.index) == order


@pytest.mark.by_hand(1)
@pytest.mark.parametrize("model", ["classifier", "transformer", "segmenter"])
def test_every_graph_of_a_sound_model_runs_and_agrees(model: str) -> None:
    found = irexec.passes(ROOT / "samples" / model / "model.xml", config=F32)
    assert found.passes
    assert found.unknown == []
    assert found.wrong == []
    assert found.kernels.agrees
    assert found.verdict == f"all {found.total} passes and the kernels keep the results"


def test_kernels_are_wrong_where_all_passes_keep_the_result() -> None:
    file = reproducer("loop")
    found = irexec.passes(file, inputs=dict(np.load(file.with_suffix(".npz"))), config=F32)
    assert found.wrong == []
    assert found.cause == "kernel"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (
            "graph.reductions/f32/r5/first=ReduceMean-1/second=the same/keep=true/axes=negative/between=read"
            "/before=reshape/kind=f64/extents=equal/after=none/static/seed66",
            "f64 becomes f32",
        ),
        (
            "graph.sequences/f32/r5/cell=LSTMSequence-5/direction=forward/before=transpose/after=transpose/lengths=full"
            "/batch=2/static/seed961",
            "",
        ),
        (
            "graph.decompressed/f32/r5/kind=u8/zero=same/scales=rows/through=f16/form=transposed/use=gather/static"
            "/seed222",
            "weights are decompressed in f32",
        ),
        ("graph.embedding/f32/r5/table=i8 scaled/kind=u8/negative=no/form=gather/static/seed638", ""),
        (LEVELS, "quantized values are stored in u8"),
        (
            "graph.fake_quantised/f32/r5/levels=256/ranges=symmetric/layer=depthwise/weights=i8/act=none/again=no"
            "/static/seed112",
            "quantized values are stored in u8",
        ),
    ],
    ids=["f64 in f32", "time first", "decompressed in f32", "u8 indices", "levels", "zero points"],
)
def test_passes_of_sound_graphs_are_not_called_wrong(name: str, reason: str) -> None:
    case = case_named(name)
    found = find_passes(Reference(case.model, case.inputs[:1]), config=F32)
    assert (found.unknown, found.wrong, found.kernels.agrees) == ([], [], True)
    assert reason in {one.reason for one in found.passes}


def test_more_than_other_levels_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Judge._run

    def doubled(judge: Judge, model: Model) -> list[list[np.ndarray]]:
        is_quantized = any(value.element_type is U8 for node in model.nodes for value in node.outputs)
        return [[(1 + is_quantized) * array for array in step] for step in run(judge, model)]

    monkeypatch.setattr(Judge, "_run", doubled)
    case = case_named(LEVELS)
    found = find_passes(Reference(case.model, case.inputs[:1]), config=F32)
    assert [one.outcome for one in found.wrong] == ["wrong"]


def test_the_command_prints_json(capsys: pytest.CaptureFixture[str]) -> None:
    file = reproducer("reductions")
    code = main(["passes", str(file), "--input", str(file.with_suffix(".npz")), "--format", "json"])
    found = json.loads(capsys.readouterr().out)
    assert code == 1
    assert found["cause"] == "pass"
    assert [one["name"] for one in found["passes"] if one["outcome"] == "wrong"] == ["NopElimination"]


def test_the_page_follows_a_layer_through_the_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, page = reproducer("reductions"), tmp_path / "page.html"
    command = ["passes", str(file), "--input", str(file.with_suffix(".npz")), "--html", str(page)]
    assert main(command) == 1
    text = page.read_text()
    assert "<h1>first wrong pass: NopElimination (" in text
    assert "Layer followed: <code>n2</code>" in text
    assert text.count(" open><summary>") >= 2, "the pass before it made a Reshape of the Transpose"
    assert '<td class="bad">n2</td>' in text
    assert "<script" not in text
    assert main([*command, "--layer", "n0"]) == 1
    assert "Layer followed: <code>n0</code>" in page.read_text()
    assert capsys.readouterr().err == ""


def test_nothing_stays_in_the_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    irexec.passes(ROOT / "samples" / "classifier" / "model.xml")
    assert [path.name for path in tmp_path.iterdir()] == []


@pytest.mark.parametrize("other", ["onnxruntime", "model.xml"])
def test_other_runtimes_show_no_passes(other: str) -> None:
    with pytest.raises(RuntimeError, match="does not write the graphs after its passes"):
        irexec.passes(ROOT / "samples" / "classifier" / "model.xml", other)


def test_the_module_of_openvinos_api_has_its_names() -> None:
    assert irexec.passes.Manager.__name__ == "Manager"  # type: ignore[attr-defined]


def test_integers_of_kernels_must_be_equal() -> None:
    model, other = (irexec.parse(f"model m (x: i8[3]) -> (y)\n  y = {net}\n") for net in ("Abs(x)", "Negative(x)"))
    reference, wrong = Reference(model, [[np.array([0, 1, 0], np.int8)]]), np.array([0, 2, 0], np.int8)
    found = Judge(reference).kernels(OtherModel("other", other), [[wrong]], None)
    assert found.agrees is False


def test_kernels_that_fail_are_wrong() -> None:
    found = PassesFound("OpenVINO", None, 3, kernels=Kernels(False, reason="OpenVINO crashed (SIGFPE)"))
    assert found.verdict == "all 3 passes keep the results: the kernels are wrong: OpenVINO crashed (SIGFPE)"
    assert (found.cause, found.agrees) == ("kernel", False)
    page = Printout()
    show_passes(found, page)
    assert "  the kernels: fail: OpenVINO crashed (SIGFPE)" in page.lines


def test_kernels_that_were_not_judged_do_not_keep_the_results() -> None:
    assert PassesFound("OpenVINO", None, 3).verdict == "all 3 passes keep the results: the kernels could not be judged"


def test_a_crash_of_the_compiler_is_told_with_the_last_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    load = OpenVINO.load

    def crash(runtime: OpenVINO, model: Model) -> Loaded:
        load(runtime, model)
        raise Died("crash", "OpenVINO crashed (SIGSEGV)")

    monkeypatch.setattr(OpenVINO, "load", crash)
    model = irexec.parse("model m (x: f32[3]) -> (y)\n  y = ReLU(x)\n")
    found = find_passes(Reference(model, [[np.ones(3, np.float32)]]), config=F32)
    assert found.verdict.startswith("compiling fails after ")
    assert found.verdict.endswith(f" ({found.total}): OpenVINO crashed (SIGSEGV)")
    assert (found.cause, found.agrees) == ("compiler", False)
    assert all(one.outcome == "same" for one in found.passes)
