"""Mutants of models and snippets that are validated, compiled and run: no exception escapes, in little time and memory.

    python benchmarks/mutants.py                              100,000 mutants of the samples
    python benchmarks/mutants.py --count 2000 FOLDER ...      also of the files in these folders (.xml next to .bin)
    python benchmarks/mutants.py --log DONE.jsonl             skip the mutants that the log contains

Each mutant is validated and run by the functions of the command line, in as many processes as there are cores. A
process takes a hundred mutants; if a mutant ends its process, it is reported, and a new process continues after it.

Prints the exceptions that escaped, the findings without a line, the longest time and the largest memory. The goals are
none, none, 2 s of processor time, and 500 MB. A valid mutant may need large tensors: if its inputs and results take
64 MB or more, running may take 10 ns and two bytes more for each of their bytes, but validating may not. Files whose
own ports declare such sizes are excluded by name, because most of their mutants would only measure the memory.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import json
import math
import os
import random
import re
import resource
import selectors
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

HOME = Path(__file__).parent.parent
sys.path[:0] = [str(HOME / "tests" / "lib"), str(HOME)]

from support.memory import most_resident, reset_most_resident  # noqa: E402
from support.mutants import mutant  # noqa: E402

from irexec.cli.main import command_parsers  # noqa: E402
from irexec.core.types import ElementType  # noqa: E402
from irexec.ops.spec.contents import CONTENTS  # noqa: E402

MAX_TEXT = 60_000
"""The number of characters up to which a file is mutated: changes in larger files would be of the same kinds."""
SECONDS, MEGABYTES = 2.0, 500.0
LARGE = 64 << 20
SECONDS_PER_BYTE, TIMES_ITS_BYTES = 10e-9, 2
KILLED_AFTER, ADDRESS_SPACE = 60, 2 << 30
PER_PROCESS = 100
MOST_TOLD = 8
# Findings about the file as a whole, its weights, or the given values and options.
NO_LINE = ("C009", "C010", "O008", "U")
VALIDATE = (("--format", "json"), ("--format", "json", "--mode", "openvino"))


class Original(NamedTuple):
    """A file from which mutants are made."""

    path: Path
    text: str


class Outcome(NamedTuple):
    """The outcome of a mutant. `bytes`: the size of the inputs and results of its run."""

    number: int
    wrong: list[str]
    validating: float = 0.0
    running: float = 0.0
    megabytes_validating: float = 0.0
    megabytes: float = 0.0
    bytes: int = 0

    @property
    def seconds(self) -> float:
        return max(self.validating, self.running)

    def is_costly(self) -> bool:
        """Return whether the mutant took more than the goal."""
        large = self.bytes >= LARGE
        seconds = SECONDS + large * SECONDS_PER_BYTE * self.bytes
        megabytes = MEGABYTES + large * TIMES_ITS_BYTES * self.bytes / 2**20
        too_slow = self.validating > SECONDS or self.running > seconds
        return too_slow or self.megabytes_validating > MEGABYTES or self.megabytes > megabytes

    def cost(self) -> str:
        asked = f", for tensors of {self.bytes >> 20} MB" if self.bytes >= LARGE else ""
        return f"validated in {self.validating:.1f} s, run in {self.running:.1f} s, {self.megabytes:.0f} MB{asked}"


class Commands:
    """The commands that process a mutant."""

    def __init__(self) -> None:
        self._parser, _ = command_parsers(["validate", "run"])

    def __call__(self, path: str) -> Outcome:
        """Validate a file twice and run it; return the faults of irexec in doing so, and the costs."""
        reset_most_resident()
        begin, wrong = time.process_time(), list[str]()
        for options in VALIDATE:
            self.shown("validate", path, options, wrong)
        middle, small = time.process_time(), most_resident()
        told = self.shown("run", path, ("--json",), wrong)
        running, large = time.process_time() - middle, most_resident()
        megabytes = small / 2**20, large / 2**20
        return Outcome(0, wrong[:MOST_TOLD], middle - begin, running, *megabytes, held_by(told))

    def shown(self, command: str, path: str, options: Iterable[str], wrong: list[str]) -> dict[str, Any]:
        """Return the JSON that a command prints about a file; faults of the output are added to `wrong`."""
        output = io.StringIO()
        try:
            with contextlib.redirect_stdout(output), contextlib.redirect_stderr(io.StringIO()):
                arguments = self._parser.parse_args([command, path, *options])
                arguments.run(arguments)
            told: dict[str, Any] = json.loads(output.getvalue())
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{Path(where.filename).name}:{where.lineno}"
            wrong.append(f"escape: {command}: {type(error).__name__} at {place}: {str(error)[:150]}")
            return {}
        findings = told["diagnostics"]
        wrong += [
            f"no line: {command}: {finding['code']} {finding['message'][:150]}"
            for finding in findings
            if finding["severity"] == "error" and not finding.get("line") and not finding["code"].startswith(NO_LINE)
        ]
        wrong += [f"kernel: {finding['message'][:200]}" for finding in findings if finding["code"] == "O007"]
        return told


def held_by(told: dict[str, Any]) -> int:
    """Return the bytes of a run's inputs and results."""
    size = 0
    for run in told.get("examples", [told]):
        for tensor in (*run.get("inputs", ()), *run.get("outputs", ())):
            if isinstance(tensor.get("shape"), list) and all(isinstance(extent, int) for extent in tensor["shape"]):
                size += math.prod(tensor["shape"]) * item_size(tensor["element_type"])
    return size


