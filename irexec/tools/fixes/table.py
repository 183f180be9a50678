"""The table of fixes: for each code a function from the finding and the file to its fixes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from irexec.core.diagnostics import Diagnostic, Fix, Report, Safety
from irexec.core.diagnostics.deadline import OutOfTime, ask, watched
from irexec.core.diagnostics.findings import Findings
from irexec.frontends.reading import Reading, read
from irexec.ir.xml.source import Source
from irexec.tools.fixes import absent, constants, ends, joins, ports, spelling
from irexec.tools.fixes.wellformed import with_repairs
from irexec.tools.fixes.written import Written

Fixer = Callable[[Diagnostic, Written], Iterator[Fix]]

FIXERS: dict[str, Fixer] = {
    "X003": spelling.repeated_attribute, "X012": spelling.hyphens, "N002": absent.ir_version,
    "N003": spelling.second_section,
    "N004": spelling.element_name, "N005": spelling.attribute_name, "N007": absent.layers, "N008": joins.result,
    "N009": spelling.root_name, "N010": spelling.value, "L001": absent.identity, "L002": absent.other_identity,
    "L004": ports.type_name, "L005": absent.other_version, "L006": ports.opset, "L009": spelling.type_case,
    "L010": absent.identity, "L011": spelling.idle_attribute, "C003": constants.attribute,
    "C012": constants.attribute, "C004": spelling.value, "C006": spelling.idle_attribute, "P001": absent.port_id,
    "P003": ports.missing_precision, "P004": ports.precision, "P005": ports.shape, "P006": ports.dim,
    "P007": ports.implied_type_fixes, "P010": ports.missing_precision, "P013": absent.port_id,
    "D001": spelling.attribute_name, "D003": spelling.value, "D004": spelling.boolean, "D005": spelling.other_value,
    "D006": spelling.trailing_comma, "D008": spelling.value, "D010": spelling.element_type, "D012": spelling.value,
    "E001": ends.unknown, "E002": ends.port, "E003": joins.again, "E004": joins.missing, "E006": ends.unknown,
    "E009": ends.unknown, "E010": ends.unreadable, "E007": ports.precision, "E008": ports.shape,
    "R007": absent.newer_ir, "S004": spelling.brackets, "S006": spelling.separators,
}  # fmt: skip


def with_fixes(reading: Reading, *, of_broken_text: bool = True) -> Report:
    """Return the findings about a model that was read; those that can be fixed carry the edits.

    `of_broken_text`: also look for fixes of a text that cannot be parsed, which takes as long as reading another model.
    Past a deadline the findings are returned without fixes.
    """
    report, source = reading.report, reading.source
    try:
        return _with_fixes(reading, of_broken_text)
    except OutOfTime as stopped:
        if source is None or any(finding.code == "U009" for finding in report):
            return report
        findings = Findings(source.locate, file=source.file)
        stopped.add_to(findings)
        return report.having([*report, *findings.report]).sorted()


def _with_fixes(reading: Reading, of_broken_text: bool) -> Report:
    report, source, document = reading.report, reading.source, reading.document
    if source is None or source.encoding is None:
        return report
    if not source.readable:
        return with_repairs(report, source, lambda text: _look(text, reading)) if of_broken_text else report
    if not any(finding.code in FIXERS for finding in report):
        return report
    if document is None:
        return report
    written = Written(document, reading.model)
    found = watched(report, "looking for fixes", "findings")
    return report.having(_fixed(finding, written) for finding in found)


def _look(source: Source, broken: Reading) -> Report:
    """Return the findings about a text, read with the weights of the broken text, with their fixes."""
    reading = read(source, broken.weights, mode="strict")
    ask("looking for fixes")  # An incomplete report would make any text look valid.
    return with_fixes(reading)


def _fixed(finding: Diagnostic, written: Written) -> Diagnostic:
    fixer = FIXERS.get(finding.code)
    if fixer is None:
        return finding
    fixes = tuple(fix for fix in fixer(finding, written) if fix.edits)
    if finding.assumption is not None:
        fixes = tuple(replace(fix, safety=Safety.UNSAFE) if fix.safety is Safety.SAFE else fix for fix in fixes)
    return replace(finding, fixes=fixes) if fixes else finding
