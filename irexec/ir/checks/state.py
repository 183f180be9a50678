"""Checks of the state operations: variables are identified by text and belong to the whole model, bodies included."""

from __future__ import annotations

from collections.abc import Iterable

from irexec.diagnostics.findings import At, Findings
from irexec.ir.document import Layer, Net
from irexec.ir.text import cut, listed, quoted


def check_variables(nets: Iterable[Net], findings: Findings) -> None:
    """Check that every ReadValue and Assign names a variable, and that every assigned variable is also read."""
    assigned: list[Layer] = []
    read: set[str] = set()
    for net in nets:
        for layer in net.layers:
            # OpenVINO accepts `ReadValue` in any letter case, but `Assign` only by exactly this name.
            if layer.type != "Assign" and (layer.type or "").lower() != "readvalue":
                continue
            variable = layer.data.get("variable_id")
            if not variable:
                at = At(layer.data_at if layer.data_at >= 0 else layer.at, "variable_id")
                message = f"{layer.ref} has no variable_id"
                findings.add("V001", message, at=at, layer=layer.ref, attribute="variable_id")
            elif layer.type == "Assign":
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
