"""Reproducers of failures: the simplest case that still fails, written with its script."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from irexec.conformance.block import JudgeBlock, judged
from irexec.conformance.case import Case
from irexec.conformance.clusters import fault_of
from irexec.conformance.defendant import Defendant
from irexec.conformance.made import case_named
from irexec.conformance.reproducer import write_reproducer
from irexec.conformance.results import Finding
from irexec.conformance.simpler import simplest
from irexec.conformance.verdict import Verdict, judge_case


def reproduce(
    task: JudgeBlock, finding: Finding, folder: Path, device: str, config: dict[str, Any]
) -> tuple[str, Path]:
    """Reduce a failure and write its reproducer; returns the reduced case's name and the script. Raises OSError."""
    case, fault = case_named(finding.name), fault_of(finding)
    settings = config.get(case.config, {})
    defendant = Defendant(task.runtime, settings, python=task.python, limit=task.limit)
    try:

        def fails(trial: Case) -> bool:
            return fault_of(_finding(trial, judged(trial, defendant))) == fault

        name = simplest(finding.name, fails)
        case = case_named(name)
        answer = defendant.run(case)
        verdict = judge_case(case, answer, defendant.described)
        properties = {key: value for key, value in settings.items() if key != "device"}
        path = write_reproducer(folder, case, answer, verdict, device, json.loads(json.dumps(properties)), task.limit)
    finally:
        defendant.close()
    return name, path


def _finding(case: Case, verdict: Verdict) -> Finding:
    return Finding(
        case.name, verdict.word, verdict.detail, case.operator, case.kind, case.facts, verdict.call, verdict.output
    )
