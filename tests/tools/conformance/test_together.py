"""Cases that run as one model have the same verdicts as alone; crashes and hangs are attributed to their cases."""

from __future__ import annotations

from collections import deque
from pathlib import Path

import pytest
from support.waiting import PATIENCE

from irexec.model.graph.write import written_names
from irexec.tools.conformance.block import JudgeBlock
from irexec.tools.conformance.case import Case, operator_named
from irexec.tools.conformance.defendant import Answer, Defendant
from irexec.tools.conformance.drawing import draw
from irexec.tools.conformance.made import case_named
from irexec.tools.conformance.pipeline import runs
from irexec.tools.conformance.together import MOST, answers_of, groups_of, joined
from irexec.tools.conformance.verdict import judge_case

pytestmark = [pytest.mark.processes, pytest.mark.any_python]

RUNTIME = '''
import os, time
import numpy as np
import irexec

class Fragile:
    """Computes all cases right, except for one with the constant 7: it `how`s."""

    {attribute}

    def __init__(self, how, log):
        self.how, self.log = how, log

    def describe(self):
        return {{"name": "fragile", "together": "yes"}}

    def load(self, path, cache):
        model = irexec.read_model(path)
        operators = [node for node in model.nodes if node.type == "Power"]
        with open(self.log, "a") as log:
            print(len(operators), file=log)
        self.is_bad = any(n.constant is not None and (n.constant == 7).any() for n in model.nodes)
        if self.is_bad and self.how == "refuse":
            raise RuntimeError("no sevens")
        self.compiled = irexec.compile_model(model)

    def infer(self, inputs):
        if self.is_bad and self.how == "crash":
            os.abort()
        if self.is_bad and self.how == "hang":
            time.sleep(1000)
        results = [np.array(a) for a in self.compiled.create_infer_request().infer(inputs).to_tuple()]
        if self.is_bad and self.how == "wrong":
            return [a + (a == a.flat[0]) for a in results]
        return results
'''
NAMES = [f"Power-1/f32/a=[{extent}]/b=const:[]{{{power}}}/seed1" for extent, power in ((3, 2.0), (4, 7.0), (5, 3.0))]


def cases() -> list[Case]:
    return [*map(case_named, NAMES)]


@pytest.mark.parametrize(
    ("how", "word", "attribute"),
    [
        ("crash", "crash", "forks = False"),
        ("crash", "crash", "forks = True"),
        ("hang", "hang", "forks = True"),
        ("refuse", "refused", "forks = True"),
        ("wrong", "wrong", "forks = False"),
    ],
)
def test_a_failure_is_attributed_to_its_case(
    how: str, word: str, attribute: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, log = tmp_path / "fragile.py", tmp_path / "log"
    file.write_text(RUNTIME.format(attribute=attribute))
    monkeypatch.setattr("irexec.tools.conformance.block.case_of", lambda one, seed: case_named(NAMES[int(one[-1])]))
    config = f'{{"f32": {{"how": "{how}", "log": "{log}"}}}}'
    tally = JudgeBlock(f"{file}:Fragile", config, limit=4 if how == "hang" else PATIENCE)("Power-1#0+3")
    assert tally.totals == {"passed": 2, word: 1}
    assert [finding.name for finding in tally.findings] == [NAMES[1]]
    loaded = [int(line) for line in log.read_text().split()]
    assert loaded[0] == 3 and set(loaded[1:]) == {1}


def has_static_shapes(case: Case) -> bool:
    return all(value.type.shape.is_static for node in case.model.nodes for value in node.outputs)


def test_groups_have_one_operator_and_kind_of_shapes() -> None:
    drawn = [case for name in ("Add-1", "Gather-8") for n in range(24) if (case := draw(operator_named(name), 3, n))]
    groups = [*groups_of(drawn)]
    assert sorted(id(case) for group in groups for case in group) == sorted(map(id, drawn))
    assert max(map(len, groups)) == MOST
    for group in groups:
        assert len({case.operator for case in group}) == len({case.config for case in group}) == 1
        if len(group) > 1:
            assert not any({"forbidden", "cache"} & {*case.flags} for case in group)
            assert len({has_static_shapes(case) for case in group}) == 1


def test_a_joined_case_is_answered_case_by_case() -> None:
    """Cases with one, two and three calls; their layers keep their names."""
    names = ["Abs-1/f32/x=[3]/seed1", "Abs-1/f32/x=[2]/twice/seed2", "Abs-1/f16/x=[4]/again/seed3"]
    found = [case_named(name) for name in names]
    before = [written_names(case.model) for case in found]
    defendant = Defendant("irexec", {"mode": "kernels"})
    with joined(found) as whole:
        assert len({*written_names(whole.model).values()}) == len(whole.model.nodes)
        answer = defendant.run(whole)
    assert [written_names(case.model) for case in found] == before
    answers = answers_of(found, answer)
    assert [len(own.results) for own in answers] == [1, 2, 3]
    assert [judge_case(case, own, {}).word for case, own in zip(found, answers, strict=True)] == ["passed"] * 3


def test_groups_that_the_caller_adds_run_next() -> None:
    """A process that is busy gets no second group; an interruption ends the processes."""
    defendant = Defendant("irexec", {"mode": "kernels"})
    again: deque[list[Case]] = deque()
    first, second, third = cases()
    order: list[str] = []
    for run in runs(iter([[first], [third]]), again, lambda case, busy: None if busy else defendant):
        if not order:
            again.append([second])
        order += [case.name for case in run.cases]
        answer: Answer = run.answer.result(PATIENCE)
        assert answer.how == "results"
    assert sorted(order) == sorted(NAMES) and order[0] == NAMES[0]
    running = runs(iter([[first], [second], [third]]), again, lambda case, busy: None if busy else defendant)
    next(running)
    with pytest.raises(KeyboardInterrupt):
        running.throw(KeyboardInterrupt())
    assert defendant.run(first).how == "results"
