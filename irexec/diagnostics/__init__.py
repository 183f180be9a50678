"""Findings: the vocabulary of codes, the values that carry them, and the ways to show them."""

from irexec.diagnostics.diagnostic import Diagnostic, IRError, LayerRef, Place, Related, Report, Severity
from irexec.diagnostics.fix import Edit, Fix, Safety

__all__ = ["Diagnostic", "Edit", "Fix", "IRError", "LayerRef", "Place", "Related", "Report", "Safety", "Severity"]
