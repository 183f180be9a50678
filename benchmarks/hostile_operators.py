"""Operators called with hostile arguments through the opset functions: they may only return results or raise IRError.

Run it with `python benchmarks/hostile_operators.py [--calls 60000] [--seed 0]`. Prints every other exception, grouped
by operator and message, followed by the slowest calls and the calls that took most memory. The goals: no other
exception, 2 s, 500 MB. A seeded sample of the same calls is a test (tests/ops/test_hostile_calls.py).
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "lib"))
from support.calls import Call, calls
from support.hostile import hostile
from support.memory import most_resident, reset_most_resident

import irexec

LIMIT = 4 << 30
SECONDS = 20
SLOW, LARGE = 0.5, 100 << 20


class TooLong(BaseException):
    """Raised for a call that does not end."""


def stop(signum: int, frame: object) -> None:
    raise TooLong


def attempt(call: Call) -> tuple[str | None, float]:
    """Return the exception that escaped from a call, or None, and the seconds of processor time. The call includes
    showing its report.
    """
    start = time.process_time()
    signal.alarm(SECONDS)
    escape = None
    try:
        call.run()
    except irexec.IRError as error:
        text = str(error)
        if any(d.code in ("O006", "O007") for d in error.report.diagnostics):
            escape = text[:110]
    except TooLong:
        escape = f"no end after {SECONDS} s"
    except Exception as error:
        escape = f"{type(error).__name__}: {str(error)[:90]}"
    finally:
        signal.alarm(0)
    return escape, time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=60_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--type", help="only operators of this type")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    signal.signal(signal.SIGALRM, stop)
    table = [c for c in calls() if options.type in (None, c.operator.type)]
    escapes: Counter[tuple[str, str]] = Counter()
    examples: dict[tuple[str, str], str] = {}
    slow: list[tuple[float, str]] = []
    large: list[tuple[int, str]] = []
    began, done = time.perf_counter(), 0
    for number in range(options.calls):
        # Each call has its own seed, so that a single call can be repeated.
        rng = np.random.default_rng((options.seed, number))
        call = hostile(rng, table[int(rng.integers(len(table)))])
        reset_most_resident()
        before = most_resident()
        escape, seconds = attempt(call)
        taken = most_resident() - before
        done += escape is None
        if escape is not None:
            key = (call.operator.versioned_name, escape)
            escapes[key] += 1
            examples.setdefault(key, f"#{number} {str(call)[:300]}")
        if seconds > SLOW:
            slow.append((seconds, f"#{number} {str(call)[:300]}"))
        if taken > LARGE:
            large.append((taken, f"#{number} {str(call)[:300]}"))
    for (name, message), count in sorted(escapes.items()):
        print(f"{count:5} {name}: {message}\n      {examples[name, message]}")
    for seconds, text in sorted(slow, reverse=True)[:20]:
        print(f"{seconds:6.2f} s {text}")
    for taken, text in sorted(large, reverse=True)[:20]:
        print(f"{taken >> 20:6} MB {text}")
    spent = time.perf_counter() - began
    print(f"{options.calls} calls, {sum(escapes.values())} escapes of {len(escapes)} kinds, {spent:.0f} s")
    slowest, largest = max([0.0, *(s for s, _ in slow)]), max([0, *(n for n, _ in large)]) >> 20
    print(f"slowest {slowest:.2f} s (0: below {SLOW} s), largest {largest} MB (0: below {LARGE >> 20} MB)")
    sys.stdout.flush()
    os._exit(bool(escapes))


if __name__ == "__main__":
    main()
