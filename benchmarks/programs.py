"""Random programs over OpenVINO's Python API, with OpenVINO and with irexec: `python benchmarks/programs.py`.

    python benchmarks/programs.py [--first 0] [--count 3000] [--show SEED] [-v]

Each statement of a program (`tests/lib/support/api_programs`) must have the same value in both, raise an exception of
the same built-in class, or differ for a reason that is listed there. Prints every other difference, the number of
differences by class, and the reasons with the numbers of their programs and differences. Each batch of programs has its
own process, because a program may crash OpenVINO; irexec runs each program first, so that the programs at which
OpenVINO crashed are known.
"""

from __future__ import annotations

import argparse
import pickle
import subprocess
import sys
from collections import Counter
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

HOME = Path(__file__).parents[1]
sys.path[:0] = [str(HOME / "tests" / "lib")]
BATCH = 100
BY_IREXEC = "run by irexec"


def compare(first: int, count: int) -> None:
    """Run programs, and write the differences of each to standard output, as one pickle per program."""
    import openvino
    import openvino.passes
    from support.api_programs import differences, execute, program

    import irexec

    for seed in range(first, first + count):
        lines = program(seed)
        _write(seed, None)
        mine = execute(lines, irexec)
        _write(seed, BY_IREXEC)
        found = differences(lines, execute(lines, openvino), mine)
        _write(seed, (len(lines), [tuple(each) for each in found]))


def _write(*record: object) -> None:
    pickle.dump(record, sys.stdout.buffer)
    sys.stdout.buffer.flush()


def batch(first: int, count: int) -> tuple[dict[int, tuple[int, list[tuple[str, ...]]]], tuple[int, str] | None]:
    """Return the differences of programs by seed, and the program that ended the process, as its seed and the library.
    Raises RuntimeError if a program could not be written or compared.

    The programs write files into a folder that is removed.
    """
    command = [sys.executable, str(Path(__file__).resolve()), "--batch", "--first", str(first), "--count", str(count)]
    with TemporaryDirectory() as folder:
        done = subprocess.run(command, capture_output=True, cwd=folder, check=False)
    if done.returncode == 1:
        raise RuntimeError(done.stderr.decode()[-2000:])
    found, started, rest = {}, None, done.stdout
    while rest:
        try:
            seed, result = pickle.loads(rest)
        except (pickle.UnpicklingError, EOFError):
            break
        rest = rest[len(pickle.dumps((seed, result))) :]
        started = None
        if result is None or result == BY_IREXEC:
            started = seed, "irexec" if result is None else "OpenVINO"
        else:
            found[seed] = result
    return found, started


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--show", type=int, metavar="SEED", help="print one program with what each statement gives")
    parser.add_argument("-v", "--verbose", action="store_true", help="print the differences with a reason, too")
    parser.add_argument("--batch", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.batch:
        compare(options.first, options.count)
        return 0
    if options.show is not None:
        with TemporaryDirectory() as folder, chdir(folder):  # Programs write files into the current folder.
            return show(options.show)
    return campaign(options.first, options.count, options.verbose)


def show(seed: int) -> int:
    """Print one program and the values of its statements."""
    import openvino
    import openvino.passes
    from support.api_programs import execute, program

    import irexec

    lines = program(seed)
    for line, one, other in zip(lines, execute(lines, openvino), execute(lines, irexec), strict=True):
        print(line)
        for name, outcome in (("OpenVINO", one), ("irexec", other)):
            said = f"{outcome.raised[0]}: {outcome.message}" if outcome.raised else outcome.value
            print(f"    {name:9}{' '.join(str(said).split())[:400]}")
    return 0


def campaign(first: int, count: int, verbose: bool) -> int:
    """Run all programs, and print the differences."""
    from support.api_programs import Difference, reason

    kinds: Counter[str] = Counter()
    reasons: dict[str, Counter[int]] = {}  # By reason, the differences in each program.
    ended: list[tuple[int, str]] = []
    statements, open_ones, done, seed = 0, 0, 0, first
    while seed < first + count:
        size = min(BATCH, first + count - seed)
        results, crashed = batch(seed, size)
        for number, (length, found) in results.items():
            done, statements = done + 1, statements + length
            for fields in found:
                difference = Difference(*fields)
                why = reason(difference)
                kinds[difference.kind] += 1
                if why is None:
                    open_ones += 1
                else:
                    reasons.setdefault(why, Counter())[number] += 1
                if why is None or verbose:
                    print(f"program {number}: {difference}" + (f"\n    because:  {why}" if why else ""), flush=True)
        if crashed is not None:
            ended.append(crashed)
            seed = crashed[0] + 1
        else:
            seed += size
    print(
        f"{done} programs of {statements} statements: {sum(kinds.values())} differences, {open_ones} without a reason"
    )
    for kind, number in kinds.most_common():
        print(f"  {kind}: {number}")
    if reasons:
        print("programs  differences  reason")
    for why, numbers in sorted(reasons.items(), key=lambda item: -len(item[1])):
        print(f"{len(numbers):8}  {numbers.total():11}  {why}")
    if ended:
        print(f"programs that ended the process: {', '.join(f'{seed} ({library})' for seed, library in ended)}")
    return int(bool(open_ones) or any(library == "irexec" for _, library in ended))


if __name__ == "__main__":
    sys.exit(main())
