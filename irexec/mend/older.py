"""A model for an older OpenVINO: its operators and its file format in their older form, where that says the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from irexec.diagnostics.findings import Findings
from irexec.graph.model import Model, Node
from irexec.graph.older_forms import Refused, insert, older_form
from irexec.graph.releases import FIRST_RELEASE, FIRST_WITH_IR_11, Release
from irexec.graph.runtime_info import RuntimeAttribute
from irexec.inference import infer
from irexec.ops.declare import contents
from irexec.types import TensorType

# What an IR says to plugins and converters; what is computed does not depend on it.
_HINTS = frozenset(
    {
        "fused_names",
        "primitives_priority",
        "disable_fp16_compression",
        "decompression",
        "DisablePrecisionConversion",
        "DisableConstantFolding",
        "nms_selected_indices",
        "strides_propagation",
        "preprocessing",
    }
)


def forms_of(release: Release) -> tuple[int, int]:
    """The newest operation set and IR version that a release of OpenVINO reads."""
    opset = max(opset for opset, first in FIRST_RELEASE.items() if first <= release)
    return opset, 11 if release >= FIRST_WITH_IR_11 else 10


def to_opset(model: Model, opset: int, findings: Findings) -> bool:
    """Change a model such that all its operators are in an operation set; they compute exactly what they did.

    Reports every layer that has no such form (W002), and returns whether there is none: the model is of use only then.
    """
    before = findings.error_count
    made = {node: [value.type for value in node.outputs] for node in model.walk()}
    for net in list(_nets(model)):
        for node in list(net.nodes):
            if node.version in contents.OPSETS and contents.OPSETS[node.version] > opset:
                try:
                    insert(net, older_form(node, opset), node)
                except Refused as reason:
                    findings.add("W002", f"{node.type} has no equal in opset{opset}: {reason}", layer=node.ref)
    if findings.error_count == before:
        _check_results(model, made, opset, findings)
    return findings.error_count == before


def _nets(model: Model) -> Iterator[Model]:
    yield model
    for node in model.nodes:
        for body in node.bodies:
            yield from _nets(body.model)


def _check_results(model: Model, made: dict[Node, list[TensorType]], opset: int, findings: Findings) -> None:
    """Whether every value has the type that it had."""
    after = infer(model)
    for node, types in made.items():
        for type, now in zip(types, after.outputs(node), strict=False):
            if now.element_type is not type.element_type or now.shape != type.shape:
                reason = f"it makes {now.element_type} {now.shape} there, not {type.element_type} {type.shape}"
                findings.add("W002", f"{node.type} has no equal in opset{opset}: {reason}", layer=node.ref)
                break


def to_ir_10(model: Model, findings: Findings) -> bool:
    """Change a model such that IR version 10 can hold it: without runtime info of layers, and names of results.

    Hints for plugins are dropped. Reports what has a meaning and no place there (W002); returns whether there is none.
    """
    before = findings.error_count
    for net in _nets(model):
        for node in net.nodes:
            infos = [node.rt_info, *node.input_rt_info.values(), *(value.rt_info for value in node.outputs)]
            for name in sorted({name for info in infos for name in _meaning(info)}):
                findings.add("W002", f"IR 10 has no place for the runtime info {name!r}", layer=node.ref)
            node.rt_info = {key: info for key, info in node.rt_info.items() if key == "alt_width"}
            node.input_rt_info = {}
            for value in node.outputs:
                value.rt_info = {}
        for result in net.results:
            _unname(result, findings)
    return findings.error_count == before


def _meaning(info: dict[str, Any]) -> Iterator[str]:
    """The names of the entries that are more than a hint."""
    for key, entry in info.items():
        name = entry.name if isinstance(entry, RuntimeAttribute) else key
        if name not in _HINTS and key != "alt_width":
            yield name


def _unname(result: Node, findings: Findings) -> None:
    """A Result without names of its own: in IR 10 it has those of the value that it takes."""
    source = result.inputs[0] if result.inputs else None
    names = result.outputs[0].names
    if source is not None and (lost := names - source.names - {source.node.given_name}):
        findings.add("W002", f"in IR 10 the result would not be named {min(lost)!r}", layer=result.ref)
    result.outputs[0].names = set()
