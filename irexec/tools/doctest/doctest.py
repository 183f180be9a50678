"""Operation pages as tests: every example is parsed, validated, executed and compared with the documented values."""

from __future__ import annotations

import math
import os
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import PurePath
from typing import Any

from irexec.core.diagnostics import Diagnostic, Place, Report, Severity
from irexec.core.diagnostics.choice import Choice
from irexec.core.diagnostics.codes import CODES, Area
from irexec.core.diagnostics.deadline import OutOfTime, watched
from irexec.core.diagnostics.findings import At, Findings
from irexec.frontends.pages.evaluate import evaluate_layer, read_examples
from irexec.frontends.pages.example import Example
from irexec.frontends.pages.names import Named
from irexec.frontends.pages.page import SUFFIXES, Page, TextExample, XmlExample, read_page
from irexec.frontends.pages.reader import Snippet, SnippetLayer, version_from_name
from irexec.frontends.pages.text_example import describe
from irexec.frontends.reading import read
from irexec.ir.io.files import named_files, unreadable
from irexec.ir.weights.file import Weights
from irexec.model.arrays.brief import plural
from irexec.model.arrays.given import Given
from irexec.model.graph.build import build
from irexec.model.inference import infer_types
from irexec.ops.spec import contents
from irexec.tools.doctest.errata import Erratum, erratum, settled

# Findings about a printed example for which the page is not at fault.
_NOT_THE_PAGES = frozenset({"O004", "O007", "C010", "X005", "N008"})
# The number of operations above which an execution takes more than about a second.
MOST_WORK = 1.5e8
# Findings about omitted parts: an ellipsis for attributes, an element's name or content, or an early end of the text.
_SHORTENED = frozenset({"Q001", "Q002", "Q003", "Q015"})
# Findings about omitted parts, ids, names and versions: pages may leave these out.
_MAY_BE_LEFT_OUT = frozenset({"Q001", "Q002", "Q003", "Q018", "Q019", "Q020", "Q030"})
# Findings about documented values rather than about the layer.
_ABOUT_VALUES = frozenset({"T001", "T003"})


@dataclass(slots=True)
class Checked:
    """One example: its findings, and the completed stages of its check.

    `kind` is "xml", "text", "code" or "model". `valid` is None if there is no operator to check against; `agrees` is
    None if the page documents no comparable values. `not_executed` gives the reason if there is no result. `in_full` is
    False if an ellipsis replaces something that would have to be checked. `example` is the evaluated layer.
    """

    kind: str
    number: int
    place: Place
    operator: str = ""
    parsed: bool = False
    valid: bool | None = None
    not_executed: str | None = None
    agrees: bool | None = None
    in_full: bool = True
    repairs: list[Diagnostic] = field(default_factory=list)
    errata: list[Erratum] = field(default_factory=list)
    notes: list[Diagnostic] = field(default_factory=list)
    verified: list[str] = field(default_factory=list)
    example: Example | None = None

    @property
    def label(self) -> str:
        """The name of the example in messages: "example 3", "text example 1"."""
        prefix = "" if self.kind == "xml" else f"{self.kind} "
        return f"{prefix}example {self.number}"

    @property
    def executed(self) -> bool:
        return self.not_executed is None

    @property
    def findings(self) -> list[Diagnostic]:
        return [*self.repairs, *(e.diagnostic for e in self.errata), *self.notes]


@dataclass(slots=True)
class CheckedPage:
    """A page and its examples. `problem`: the reason why it has no examples; `stopped`: its check was not completed."""

    file: str
    about: tuple[str, ...] = ()
    examples: list[Checked] = field(default_factory=list)
    problem: str | None = None
    readable: bool = True
    stopped: Diagnostic | None = None

    @property
    def errata(self) -> list[Erratum]:
        return [found for example in self.examples for found in example.errata]

    @property
    def report(self) -> Report:
        """All findings of the page, in order, even if it cannot be read or has no example."""
        findings = Findings(file=self.file)
        if self.problem is not None and self.readable:
            findings.add("Q029", self.problem, severity=Severity.NOTE)
        elif self.problem is not None:
            findings.add("U001", self.problem)
        if self.stopped is not None:
            findings.keep(self.stopped)
        findings.report.extend(finding for example in self.examples for finding in example.findings)
        return findings.report.sorted()