def item_size(element_type: str) -> int:
    known = ElementType.by_name.get(element_type)
    return known.dtype.itemsize if known is not None and known.dtype is not None else 1


class Campaign:
    """Mutants by number; the mutant of a number is always the same for a seed."""

    def __init__(self, known: list[Original], seed: int, folder: Path) -> None:
        self.known, self.seed, self.folder = known, seed, folder
        self.commands = Commands()

    def original(self, rng: random.Random) -> Original:
        return self.known[rng.randrange(len(self.known))]

    def name(self, number: int) -> str:
        path = self.original(self._rng(number)).path
        return f"{number} of {path.parent.name}/{path.name}"

    def write(self, number: int, path: Path) -> None:
        """Write a mutant next to its original's weights."""
        rng = self._rng(number)
        original = self.original(rng)
        changed = mutant(original.text, rng, list(CONTENTS))
        path.write_bytes(changed.encode("utf-8", "surrogatepass"))
        with_weights(original.path, path)

    def _rng(self, number: int) -> random.Random:
        return random.Random(f"{self.seed}/{number}")

    def outcomes(self, numbers: Iterable[int], jobs: int = 1) -> Iterator[Outcome]:
        """Yield the outcomes of mutants, processed by child processes that are replaced when they die."""
        waiting = deque(chunks(numbers))
        with selectors.DefaultSelector() as running:
            while waiting or running.get_map():
                while waiting and len(running.get_map()) < jobs:
                    process = _Process(self, waiting.popleft())
                    running.register(process.pipe, selectors.EVENT_READ, process)
                for key, _ in running.select():
                    process = key.data
                    found = process.outcomes()
                    yield from found
                    if not found:
                        running.unregister(process.pipe)
                        yield from process.last_words()
                        if process.left:
                            waiting.appendleft(process.left)

    def take(self, number: int, path: Path) -> Outcome:
        """Return the outcome of one mutant; a mutant that seems costly is run again, without the memory of earlier
        ones.
        """
        self.write(number, path)
        outcome = self.commands(str(path))
        if outcome.is_costly():
            gc.collect()
            outcome = self.commands(str(path))
            if outcome.is_costly():
                outcome.wrong.append(f"cost: {outcome.cost()}")
        return outcome._replace(number=number)


class _Process:
    """A child process that works on some mutants."""

    def __init__(self, campaign: Campaign, numbers: list[int]) -> None:
        self.left = numbers
        self.pipe, write = os.pipe()
        sys.stdout.flush()
        self.id = os.fork()
        if self.id == 0:
            status = 1
            try:
                os.close(self.pipe)
                self._take(campaign, write)
                status = 0
            finally:
                os._exit(status)
        os.close(write)

    def _take(self, campaign: Campaign, write: int) -> None:
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
        folder = campaign.folder / str(os.getpid())
        folder.mkdir()
        for number in self.left:
            signal.setitimer(signal.ITIMER_PROF, KILLED_AFTER)
            # Less than the capacity of a pipe, so that lines are not split.
            os.write(write, json.dumps(campaign.take(number, folder / "model.xml")).encode() + b"\n")

    def outcomes(self) -> list[Outcome]:
        """Return the outcomes received since the last call; empty after the process has ended."""
        found = [Outcome(*json.loads(line)) for line in os.read(self.pipe, 1 << 20).splitlines()]
        self.left = self.left[len(found) :]
        return found

    def last_words(self) -> list[Outcome]:
        """Return the outcome of the mutant at which the process died, if it did."""
        os.close(self.pipe)
        status = os.waitpid(self.id, 0)[1]
        if not self.left:
            return []
        number, *self.left = self.left
        return [Outcome(number, [f"escape: the process ended with {_ended(status)}"])]


def _ended(status: int) -> str:
    return signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else f"code {os.WEXITSTATUS(status)}"


