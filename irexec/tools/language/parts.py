"""`irexec show FOLDER`: the models of a folder, each in one line, with the programs that wrote them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from irexec.core.diagnostics import Diagnostic, Report
from irexec.core.structure import CONST
from irexec.frontends.reading import read
from irexec.model.graph.model import Model
from irexec.tools.inspect.summary import stored_bytes
from irexec.tools.language.folder import PARTS, Folder
from irexec.tools.language.text import chat_template

_WRITERS = {
    "optimum_intel_version": "optimum-intel",
    "optimum_version": "optimum",
    "transformers_version": "transformers",
    "pytorch_version": "PyTorch",
    "openvino_tokenizers_version": "OpenVINO Tokenizers",
    "Runtime_version": "OpenVINO",
}
"""An entry of rt_info → the program whose version it is."""


@dataclass(slots=True)
class Part:
    """One file: what it computes, and the sizes of a model. `weights`: bytes by type; `states`: how many variables;
    `written_by`: programs with their versions; `compressed`: how NNCF compressed the weights.
    """

    file: str
    title: str
    layers: int = 0
    weights: dict[str, int] = field(default_factory=dict)
    states: int = 0
    written_by: list[str] = field(default_factory=list)
    compressed: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the part for JSON."""
        return asdict(self)


def parts(folder: Folder) -> tuple[list[Part], Report]:
    """Return the parts of a folder, and the errors in its models."""
    found, errors = [], list[Diagnostic]()
    for name, path in folder.files.items():
        reading = read(path)
        errors += reading.report.errors
        part = Part(path.name, PARTS.get(name, "another model"))
        if reading.model is not None and reading.report.ok:
            _describe(part, reading.model)
        found.append(part)
    if (template := chat_template(folder)) is not None:
        found.append(Part(template[1].name, "chat template"))
    return found, Report(errors)


def _describe(part: Part, model: Model) -> None:
    constants = [node for node in model.walk() if node.type == CONST]
    part.layers = sum(1 for _ in model.walk()) - len(constants)
    weights: Counter[str] = Counter()
    for node in constants:
        weights[str(node.outputs[0].element_type)] += stored_bytes(node)
    part.weights = dict(weights.most_common())
    part.states = len({str(node.attributes.get("variable_id")) for node in model.nodes if node.has_state})
    entries = dict(_entries(model.rt_info))
    part.written_by = [f"{title} {_version(entries[key])}" for key, title in _WRITERS.items() if key in entries]
    settings = [entries[key] for key in ("mode", "group_size") if key in entries and "nncf" in model.rt_info]
    part.compressed = " in groups of ".join(settings)


def _entries(info: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the texts of rt_info by their names, those in nested entries included."""
    for key, value in info.items():
        if isinstance(value, dict):
            yield from _entries(value)
        elif isinstance(value, str):
            yield key, str(value)


def _version(text: str) -> str:
    """Return a version without the number and the branch of its build."""
    return text.partition("-")[0].partition("+")[0][:30]
