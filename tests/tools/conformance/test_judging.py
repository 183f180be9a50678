"""Verdicts: irexec passes its own cases, and every kind of error has its verdict."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import irexec
from irexec.core.structure import ENDS
from irexec.runtime.processes import worker
from irexec.tools.compare.runtimes.hosted import Unusable
from irexec.tools.conformance.block import JudgeBlock, judged
from irexec.tools.conformance.clusters import clusters_of
from irexec.tools.conformance.defendant import Answer, Defendant
from irexec.tools.conformance.exact import exact_results
from irexec.tools.conformance.made import case_named
from irexec.tools.conformance.report import failures
from irexec.tools.conformance.simpler import simplest
from irexec.tools.conformance.verdict import judge_case
from irexec.tools.run.record import Reference

RUNTIME = f"{Path(__file__).parents[2] / 'lib' / 'support' / 'wrong_runtime.py'}:Wrong"
STATIC = "Sigmoid-1/f32/x=[2,3]/seed1"
SEQUENCE = "Sigmoid-1/f32/x=[?2|4,3]@1,0/seed1"

pytestmark = [pytest.mark.processes, pytest.mark.any_python]


@pytest.mark.by_hand(3)
@pytest.mark.parametrize(
    ("how", "name", "word"),
    [
        ("wrong", STATIC, "wrong"),
        ("wrong", "Tanh-1/f32/x=[2,3]/seed1", "passed"),
        ("late", STATIC, "passed"),
        ("late", SEQUENCE, "wrong"),
        ("shape", STATIC, "shape"),
        ("refuse", STATIC, "refused"),
        ("raise", STATIC, "error"),
        ("raise later", STATIC, "passed"),
        ("raise later", SEQUENCE, "error"),
        ("unsupported later", SEQUENCE, "refused"),
        ("crash", STATIC, "crash"),
    ],
)
def test_verdicts(how: str, name: str, word: str) -> None:
    defendant = Defendant(RUNTIME, {"type": "Sigmoid", "how": how})
    verdict = judged(case_named(name), defendant)
    assert verdict.word == word
    assert verdict.call == (1 if how == "late" and word == "wrong" else 0)
    assert judged(case_named("Tanh-1/f32/x=[3]/seed2"), defendant).word == "passed"


@pytest.mark.by_hand(0)
def test_a_quantised_graph_in_the_precision_of_the_device() -> None:
    """Values may fall on a neighbouring level; results that are off by half of the largest result are wrong."""
    case = case_named("graph.into_quantise/f32/r5/default/static/seed1")
    words = []
    for type in ("FakeQuantize", "Sigmoid"):
        settings = {"type": type, "how": "wrong"}
        words.append(judged(case, Defendant(RUNTIME, settings)).word)
    assert words == ["wrong", "passed"]


@pytest.mark.parametrize("type", ["bf16", "f32"])
def test_an_infinity_is_not_the_limit_of_a_type(type: str) -> None:
    """The lowest finite number of f64, in which results are evaluated again, is an infinity in other types."""
    case = case_named(f"SegmentMax-16/{type}/fill_mode=lowest/data=[3,2]/segment_ids=const:i64[3]{{0,2,2}}/seed1")
    (right,) = exact_results(case.model, case.inputs[0]) or []
    np.testing.assert_array_equal(right, irexec.compile_model(case.model)(case.inputs[0])[0])
    wrong = np.where(right == right.min(), -np.inf, right).astype(right.dtype)
    words = [judge_case(case, Answer("results", [[found]]), {}).word for found in (right, wrong)]
    assert words == ["passed", "wrong"]


@pytest.mark.parametrize("setting", ["", "/default"])
def test_what_the_page_leaves_open_is_open_in_any_precision(setting: str) -> None:
    """The page of Gather-7 does not define negative indices."""
    case = case_named(f"Gather-7/f32/data=[3]/indices=const:i64[2]{{-1,0}}/axis=const:i64[]{{0}}{setting}/seed1")
    (right,) = Reference(case.model, case.inputs).results()[0]
    words = [judge_case(case, Answer("results", [[found]]), {}).word for found in (right, np.zeros_like(right))]
    assert words == ["passed", "open"]


def test_numpys_strings_have_no_nul_at_the_end() -> None:
    case = case_named("StringTensorPack-15/i32/begins=[]{0}/ends=const:[]{3}/symbols=const:u8[3]{97,0,0}/seed1")
    words = [judge_case(case, Answer("results", [[np.array(text)]]), {}).word for text in ("a", "b")]
    assert words == ["passed", "wrong"]


def test_a_function_may_enlarge_the_rounding_of_the_default_precision() -> None:
    """The cosine of sums in bf16."""
    case = case_named("graph.product/f32/r5/form=transposed/bias=row/act=cos/scale=none/default/sequence/seed459")
    inner = {v: lambda array: array * np.float32(1 + 2**-8) for n in case.model.nodes if n.inputs for v in n.outputs}
    right = Reference(case.model, case.inputs).changed({v: f for v, f in inner.items() if v.node.type not in ENDS})
    wrong = [[-array for array in call] for call in right]
    words = [judge_case(case, Answer("results", [found[c] for c in case.calls]), {}).word for found in (right, wrong)]
    assert words == ["passed", "wrong"]


@pytest.mark.by_hand(0)
def test_an_answer_to_an_earlier_case_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that died between two cases left a case in the pipe, which its successor answers."""
    write, sent = worker.write, Defendant("irexec")
    with monkeypatch.context() as patched:
        patched.setattr(worker, "write", lambda to, message: [write(to, message), write(to, message | {"number": 0})])
        first = sent.run(case_named(STATIC))
    assert first.how == "results"
    for name in ("Tanh-1/f32/x=[3]/seed2", "Abs-1/f32/x=[5]/seed2"):
        assert judged(case_named(name), sent).word == "passed"


