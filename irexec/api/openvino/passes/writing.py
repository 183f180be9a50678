"""Passes that write a model without changing it: Serialize, VisualizeTree."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from irexec.api.openvino.editing import checked_model
from irexec.api.openvino.members import Members, member
from irexec.api.openvino.passes.base import ModelPass
from irexec.api.openvino.saving import ir_version, serialize
from irexec.model.arrays.saving import save_text
from irexec.model.graph.model import Model, Node
from irexec.model.graph.order import ordered


class Version(Members):
    """The IR version that Serialize writes."""

    UNSPECIFIED = member(0)
    IR_V10 = member(10)
    IR_V11 = member(11)


class Serialize(ModelPass):
    """Writes the model: `Serialize(path_to_xml, path_to_bin)`."""

    def __init__(self, path_to_xml: Any, path_to_bin: Any = "", version: Any = "UNSPECIFIED") -> None:
        name = version.name if isinstance(version, Version) else version or "UNSPECIFIED"
        ir_version(name)
        self._arguments = (path_to_xml, path_to_bin, name)

    def run_on_model(self, model: Any) -> bool:
        serialize(checked_model(model), *self._arguments)
        return False


class VisualizeTree(ModelPass):
    """Writes the graph in the language of Graphviz: `VisualizeTree("model.dot")`.

    `.dot` is appended to a name with another suffix. `irexec show` draws a model without Graphviz. `nm(node,
    attributes)` may change the list of a node's Graphviz attributes.
    """

    def __init__(
        self, file_name: Any, nm: Callable[[Node, list[str]], Any] | None = None, dot_only: bool = False
    ) -> None:
        path = Path(file_name)
        self._path = path if path.suffix == ".dot" else path.with_name(path.name + ".dot")
        self._modify = nm

    def run_on_model(self, model: Any) -> bool:
        save_text(self._path, self._text(checked_model(model)))
        return False

    def _text(self, model: Model) -> str:
        nodes = ordered([*model.parameters, *model.sinks, *model.results])
        names = {node: f"{node.get_type_name()}_{number}" for number, node in enumerate(nodes)}
        lines = ["digraph {"]
        for node in nodes:
            label = "\\n".join([node.friendly_name, node.get_type_name(), *(str(v.type) for v in node.outputs)])
            attributes = ["shape=box", 'label="' + label.replace('"', "'") + '"']
            if self._modify is not None:
                self._modify(node, attributes)
            lines.append(f"  {names[node]} [{' '.join(attributes)}]")
            lines += [
                f'  {names[value.node]} -> {names[node]} [label="{value.index} -> {index}"]'
                for index, value in enumerate(node.inputs)
                if value is not None
            ]
        return "\n".join([*lines, "}", ""])
