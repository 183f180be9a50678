"""Portable: whether every operator of a model is one that OpenVINO has, so that OpenVINO reads what is written."""

from __future__ import annotations

from irexec.diagnostics.findings import Findings
from irexec.graph.model import Model
from irexec.ops.declare.contents import CONTENTS, OPSETS


def check_portable(model: Model, findings: Findings) -> bool:
    """Report each node, those of bodies too, whose operator only irexec has (W001); True when there is none."""
    before = findings.error_count
    for node in model.walk():
        known = node.operator is not None and node.operator.opset in OPSETS and node.type in CONTENTS
        if not known:
            findings.add(
                "W001",
                f"OpenVINO has no operator {node.type} of {node.version}",
                layer=node.ref,
                hint="irexec runs it: save_model keeps it under that name",
            )
    return findings.error_count == before
