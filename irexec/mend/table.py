"""Which findings can be mended, and how: a function for each code, from the finding and the file to its fixes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from irexec.api import load
from irexec.diagnostics import Diagnostic, Fix, Report
from irexec.diagnostics.findings import Findings
from irexec.graph.model import Model
from irexec.ir.reader import read
from irexec.ir.xml.encoding import EncodingProblem, decode
from irexec.ir.xml.source import Source
from irexec.mend import absent, constants, ends, joins, kinds, ports, spelling
from irexec.mend.wellformed import with_repairs
from irexec.mend.written import Written

Mender = Callable[[Diagnostic, Written], Iterator[Fix]]

MENDERS: dict[str, Mender] = {
    "X003": spelling.repeated_attribute,
    "N002": absent.ir_version,
    "N003": spelling.second_section,
    "N004": spelling.element_name,
    "N005": spelling.attribute_name,
    "N007": absent.layers,
    "N008": joins.result,
    "N009": spelling.root_name,
    "N010": spelling.value,
    "L001": absent.identity,
    "L002": absent.other_identity,
    "L004": kinds.type_name,
    "L005": absent.other_version,
    "L006": kinds.opset,
    "L009": spelling.type_case,
    "L010": absent.identity,
    "L011": spelling.idle_attribute,
    "C003": constants.attribute,
    "C012": constants.attribute,
    "C004": spelling.value,
    "C006": spelling.idle_attribute,
    "P001": absent.port_id,
    "P003": ports.missing_precision,
    "P004": ports.precision,
    "P005": ports.shape,
    "P006": ports.dim,
    "P007": kinds.told_by_the_rest,
    "P010": ports.missing_precision,
    "P013": absent.port_id,
    "D001": spelling.attribute_name,
    "D003": spelling.value,
    "D004": spelling.boolean,
    "D005": spelling.other_value,
    "D006": spelling.trailing_comma,
    "D008": spelling.value,
    "D010": spelling.element_type,
    "D012": spelling.value,
    "E001": ends.unknown,
    "E002": ends.port,
    "E003": joins.again,
    "E004": joins.missing,
    "E006": ends.unknown,
    "E009": ends.unknown,
    "E010": ends.unreadable,
    "E007": ports.precision,
    "E008": ports.shape,
    "R007": absent.newer_ir,
    "S004": spelling.brackets,
    "S006": spelling.separators,
}


def with_fixes(
    report: Report, data: bytes, source: Source, model: Model | None, *, of_broken_text: bool = True
) -> Report:
    """The same findings, those that can be mended with the edits that would.

    `data` are the bytes that `source` was made of, and `model` is what was built of it. `of_broken_text`: also of one
    that cannot be parsed, which takes as long as reading another model.
    """
    if not source.readable and not of_broken_text:
        return report
    if source.readable and not any(finding.code in MENDERS for finding in report):
        return report
    try:
        if decode(data) != source.text:
            return report
    except EncodingProblem:  # What was read is not what is written.
        return report
    if not source.readable:
        return with_repairs(report, data, source, _look)
    document = read(source, Findings())
    if document is None:
        return report
    written = Written(data, document, model)
    return Report([_mended(finding, written) for finding in report], report.left_out.copy())


def _look(source: Source) -> Report:
    """The findings about a text beside the weights of its file, with their fixes."""
    data = source.text.encode("utf-8", "surrogatepass")
    model, report = load(data if source.file is None else source.file, mode="strict", source=source)
    return with_fixes(report, data, source, model)


def _mended(finding: Diagnostic, written: Written) -> Diagnostic:
    mender = MENDERS.get(finding.code)
    if mender is None:
        return finding
    fixes = tuple(fix for fix in mender(finding, written) if fix.edits)
    return replace(finding, fixes=fixes) if fixes else finding
