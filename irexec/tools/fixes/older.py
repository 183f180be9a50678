"""Converting a model for an older OpenVINO: equivalent older forms of its operators and of its file format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from irexec.core.diagnostics.findings import Findings
from irexec.core.types import TensorType
from irexec.model.graph.model import Model, Node
from irexec.model.graph.older_forms import insert, older_form
from irexec.model.graph.releases import FIRST_RELEASE, FIRST_WITH_IR_11, Release
from irexec.model.graph.runtime_info import RuntimeAttribute
from irexec.model.inference import infer
from irexec.ops.spec import contents
from irexec.ops.spec.older import NoOlderForm

# Entries that inform plugins and converters; the computed results do not depend on them.
_HINTS = frozenset(
    {
        "fused_names",
        "primitives_priority",
        "precise",
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
    """Return the newest operation set and IR version that an OpenVINO release reads."""
    opset = max(opset for opset, first in FIRST_RELEASE.items() if first <= release)
    return opset, 11 if release >= FIRST_WITH_IR_11 else 10


def to_opset(model: Model, opset: int, findings: Findings) -> bool:
    """Change a model so that all its operators are in an operation set and compute exactly the same results.

    Reports every layer that has no equivalent form (W002). Returns True if there is no such layer; only then is the
    model usable.
    """
    before = findings.error_count
    made = {node: [value.type for value in node.outputs] for node in model.walk()}
    for net in list(_nets(model)):
        for node in list(net.nodes):
            if node.version in contents.OPSETS and contents.OPSETS[node.version] > opset:
                try:
                    insert(net, older_form(node, opset), node)
                except NoOlderForm as reason:
                    findings.add("W002", f"{node.type} has no equivalent in opset{opset}: {reason}", layer=node.ref)
    if findings.error_count == before:
        _check_results(model, made, opset, findings)
    return findings.error_count == before


def _nets(model: Model) -> Iterator[Model]:
    yield model
    for node in model.nodes:
        for body in node.bodies:
            yield from _nets(body.model)


def _check_results(model: Model, made: dict[Node, list[TensorType]], opset: int, findings: Findings) -> None:
    """Report every layer with a value whose type changes (W002)."""
    after = infer(model)
    for node, types in made.items():
        for type, now in zip(types, after.outputs(node), strict=False):
            if now.element_type is not type.element_type or now.shape != type.shape:
                reason = f"its output would be {now.element_type} {now.shape}, not {type.element_type} {type.shape}"
                findings.add("W002", f"{node.type} has no equivalent in opset{opset}: {reason}", layer=node.ref)
                break


def to_ir_10(model: Model, findings: Findings) -> bool:
    """Change a model so that IR version 10, which has no runtime info of layers and no names of results, can represent
    it.

    Hints for plugins are dropped. Information that has a meaning and cannot be represented is reported (W002); returns
    True if there is no such information.
    """
    before = findings.error_count
    for net in _nets(model):
        for node in net.nodes:
            infos = [node.rt_info, *node.input_rt_info.values(), *(value.rt_info for value in node.outputs)]
            for name in sorted({name for info in infos for name in _meaning(info)}):
                findings.add("W002", f"IR 10 cannot store the runtime info {name!r}", layer=node.ref)
            node.rt_info = {key: info for key, info in node.rt_info.items() if key == "alt_width"}
            node.input_rt_info = {}
            for value in node.outputs:
                value.rt_info = {}
        for result in net.results:
            _unname(result, findings)
    return findings.error_count == before


def _meaning(info: dict[str, Any]) -> Iterator[str]:
    """Return the names of the entries that are more than hints."""
    for key, entry in info.items():
        name = entry.name if isinstance(entry, RuntimeAttribute) else key
        if name not in _HINTS and key != "alt_width":
            yield name


def _unname(result: Node, findings: Findings) -> None:
    """Remove the names of a Result: in IR 10 it has the names of its input value."""
    source = result.inputs[0] if result.inputs else None
    names = result.outputs[0].names
    if source is not None and (lost := names - source.names - {source.node.given_name}):
        findings.add("W002", f"IR 10 cannot store the name {min(lost)!r} of the result", layer=result.ref)
    result.outputs[0].names = set()
