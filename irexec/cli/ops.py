"""`irexec ops`: the operator set, or one operator in full, from the signatures."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from irexec.cli.extension import load_extensions
from irexec.cli.inputs import exit_code, refuse
from irexec.cli.options import add_extensions
from irexec.cli.streams import print_json, put_exactly
from irexec.core.diagnostics import Report
from irexec.core.diagnostics.render import write

if TYPE_CHECKING:
    from irexec.tools.catalog.facts import OperatorFacts


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "operator",
        nargs="?",
        metavar="TYPE",
        help="an operator, e.g. Gather, Gather-7 or Gather-opset7, or a part of names (default: list all operators)",
    )
    parser.add_argument("--missing", action="store_true", help="list only operators that are not implemented")
    parser.add_argument(
        "--format", choices=("text", "json", "markdown"), default="text", help="output format (default: text)"
    )
    add_extensions(parser)


def run(args: argparse.Namespace) -> int:
    from irexec.tools.catalog.facts import all_facts, facts_of, foreign_facts
    from irexec.tools.render.operators import list_text, operator_text, page_text

    report = load_extensions(args.extension)
    if report.ok and args.operator is not None and args.missing:
        report = refuse("U003", "--missing cannot be combined with TYPE")
    if not report.ok:
        return _refused(report)
    if args.operator is None:
        rows = [facts for facts in all_facts() + foreign_facts() if not (args.missing and facts.implemented)]
        texts = {"text": list_text, "markdown": page_text}
    else:
        found = facts_of(args.operator)
        rows = [found] if found is not None else _containing(args.operator)
        if not rows:
            return _refused(unknown_operator(args.operator))
        texts = {"text": list_text if found is None else lambda rows: operator_text(rows[0]), "markdown": page_text}
    if args.format == "json":
        print_json([facts.model_dump() for facts in rows])
    else:
        put_exactly(texts[args.format](rows))
    return 0


def _containing(text: str) -> list[OperatorFacts]:
    """Return the operators whose names contain a text, such as `scatter`."""
    from irexec.tools.catalog.facts import all_facts, foreign_facts

    return [facts for facts in all_facts() + foreign_facts() if text.lower() in facts.name.lower()]


def unknown_operator(text: str) -> Report:
    """Return a report that no operator has this name, with similar names."""
    from irexec.tools.catalog.facts import facts_of, nearest

    other = facts_of(text.partition("-")[0])
    near = [other.name] if other is not None else nearest(text)
    hint = f"did you mean {' or '.join(near)}?" if near else "`irexec ops` lists all operators"
    return refuse("U005", f"unknown operator {text!r}", hint=hint)


def _refused(report: Report) -> int:
    write(report, sys.stderr)
    return exit_code(report)
