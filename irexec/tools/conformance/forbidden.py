"""Cases that the specification forbids, which a runtime must refuse: one change away from a legal call."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from irexec.core.types import DYNAMIC, FOREIGN, STRING, ElementType, TensorType
from irexec.model.graph.model import Node, Value
from irexec.ops.spec.operator import Breach, Operator
from irexec.tools.conformance.changes import CHANGES, Change, changed, pick
from irexec.tools.conformance.draft import Draft, DraftPort, draft_of
from irexec.tools.conformance.names import CaseName, Port
from irexec.tools.conformance.seeds import calls_of
from irexec.tools.conformance.values import given

FLAG = "forbidden"
_TRIES = 24


def draw_forbidden(rng: np.random.Generator, operator: Operator) -> CaseName | None:
    """Return a name of a case that breaks one numbered constraint or has one attribute that is not allowed."""
    lines = calls_of()[str(operator)]
    for _ in range(_TRIES):
        draft = changed(rng, draft_of(operator, pick(rng, lines)), int(rng.integers(0, 3)))
        if not draft.is_legal():
            continue
        change: Change = pick(rng, _BREAKS)
        change(rng, draft)
        if _size(draft) and broken_by(draft) is not None:
            return draft.name(map(_named, draft.ports), int(rng.integers(1000)), flags=[FLAG])
    return None


def broken_by(draft: Draft) -> str | None:
    """Return the rule that a draft breaks: a constraint such as C3, an attribute or an element type; None if it is
    legal, or breaks several rules.
    """
    values, faults = draft.operator.parse_attributes(draft.attributes)
    types, breaches = draft.types(), list[Breach]()
    if not draft.operator.is_complete(types, values):
        return None
    draft.operator.infer(types, values, breaches)
    words = {f"attribute {fault.attribute}" for fault in faults}
    words |= {breach.constraint or f"type of {breach.port}" for breach in breaches}
    return words.pop() if len(words) == 1 else None


def reason_of(operator: Operator, name: CaseName) -> str:
    """Return the name of the rule that a forbidden case breaks, see `broken_by`."""
    ports: list[DraftPort | None] = []
    for port in name.ports:
        if port is None:
            ports.append(None)
            continue
        values = None if port.values is None else tuple(given(port, port.shape(0)).reshape(-1).tolist())
        ports.append(DraftPort(port.name, port.kind, port.shape(0), values))
    return broken_by(Draft(operator, dict(name.attributes), ports)) or "several constraints"


def forbidden_node(operator: Operator, values: Sequence[Value | None], attributes: Sequence[tuple[str, str]]) -> Node:
    """Return a layer with exactly these inputs and attributes; outputs of unknown type are declared f32."""
    names = {attribute.file_name: attribute.name for attribute in operator.attributes}
    node = Node(operator, list(values), {names[key]: value for key, value in attributes if key in names}, name="op")
    parsed, _ = operator.parse_attributes(dict(attributes))
    given = [None if value is None else value.type for value in values]
    found = operator.infer(given, parsed, [])
    node.set_outputs([TensorType(_known(t.element_type), t.shape) for t in found])
    return node


def _known(kind: ElementType) -> ElementType:
    return ElementType.by_name["f32"] if kind is DYNAMIC else kind


def _named(port: DraftPort | None) -> Port | None:
    return None if port is None else port.named(constant=port.values is not None or port.kind.is_packed)


def _size(draft: Draft) -> bool:
    return all(0 <= n < 200 for p in draft.given for n in p.shape) and draft.size() < 1 << 12


def _other_text(rng: np.random.Generator, draft: Draft) -> None:
    """Give an attribute a value of another kind."""
    attributes = [a for a in draft.operator.attributes if not a.file_name.startswith("variable")]
    if attributes:
        draft.attributes[pick(rng, attributes).file_name] = str(pick(rng, ("-1", "0", "-3", "7", "nearest_not", "")))


def _other_type(rng: np.random.Generator, draft: Draft) -> None:
    """Give one input an element type that its port does not accept."""
    if not draft.given:
        return
    number = int(rng.integers(len(draft.ports)))
    port = draft.ports[number]
    if port is None:
        return
    allowed = draft.operator.signature.input(number).elements.types
    others = [t for t in ElementType.by_name.values() if t not in allowed | FOREIGN | {STRING, DYNAMIC}]
    others = [t for t in others if not t.is_packed and t.dtype is not None and t.dtype.isbuiltin == 1]
    if others and port.kind is not STRING:
        port.kind = pick(rng, sorted(others, key=str))


def _one_shape(rng: np.random.Generator, draft: Draft) -> None:
    """Change one extent of one input, or its rank, and leave the other inputs as they are."""
    ports = [port for port in draft.given if port.values is None and port.shape]
    if not ports:
        return
    port = pick(rng, ports)
    at = int(rng.integers(len(port.shape)))
    if rng.random() < 0.3:
        port.shape = (*port.shape[:at], *port.shape[at + 1 :]) if rng.random() < 0.5 else (*port.shape, 2)
    else:
        port.shape = tuple(n + int(pick(rng, (1, 2))) if i == at else n for i, n in enumerate(port.shape))


_BREAKS: tuple[Callable[[np.random.Generator, Draft], None], ...] = (
    _other_text, _other_type, _other_type, _one_shape, _one_shape, _one_shape, *(change for change, _ in CHANGES[:6]),
)  # fmt: skip