def find_pages(
    paths: Iterable[str | os.PathLike[str]], excluded: Callable[[str], bool] = lambda path: False
) -> list[str]:
    """Return the files to check: named files, and pages below the named folders that are not `excluded`."""
    named = [os.fspath(path) for path in paths]
    return [file for file in named_files(named, SUFFIXES) if file in named or not excluded(file)]


def chosen_of(page: CheckedPage, choice: Choice) -> CheckedPage:
    """Return the page with the findings that count."""
    page.examples = [chosen(example, choice) for example in page.examples]
    return page


def chosen(example: Checked, choice: Choice) -> Checked:
    """Return an example with the findings that count. Without an error about the layer it is valid."""
    errata = [entry for entry in example.errata if choice.keeps(entry.diagnostic)]
    valid = None if example.valid is None else all(entry.diagnostic.code in _ABOUT_VALUES for entry in errata)
    repairs, notes = ([f for f in found if choice.keeps(f)] for found in (example.repairs, example.notes))
    return replace(example, errata=errata, valid=valid, repairs=repairs, notes=notes)


def check_page(path: str | os.PathLike[str], *, data: bytes | None = None, large: bool = False) -> CheckedPage:
    """Check every example of a page. Never raises for its content; a file that cannot be read has a `problem`.

    `large`: examples that take long are executed although the page documents no values to compare with.
    """
    result = CheckedPage(os.fspath(path))
    try:
        result, pending = plan_page(path, data=data, large=large)
        result.examples += (example.check() for example in watched(pending, "checking examples", "examples"))
    except OutOfTime as stopped:
        findings = Findings(file=result.file)
        stopped.add_to(findings)
        result.stopped = findings.report.diagnostics[0]
    return result


@dataclass(frozen=True, slots=True)
class Pending:
    """An example that was found and is not checked yet; `about` names the operator that this part of the page
    describes, and `heading` is the heading above the example, if there is one.
    """

    label: str
    about: str
    heading: str
    place: Place
    check: Callable[[], Checked]


def plan_page(
    path: str | os.PathLike[str], *, data: bytes | None = None, large: bool = False
) -> tuple[CheckedPage, list[Pending]]:
    """Return a page without results yet, and its examples to be checked."""
    try:
        page = read_page(path, data)
    except (OSError, ValueError) as error:
        message, hint = unreadable(path, error)
        problem = f"{message}; {hint}" if hint else message
        return CheckedPage(os.fspath(path), problem=problem, readable=False), []
    about = tuple(str(named) for named in page.names)
    model_file = page.file if data is None and page.file.lower().endswith(".xml") else None
    pending = list(_plan(page, math.inf if large else MOST_WORK, model_file))
    missing = page.problem or (None if pending else "the page has no example")
    return CheckedPage(page.file, about, problem=missing, readable=page.problem is None), pending


def _plan(page: Page, most_work: float, model_file: str | None) -> Iterator[Pending]:
    """Yield the examples of a page; examples of one kind are numbered separately for each operator of the page.

    `model_file`: the page's file if a model in it is the whole file, with weights beside it.
    """
    numbers: Counter[tuple[str, Named | None]] = Counter()
    for example in page.examples:
        checks = (
            _xml_checks(example, page.file, most_work, model_file)
            if isinstance(example, XmlExample)
            else [(_kind_of(example), example.excerpt.place(example.start), partial(_check_text, example, most_work))]
        )
        for kind, place, check in checks:
            numbers[kind, example.named] += 1
            started = Checked(kind, numbers[kind, example.named], place)
            about = str(example.named) if example.named is not None else ""
            yield Pending(started.label, about, example.heading, place, partial(_guarded, check, started))


def _guarded(check: Callable[[Checked], Checked], checked: Checked) -> Checked:
    """Check an example. An internal error of irexec is reported, and ends this example only."""
    try:
        return check(checked)
    except Exception as error:
        message = f"irexec failed: {type(error).__name__}: {error}"
        findings = Findings()
        findings.add("O007", message, place=checked.place, severity=Severity.WARNING)
        checked.not_executed, checked.valid = message, None
        checked.notes += findings.report
        return checked


_Check = tuple[str, Place, Callable[[Checked], Checked]]


