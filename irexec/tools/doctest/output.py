"""The results of checking pages, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from irexec.core.diagnostics import Diagnostic, Report, Safety
from irexec.core.diagnostics.people import in_lines
from irexec.core.diagnostics.render import text
from irexec.core.diagnostics.render.characters import visible_text
from irexec.model.arrays.brief import plural
from irexec.tools.doctest.doctest import Checked, CheckedPage, summary
from irexec.tools.doctest.errata import Erratum

_FOR_MODELS = "for corrections of models: irexec fix --diff"


def page_text(page: CheckedPage, *, verbose: bool = False, color: bool = False) -> Iterator[str]:
    """Yield the text about a page: a line for each example, the repairs, and the errata with their source lines."""
    about = f": {', '.join(dict.fromkeys(page.about))}" if page.about else ""
    yield visible_text(f"{page.file}{about}") + "\n"
    if page.problem is not None:
        yield f"  {visible_text(page.problem)}\n"
    width = max((len(example.label) for example in page.examples), default=0)
    lines = max((len(str(example.place.line)) for example in page.examples), default=0)
    operators = {example.operator for example in page.examples}
    for example in page.examples:
        which = f"  {example.operator}" if len(operators) > 1 or not page.about else ""
        head = f"  {example.label:<{width}}  line {example.place.line:>{lines}}{which}"
        yield visible_text(f"{head}  {status(example)}") + "\n"
        if verbose:
            yield from (f"    checked: {visible_text(words)}\n" for words in example.verified)
    yield from _lines("repaired", (finding for example in page.examples for finding in example.repairs), verbose)
    if verbose:
        yield from _lines("note", (finding for example in page.examples for finding in example.notes), verbose)
    stopped = [] if page.stopped is None else [page.stopped]
    errata = Report([*(found.diagnostic for found in page.errata), *stopped]).sorted()
    if len(errata):
        yield "\n"
        *findings, _ = text.chunks(errata, color=color)
        yield from findings
    else:
        yield "\n"


def errata_text(example: Checked) -> str:
    """Return the errors of an example with their source lines, and the number of its corrections."""
    errata = [found.diagnostic for found in example.errata]
    *findings, _ = text.chunks(Report(errata))
    fixable = _FOR_MODELS if _is_model_file(example) else _fixable_text(example.findings)
    codes = " ".join(sorted({finding.code for finding in errata}))
    return "".join([*findings, fixable and f"{fixable}\n", f"for details: irexec explain {codes}\n"])


def _is_model_file(example: Checked) -> bool:
    """Return True if the example is the model of an .xml file, of which `irexec fix` corrects more."""
    return example.kind == "model" and (example.place.file or "").lower().endswith(".xml")


def _fixable_text(findings: Iterable[Diagnostic]) -> str:
    fixes = [finding.fixes[0].safety for finding in findings if finding.fixes]
    safe = fixes.count(Safety.SAFE)
    return text.fixable_text("irexec doctest --fix", safe, len(fixes) - safe)


def status(example: Checked) -> str:
    """Return the stages that an example has completed: parsed, valid, executed, documented values agree."""
    if not example.parsed:
        return f"not parsed: {example.not_executed}"
    words = ["parsed"]
    if example.valid is not None:
        words.append("valid" if example.valid else "not valid")
    words.append("executed" if example.executed else f"not executed: {example.not_executed}")
    if example.agrees is not None:
        words.append("documented values agree" if example.agrees else "documented values differ")
    return ", ".join(words)


def _lines(word: str, findings: Iterable[Diagnostic], verbose: bool) -> Iterator[str]:
    """Yield a line for each finding or, unless `verbose`, for all findings with the same message."""
    alike: dict[object, list[Diagnostic]] = {}
    for finding in findings:
        alike.setdefault(id(finding) if verbose else (finding.code, finding.message), []).append(finding)
    for first, *others in alike.values():
        where = ":".join(str(part) for part in (first.file, first.line, first.column) if part is not None)
        also = f" (also{in_lines(others)})" if others else ""
        yield visible_text(f"  {where}: {word}: {first.message} [{first.code}]{also}") + "\n"


def summary_text(pages: Sequence[CheckedPage]) -> str:
    """Return two lines with the counts of a run, and one line with the number of possible corrections."""
    numbers = summary(pages)
    aside = [f"{numbers[key]} {key}" for key in ("without examples", "unreadable") if numbers[key]]
    head = plural(numbers["pages"], "page") + (f" ({', '.join(aside)})" if aside else "")
    agree = numbers["agree"]
    wrong = [example for page in pages for example in page.examples if example.errata and _is_model_file(example)]
    others = (e for page in pages for e in page.examples if not _is_model_file(e))
    fixable = _fixable_text(finding for example in others for finding in example.findings)
    fixable = "".join(f"{line}\n" for line in (fixable, _FOR_MODELS if wrong else "") if line)
    return (
        f"{head}, {plural(numbers['examples'], 'example')}: {numbers['parsed']} parsed, "
        f"{numbers['validated']} validated, {numbers['executed']} executed\n"
        f"documented values: {agree} correct, {numbers['disagree']} wrong; "
        f"{plural(numbers['errata'], 'error')}, {plural(numbers['repairs'], 'repair')}\n{fixable}"
    )


def as_json(pages: Sequence[CheckedPage]) -> dict[str, Any]:
    """Return all results as JSON-ready values: `ok`, `pages`, `summary`."""
    return {
        "ok": all(page.report.ok for page in pages),
        "pages": [_page(page) for page in pages],
        "summary": {name.replace(" ", "_"): count for name, count in summary(pages).items()},
    }


def _page(page: CheckedPage) -> dict[str, Any]:
    found: dict[str, Any] = {"file": page.file, "about": list(dict.fromkeys(page.about))}
    if page.problem is not None:
        found["problem"] = page.problem
    if page.stopped is not None:
        found["stopped"] = page.stopped.to_dict()
    return found | {"examples": [_example(example) for example in page.examples]}


def _example(example: Checked) -> dict[str, Any]:
    return {
        "label": example.label,
        "kind": example.kind,
        "line": example.place.line,
        "column": example.place.column,
        "operator": example.operator,
        "parsed": example.parsed,
        "valid": example.valid,
        "executed": example.executed,
        "not_executed": example.not_executed,
        "agrees": example.agrees,
        "verified": example.verified,
        "repairs": [finding.to_dict() for finding in example.repairs],
        "errata": [_erratum(found) for found in example.errata],
        "notes": [finding.to_dict() for finding in example.notes],
    }


def _erratum(found: Erratum) -> dict[str, Any]:
    return found.diagnostic.to_dict() | {
        "printed": found.printed,
        "right": found.right,
        "replacement": found.replacement,
    }