@pytest.mark.by_hand(0)
def test_a_hang() -> None:
    defendant = Defendant(RUNTIME, {"type": "Sigmoid", "how": "hang"}, limit=4)
    assert judged(case_named(STATIC), defendant).word == "hang"


def test_what_cannot_be_used() -> None:
    with pytest.raises(Unusable, match="cannot be used"):
        Defendant(RUNTIME, {"types": "Sigmoid"}).run(case_named(STATIC))
    with pytest.raises(Unusable):
        Defendant(RUNTIME, {"type": "Sigmoid"}, python="/nowhere/python").run(case_named(STATIC))


def test_a_slow_start_is_not_a_hang(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine, imports may take longer than the limit of a case."""
    file = tmp_path / "slow.py"
    file.write_text(
        "import time\nclass Slow:\n    def __init__(self):\n        time.sleep(0.3)\n"
        "    def describe(self):\n        return {'name': 'slow'}\n"
    )
    assert Defendant(f"{file}:Slow", limit=0.01).name == "slow"
    monkeypatch.setattr("irexec.tools.compare.runtimes.hosted.STARTING", 0.01)
    with pytest.raises(Unusable, match=r"cannot be used: it does not start within 0\.01 s$"):
        Defendant(f"{file}:Slow", limit=0.01).run(case_named(STATIC))


def test_a_missing_package_is_named_with_what_installs_it(tmp_path: Path) -> None:
    file = tmp_path / "absent.py"
    file.write_text(
        "class Absent:\n    def __init__(self):\n        raise ImportError(\"No module named 'openvino'\")\n"
    )
    with pytest.raises(Unusable, match=r"^OpenVINO is not installed: pip install openvino$"):
        Defendant(f"{file}:Absent").run(case_named(STATIC))


@pytest.mark.by_hand(0)
def test_failures_are_clustered_and_simplified() -> None:
    task = JudgeBlock(RUNTIME, '{"f32": {"type": "Sigmoid", "how": "late"}}', seed=1)
    tally = task("Sigmoid-1#0+24")
    assert tally.totals["passed"] and tally.totals["wrong"]
    (cluster, *_) = clusters_of(failures(tally), tally)
    assert cluster.operator == "Sigmoid-1" and cluster.word == "wrong"
    defendant = Defendant(RUNTIME, {"type": "Sigmoid", "how": "late"})
    name = simplest(cluster.simplest.name, lambda case: judged(case, defendant).word == "wrong")
    assert len(name) <= len(cluster.simplest.name) and judged(case_named(name), defendant).word == "wrong"


@pytest.mark.parametrize(
    "name",
    [
        "Sigmoid-1/f32/x=[?2|4,3]@1,0/again/seed1",
        "Tile-1/f32/data=[2,3]/repeats=i64[2]{2,1|1,2}/seed7",
        "Sigmoid-1/f32/x=[2,3]/twice/seed1",
    ],
)
def test_a_failure_of_one_call_is_reduced_to_one_call(name: str) -> None:
    """Of extents, values or data that change between calls, and of repeated calls."""
    found = simplest(name, lambda case: case.operator == case_named(name).operator)
    assert case_named(found).calls == (0,)


def test_a_failure_of_later_calls_keeps_its_calls() -> None:
    found = simplest("Sigmoid-1/f32/x=[?2|4,3]/again/seed1", lambda case: len(case.calls) > 1)
    assert len(case_named(found).calls) > 1


FOUND_IN_IREXEC = [
    "GroupConvolution-1/f32/strides=2,2/pads_begin=0,0/pads_end=0,0/dilations=1,1/auto_pad=same_upper"
    "/data=[?1,?3,?6|1,?6|1]/kernel=const:[3,0,1,3,3]/seed684",
]
"""Cases that once failed in the compiled back end."""


@pytest.mark.parametrize("name", FOUND_IN_IREXEC)
def test_what_was_wrong_in_the_compiled_back_end(name: str) -> None:
    pytest.importorskip("llvmlite")
    assert judged(case_named(name), Defendant("irexec", {"mode": "lowered"})).word == "passed"


def test_a_case_that_irexec_rejects_when_it_runs_is_not_a_refusal() -> None:
    """The index is outside of an axis that is empty in this call only."""
    name = "Gather-1/f32/data=[?0,?3]/indices=const:i64[2]{1,1}/axis=const:i64[]{0}/seed232"
    assert judged(case_named(name), Defendant("irexec", {"mode": "kernels"})).word == "invalid"


def test_settings_of_cases() -> None:
    """Settings that are not given are those for f32."""
    task = JudgeBlock(RUNTIME, '{"f32": {"type": "Tanh"}, "one-thread": {"type": "Sigmoid"}}')
    totals = [task(f"Sigmoid-1/f32/x=[2]{flag}/seed1").totals for flag in ("", "/one-thread", "/default")]
    assert totals == [{"passed": 1}, {"wrong": 1}, {"passed": 1}]


@pytest.mark.by_hand(0)
def test_irexec_passes_its_own_cases() -> None:
    task = JudgeBlock("irexec", '{"f32": {"mode": "kernels"}, "default": {"mode": "kernels"}}', seed=2)
    for family in ("Convolution-1", "GatherND-8", "graph.layer_norm", "graph.joined", "graph.state", "LSTMSequence-5"):
        tally = task(f"{family}#0+5")
        assert set(tally.totals) <= {"passed", "open"}, (family, tally.findings)


def test_a_graph_in_bf16_may_be_rounded_once_at_its_end() -> None:
    """The sine of a number that was not rounded to bf16 is accepted; the sine of a different number is wrong."""
    case = case_named("graph.elementwise/bf16/r5/length=2/broadcast=outer/data=tails/layers=all/reset/static/seed301")
    x, y = (array.astype(np.float32) for array in case.inputs[0])
    own = case.inputs[0][0].dtype
    words = []
    for shift in (0.0, 0.5):
        found = np.sin(np.square(x - y) + np.float32(shift)).astype(own)
        words.append(judge_case(case, Answer("results", [[found]]), {}).word)
    assert [node.type for node in case.model.nodes[2:4]] == ["SquaredDifference", "Sin"]
    assert words == ["passed", "wrong"]


@pytest.mark.by_hand(1)
@pytest.mark.parametrize("name", ["graph.state/f32/r5/form=sum", "graph.cache/f32/r5/attention=none"])
def test_variables_have_their_first_values_after_a_reset(name: str) -> None:
    case = case_named(f"{name}/reset/sequence/seed1")
    answer = Defendant("irexec").run(case)
    first, again = answer.results[:3], answer.results[3:]
    assert len(again) == 3 and judge_case(case, answer, {}).word == "passed"
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one[0], other[0])
    answer.results[3:] = answer.results[1:4]  # As if the variables kept their values.
    assert judge_case(case, answer, {}).word in ("wrong", "shape")
