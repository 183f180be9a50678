"""Safe fixes of mutants, judged by OpenVINO: a file that OpenVINO reads has the same meaning before and after the fix.

    python benchmarks/fixes_meaning.py                            20,000 mutants of small models and the samples
    python benchmarks/fixes_meaning.py --count 2000 FOLDER ...    also of the models in these folders (.xml, .bin)
    python benchmarks/fixes_meaning.py --log DONE.jsonl           skip the mutants that the log contains

Each mutant is a model with one to four places that are written differently, or wrongly, determined by its number as the
seed. Its safe fixes are applied, all together and each one alone. If OpenVINO's CPU plugin loads the mutant, it must
load the fixed file as well, with the same inputs and outputs (number, order, names, types and shapes), and the results
of two consecutive inferences must be the same. The same holds for irexec, which must also accept the fixed file in each
mode in which it accepted the mutant.

Prints the numbers of mutants with findings and with safe fixes, and every fix that changes a meaning: the goal is none.
Child processes judge the mutants, because OpenVINO ends the process for some of them; these are counted and skipped.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

HOME = Path(__file__).parent.parent
sys.path[:0] = [str(HOME / "tests" / "lib"), str(HOME)]

from support.meanings import Meaning, Origin, below, by_irexec, by_openvino, of_operators, origins, samples  # noqa: E402
from support.mutants import mutant  # noqa: E402
from support.rewritings import rewritten  # noqa: E402
from support.slips import slipped  # noqa: E402

from irexec.core.diagnostics import Report, Safety  # noqa: E402
from irexec.frontends import reading  # noqa: E402
from irexec.ir.xml.edits import apply  # noqa: E402
from irexec.ops.spec.contents import CONTENTS  # noqa: E402
from irexec.tools.fixes.applying import apply_fixes, examine  # noqa: E402

Read = Callable[[bytes, Origin], Meaning | None]

PER_PROCESS, SECONDS_PER_MUTANT = 250, 60
MOST_FIXES = 8
"""The maximum number of fixes of one mutant that are judged one by one."""
RUNTIMES: dict[str, Read] = {"openvino": by_openvino, "irexec": by_irexec}


class Outcome(NamedTuple):
    """The outcome of a mutant: `kind` is one of KINDS, `changed` lists the fixes that change the meaning."""

    number: int
    kind: str
    codes: list[str]
    changed: list[str]


KINDS = ("nothing found", "no safe fix", "refused before", "the same after", "changed", "died")


@cache
def known(folders: tuple[Path, ...]) -> list[Origin]:
    """Return the models from which mutants are made; the few with several layers occur more often than those of one
    operator.
    """
    return [
        *origins() * 12,
        *of_operators(),
        *samples() * 4,
        *(origin for folder in folders for origin in below(folder)),
    ]


def mutant_of(number: int, folders: tuple[Path, ...] = ()) -> tuple[Origin, bytes]:
    """Return a mutant, and the model from which it was made."""
    rng = random.Random(f"meaning {number}")
    origin = rng.choice(known(folders))
    kind = rng.random()
    if kind < 0.8:
        text = rewritten(origin.text, rng)
    elif kind < 0.9:
        text = slipped(origin.text, rng)
    else:
        text = mutant(origin.text, rng, list(CONTENTS))
    return origin, text.encode("utf-8", "surrogatepass")


def judged(number: int, folders: tuple[Path, ...] = ()) -> Outcome:
    """Return the effect of a mutant's safe fixes on its meaning."""
    origin, data = mutant_of(number, folders)
    report = examine(data, weights=origin.weights).report
    if not len(report):
        return Outcome(number, "nothing found", [], [])
    fixed = dict(_fixed(data, report, origin))
    codes = sorted({code for names in fixed.values() for code in names.split()})
    if not fixed:
        return Outcome(number, "no safe fix", [], [])
    changed, loaded = [], False
    for runtime, read in RUNTIMES.items():
        before = read(data, origin)
        loaded = loaded or before is not None
        changed += [f"{runtime}: {what}" for what in _changes(data, before, fixed, origin, read)]
    changed += _refused(data, fixed, origin)
    return Outcome(number, "changed" if changed else "the same after" if loaded else "refused before", codes, changed)


