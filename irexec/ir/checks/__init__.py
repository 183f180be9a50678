"""What can be wrong with a document and be seen without knowing any operator."""

from __future__ import annotations

from irexec.diagnostics.findings import Findings
from irexec.ir.document import Document


def check_document(document: Document, findings: Findings) -> None:
    """Report every anomaly of a document, body by body."""
