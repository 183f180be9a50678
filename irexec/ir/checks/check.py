"""The order of the checks: the model, then every body in the same way, then the variables of the model and all
bodies.
"""

from __future__ import annotations

from collections.abc import Iterable

from irexec.core.diagnostics.findings import At, Findings
from irexec.core.forms import ID, read
from irexec.core.structure import ASSIGN
from irexec.ir.checks.edges import check_edges
from irexec.ir.checks.layers import check_layers
from irexec.ir.checks.metadata import check_metadata, check_pre_process
from irexec.ir.checks.scope import NetScope
from irexec.ir.document import ROOT_TYPES, Document, Layer, Net
from irexec.ir.text import cut, listed, quoted


def check_variables(nets: Iterable[Net], findings: Findings) -> None:
    """Check that every ReadValue and Assign names a variable, and that every assigned variable is also read."""
    assigned: list[Layer] = []
    read: set[str] = set()
    for net in nets:
        for layer in net.layers:
            # OpenVINO accepts `ReadValue` in any letter case, but `Assign` only by exactly this name.
            if layer.type != ASSIGN and (layer.type or "").lower() != "readvalue":
                continue
            variable = layer.data.get("variable_id")
            if not variable:
                at = At(layer.data_at if layer.data_at >= 0 else layer.at, "variable_id")
                message = f"{layer.ref} has no variable_id"
                findings.add("V001", message, at=at, layer=layer.ref, attribute="variable_id")
            elif layer.type == ASSIGN:
                assigned.append(layer)
            else:
                read.add(variable)
    for layer in assigned:
        variable = layer.data["variable_id"]
        if variable not in read:
            findings.add(
                "V002",
                f"variable {quoted(variable)} is assigned but never read",
                at=At(layer.data_at, "variable_id"),
                layer=layer.ref,
                attribute="variable_id",
                found=cut(variable),
                allowed=listed(sorted(read)) or "the model has no ReadValue",
            )


VERSIONS = (10, 11)


def check_document(document: Document, findings: Findings) -> None:
    """Report every anomaly of a document, body by body.

    Findings are in the order of the checks; `findings.report.sorted()` returns them in file order.
    """
    version = _version(document.net, findings)
    nets = check_net(document.net, version, findings)
    if version == VERSIONS[0]:
        from irexec.ir.checks.old_names import check_old_names

        check_old_names(document.net, findings)
    check_variables(nets, findings)
    check_pre_process(document.net, findings)


def is_too_old(text: str | None, findings: Findings) -> bool:
    """Return True for an IR of an obsolete grammar, with a single finding that states its version."""
    version = read(ID, text).value
    if version is None or version >= VERSIONS[0]:
        return False
    findings.add(
        "N002",
        f"IR version {version} is older than OpenVINO 2020.1, which introduced version {VERSIONS[0]}",
        at=At(0, "version"),
        attribute="version",
        found=str(version),
        allowed=" or ".join(map(str, VERSIONS)),
        hint="convert the original model again, with `ovc` or openvino.convert_model of a current OpenVINO",
    )
    return True


def _version(net: Net, findings: Findings) -> int:
    """Return the IR version; if the file does not state it, the newest version."""
    at = At(net.at, "version")
    allowed = " or ".join(map(str, VERSIONS))
    version = NetScope(net, findings).whole(net.version, net.at, "version", "N002", "the IR version")
    if version is None:
        return VERSIONS[-1]
    if version not in VERSIONS:
        message = f"IR version {version} is not supported"
        findings.add("N002", message, at=at, attribute="version", found=str(version), allowed=allowed)
    return version


def check_net(net: Net, version: int, findings: Findings) -> list[Net]:
    """Check one net, the model or a body, and the bodies in it; return the nets that were checked."""
    scope = NetScope(net, findings)
    if not net.layers:
        findings.add("N007", "the model has no layer", at=At(net.at))
    elif not any(layer.type in ROOT_TYPES for layer in net.layers):
        findings.add(
            "N008",
            "the model has no Result, so nothing is computed",
            at=At(net.at),
            hint="outputs of a model are layers of type Result",
        )
    check_layers(scope, version)
    check_edges(scope)
    check_metadata(net, version, findings)
    nets = [net]
    for layer in net.layers:
        if layer.may_have_bodies:
            from irexec.ir.checks.bodies import bodies_of, check_bodies

            check_bodies(layer, scope)
            for body in bodies_of(layer):
                nets += check_net(body, version, findings)
    return nets
