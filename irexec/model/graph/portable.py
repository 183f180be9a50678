"""Portability: whether OpenVINO has every operator of a model, so that it can read the written file."""

from __future__ import annotations

from irexec.core.diagnostics.findings import Findings
from irexec.model.graph.model import Model
from irexec.ops.spec.contents import CONTENTS, OPSETS


def check_portable(model: Model, findings: Findings) -> bool:
    """Report each node, including nodes of bodies, whose operator exists only in irexec (W001); return True if there
    are no such nodes.
    """
    before = findings.error_count
    for node in model.walk():
        known = node.operator is not None and node.operator.opset in OPSETS and node.type in CONTENTS
        if not known:
            findings.add(
                "W001",
                f"OpenVINO has no operator {node.type} in {node.version}",
                layer=node.ref,
                hint="irexec can run the operator, and save_model writes it under this name",
            )
    return findings.error_count == before