def _fixed(data: bytes, report: Report, origin: Origin) -> Iterator[tuple[bytes, str]]:
    """Yield the file after each safe fix alone, and after all of them, with the codes of the findings."""
    fixes = [(finding.code, fix) for finding in report for fix in finding.fixes if fix.safety is Safety.SAFE]
    for code, fix in fixes[:MOST_FIXES]:
        yield apply(data, list(fix.edits)), code
    repaired = apply_fixes(data, weights=origin.weights)
    if repaired.made:
        yield repaired.data, " ".join(sorted({finding.code for finding, _ in repaired.made}))


def _changes(data: bytes, before: Meaning | None, fixed: dict[bytes, str], origin: Origin, read: Read) -> Iterator[str]:
    if before is None:
        return
    for after, codes in fixed.items():
        difference = before.difference(read(after, origin))
        # Results computed from uninitialized memory differ in every run and have no meaning.
        if difference is not None and before.difference(read(data, origin)) is None:
            yield f"{codes}: {difference}"


def _refused(data: bytes, fixed: dict[bytes, str], origin: Origin) -> Iterator[str]:
    """Yield a text for each mode and fix with which irexec no longer accepts a file that it accepted."""
    for mode in ("strict", "openvino"):
        if reading.read(data, origin.weights, mode=mode).report.ok:  # type: ignore[arg-type]
            for after, codes in fixed.items():
                if not reading.read(after, origin.weights, mode=mode).report.ok:  # type: ignore[arg-type]
                    yield f"irexec, {mode}: {codes}: it is refused"


# Many mutants


def in_children(numbers: list[int], folders: tuple[Path, ...]) -> Iterator[Outcome]:
    """Yield the outcomes of mutants from child processes; a mutant that ends its process or takes too long is
    skipped.
    """
    while numbers:
        part, numbers = numbers[:PER_PROCESS], numbers[PER_PROCESS:]
        while part:
            done = 0
            for outcome in _child(part, folders):
                done += 1
                yield outcome
            if done < len(part):
                yield Outcome(part[done], "died", [], [])
                done += 1
            part = part[done:]


def _child(numbers: list[int], folders: tuple[Path, ...]) -> Iterator[Outcome]:
    command = [sys.executable, __file__, "--child", ",".join(map(str, numbers)), *map(str, folders)]
    with subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
        assert child.stdout is not None
        for line in child.stdout:
            if line.startswith("["):
                yield Outcome(*json.loads(line))


def answer(numbers: Iterable[int], folders: tuple[Path, ...]) -> None:
    """Print one line for each mutant, in a child process. A mutant that takes too long ends the process."""
    for number in numbers:
        signal.alarm(SECONDS_PER_MUTANT)
        try:
            outcome = judged(number, folders)
        except Exception as error:
            outcome = Outcome(number, "changed", [], [f"escape: {error!r}: no outcome"])
        os.write(1, json.dumps(outcome).encode() + b"\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0, help="the number of the first mutant")
    parser.add_argument("--log", type=Path, help="keeps the outcomes; a mutant that it holds is not judged again")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    folders = tuple(folder.resolve() for folder in args.folders)
    if args.child:
        answer(map(int, args.child.split(",")), folders)
        return 0
    begin = time.monotonic()
    earlier = [Outcome(*json.loads(line)) for line in args.log.open()] if args.log and args.log.exists() else []
    done = {outcome.number for outcome in earlier}
    kinds, changes, codes = Counter[str](), Counter[str](), Counter[str]()
    numbers = [n for n in range(args.first, args.first + args.count) if n not in done]
    log = args.log.open("a") if args.log else None
    for outcome in chain(earlier, in_children(numbers, folders)):
        kinds[outcome.kind] += 1
        codes.update(outcome.codes)
        changes.update({what.split(":")[1].strip() for what in outcome.changed})
        if outcome.number not in done:
            if log is not None:
                print(json.dumps(outcome), file=log, flush=True)
            for what in outcome.changed:
                print(f"{outcome.number} ({mutant_of(outcome.number, folders)[0].name}): {what}", flush=True)
    print(
        f"{kinds.total():,} mutants of {len({o.name for o in known(folders)})} models, {time.monotonic() - begin:.0f} s"
    )
    print(*(f"{kinds[kind]:>7,}  {kind}" for kind in KINDS), sep="\n")
    print("mutants with safe fixes by code:", ", ".join(f"{code} {count}" for code, count in codes.most_common()))
    if changes:
        print("changed meanings by code:", ", ".join(f"{code} {count}" for code, count in changes.most_common()))
    return int(kinds["changed"] > 0)


if __name__ == "__main__":
    sys.exit(main())
