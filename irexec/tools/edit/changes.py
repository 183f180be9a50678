"""The changes that a caller wants, and errors about changes that are impossible."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from irexec.core.diagnostics import IRError
from irexec.core.diagnostics.findings import Findings
from irexec.core.diagnostics.nearest import likely_names
from irexec.model.graph.model import Model, Node, Value

Numbers = float | Sequence[float]


@dataclass(frozen=True, slots=True)
class Wanted:
    """The wanted changes; names are those of the model before any change.

    `shapes`: shapes of inputs, which may be dynamic (`"?,3,224,224"`). `batch`: the extent of the first dimension, or
    of the dimension N of a layout. `static`, `bounds`: sizes, or largest sizes, of dynamic dimensions, by the symbols
    that `irexec shapes` shows. `layouts`: the layout of an input's tensor and of the model's, `"NHWC->NCHW"`, or only
    the model's. `means`, `scales`: one number or one for each channel. `reverse_channels`: inputs whose channels come
    in the opposite order. `precisions`: element types of inputs and outputs. `inputs`, `outputs`: layers or tensors at
    which the model begins and ends. `types`: other types of layers. `fold`: compute layers of constants, and replace
    Ifs whose condition is known. `names`: new names of layers and tensors.
    """

    shapes: Mapping[str, str | Sequence[int]] = field(default_factory=dict)
    batch: int | str | None = None
    static: Mapping[str, int] = field(default_factory=dict)
    bounds: Mapping[str, int] = field(default_factory=dict)
    layouts: Mapping[str, str] = field(default_factory=dict)
    means: Mapping[str, Numbers] = field(default_factory=dict)
    scales: Mapping[str, Numbers] = field(default_factory=dict)
    reverse_channels: Sequence[str] = ()
    precisions: Mapping[str, str] = field(default_factory=dict)
    inputs: Sequence[str] = ()
    outputs: Sequence[str] = ()
    types: Mapping[str, str] = field(default_factory=dict)
    fold: bool = False
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def preprocesses(self) -> bool:
        return bool(self.layouts or self.means or self.scales or self.reverse_channels or self.precisions)

    @property
    def resizes(self) -> bool:
        return bool(self.shapes or self.batch is not None or self.static or self.bounds)

    @property
    def any(self) -> bool:
        """Whether anything is changed."""
        cuts = self.inputs or self.outputs
        return bool(cuts or self.types or self.fold or self.names) or self.preprocesses or self.resizes


def impossible(model: Model, code: str, message: str, hint: str | None = None) -> NoReturn:
    """Raise IRError about a change."""
    findings = Findings(file=model.file)
    findings.add(code, message, hint=hint)
    raise IRError(findings.report)


def value_named(model: Model, name: str, what: str) -> Value:
    """Return the value of a layer or tensor with this name; of several outputs `NAME:1`. Raises IRError."""
    layer, _, index = name.rpartition(":")
    for node in model.nodes:
        for value in node.outputs:
            if name in value.names or (layer == node.friendly_name and index == str(value.index)):
                return value.node.inputs[0] or value if node in model.results else value
        if node.friendly_name == name and node.outputs:
            return node.inputs[0] if node in model.results and node.inputs[0] is not None else node.outputs[0]
    return _unknown(model, name, what)


def node_named(model: Model, name: str, what: str) -> Node:
    """Return the layer with this name, or else the one that makes the tensor with this name. Raises IRError."""
    found = next((node for node in model.nodes if node.friendly_name == name), None)
    return value_named(model, name, what).node if found is None else found


def input_named(model: Model, name: str, what: str) -> int:
    """Return the position of the input with this layer's or tensor's name; an empty name is the only input. Raises
    IRError.
    """
    if not name and len(model.parameters) == 1:
        return 0
    known = [names_of(node) for node in model.parameters]
    found = next((number for number, names in enumerate(known) if name in names), None)
    if found is None:
        shown = ", ".join(names[0] for names in known)
        hint = likely_names(name, [each for names in known for each in names]) or f"the inputs are {shown}"
        impossible(model, "U005", f"{what} {name}: no input has this name".replace("  ", " "), hint)
    return found


def names_of(node: Node) -> list[str]:
    """Return the names of a layer and of its tensors."""
    return [node.friendly_name, *sorted({name for value in node.outputs for name in value.names})]


def _unknown(model: Model, name: str, what: str) -> NoReturn:
    known: Iterable[str] = (each for node in model.nodes for each in names_of(node))
    impossible(model, "U005", f"{what} {name}: no layer or tensor has this name", likely_names(name, [*known]))
