"""What another runtime does not read of the ONNX nodes that it computes differently."""

from __future__ import annotations

import re

from irexec.core.diagnostics.findings import Findings
from irexec.model.graph.releases import release_of
from irexec.tools.compare.culprit import Culprit


def not_read(file: str | None, runtime: str, culprit: Culprit) -> list[str]:
    """Return sentences about the attributes and inputs of the first wrong nodes that OpenVINO ignores or rejects.
    `runtime`: its name, such as `OpenVINO 2026.4.1 CPU`."""
    release = re.match(r"OpenVINO (\d{4}\.\d)", runtime)
    if file is None or release is None or not culprit.origins:
        return []
    from irexec.frontends.onnx.of_openvino import check_for_openvino
    from irexec.frontends.onnx.written import as_written

    findings, nodes = Findings(file=file), as_written(file)
    if nodes is not None:
        check_for_openvino(nodes, None, release_of(release[1]), findings)
    names = {ref.name for ref in culprit.origins}
    return [each.message for each in findings.report if each.layer is not None and each.layer.name in names]
