"""Reproducers of failures: the simplest case that still fails, written with its script."""

from __future__ import annotations

import re
from pathlib import Path

from irexec.frontends.text.printer import print_text
from irexec.ir.io.writing import together
from irexec.model.arrays.saving import archive_names, save_arrays, save_text
from irexec.model.graph.write import write_model
from irexec.tools.compare.runtimes.hosted import KNOWN
from irexec.tools.conformance.block import JudgeBlock, judged
from irexec.tools.conformance.case import Case
from irexec.tools.conformance.clusters import fault_of
from irexec.tools.conformance.defendant import Answer, plain
from irexec.tools.conformance.made import case_named
from irexec.tools.conformance.results import Finding
from irexec.tools.conformance.simpler import simplest
from irexec.tools.conformance.verdict import Verdict, judge_case
from irexec.tools.reduce.repro_script import class_script, known_results, openvino_script
from irexec.tools.reduce.verdict import words_of
from irexec.tools.run.record import Reference

_KINDS = {"wrong": "difference", "shape": "difference", "type": "difference", "refused": "refusal", "error": "refusal"}


def write_reproducer(
    folder: Path,
    case: Case,
    answer: Answer,
    verdict: Verdict,
    runtime: str,
    config: dict[str, str],
    limit: float | None,
) -> Path:
    """Write NAME.xml, .bin, .irt (the text form), .npz (one for each call), .expected.npz and .py, which runs the case
    in the same runtime; returns the script. Raises OSError.
    """
    stem = file_stem(case.name)
    folder.mkdir(parents=True, exist_ok=True)
    steps = [case.inputs[call] for call in case.calls]
    expected = Reference(case.model, case.inputs).results()
    names = archive_names([value.node.friendly_name for value in case.model.inputs])
    archives = [f"{stem}.npz", *(f"{stem}.{number}.npz" for number in range(1, len(steps)))]
    found = answer.results[: len(steps)] if answer.how == "results" and len(answer.results) == len(steps) else []
    values: dict[str, object] = {
        "model": f"{stem}.xml",
        "archives": archives,
        "inputs": names,
        "expected": f"{stem}.expected.npz",
        "kind": _KINDS.get(verdict.word, verdict.word),
        "message": f"{case.name}: {verdict.word}: {verdict.detail}"[:400],
        "words": words_of(verdict.detail).split() if verdict.word in ("refused", "error") else [],
        "limit": limit,
    }
    right = [expected[call] for call in case.calls]
    if runtime == "openvino":
        others = {key: value for key, value in config.items() if key != "device"}
        script = openvino_script(config.get("device", "CPU"), others, **values)
    else:
        file, _, name = KNOWN.get(runtime, runtime).rpartition(":")
        values["types"], values["dtypes"] = [value.element_type.name for value in case.model.outputs], []
        if verdict.word == "type":  # A message, since the values may be equal.
            values |= {
                "kind": "refusal",
                "words": ["TypeError", "instead"],
                "dtypes": [plain(a).dtype.name for a in right[0]],
            }
        script = class_script(file, name, config, **values)
        # The runtime returns 8-bit floats as bits.
        right, found = (
            [[plain(a) if a.itemsize == 1 else a for a in step] for step in steps] for steps in (right, found)
        )
    path = folder / f"{stem}.py"
    with together() as files:
        for archive, step in zip(archives, steps, strict=True):
            save_arrays(folder / archive, dict(zip(names, step, strict=True)), files)
        save_arrays(folder / f"{stem}.expected.npz", known_results(right, found), files)
        save_text(path, script, files)
        save_text(folder / f"{stem}.irt", print_text(case.model), files)
        write_model(case.model, folder / f"{stem}.xml", files=files)
    return path


def file_stem(name: str) -> str:
    """Return a name of a case as the name of a file."""
    text = re.sub(r"[^A-Za-z0-9.]+", "_", name).strip("_")
    return text if len(text) <= 100 else f"{text[:80]}_{text[-16:]}"


def reproduce(task: JudgeBlock, finding: Finding, folder: Path) -> tuple[str, Path]:
    """Reduce a failure and write its reproducer; returns the reduced case's name and the script. Raises OSError."""
    fault = fault_of(finding)

    def fails(trial: Case) -> bool:
        return fault_of(_finding(trial, judged(trial, task.defendant(trial)))) == fault

    name = simplest(finding.name, fails)
    case = case_named(name)
    defendant = task.defendant(case)
    answer = defendant.run(case)
    verdict = judge_case(case, answer, defendant.described)
    path = write_reproducer(folder, case, answer, verdict, task.runtime, task.settings(case), task.limit)
    return name, path


def _finding(case: Case, verdict: Verdict) -> Finding:
    return Finding(
        case.name, verdict.word, verdict.detail, case.operator, case.kind, case.facts, verdict.call, verdict.output
    )
