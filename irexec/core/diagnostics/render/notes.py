"""The labelled notes below a finding, in the order every renderer shows them."""

from __future__ import annotations

from collections.abc import Iterator

from irexec.core.diagnostics.diagnostic import Diagnostic

_SIDES = {"T001": ("documented", "computed")}
"""Labels of the two sides of findings that do not compare a file with its allowed content."""


def notes(diagnostic: Diagnostic) -> Iterator[tuple[str, str]]:
    """Yield pairs of label and text, as far as known: layer (or `in`), found, allowed, openvino, assumes, notes,
    help."""
    found, allowed = _SIDES.get(diagnostic.code, ("found", "allowed"))
    labelled = (
        ("in" if diagnostic.layer is None else "layer", _subject(diagnostic)),
        (found, diagnostic.found),
        (allowed, diagnostic.allowed),
        ("openvino", diagnostic.openvino),
        ("assumes", diagnostic.assumption),
        *diagnostic.notes,
        ("help", diagnostic.hint),
    )
    return ((label, text) for label, text in labelled if text)


def _subject(diagnostic: Diagnostic) -> str:
    """Return the layer and the part of it that the finding is about, as in `Gather 'g' (opset8), attribute axis`."""
    parts = []
    if (layer := diagnostic.layer) is not None:
        parts.append(f"{layer} ({layer.version})" if layer.version else str(layer))
    for label in ("port", "attribute", "constraint"):
        if (value := getattr(diagnostic, label)) is not None:
            parts.append(f"{label} {value}")
    return ", ".join(parts)
