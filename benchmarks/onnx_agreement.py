"""irexec's ONNX front end beside ONNX Runtime and onnx.reference: what is computed, and what is refused.

    python benchmarks/onnx_agreement.py                     the first 90 cases of each operator
    python benchmarks/onnx_agreement.py --only LSTM Pad     those of some operators
    python benchmarks/onnx_agreement.py --names CASE ...    these cases

The cases are those of `irexec conformance --frontend onnx`. Prints the number of each outcome, the cases that irexec
alone computes or that it computes as neither of both, and those that it alone refuses, sorted by the reason.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator
from itertools import count
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from irexec.tools.conformance.case import Case
from irexec.tools.conformance.defendant import Answer, Defendant
from irexec.tools.conformance.forbidden import FLAG as FORBIDDEN
from irexec.tools.conformance.onnx_cases import draw_onnx, onnx_case, onnx_operators
from irexec.tools.conformance.verdict import judge_case

MISSING = ("NOT_IMPLEMENTED", "NotImplemented", "No implementation", "Could not find an implementation")
AGREED, ALONE, OTHER = "computed, and one of both agrees", "computed, refused by both", "computed, as neither of both"
UNKNOWN, INVALID = "computed, without a kernel in either", "refused when it runs"
BOTH_REFUSE, ONE_REFUSES = "refused, also by both", "refused, also by one of both"
REFUSED = "refused, computed by both"
TOLD = (ALONE, OTHER, REFUSED)


def cases(names: list[str], only: list[str], most: int) -> Iterator[Case]:
    yield from map(onnx_case, names)
    for operator in [] if names else onnx_operators():
        if not only or operator.removeprefix("onnx.").rpartition("-")[0] in only:
            for index in range(most):
                if (case := draw_onnx(operator, index)) is None:
                    break
                yield case


def outcome(case: Case, answers: list[Answer]) -> str:
    if FORBIDDEN in case.flags:
        return (REFUSED, ONE_REFUSES, BOTH_REFUSE)[sum(answer.how != "results" for answer in answers)]
    words = [judge_case(case, answer, {}).word for answer in answers]
    if "passed" in words or "open" in words:
        return AGREED
    if "invalid" in words:
        return INVALID
    if all(answer.how != "results" for answer in answers):
        has_kernel = not any(word in answer.message for answer in answers for word in MISSING)
        return ALONE if has_kernel else UNKNOWN
    return OTHER


def reason(case: Case, answers: list[Answer]) -> str:
    return case.facts.get(FORBIDDEN) or " | ".join(f"{answer.how} {answer.message[:100]}" for answer in answers)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[], metavar="TYPE", help="cases of these operators")
    parser.add_argument("--names", nargs="+", default=[], metavar="CASE", help="these cases")
    parser.add_argument("--count", type=int, default=90, help="number of cases of each operator (default: 90)")
    parser.add_argument("--part", default="0/1", metavar="I/N", help="every N-th case, beginning with number I")
    args = parser.parse_args()
    runtimes = [Defendant("onnxruntime"), Defendant("reference")]
    part, parts = map(int, args.part.split("/"))
    found = defaultdict[str, list[tuple[str, str]]](list)
    for number, case in zip(count(), cases(args.names, args.only, args.count)):
        if number % parts == part:
            answers = [runtime.run(case) for runtime in runtimes]
            found[outcome(case, answers)].append((case.name, reason(case, answers)))
    for word, entries in sorted(found.items()):
        print(f"{len(entries):6}  {word}")
    for word in TOLD:
        for name, why in sorted(found[word], key=lambda entry: (entry[1], entry[0])):
            print(f"{word}: {name}: {why}")


if __name__ == "__main__":
    main()
