"""Corrections: the attributes of a faulty layer as its findings suggest them, with which checks continue."""

from __future__ import annotations

from collections.abc import Sequence

from irexec.core.diagnostics.findings import Correction
from irexec.core.diagnostics.nearest import clearest
from irexec.ir.document import Layer
from irexec.ops.spec.attributes import AttributeFault
from irexec.ops.spec.operator import Operator

# Faults of values whose correction is the most similar allowed text.
_CORRECTED = frozenset({"D005", "D008", "D010"})


def corrected(layer: Layer, operator: Operator, given: dict[str, str], faults: Sequence[AttributeFault]) -> Correction:
    """Return the attributes that a layer has after the corrections that `irexec fix --unsafe` would make.

    `given`: the texts of the attributes. Attributes are unresolved if their findings suggest no clear correction.
    """
    texts, assumed = dict(given), dict[str, str]()
    for fault in faults:
        name, text = fault.attribute, layer.data.get(fault.attribute)
        meant = clearest(list(fault.candidates), text or "")
        if fault.code == "D001":
            texts.pop(name, None)
            if meant is not None and meant not in layer.data and text is not None:
                texts[meant] = assumed[meant] = text
        elif meant is not None and fault.code in _CORRECTED:
            texts[name] = assumed[name] = meant
    values, remaining = operator.parse_attributes(texts)
    names = {attribute.file_name: attribute.name for attribute in operator.attributes}
    unresolved: list[str] = []
    for fault in remaining:
        if (name := names.get(fault.attribute, "")) and fault.code != "D008" and not fault.computed:
            unresolved.append(name)
            values.pop(name, None)
    written = ", ".join(f'{name}="{text}"' for name, text in assumed.items())
    return Correction(values, tuple(unresolved), written, frozenset(fault.missing for fault in faults if fault.missing))
