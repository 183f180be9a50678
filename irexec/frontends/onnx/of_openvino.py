"""What OpenVINO's ONNX front end ignores or refuses of a model, by a table of each release.

benchmarks/openvino_onnx.py measures the tables, openvino_RELEASE.json.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from irexec.core.diagnostics import Place
from irexec.core.diagnostics.findings import Findings
from irexec.frontends.onnx.definitions import Definition, NoSuchOperator, definition
from irexec.frontends.onnx.messages import onnx
from irexec.model.graph.model import Model, Node
from irexec.model.graph.releases import Release, named, release_of

PREFIX = "openvino_"
_SAYS = {
    "ignored": "OpenVINO {} ignores {}",
    "refused": "OpenVINO {} rejects {}",
    "differs": "OpenVINO {} computes another result for {}",
}
Table = Mapping[str, Mapping[str, str]]
"""Attribute or `input NAME` → value → ignored, refused, differs or right; the empty text for the operator itself."""


@cache
def releases() -> dict[Release, Path]:
    """Return the measured releases, oldest first, each with its table."""
    found = Path(__file__).parent.glob(f"{PREFIX}*.json")
    return dict(sorted((release_of(path.stem.removeprefix(PREFIX)), path) for path in found))


@cache
def table(release: Release) -> dict[str, Table]:
    """Return the table of a measured release, by operator, such as `LSTM`: that of its newest version."""
    path = releases()[release]
    operators: dict[str, Table] = json.loads(path.read_text(encoding="utf-8"))["operators"]
    by_version = sorted(operators.items(), key=lambda entry: int(entry[0].rpartition("-")[2]))
    return {name.rpartition("-")[0]: rows for name, rows in by_version}


def check_for_openvino(nodes: Model, model: Model | None, release: Release, findings: Findings) -> None:
    """Report what OpenVINO ignores or refuses. `nodes`: the nodes as written. `model`: the model made from them. A
    release that was not measured is judged by the newest measured one before it, or by the oldest."""
    measured = max((known for known in releases() if known <= release), default=min(releases()))
    own = {node.ref[1:3] for node in model.walk() if _is_own(node)} if model is not None else set()
    for node in nodes.nodes:
        rows = table(measured).get(node.type, {})
        try:
            known = definition(node.type, int(node.version.removeprefix("onnx")), "")
        except (NoSuchOperator, ValueError):  # a node of another domain, or a Parameter
            continue
        for what, port, word in _deviations(node, known, rows):
            message = _SAYS[word].format(named(measured), f"{what}{node.type} {node.given_name!r}")
            hint = "`irexec convert` writes an IR that keeps it"
            if (node.given_name, node.type) in own:
                hint = "no operator of IR computes it"
            where: dict[str, Any] = {"place": Place(file=findings.file), "layer": node.ref} | port
            findings.add("F017", message, hint=hint if model is not None else None, **where)


def _is_own(node: Node) -> bool:
    """Return whether IR has no operator for what a layer computes."""
    return node.origin is not None and node.operator is not None and node.operator.opset.startswith("onnx")


def _deviations(node: Node, known: Definition, rows: Table) -> Iterator[tuple[str, dict[str, str], str]]:
    """Yield a description of each attribute and input that OpenVINO treats differently, and how."""
    if "" in rows:
        yield "", {}, rows[""][""]
        return
    for name, text in node.attributes.items():
        if name in rows and (word := _word(rows[name], text, _default(known, name))) in _SAYS:
            yield f"`{name}={text}` of ", {"attribute": name}, word
    for value, port in zip(node.inputs, known.ports, strict=False):
        if value is not None and (word := rows.get(f"input {port.name}", {}).get("", "")) in _SAYS:
            yield f"the input {port.name} of ", {"port": port.name}, word


def _word(values: Mapping[str, str], text: str, default: str) -> str:
    """Return what OpenVINO does with the value of an attribute; empty if that was not measured. A number that was not
    tried is treated as all others are, if these are treated alike."""
    if text == default:
        return ""
    words = [values[part] for part in (text, *text.split(",")) if part in values]
    if words:
        return next((word for word in words if word in _SAYS), "")
    is_number = text.removeprefix("-").replace(".", "").isdigit()
    return next(iter(values.values())) if is_number and len(set(values.values())) == 1 else ""


def _default(known: Definition, name: str) -> str:
    """Return the default value of an attribute as text, as nodes are shown."""
    from irexec.frontends.onnx.written import attribute_texts

    default = known.defaults.get(name)
    if default is None:
        return ""
    node = onnx.NodeProto(attribute=[default])
    return dict(attribute_texts(node)).get(name, "")
