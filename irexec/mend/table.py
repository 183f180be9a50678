"""Which findings can be mended, and how: a function for each code, from the finding and the file to its fixes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from irexec.diagnostics import Diagnostic, Fix, Report
from irexec.diagnostics.findings import Findings
from irexec.graph.model import Model
from irexec.ir.reader import read
from irexec.ir.xml.encoding import EncodingProblem, decode
from irexec.ir.xml.source import Source
from irexec.mend import absent, joins, ports, spelling
from irexec.mend.written import Written

Mender = Callable[[Diagnostic, Written], Iterator[Fix]]

MENDERS: dict[str, Mender] = {
    "X003": spelling.repeated_attribute,
    "N002": absent.ir_version,
    "N004": spelling.element_name,
    "N005": spelling.attribute_name,
    "N008": joins.result,
    "N009": spelling.root_name,
    "N010": spelling.value,
    "L001": absent.identity,
    "L004": spelling.type_name,
    "L005": spelling.other_value,
    "L006": spelling.opset,
    "L009": spelling.type_case,
    "L011": spelling.idle_attribute,
    "C012": spelling.value,
    "C004": spelling.value,
    "C006": spelling.idle_attribute,
    "P001": absent.port_id,
    "P003": ports.missing_precision,
    "P004": ports.precision,
    "P005": ports.shape,
    "P006": ports.dim,
    "P010": ports.missing_precision,
    "P013": absent.port_id,
    "D001": spelling.attribute_name,
    "D003": spelling.value,
    "D004": spelling.boolean,
    "D005": spelling.other_value,
    "D006": spelling.trailing_comma,
    "D008": spelling.value,
    "D010": spelling.value,
    "D012": spelling.value,
    "E002": joins.port,
    "E003": joins.again,
    "E004": joins.missing,
    "E010": joins.attributes,
    "E007": ports.precision,
    "E008": ports.shape,
    "R007": absent.newer_ir,
    "S004": spelling.brackets,
    "S006": spelling.blanks,
}


def with_fixes(report: Report, data: bytes, source: Source, model: Model | None) -> Report:
    """The same findings, those that can be mended with the edits that would.

    `data` are the bytes that `source` was made of, and `model` is what was built of it.
    """
    if not source.readable or not any(finding.code in MENDERS for finding in report):
        return report
    try:
        if decode(data) != source.text:
            return report
    except EncodingProblem:  # What was read is not what is written.
        return report
    document = read(source, Findings())
    if document is None:
        return report
    written = Written(data, document, model)
    return Report([_mended(finding, written) for finding in report], report.left_out.copy())


def _mended(finding: Diagnostic, written: Written) -> Diagnostic:
    mender = MENDERS.get(finding.code)
    if mender is None:
        return finding
    fixes = tuple(fix for fix in mender(finding, written) if fix.edits)
    return replace(finding, fixes=fixes) if fixes else finding
