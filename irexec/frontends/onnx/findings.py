"""Findings about an ONNX file: each names the node under translation, and the nodes that compute its inputs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from types import MappingProxyType

from irexec.core.diagnostics import Diagnostic, LayerRef, Severity
from irexec.core.diagnostics.findings import Findings
from irexec.frontends.onnx.terms import in_onnx_terms
from irexec.ir.text import cut
from irexec.model.graph.model import Node, Value

_LONGEST = 500


class OnnxFindings(Findings):
    """The findings of a conversion. `node`: the node under translation. `inputs`: returns a description of its inputs,
    and is called when a finding is made.

    `made`: the IR node that is created for the node, `named` the node's inputs with their names in ONNX, `attributes`
    the names of its attributes: findings about the IR node are stated in these terms.

    `too_large`: a part of the file was refused for its size, so that no other checker is run on it. `incomplete`: data
    of the model is missing, which every other checker would also report.
    """

    node: LayerRef | None = None
    made: Node | None = None
    named: Mapping[Value, str] = MappingProxyType({})
    attributes: Collection[str] = ()
    too_large: bool = False
    incomplete: bool = False
    inputs: Callable[[], str] = staticmethod(str)

    def keep(self, finding: Diagnostic) -> None:
        # Names in the file may be of any length.
        finding = replace(finding, message=cut(finding.message, _LONGEST))
        if self.node is None:
            super().keep(finding)
            return
        if self.made is not None and finding.layer is not None:
            finding = in_onnx_terms(finding, self.made, self.named, self.attributes)
        notes = finding.notes
        if inputs := self.inputs():
            notes = (("inputs", cut(inputs, _LONGEST)), *notes)
        super().keep(replace(finding, layer=self.node, notes=notes))
        # Checks refer to the IR layer that the node becomes.
        if finding.layer is not None:
            self._reported.add((finding.code, finding.layer))
            if finding.severity is Severity.ERROR:
                self._with_errors.add(finding.layer)
