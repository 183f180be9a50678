"""Findings: their codes, the classes that represent them, and the formats in which they are shown."""

from irexec.core.diagnostics.diagnostic import (
    Diagnostic,
    IRError,
    LayerRef,
    Origin,
    Place,
    Refusal,
    Related,
    Report,
    Severity,
    WrongArgument,
)
from irexec.core.diagnostics.fix import Edit, Fix, Safety

__all__ = [
    "Diagnostic",
    "Edit",
    "Fix",
    "IRError",
    "LayerRef",
    "Origin",
    "Place",
    "Refusal",
    "Related",
    "Report",
    "Safety",
    "Severity",
    "WrongArgument",
]
