"""Texts and HTML of values whose classes are in lower packages than the code that formats them.

The classes call `text_of` and `html_of` from `__str__` and `_repr_html_`; the modules are imported at the first call.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_FORMATTERS = {
    "Model": "irexec.tools.functions.notebook",
    "Report": "irexec.core.diagnostics.people",
    "Sensitivity": "irexec.tools.functions.answers",
    "Shapes": "irexec.tools.functions.answers",
}
"""Class name → the module with the functions `text` and `html` for its values."""


def text_of(kind: str, value: Any) -> str:
    """Return the text of a value. `kind`: the name of its class, a key of `_FORMATTERS`."""
    return str(import_module(_FORMATTERS[kind]).text(value))


def html_of(kind: str, value: Any) -> str:
    """Return the HTML of a value, for notebooks. `kind`: the name of its class, a key of `_FORMATTERS`."""
    return str(import_module(_FORMATTERS[kind]).html(value))
