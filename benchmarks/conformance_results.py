"""The results for the site: `python benchmarks/conformance_results.py A.json B.json > docs/conformance/results.md`.

The files are what `irexec conformance -o` wrote for several releases; the last one is the newest. What is known of the
causes of its failures is in causes.json beside the page, which `benchmarks/conformance_causes.py` writes.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from irexec.tools.conformance.clusters import Cluster, clusters_of
from irexec.tools.conformance.names import RECIPE
from irexec.tools.conformance.report import by_operator, failures, from_json
from irexec.tools.conformance.verdict import FAILED

_DETAIL, _NAME = 110, 260
CAUSES = Path(__file__).parents[1] / "docs" / "conformance" / "causes.json"
_ENDS = ("error", "crash", "hang")
HEAD = """# Results for releases of OpenVINO

`python benchmarks/conformance_results.py` makes this page from the results of `irexec conformance` for the CPU plugin
of several releases, with `INFERENCE_PRECISION_HINT=f32`. `irexec conformance --case 'NAME'` runs a case of this page
again, and with `--reproducers FOLDER` writes a script for it that needs OpenVINO and NumPy alone.

A failure is a wrong value, shape or element type, an exception of a call, a crash or a hang. A refusal of a legal model
is counted, but is not a failure. Cases whose result the operator's page leaves open are not judged.

All releases are judged by the same cases: those that `--quick` drew when this page was made. Another version of irexec
may draw other cases, and rejects names of graphs from another version of the generator (`{recipe}`). An operator that a
release does not have is refused.

The kernels, and so some failures, depend on the processor, here {processors} with AVX-512. Gelu-7 of infinities,
Greater-1 of NaN and IsFinite-10 of denormal numbers are right in 2026.4.1 on a processor that has AVX2 and no AVX-512.
"""


CAUSES_HEAD = """The simplest case of each cluster of {newest}: the pass of the compiler that is wrong, or that all
passes keep the result and a kernel is wrong, as [irexec passes](../commands/passes.md) finds it; the first release
from which on it fails in the same way in all releases that were tried ({tried}), with the answer of the one before it
if it did not pass; and the first [setting](../commands/bisect.md) with which it passes. "After" names the last pass of
a compilation that crashed: the plugin makes its kernels after the last of all. A dash stands for an answer that was not
found. A kernel that reads memory that nothing has written may fail in one run only. The failures of graphs were tried
in {checked}, too, and checked by hand: causes.json states how.
"""


def main() -> int:
    tallies = [from_json(json.loads(Path(path).read_text())) for path in sys.argv[1:]]
    names = [tally.runtime.removeprefix("OpenVINO ").removesuffix(" CPU") for tally in tallies]
    processors = " and ".join(sorted({tally.processor for tally in tallies}))
    print(HEAD.format(recipe=RECIPE, processors=processors))
    print(
        "| release | cases | passed | open | refused | wrong values | shapes, types | errors, crashes, hangs "
        "| clusters |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    found: dict[tuple[str, str], dict[str, Cluster]] = {}
    for name, tally in zip(names, tallies, strict=True):
        totals, clusters = tally.totals, clusters_of(failures(tally), tally)
        for cluster in clusters:
            found.setdefault((cluster.cause, cluster.word), {}).setdefault(name, cluster)
        forms, ends = (sum(totals.get(word, 0) for word in words) for words in (("shape", "type"), _ENDS))
        row = [sum(totals.values()), totals.get("passed", 0), totals.get("open", 0), totals.get("refused", 0)]
        print(
            "|",
            name,
            "|",
            " | ".join(f"{n:,}" for n in (*row, totals.get("wrong", 0), forms, ends, len(clusters))),
            "|",
        )
    print("\n## Operators with failures\n\nFailures of the cases of each operator or pattern.\n")
    print("| operator |", " | ".join(names), "|\n|---|" + "---:|" * len(names))
    counts = [by_operator(tally) for tally in tallies]
    failing = {name for by_name in found.values() for cluster in by_name.values() for name in cluster.operators}
    for operator in sorted(failing):
        print("|", operator, "|", " | ".join(_cell(count.get(operator, {})) for count in counts), "|")
    stated = json.loads(CAUSES.read_text())
    print(f"\n## Causes\n\n{_causes_head(names[-1], stated)}")
    print("| failure | pass or kernel | since | passes with |\n|---|---|---|---|")
    newest = clusters_of(failures(tallies[-1]), tallies[-1])
    for cluster in sorted(newest, key=lambda cluster: (cluster.cause, cluster.word)):
        print("|", " | ".join((_plain(cluster.title), *_cause(stated["cases"].get(cluster.simplest.name, {})))), "|")
    print("\n## What is wrong\n\nThe simplest case that failed, in the newest release where one did.\n")
    for (_, word), by_name in sorted(found.items()):
        last = by_name[list(by_name)[-1]]
        newest = last.simplest
        print(f"- **{last.operator}**, {word}, in {', '.join(by_name)}: {_plain(newest.detail)[:_DETAIL].strip()}\n")
        print(f"  `{newest.name[:_NAME]}`\n" if len(newest.name) <= _NAME else "  (the name of the case is long)\n")
    return 0


def _causes_head(newest: str, stated: dict[str, Any]) -> str:
    tried, checked = (", ".join(stated.get(key, [])) for key in ("releases", "checked in"))
    return CAUSES_HEAD.format(newest=newest, tried=tried, checked=checked or "no other release")


def _cause(known: dict[str, str]) -> tuple[str, str, str]:
    """Return the answers about a case in a few words."""
    cause = known.get("cause", "")
    wrong = re.match(r"first wrong pass: (\w+)", cause)
    ended = re.match(r"compiling fails after (\w+)", cause)
    short = f"pass {wrong[1]}" if wrong else f"after {ended[1]}" if ended else "–"
    short = "kernel" if "the kernels are wrong" in cause else short
    return short, known.get("first") or "–", known.get("avoided by") or "–"


def _plain(text: str) -> str:
    return text.replace("|", "/").replace("`", "'").replace("<", "(").replace("*", "\\*")


def _cell(counts: dict[str, Any]) -> str:
    failed, total = sum(counts.get(word, 0) for word in FAILED), sum(counts.values())
    return f"{failed} of {total}" if total else ""


if __name__ == "__main__":
    raise SystemExit(main())
