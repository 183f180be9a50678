"""Mutants of models after their safe fixes: the share that is correct again, and whether a fix changed a valid file.

    python benchmarks/mutants_fixed.py                        2,000 mutants of the samples
    python benchmarks/mutants_fixed.py --count 500 FOLDER     of the models in a folder (.xml next to .bin)

Each mutant has one change of its text, determined by its number as the seed. The outcomes are counted:

- not seen: there are no findings, or only notes; the changed file is valid, or no check can detect the change
- repaired: after its safe fixes the file is valid and computes what the original computes
- repaired to itself: the file is valid and computes what the mutant computed: the change itself altered the results
- left to the user: findings remain
- not run: the file is valid, but its results exceed the memory
- wrong: the file is valid, but computes something else; the goal is none. A valid file that a fix changes is also wrong
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np

HOME = Path(__file__).parent.parent
sys.path[:0] = [str(HOME / "tests" / "lib"), str(HOME)]

from support.mutants import mutant  # noqa: E402
from support.results import computed, same  # noqa: E402
from support.slips import slipped  # noqa: E402

import irexec  # noqa: E402
from irexec.core.types import Array  # noqa: E402
from irexec.ops.spec.contents import CONTENTS  # noqa: E402
from irexec.tools.fixes.applying import apply_fixes, examine  # noqa: E402

MAX_TEXT = 120_000
OUTCOMES = ("not seen", "repaired", "repaired to itself", "left to the user", "not run", "wrong")


def results_of(data: bytes, path: Path) -> list[Array] | None:
    """Return the results of a model; None if it cannot be run."""
    try:
        with np.errstate(all="ignore"):
            return computed(data, path)
    except (irexec.IRError, MemoryError):
        return None


def agree(a: list[Array] | None, b: list[Array] | None) -> bool:
    return a is not None and b is not None and same(a, b)


@cache
def original(path: Path) -> tuple[bytes, list[Array] | None]:
    """Return the bytes of a file, and its results."""
    data = path.read_bytes()
    return data, results_of(data, path)


def changed(text: str, number: int) -> bytes:
    """Return a mutant of a text: one change of any kind, or several typical mistakes."""
    rng = random.Random(f"fixed {number}")
    wrong = slipped(text, rng) if number % 2 else mutant(text, rng, list(CONTENTS), changes=1)
    return wrong.encode("utf-8", "surrogatepass")


def judged(path: Path, number: int) -> tuple[str, str]:
    """Return the outcome for a mutant, and the codes of the findings that were fixed."""
    data, expected = original(path)
    wrong = changed(data.decode(), number)
    before = examine(wrong, path).report
    if not any(str(finding.severity) != "note" for finding in before):
        return "not seen", ""
    repaired = apply_fixes(wrong, path)
    codes = " ".join(sorted({finding.code for finding, _ in repaired.made}))
    if not repaired.report.ok:
        return "left to the user", " ".join(sorted({finding.code for finding in repaired.report.errors}))
    results = results_of(repaired.data, path)
    if results is None:
        return "not run", codes
    if agree(results, expected):
        return ("repaired" if repaired.made else "not seen"), codes
    if agree(results, results_of(wrong, path)):
        return "repaired to itself", codes
    return ("wrong" if repaired.made else "not seen"), f"{path} {number}: {codes}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="*", type=Path, default=[HOME / "samples"])
    parser.add_argument("--count", type=int, default=2000)
    args = parser.parse_args()
    paths = [path for folder in args.folders for path in sorted(folder.rglob("*.xml"))]
    paths = [path for path in paths if path.with_suffix(".bin").exists() and path.stat().st_size < MAX_TEXT]
    paths = [path for path in paths if original(path)[1] is not None]
    outcomes: Counter[str] = Counter()
    left: Counter[str] = Counter()
    for path in paths:
        data, _ = original(path)
        repaired = apply_fixes(data, path)
        if repaired.data != data and not agree(results_of(repaired.data, path), original(path)[1]):
            print(f"wrong: a valid file was changed: {path}")
            outcomes["wrong"] += 1
    for number in range(args.count):
        outcome, note = judged(paths[number % len(paths)], number)
        outcomes[outcome] += 1
        if outcome == "left to the user":
            left.update(note.split())
        elif outcome == "wrong":
            print(f"wrong: {note}")
    seen = args.count - outcomes["not seen"]
    print(f"{args.count:,} mutants of {len(paths)} models, {seen:,} with findings")
    for outcome in OUTCOMES:
        print(f"{outcomes[outcome]:>6,}  {outcome}")
    part = (outcomes["repaired"] + outcomes["repaired to itself"]) / max(seen, 1)
    print(f"repaired by safe fixes: {part:.0%} of those with findings")
    print("left to a person:", ", ".join(f"{code} {count}" for code, count in left.most_common(12)))
    return int(outcomes["wrong"] > 0)


if __name__ == "__main__":
    sys.exit(main())