def _xml_checks(block: XmlExample, file: str, most_work: float, model_file: str | None) -> list[_Check]:
    excerpt, named = block.excerpt, block.named
    about = f"{named.type}-{named.version}" if named is not None and named.version is not None else None
    snippet = read_examples(excerpt.text, file=file, page=about)
    if not snippet.layers and model_file is not None:
        return [("model", excerpt.place(0), partial(_check_model_file, block, model_file))]
    if not snippet.layers:
        kind = "model" if snippet.document is not None else "xml"
        return [(kind, excerpt.place(0), partial(_check_model, block, snippet))]
    starts = [excerpt.offset(snippet.findings.place(At(layer.layer.at))) for layer in snippet.layers]
    read: list[list[Diagnostic]] = [[] for _ in starts]
    for finding in snippet.findings.report:
        read[max(0, bisect_right(starts, excerpt.offset(finding.place)) - 1)].append(finding)
    checks: list[_Check] = []
    for start, layer, found in zip(starts, snippet.layers, read, strict=True):
        check = partial(_check_layer, block, layer, snippet.findings.place, found, most_work)
        checks.append(("xml", excerpt.place(start), check))
    return checks


def _check_layer(
    block: XmlExample,
    layer: SnippetLayer,
    locate: Callable[[At], Place],
    read: list[Diagnostic],
    most_work: float,
    checked: Checked,
) -> Checked:
    """Check a layer as it is printed. `read`: the findings made when the layer was read."""
    if _is_unversioned(block.named, layer):
        checked.parsed, checked.operator = True, str(block.named)
        checked.not_executed = f"no opset contains {block.named}"
        _sort(checked, read, block, None)
        return checked
    findings = Findings(locate)
    example = evaluate_layer(layer, findings, Given(), most_work=most_work)
    _fill(checked, example)
    _sort(checked, [*read, *findings.report], block, example)
    return checked


def _is_unversioned(named: Named | None, layer: SnippetLayer) -> bool:
    """Return whether the page describes the layer's operator, and no opset contains this operator."""
    return named is not None and named.version is None and layer.written_type == named.type


def _check_model(block: XmlExample, snippet: Snippet, checked: Checked) -> Checked:
    """Check a whole model: it is validated, but not executed, because a page contains no weights."""
    findings = Findings(snippet.findings.place)
    if snippet.document is not None:
        checked.parsed, checked.not_executed = True, "pages contain no weights, so the model cannot be run"
        model = build(snippet.document, findings, Weights())
        infer_types(model, findings)
        checked.operator = f"a model of {plural(len(snippet.document.net.layers), 'layer')}"
    else:
        checked.not_executed = "it cannot be read"
    _sort(checked, [*snippet.findings.report, *findings.report], block, None)
    return checked


def _check_model_file(block: XmlExample, file: str, checked: Checked) -> Checked:
    """Check a file that is a model, with its weights: each error that `irexec validate` reports is one."""
    reading = read(file, mode="strict")
    checked.parsed, checked.not_executed = reading.document is not None, "models are validated only"
    if reading.document is not None:
        checked.operator = f"a model of {plural(len(reading.document.net.layers), 'layer')}"
    for finding in block.excerpt.not_ignored(list(reading.report)):
        if finding.severity is Severity.ERROR:
            checked.errata.append(erratum(finding, finding, block.excerpt, None))
        else:
            checked.notes.append(finding)
    checked.valid = not checked.errata
    return checked


def _kind_of(example: TextExample) -> str:
    return "text" if example.group.node is None else "code"


def _check_text(block: TextExample, most_work: float, checked: Checked) -> Checked:
    """Check an example written as assignments.

    Element types that the text does not state are chosen so that its values agree, if possible.
    """
    described = describe(block)
    checked.parsed = True
    if not described.layers:
        checked.operator = str(block.named) if block.named is not None else ""
        checked.not_executed = described.problem
        return checked
    tried = []
    for layer in described.layers:
        findings = Findings(described.locate)
        example = evaluate_layer(layer, findings, Given(), most_work=most_work)
        tried.append((example, findings))
        if findings.report.ok and all(output.agrees is not False for output in example.outputs):
            break
    else:
        example, findings = tried[0]
    _fill(checked, example)
    checked.operator = str(block.named)
    certain = all(_same_results(example, other) for other, _ in tried)
    _sort(checked, list(findings.report), block, example, certain=certain)
    return checked


def _same_results(a: Example, b: Example) -> bool:
    """Return whether two interpretations of a text compute the same numbers."""
    return all(
        x.array is not None and y.array is not None and x.array.tolist() == y.array.tolist()
        for x, y in zip(a.outputs, b.outputs, strict=False)
    )


