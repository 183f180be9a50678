"""Campaigns: the order of cases, and the time limit; clusters by the attribute that explains failures."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from irexec.core.types import CONTAINERS, F32, I32, I64
from irexec.runtime.processes import worker
from irexec.tools.conformance import block, defendant
from irexec.tools.conformance.campaign import GROWN_SHARE, Extent, families, rounds
from irexec.tools.conformance.case import Case, operator_named
from irexec.tools.conformance.changes import change_type, reshape
from irexec.tools.conformance.clusters import clusters_of, fault_of
from irexec.tools.conformance.defendant import Answer, Defendant
from irexec.tools.conformance.draft import draft_of
from irexec.tools.conformance.drawing import profiles_of
from irexec.tools.conformance.report import failures, from_json, to_json
from irexec.tools.conformance.results import Finding, Tally
from irexec.tools.conformance.seeds import calls_of
from irexec.tools.conformance.verdict import WRAPS, Verdict

pytestmark = pytest.mark.any_python


def test_every_family_has_its_cases() -> None:
    names = families(["Abs-1", "Add-1", "graph.l*", "graph.grown"])
    parts = [*rounds(names, Extent(cases=10), seed=3)]
    items = [name for part in parts for item in part for name in item.split()]
    count: Counter[str] = Counter()
    for name in items:
        family, _, numbers = name.partition("#")
        count[family] += int(numbers.partition("+")[2])
    assert {count[name] for name in names if name != "graph.grown"} == {10}
    assert count["graph.grown"] == 10 * GROWN_SHARE and len(set(items)) == len(items)


def test_a_campaign_ends_in_time() -> None:
    """The time is checked between parts of a round."""

    def clock() -> Iterator[float]:
        now = 0.0
        while True:
            yield now
            now += 30.0

    ticks = clock()
    parts = list(rounds(families(), Extent(seconds=60), part=64, clock=lambda: next(ticks)))
    assert len(parts) == 1 or len(parts) == 2


def test_failures_are_split_by_the_attribute_that_explains_them() -> None:
    tally = Tally()
    for number in range(40):
        mode = "cubic" if number % 4 == 0 else "nearest"
        wrong = mode == "cubic" or number in (1, 2)
        facts = {"type": "f32", "attribute mode": mode}
        tally.count("Interpolate-11", "f32", "static", "wrong" if wrong else "passed", facts)
        if wrong:
            tally.findings.append(Finding(f"case {number}", "wrong", "", "Interpolate-11", "static", facts))
    found = clusters_of(failures(tally), tally)
    assert [(c.common.get("attribute mode"), len(c.findings)) for c in found] == [("cubic", 10), (None, 2)]
    again = from_json(to_json(tally, found, [], 0))
    assert [c.title for c in clusters_of(failures(again), again)] == [c.title for c in found]


def test_a_long_campaign_keeps_failures_and_some_of_the_rest() -> None:
    total = Tally()
    for number in range(300):
        part = Tally()
        for word in ("wrong", "open"):
            part.count("Add-1", "f32", "static", word, {})
            part.findings.append(Finding(f"{word} {number}", word, "", "Add-1", "static"))
        total.add(part)
    assert total.totals == {"wrong": 300, "open": 300}
    assert [sum(f.word == word for f in total.findings) for word in ("wrong", "open")] == [300, 200]


def test_values_go_with_the_operator_and_the_type() -> None:
    assert {"far", "edges"} <= set(profiles_of(operator_named("SoftPlus-4"), F32))
    divide = operator_named("Divide-1")
    assert "wide" in profiles_of(divide, I32) and "wide" not in profiles_of(divide, F32)
    assert "sparse" in profiles_of(operator_named("MatMul-1"), F32)
    assert "edges" in profiles_of(operator_named("Maximum-1"), F32)
    assert "edges" not in profiles_of(operator_named("SoftMax-8"), F32)
    assert "denormal" in profiles_of(operator_named("IsFinite-10"), F32)
    assert "beyond" in profiles_of(divide, I64) and "beyond" not in profiles_of(divide, I32)


def test_a_simpler_case_shows_the_same_fault() -> None:
    def fault(**changed: object) -> tuple[str, ...]:
        given = {"name": "n", "word": "wrong", "detail": "d", "operator": "Add-1", "kind": "sequence", "facts": {}}
        return fault_of(Finding(**(given | changed)))  # type: ignore[arg-type]

    assert fault() == fault(kind="static") == fault(facts={"data": "edges"})
    others = [fault(word="crash"), fault(facts={"layers": "ReLU-1"}), fault(detail=f"d; {WRAPS}")]
    assert len({fault(), *others}) == 4
    assert fault(call=1) == fault(call=1, kind="static") == fault()


def test_a_case_that_cannot_be_judged_is_listed_and_the_next_one_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    judged = block.judged_answer

    def failing(case: Case, answer: Answer, defendant: Defendant) -> Verdict:
        if case.name.endswith("seed1"):
            raise AttributeError("no such part")
        return judged(case, answer, defendant)

    monkeypatch.setattr(block, "judged_answer", failing)
    judge = block.JudgeBlock("irexec")
    found = [judge(f"Abs-1/f32/x=[2]/seed{seed}") for seed in (1, 2)]
    assert [tally.totals for tally in found] == [{"invalid": 1}, {"passed": 1}]
    assert found[0].findings[0].detail == "cannot be judged: AttributeError: no such part"


def test_a_campaign_outlives_a_lack_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """While a case is drawn, written, read back or judged: it is listed, and the following cases are judged."""

    def without_memory(*arguments: object) -> None:
        raise MemoryError

    judge = block.JudgeBlock("irexec")
    for module, name in ((block, "draw"), (defendant, "write_model"), (worker, "read"), (block, "judge_case")):
        assert judge("Abs-1#0+2").totals == {"passed": 2}
        with monkeypatch.context() as patched:
            patched.setattr(module, name, without_memory)
            tally = judge("Abs-1#0+2")
        assert tally.totals == {"invalid": 2}, name
        assert {finding.detail for finding in tally.findings} == {"not judged (not enough memory)"}
        assert (tally.findings[0].name == "Abs-1#0") is (name == "draw")
    assert judge("Abs-1#0+2").totals == {"passed": 2}


def test_a_campaign_goes_on_after_a_case_that_cannot_be_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_form(*arguments: object) -> None:
        raise TypeError("no array has this type")

    judge = block.JudgeBlock("irexec")
    with monkeypatch.context() as patched:
        patched.setattr(worker, "write", without_form)
        tally = judge("Abs-1#0+2")
    assert {finding.detail for finding in tally.findings} == {"cannot be run: TypeError: no array has this type"}
    assert tally.totals == {"invalid": 2} and judge("Abs-1#0+2").totals == {"passed": 2}


def test_cases_have_no_types_that_openvino_lacks() -> None:
    operator = operator_named("Identity-16")
    assert operator.signature.input(0).elements.types & CONTAINERS
    draft = draft_of(operator, calls_of()["Identity-16"][0])
    for seed in range(60):
        change_type(np.random.default_rng(seed), draft)
        assert draft.given[0].kind not in CONTAINERS


def test_a_shape_that_is_too_large_takes_no_memory() -> None:
    """Extents are multiplied before it is known whether the call is legal."""
    draft = draft_of(operator_named("Squeeze-1"), calls_of()["Squeeze-1"][0])
    port = draft.given[-1]
    assert port.values is not None
    tracemalloc.start()
    reshape(port, (10**6, 10**6))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10**5 and not draft.is_legal()
