"""Mutants of models and snippets through validate, compile and run: nothing escapes, and all of it is quick and small.

    python benchmarks/mutants.py                            100,000 mutants of the samples; an hour
    python benchmarks/mutants.py --count 2000 FOLDER ...    of the files below these folders too (.xml beside .bin)

Each mutant is validated and run by the command line's own functions. Processes take a hundred mutants each; what kills
one is seen, and another goes on behind it. Prints what escaped, findings without a line, and the slowest and the
largest: the goal is none, none, 2 s of processor time, and 500 MB, or twice what the file takes that was changed.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HOME = Path(__file__).parent.parent
sys.path[:0] = [str(HOME / "tests"), str(HOME)]

from support.memory import most_resident, reset_most_resident  # noqa: E402
from support.mutants import mutant  # noqa: E402

from irexec.cli.main import main as irexec_main  # noqa: E402
from irexec.ops.declare.contents import CONTENTS  # noqa: E402

MAX_TEXT = 60_000
"""Characters of a file that is mutated; a change in a larger one would not be another kind of change."""
SECONDS, MEGABYTES = 2.0, 500.0
KILLED_AFTER, ADDRESS_SPACE = 60, 2 << 30
PER_PROCESS = 100
# These are about the file as a whole, its weights, or the values and options given to it.
NO_LINE = ("C009", "C010", "O008", "X009", "U")


class Original(NamedTuple):
    """A file that mutants are made of."""

    path: Path
    text: str


class Outcome(NamedTuple):
    """What became of a mutant."""

    number: int
    wrong: list[str]
    seconds: float = 0.0
    megabytes: float = 0.0


def commands(path: str) -> list[str]:
    """Run the commands on a file; what is wrong with how irexec takes it."""
    wrong = []
    for arguments in (
        ["validate", path, "--format", "json"],
        ["validate", path, "--format", "json", "--mode", "openvino"],
        ["run", path, "--json"],
    ):
        shown = io.StringIO()
        try:
            with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(io.StringIO()):
                irexec_main(arguments)
            findings = json.loads(shown.getvalue())["diagnostics"]
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{Path(where.filename).name}:{where.lineno}"
            wrong.append(f"escape: {arguments[0]}: {type(error).__name__} at {place}: {str(error)[:150]}")
            continue
        wrong += [
            f"no line: {arguments[0]}: {finding['code']} {finding['message'][:150]}"
            for finding in findings
            if finding["severity"] == "error" and not finding.get("line") and not finding["code"].startswith(NO_LINE)
        ]
        wrong += [f"kernel: {finding['message'][:200]}" for finding in findings if finding["code"] == "O007"]
    return wrong


def measured(path: Path) -> tuple[list[str], float, float]:
    """What `commands` finds of a file, the processor's seconds for it, and the most megabytes held at once."""
    gc.collect()
    reset_most_resident()
    before = time.process_time()
    wrong = commands(str(path))
    return wrong, time.process_time() - before, most_resident() / 2**20


class Campaign:
    """Mutants by their number, each always the same for a seed."""

    def __init__(self, known: list[Original], seed: int, path: Path) -> None:
        self.known, self.seed, self.path = known, seed, path

    def write(self, number: int) -> Original:
        """Write a mutant beside its original's weights; the file that it was."""
        rng = random.Random(f"{self.seed}/{number}")
        original = self.known[rng.randrange(len(self.known))]
        changed = mutant(original.text, rng, list(CONTENTS))
        self.path.write_bytes(changed.encode("utf-8", "surrogatepass"))
        with_weights(original.path, self.path)
        return original

    def outcomes(self, begin: int, end: int) -> Iterator[Outcome]:
        """Take mutants through the commands, in a process that is replaced when it dies."""
        while begin < end:
            for outcome in self._in_a_process(begin, min(begin + PER_PROCESS, end)):
                yield outcome
                begin = outcome.number + 1

    def _in_a_process(self, begin: int, end: int) -> Iterator[Outcome]:
        read, write = os.pipe()
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            os.close(read)
            status = 1
            try:
                self._child(begin, end, write)
                status = 0
            finally:
                os._exit(status)
        os.close(write)
        with os.fdopen(read) as stream:
            for line in stream:
                outcome = Outcome(*json.loads(line))
                yield outcome
                begin = outcome.number + 1
        status = os.waitpid(child, 0)[1]
        if begin < end:
            yield Outcome(begin, [f"escape: the process ended with {_ended(status)}"])

    def _child(self, begin: int, end: int, write: int) -> None:
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
        for number in range(begin, end):
            original = self.write(number).path
            signal.setitimer(signal.ITIMER_PROF, KILLED_AFTER)
            wrong, seconds, megabytes = measured(self.path)
            if seconds > SECONDS or megabytes > MEGABYTES:
                _, *usual = measured(original)
                if seconds > 2 * usual[0] or megabytes > 2 * usual[1]:
                    wrong.append(f"cost: {seconds:.1f} s, {megabytes:.0f} MB")
            os.write(write, json.dumps((number, wrong[:20], seconds, megabytes)).encode() + b"\n")


def _ended(status: int) -> str:
    return signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else f"code {os.WEXITSTATUS(status)}"


def originals(folders: list[Path]) -> list[Original]:
    paths = [path for folder in folders for path in sorted(folder.rglob("*.xml"))]
    return [Original(path, text) for path in paths if len(text := path.read_text("utf-8", "replace")) <= MAX_TEXT]


def with_weights(original: Path, path: Path) -> None:
    weights = original.with_suffix(".bin")
    path.with_suffix(".bin").unlink(missing_ok=True)
    if weights.is_file():
        path.with_suffix(".bin").symlink_to(weights.resolve())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=0, help="the number of the first mutant")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="a folder for the mutants that show something")
    args = parser.parse_args()
    os.environ["IREXEC_TRACEBACK"] = "1"
    known = originals([HOME / "samples", *args.folders])
    begin, told = time.monotonic(), Counter[str]()
    slowest, largest = (0.0, ""), (0.0, "")
    print(f"{args.count} mutants of {len(known)} files")
    with tempfile.TemporaryDirectory() as scratch:
        campaign = Campaign(known, args.seed, Path(scratch) / "model.xml")
        for original in known[:20]:  # What is imported here need not be imported in every process.
            commands(str(original.path))
        gc.freeze()
        for outcome in campaign.outcomes(args.first, args.first + args.count):
            number, wrong, seconds, megabytes = outcome
            original = campaign.known[random.Random(f"{args.seed}/{number}").randrange(len(known))]
            name = f"{number} of {original.path.parent.name}/{original.path.name}"
            slowest, largest = max(slowest, (seconds, name)), max(largest, (megabytes, name))
            for what in wrong:
                told[what.partition(":")[0]] += 1
                print(f"{what}\n    {name}", flush=True)
            if wrong and args.keep:
                args.keep.mkdir(parents=True, exist_ok=True)
                kept = Campaign(known, args.seed, args.keep / f"{number}.xml")
                kept.write(number)
    print(f"{args.count} mutants in {time.monotonic() - begin:.0f} s: {_summary(told)}")
    print(f"slowest {slowest[0]:.2f} s ({slowest[1]}), largest {largest[0]:.0f} MB ({largest[1]})")
    return 1 if told else 0


def _summary(told: Counter[str]) -> str:
    kinds = {"escape": "escapes", "no line": "errors without a line", "kernel": "failed kernels", "cost": "too costly"}
    return ", ".join(f"{told[kind]} {words}" for kind, words in kinds.items())


if __name__ == "__main__":
    sys.exit(main())
