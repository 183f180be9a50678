"""Cases created from their names."""

from __future__ import annotations

from irexec.tools.conformance.case import Case, operator_case
from irexec.tools.conformance.names import CaseName


def case_named(text: str) -> Case:
    """Return the case of a name. Raises UnreadableName, and IRError if irexec does not accept what the name
    describes.
    """
    if text.startswith("graph.grown/"):
        from irexec.tools.conformance.grown import grown_case

        return grown_case(text)
    if text.startswith("graph."):
        from irexec.tools.conformance.graphs import graph_case

        return graph_case(text)
    if text.startswith("onnx."):
        from irexec.tools.conformance.onnx_cases import onnx_case

        return onnx_case(text)
    return operator_case(CaseName.parse(text))