def chunks(numbers: Iterable[int]) -> Iterator[list[int]]:
    rest = list(numbers)
    for begin in range(0, len(rest), PER_PROCESS):
        yield rest[begin : begin + PER_PROCESS]


def originals(folders: list[Path]) -> list[Original]:
    paths = [path for folder in folders for path in sorted(folder.rglob("*.xml"))]
    return [Original(path, text) for path in paths if len(text := path.read_text("utf-8", "replace")) <= MAX_TEXT]


def declared(original: Original) -> int:
    """Return the bytes that a file's ports declare, as if all elements had four bytes."""
    ports = re.findall(r"<port\b[^>]*>(.*?)</port>", original.text, re.DOTALL)
    return 4 * sum(math.prod(map(int, re.findall(r"<dim>\s*(\d+)\s*</dim>", port))) for port in ports)


def with_weights(original: Path, path: Path) -> None:
    weights = original.with_suffix(".bin")
    path.with_suffix(".bin").unlink(missing_ok=True)
    if weights.is_file():
        path.with_suffix(".bin").symlink_to(weights.resolve())


class Tally:
    """The totals printed at the end."""

    def __init__(self) -> None:
        self.count, self.wrong = 0, Counter[str]()
        self.slowest, self.largest = Outcome(0, []), Outcome(0, [])
        self.large: list[Outcome] = []

    def add(self, outcome: Outcome) -> None:
        self.count += 1
        self.wrong.update(what.partition(":")[0] for what in outcome.wrong)
        if outcome.bytes >= LARGE:
            self.large.append(outcome)
            return
        self.slowest = max(self.slowest, outcome, key=lambda o: o.seconds)
        self.largest = max(self.largest, outcome, key=lambda o: o.megabytes)

    def lines(self, campaign: Campaign) -> Iterator[str]:
        kinds = {"escape": "escapes", "no line": "errors without a line", "kernel": "failed kernels"}
        told = ", ".join(f"{self.wrong[kind]} {words}" for kind, words in (kinds | {"cost": "too costly"}).items())
        yield f"{self.count} mutants: {told}"
        slowest, largest = self.slowest, self.largest
        yield f"slowest {slowest.seconds:.2f} s ({campaign.name(slowest.number)})"
        yield f"largest {largest.megabytes:.0f} MB ({campaign.name(largest.number)})"
        if self.large:
            yield f"{len(self.large)} run with tensors of {LARGE >> 20} MB or more, the largest of which"
            for outcome in sorted(self.large, key=lambda o: -o.megabytes)[:5]:
                yield f"    {outcome.cost()}: {campaign.name(outcome.number)}"


def logged(log: Path | None) -> list[Outcome]:
    if log is None or not log.exists():
        return []
    return [Outcome(*json.loads(line)) for line in log.read_text().splitlines()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=0, help="the number of the first mutant")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--log", type=Path, help="keeps the outcomes; those that it has are not made again")
    parser.add_argument("--keep", type=Path, help="a folder for the mutants that show something")
    args = parser.parse_args()
    known = originals([folder.resolve() for folder in (HOME / "samples", *args.folders)])
    left_out = [original for original in known if declared(original) >= LARGE]
    known = [original for original in known if original not in left_out]
    print(f"{args.count} mutants of {len(known)} files")
    for original in left_out:
        print(f"left out: {original.path} declares {declared(original) >> 20} MB")
    begin, tally = time.monotonic(), Tally()
    log, keep = (path and path.resolve() for path in (args.log, args.keep))
    with tempfile.TemporaryDirectory() as scratch, contextlib.ExitStack() as files:
        os.chdir(scratch)  # In this folder, no project settings are read for each file.
        campaign = Campaign(known, args.seed, Path(scratch))
        earlier = logged(log)
        stream = files.enter_context(log.open("a")) if log else None
        for outcome in earlier:
            tally.add(outcome)
        done = {outcome.number for outcome in earlier}
        numbers = [number for number in range(args.first, args.first + args.count) if number not in done]
        for original in known[:: max(1, len(known) // 40)]:  # Modules imported here are in every process.
            campaign.commands(str(original.path))
        gc.collect()
        gc.freeze()
        for outcome in campaign.outcomes(numbers, args.jobs):
            tally.add(outcome)
            if stream is not None:
                stream.write(json.dumps(outcome) + "\n")
            for what in outcome.wrong:
                print(f"{what}\n    {campaign.name(outcome.number)}", flush=True)
            if outcome.wrong and keep:
                keep.mkdir(parents=True, exist_ok=True)
                campaign.write(outcome.number, keep / f"{outcome.number}.xml")
    print(*tally.lines(campaign), f"{time.monotonic() - begin:.0f} s", sep="\n")
    return 1 if tally.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
