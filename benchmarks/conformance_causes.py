"""The causes of failures: `python benchmarks/conformance_causes.py RESULTS.json RELEASE=PYTHON ... > causes.json`.

RESULTS.json is what `irexec conformance -o` wrote for the installed OpenVINO; the further arguments are interpreters
with releases, the oldest first. The simplest case of each cluster has three answers: which pass of OpenVINO's compiler
is wrong, or that its kernels are; the first release from which on it fails in all; and a setting with which it passes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from irexec.core.diagnostics import IRError
from irexec.core.records import replace
from irexec.tools.bisect.settings import OPENVINO
from irexec.tools.conformance.block import judged
from irexec.tools.conformance.by_pass import causes_of
from irexec.tools.conformance.campaign import task_of
from irexec.tools.conformance.case import Case
from irexec.tools.conformance.clusters import Cluster, clusters_of
from irexec.tools.conformance.defendant import Defendant
from irexec.tools.conformance.made import case_named
from irexec.tools.conformance.report import failures, from_json
from irexec.tools.conformance.verdict import FAILED

EXACT = {"INFERENCE_PRECISION_HINT": "f32"}
LIMIT = 60.0
PASSED = ("passed", "open")


def main() -> int:
    tally = from_json(json.loads(Path(sys.argv[1]).read_text()))
    clusters = clusters_of(failures(tally), tally)
    cases = {cluster.simplest.name: case_named(cluster.simplest.name) for cluster in clusters}
    releases = [argument.split("=", 1) for argument in sys.argv[2:]]
    first, avoided = first_releases(cases, releases), settings(cases)
    found = {"releases": [release for release, _ in releases], "cases": dict(causes(clusters, first, avoided))}
    print(json.dumps(found, indent=1))
    return 0


def causes(
    clusters: Iterable[Cluster], first: dict[str, str], avoided: dict[str, str]
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield what is known of each cluster, by the name of its simplest case."""
    task = task_of("openvino", EXACT, limit=LIMIT)
    for cluster in clusters:
        name = cluster.simplest.name
        told(name)
        yield (
            name,
            {
                "cause": causes_of(task, [cluster]).get(name, ""),
                "first": first.get(name, ""),
                "avoided by": avoided.get(name, ""),
            },
        )


def first_releases(cases: dict[str, Case], releases: Iterable[list[str]]) -> dict[str, str]:
    """Return the first release from which on each case fails in the same way in all; `or before` if it is the oldest
    one, or the answer of the release before it if that is no success.
    """
    found: dict[str, tuple[str, str]] = {}
    words: dict[str, str] = {}
    oldest = ""
    for release, python in releases:
        told(release)
        oldest = oldest or release
        task = task_of("openvino", EXACT, python=python, limit=LIMIT)
        for name, case in cases.items():
            word, before = word_of(case, task.defendant(case)), words.get(name, "")
            words[name] = word
            if word not in FAILED:
                found.pop(name, None)
            elif word != before:
                note = " or before" if release == oldest else "" if before in PASSED else f" ({before} before)"
                found[name] = release, note
    return {name: "".join(parts) for name, parts in found.items()}


def settings(cases: dict[str, Case]) -> dict[str, str]:
    """Return the first setting with which each case passes."""
    found: dict[str, str] = {}
    task = task_of("openvino", EXACT, limit=LIMIT)
    for setting in OPENVINO:
        told(setting.name)
        processes: dict[str, Defendant] = {}
        for name, case in cases.items():
            if name in found:
                continue
            if case.config not in processes:
                config = {**task.settings(case), **setting.config}
                environment = setting.environment
                processes[case.config] = Defendant("openvino", config, limit=LIMIT, environment=environment)
            case = replace(case, flags=(*case.flags, "cache")) if setting.cached else case
            if passes(case, processes[case.config]):
                found[name] = setting.name
        for process in processes.values():
            process.close()
    return found


def passes(case: Case, defendant: Defendant) -> bool:
    return word_of(case, defendant) in PASSED


def word_of(case: Case, defendant: Defendant) -> str:
    try:
        return judged(case, defendant).word
    except IRError:
        return "invalid"


def told(text: str) -> None:
    print(text, file=sys.stderr)


if __name__ == "__main__":
    raise SystemExit(main())
