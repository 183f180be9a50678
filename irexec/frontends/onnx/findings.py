"""Findings about an ONNX file: each names the node under translation, and the nodes that compute its inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from irexec.core.diagnostics import Diagnostic, LayerRef, Origin
from irexec.core.diagnostics.findings import Findings
from irexec.ir.text import cut
from irexec.model.graph.model import Value

_LONGEST = 500
_SAME_INPUT = {
    "Squeeze", "Unsqueeze", "Reshape", "Convert", "Split", "VariadicSplit", "Maximum", "Select", "Equal"
}  # fmt: skip
"""Operators by which translators change the form of an input, but not what it is."""


class OnnxFindings(Findings):
    """The findings of a conversion. `node`: the node under translation. `inputs`: returns a description of its inputs,
    and is called when a finding is made. `named`: the node's inputs with their names in ONNX; `attributes`: the names
    of its attributes.

    `too_large`: a part of the file was refused for its size, so that no other checker is run on it. `incomplete`: data
    of the model is missing, which every other checker would also report.
    """

    node: LayerRef | None = None
    named: Mapping[Value, str] = MappingProxyType({})
    attributes: tuple[str, ...] = ()
    too_large: bool = False
    incomplete: bool = False
    inputs: Callable[[], str] = staticmethod(str)

    def origin_of(self, inputs: Sequence[Value | None]) -> Origin | None:
        """Return the node under translation as the origin of a layer with these inputs."""
        if self.node is None:
            return None
        names = tuple(None if value is None else self._name_of(value) for value in inputs)
        return Origin(self.node, names, self.attributes)

    def _name_of(self, value: Value) -> str | None:
        """Return the name of the ONNX input that a value is, perhaps in another form."""
        if value in self.named or value.node.type not in _SAME_INPUT:
            return self.named.get(value)
        names = {name for before in value.node.inputs if before is not None and (name := self._name_of(before))}
        return names.pop() if len(names) == 1 else None

    def keep(self, finding: Diagnostic) -> None:
        # Names in the file may be of any length.
        finding = replace(finding, message=cut(finding.message, _LONGEST))
        if self.node is not None:
            # While a node is translated, its inputs say more than the layers that it becomes.
            inputs = self.inputs()
            notes = (("inputs", cut(inputs, _LONGEST)),) if inputs else ()
            finding = replace(finding, layer=self.node, notes=notes)
        super().keep(finding)