def _fill(checked: Checked, example: Example) -> None:
    checked.parsed, checked.verified, checked.example = True, example.verified, example
    if (obstacle := example.not_executed) is not None:
        checked.not_executed = f"with random values: {obstacle}" if obstacle.by_chance else str(obstacle)
    operator = example.operator
    checked.operator = operator.versioned_name if operator is not None else example.layer.type
    agrees = [output.agrees for output in example.outputs if output.agrees is not None]
    checked.agrees = all(agrees) if agrees else None


def _sort(
    checked: Checked,
    found: list[Diagnostic],
    block: XmlExample | TextExample,
    example: Example | None,
    *,
    certain: bool = True,
) -> None:
    """Divide findings into errors, repairs and notes, each with its location on the page.

    `certain`: see `erratum`.
    """
    found = block.excerpt.not_ignored(found)
    shortened = {finding.code for finding in found} & _SHORTENED
    for written in found:
        finding = _judged(written, block)
        if shortened and finding.severity is Severity.ERROR and _is_left_out(finding, shortened, example):
            finding = replace(finding, severity=Severity.NOTE)
            checked.in_full = False
        moved = block.excerpt.moved(finding)
        if finding.severity is Severity.ERROR:
            checked.errata.append(erratum(finding, moved, block.excerpt, example, certain=certain))
        elif finding.code in _MAY_BE_LEFT_OUT:
            checked.notes.append(replace(moved, severity=Severity.NOTE))
        elif CODES[finding.code].area is Area.REPAIR:
            checked.repairs.append(moved)
        else:
            checked.notes.append(moved)
    checked.errata = settled(checked.errata)
    checked.errata.sort(key=lambda entry: (entry.diagnostic.line or 0, entry.diagnostic.column or 0))
    if checked.parsed and checked.in_full and (example is None or example.operator is not None):
        checked.valid = all(e.diagnostic.code in _ABOUT_VALUES for e in checked.errata)


def _is_left_out(finding: Diagnostic, shortened: set[str], example: Example | None) -> bool:
    """Return whether an ellipsis stands for the missing part, as for layers of a body and port maps."""
    inside = example is not None and finding.layer is not None and finding.layer != example.layer
    return inside or "Q015" in shortened or (CODES[finding.code].area is Area.BODY and "Q003" in shortened)


def _judged(finding: Diagnostic, block: XmlExample | TextExample) -> Diagnostic:
    """Return a finding with the severity that it has on a page."""
    its_own = finding.code == "L004" and finding.layer is not None and _describes(block, finding.layer.type)
    if finding.code in _NOT_THE_PAGES or its_own:
        # A page may describe an operator that is newer than the opsets known to irexec.
        return replace(finding, severity=Severity.NOTE)
    if finding.code == "Q022" and contents.canonical_type(finding.found or "") is None:
        return replace(finding, severity=Severity.ERROR)
    return finding


def _describes(block: XmlExample | TextExample, type: str) -> bool:
    """Return whether the page is about operators of this type, by its text or by the name of its file or folder."""
    if block.named is not None and block.named.type.lower() == type.lower():
        return True
    file = block.excerpt.page.file or ""
    parts = (re.sub(r"[^a-z0-9]", "", part.lower().split(".")[0]) for part in PurePath(file).parts[-2:])
    return version_from_name(file, type) is not None or type.lower() in parts


def summary(pages: Sequence[CheckedPage]) -> dict[str, Any]:
    """Return the counts of pages, examples and findings in a run, by name."""
    examples = [example for page in pages for example in page.examples]
    return {
        "pages": len(pages),
        "without examples": sum(page.readable and not page.examples for page in pages),
        "unreadable": sum(not page.readable for page in pages),
        "examples": len(examples),
        "parsed": sum(e.parsed for e in examples),
        "validated": sum(e.valid is True for e in examples),
        "executed": sum(e.executed for e in examples),
        "agree": sum(e.agrees is True for e in examples),
        "disagree": sum(e.agrees is False for e in examples),
        "repairs": sum(len(e.repairs) for e in examples),
        "errata": sum(len(e.errata) for e in examples),
    }


__all__ = ["Checked", "CheckedPage", "Pending", "check_page", "find_pages", "plan_page", "summary"]
