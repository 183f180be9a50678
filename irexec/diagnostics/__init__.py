"""Findings: the vocabulary of codes, the values that carry them, and the ways to show them."""

from irexec.diagnostics.diagnostic import Diagnostic, IRError, LayerRef, Place, Related, Report, Severity

__all__ = ["Diagnostic", "IRError", "LayerRef", "Place", "Related", "Report", "Severity"]
