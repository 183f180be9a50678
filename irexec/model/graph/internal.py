"""Binding of the layers in a dump of OpenVINO's compiler, which may contain its internal operators."""

from __future__ import annotations

import importlib

from irexec.core.diagnostics.findings import At, Findings
from irexec.core.structure import CONST, ENDS
from irexec.ir.document import Layer
from irexec.ops.spec import contents
from irexec.ops.spec.operator import REGISTRY, Operator

REFUSED = "rejects the file"
INSIDE = "ie_internal_opset"


def bind_internal(layer: Layer, findings: Findings) -> Operator | None:
    """Return the operator of a layer in a dump; None, with a finding, if irexec lacks it."""
    from irexec.ops.internal.relaxed import PREFIX, Relaxed

    importlib.import_module("irexec.ops.internal")
    type, version = layer.type or "", layer.version or ""
    if version == "extension" and type in contents.INSIDE:
        version = INSIDE
    if type == CONST and layer.data.get("element_type") in ("dynamic", "undefined"):
        return REGISTRY["Absent", INSIDE]
    if version.startswith(PREFIX):
        found = contents.find(contents.canonical_type(type) or type, version.removeprefix(PREFIX))
        found = None if found is None else Relaxed.of(found, layer.data)
    elif type in ENDS:
        found = contents.find(type, "opset1")
    else:
        found = contents.find(contents.canonical_type(type) or type, version) or REGISTRY.get((type, version))
    if found is None:
        message = f"{type} of {version} is an internal operator of OpenVINO that irexec does not include"
        findings.add("L004", message, at=At(layer.at, "type"), layer=layer.ref, attribute="type")
    return found
