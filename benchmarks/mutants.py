"""Mutants of models and snippets through validate, compile and run: nothing escapes, and all of it is quick and small.

    python benchmarks/mutants.py                            100,000 mutants of the samples; hours
    python benchmarks/mutants.py --count 2000 FOLDER ...    of the files below these folders too (.xml beside .bin)

Each mutant is validated and run by the command line's own functions in a process of its own, so that time and memory
are its own as well, and what kills a process is seen. Prints what escaped, findings without a line, and the slowest and
the largest: the goal is none, none, 2 s of processor time, and 500 MB.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

HOME = Path(__file__).parent.parent
sys.path[:0] = [str(HOME / "tests"), str(HOME)]

from support.mutants import mutant  # noqa: E402

from irexec.cli.main import main as irexec_main  # noqa: E402
from irexec.ops.declare.contents import CONTENTS  # noqa: E402

MAX_TEXT = 60_000
"""Characters of a file that is mutated; a change in a larger one would not be another kind of change."""
SECONDS, MEGABYTES = 2.0, 500.0
KILLED_AFTER, ADDRESS_SPACE = 60, 8 << 30
# These are about the file as a whole, its weights, or the values and options given to it.
NO_LINE = ("C009", "C010", "O008", "X009", "U")


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


def in_a_process(path: str) -> tuple[list[str], float, float]:
    """What `commands` finds, processor seconds, and the most megabytes that the process took."""
    read, write = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (KILLED_AFTER, KILLED_AFTER))
            resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
            os.write(write, json.dumps(commands(path))[:60_000].encode())
            status = 0
        finally:
            os._exit(status)
    os.close(write)
    _, status, used = os.wait4(child, 0)
    with os.fdopen(read, "rb") as stream:
        told = stream.read()
    wrong = json.loads(told) if status == 0 else [f"escape: the process ended with {_ended(status)}"]

    return wrong, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def _ended(status: int) -> str:
    return signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else f"code {os.WEXITSTATUS(status)}"


def originals(folders: list[Path]) -> list[tuple[Path, str]]:
    paths = [path for folder in folders for path in sorted(folder.rglob("*.xml"))]
    return [(path, text) for path in paths if len(text := path.read_text("utf-8", "replace")) <= MAX_TEXT]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="a folder for the mutants that show something")
    args = parser.parse_args()
    os.environ["IREXEC_TRACEBACK"] = "1"
    known = originals([HOME / "samples", *args.folders])
    begin, told = time.monotonic(), Counter[str]()
    slowest, largest = (0.0, ""), (0.0, "")
    print(f"{args.count} mutants of {len(known)} files")
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "model.xml"
        for original, text in known[:20]:  # What is imported here need not be imported in every process.
            commands(str(original))
            path.write_text(text.replace('version="opset', 'x="opset').replace("<data ", '<data x="1" '))
            commands(str(path))
        for number in range(args.count):
            rng = random.Random(f"{args.seed}/{number}")
            original, text = known[rng.randrange(len(known))]
            changed = mutant(text, rng, list(CONTENTS))
            path.write_bytes(changed.encode("utf-8", "surrogatepass"))
            with_weights(original, path)
            wrong, seconds, megabytes = in_a_process(str(path))
            name = f"{number} of {original.parent.name}/{original.name}"
            slowest, largest = max(slowest, (seconds, name)), max(largest, (megabytes, name))
            if seconds > SECONDS or megabytes > MEGABYTES:
                wrong.append(f"cost: {seconds:.1f} s, {megabytes:.0f} MB")
            for what in wrong:
                told[what.partition(":")[0]] += 1
                print(f"{what}\n    {name}", flush=True)
            if wrong and args.keep:
                args.keep.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, args.keep / f"{number}.xml")
                with_weights(original, args.keep / f"{number}.xml")
    print(f"{args.count} mutants in {time.monotonic() - begin:.0f} s: " + _summary(told))
    print(f"slowest {slowest[0]:.2f} s ({slowest[1]}), largest {largest[0]:.0f} MB ({largest[1]})")
    return 1 if told else 0


def with_weights(original: Path, path: Path) -> None:
    weights = original.with_suffix(".bin")
    path.with_suffix(".bin").unlink(missing_ok=True)
    if weights.is_file():
        path.with_suffix(".bin").symlink_to(weights.resolve())


def _summary(told: Any) -> str:
    kinds = {"escape": "escapes", "no line": "errors without a line", "kernel": "failed kernels", "cost": "too costly"}
    return ", ".join(f"{told[kind]} {words}" for kind, words in kinds.items())


if __name__ == "__main__":
    sys.exit(main())
