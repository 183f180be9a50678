"""Examples written as Python assignments: `data = [...]`, `np.array(...)`, read as literals and never executed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from irexec.frontends.pages.listed import ListedValue
from irexec.frontends.pages.literals import Literal, read_literal
from irexec.ir.xml.events import Span


@dataclass(frozen=True, slots=True)
class Assignment:
    """A name and the value assigned to it.

    `kind` is the element type that a dtype names, `shape` a shape stated after it.
    """

    name: str
    value: ListedValue
    span: Span
    leaves: tuple[Span, ...]
    kind: str | None = None
    shape: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class MadeNode:
    """A call of `onnx.helper.make_node(...)`: the operator, its attributes, the names of its inputs and outputs."""

    type: str
    attributes: Mapping[str, Any]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(slots=True)
class Group:
    """Assignments that belong together; `lead` is the paragraph before them, `elided` the names without a literal."""

    start: int
    lead: Span
    assignments: dict[str, Assignment] = field(default_factory=dict)
    node: MadeNode | None = None
    unread: list[str] = field(default_factory=list)


_TARGET = re.compile(
    r"[ \t>*]*(?:(?P<name>[A-Za-z_]\w*)[ \t]*=(?!=)\s*|(?P<expected>(?:\#|//)[ \t]*Expect\w* output as )\s*)"
)
_ARRAY = re.compile(r"(?:np|numpy)\.(?:array|asarray|(?P<scalar>(?:u?int|float)\d+|bool_?))\(\s*(?:(?:\#|//)[ \t]*)?")
_DTYPE = re.compile(
    r",?\s*+(?:dtype\s*+=\s*+)?(?:(?:np|numpy|ml_dtypes)\.)?[\"']?(?P<dtype>\w++)[\"']?\s*+(?:,\s*+)?\)|,?\s*+(?:\#\s*+)?\)"
)
_AS_TYPE = re.compile(r"\s*\.astype\((?:(?:np|numpy|ml_dtypes)\.)?[\"']?(\w+)[\"']?\)")
_SHAPE = re.compile(r"\s*,\s*shape\s*=\s*[\[(]([\d,\s]*)[\])]")
_REST = re.compile(r"[ \t]*(?:,[ \t]*|;[ \t]*)?(?:(?:<-+|\#|//)[^\n]*)?(?=\n|\Z)")
_NODE = re.compile(r"^[ \t]*node\s*=\s*(?:onnx\.)?(?:helper\.)?make_node\(", re.MULTILINE)
_MARKS = re.compile(r"[ \t>]*(?:[`~]{3,}.*|\.\. .*|:[\w-]+:.*|[-=~^*+#]{3,})[ \t]*")
# Lines of a program that may occur between its values. Prose starts with a word that is neither called nor assigned.
_CODE = re.compile(r"[ \t]+\S|[)\]}#@]|(?:import|from|for|if|def|return|with)\b|[\w.]+(?:\(|\[|[ \t]*[-+*/]?=)")
_KINDS = {
    **{f"{sign}int{bits}": f"{sign or 'i'}{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    **{f"float{bits}": f"f{bits}" for bits in (16, 32, 64)},
    "bfloat16": "bf16",
    "bool": "boolean",
    "bool_": "boolean",
    "str": "string",
    "object": "string",
    "int": "i64",
    "float": "f64",
    "half": "f16",
    "single": "f32",
    "double": "f64",
}
_MOST_CODE = 4000


def groups_in(text: str) -> Iterator[Group]:
    """Yield the groups of assignments of a text, in order. A repeated name, or prose, begins a new group."""
    group: Group | None = None
    lead = Span(0, 0)
    in_paragraph = False
    position = 0
    while position < len(text):
        newline = text.find("\n", position)
        end = len(text) if newline < 0 else newline
        line = text[position:end]
        following = end + 1
        node = _made_node(text, position, end)
        found = None if node is not None else _assignment(text, position)
        if node is not None:
            if group is not None:
                yield group
            group, following = Group(position, lead, node=node[0]), node[1]
        elif isinstance(found, Assignment):
            if group is not None and found.name in group.assignments:
                yield group
                group = Group(position, lead)
            group = group or Group(position, lead)
            group.assignments[found.name] = found
            following = text.find("\n", found.span.start + found.span.length) + 1 or len(text)
        elif isinstance(found, str) and group is not None:
            group.unread.append(found)
        elif line.strip() and not (group is not None and group.node is not None and _CODE.match(line)):
            if group is not None:
                yield group
                group = None
            if _MARKS.fullmatch(line):
                in_paragraph = False
            else:
                lead = Span(lead.start, end - lead.start) if in_paragraph else Span(position, end - position)
                in_paragraph = True
        if group is not None or not line.strip():
            in_paragraph = False
        position = following
    if group is not None:
        yield group


def _assignment(text: str, position: int) -> Assignment | str | None:
    """Return the assignment that begins at this position; only its name if the assigned value is not a literal."""
    match = _TARGET.match(text, position)
    if match is None:
        return None
    commented = match["expected"] is not None
    name = "output" if commented else match["name"]
    array = _ARRAY.match(text, match.end())
    start = array.end() if array is not None else match.end()
    literal = read_literal(text, start, commented=commented)
    if literal is None:
        return name
    return _array(text, name, literal, array["scalar"]) if array is not None else _plain(text, name, literal)


def _array(text: str, name: str, literal: Literal, scalar: str | None) -> Assignment | str:
    closing = _DTYPE.match(text, literal.end)
    if closing is None:
        return name
    cast = _AS_TYPE.match(text, closing.end())
    kind = _KINDS.get((cast[1] if cast else closing["dtype"] or scalar or "").lower())
    return Assignment(name, literal.value, literal.span, literal.leaves, kind)


def _plain(text: str, name: str, literal: Literal) -> Assignment | str:
    stated = _SHAPE.match(text, literal.end)
    shape = None
    if stated is not None:
        shape = tuple(int(extent) for extent in stated[1].replace(" ", "").split(",") if extent[:18])
    if _REST.match(text, stated.end() if stated is not None else literal.end) is None:
        return name
    return Assignment(name, literal.value, literal.span, literal.leaves, shape=shape)


def _made_node(text: str, position: int, end: int) -> tuple[MadeNode, int] | None:
    match = _NODE.match(text, position)
    if match is None or match.start() > end:
        return None
    opening = match.end() - 1
    close = _closing(text, opening)
    if close is None:
        return None
    try:
        call = ast.parse(f"f{text[opening:close]}", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if not isinstance(call, ast.Call):
        return None
    found = {word.arg: _value(word.value) for word in call.keywords if word.arg is not None}
    arguments = [_value(argument) for argument in call.args]
    kind = arguments[0] if arguments else found.pop("op_type", None)
    if not isinstance(kind, str):
        return None
    inputs, outputs = found.pop("inputs", None), found.pop("outputs", None)
    attributes = {name: value for name, value in found.items() if name not in ("name", "domain", "doc_string")}
    return MadeNode(kind, attributes, _names(inputs), _names(outputs)), text.find("\n", close) + 1 or len(text)


def _closing(text: str, opening: int) -> int | None:
    """Return the offset at which the bracket at `opening` is closed; brackets in strings do not count."""
    depth = 0
    for match in re.finditer(r"\"[^\"\n]*\"|'[^'\n]*'|[()\[\]{}]", text[opening : opening + _MOST_CODE]):
        depth += (match[0] in "([{") - (match[0] in ")]}")
        if depth == 0:
            return opening + match.end()
    return None


def _value(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, RecursionError, MemoryError):
        return None


def _names(value: Any) -> tuple[str, ...]:
    return tuple(str(name) for name in value) if isinstance(value, (list, tuple)) else ()


_IN_PROSE = re.compile(
    r"(?<![\w.])(?P<name>[A-Za-z_]\w*+)[`*\"]{0,3}(?:[ \t]*+=[ \t]*|[ \t]++set to[ \t]+)[`*\"']{0,3}(?=\S)"
)


def prose_assignments(text: str, lead: Span) -> list[Assignment]:
    """Return values in the sentence before an example: "with `shift` = [-1, 2]", "*reduction* set to ``sum``"."""
    found = []
    end = lead.start + lead.length
    for match in _IN_PROSE.finditer(text, lead.start, end):
        literal = read_literal(text, match.end())
        if literal is None:
            word = re.compile(r"[A-Za-z_]\w*").match(text, match.end())
            if word is None:
                continue
            span = Span(word.start(), len(word[0]))
            literal = Literal(word[0], span, (span,))
        if literal.end <= end:
            found.append(Assignment(match["name"], literal.value, literal.span, literal.leaves))
    return found
