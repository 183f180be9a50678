"""Errors of a page: the printed text, the correct value, the reason, and a correction."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, NamedTuple

import numpy as np

from irexec.core.diagnostics import Diagnostic, Fix, Safety
from irexec.core.diagnostics.codes import CODES, Area
from irexec.core.diagnostics.nearest import clearest
from irexec.core.types import PartialShape
from irexec.frontends.pages.documented import agrees
from irexec.frontends.pages.example import Example, ExampleOutput
from irexec.frontends.pages.excerpt import Excerpt
from irexec.frontends.pages.literals import read_literal
from irexec.ir.text import cut
from irexec.ir.xml.events import Span
from irexec.ir.xml.positions import Positions
from irexec.model.arrays.accept import shape_of
from irexec.model.arrays.brief import shown_item, shown_shape

# Findings at an attribute that state the correct value: a port's precision, a layer's type, an attribute's value or
# name.
_ATTRIBUTES = frozenset({"P004", "Q022", "D001", "D005"})
# Errata that follow from all other parts of the example; for any other erratum, either of two parts may be wrong.
_FOLLOWS = frozenset({"O001", "O006", "P004", "P005", "T001"})
_OF_RESULTS = frozenset({"O006", "P005", "T001", "T002"})
# A correction of a finding in one of these areas changes the declaration of a port.
_OF_PORTS = frozenset({Area.OPERATOR, Area.PORT, Area.DOCUMENTED})
_LONGEST = 2000


@dataclass(frozen=True, slots=True)
class Erratum:
    """One error of a page.

    `printed` is the printed text, `right` the correct value in a few words, `replacement` the corrected text.
    """

    diagnostic: Diagnostic
    printed: str
    right: str | None = None
    replacement: str | None = None


class _FixResult(NamedTuple):
    """A range of text and its correction; `first` is the first wrong item in it."""

    span: Span
    text: str
    first: Span | None = None


_LONGEST_LINE = 500


def erratum(
    found: Diagnostic, moved: Diagnostic, excerpt: Excerpt, example: Example | None, *, certain: bool = True
) -> Erratum:
    """Return a finding about `excerpt` as an erratum; `moved` is the finding in the page, to which the correction is
    added.

    `certain`: False if the example is ambiguous and its interpretations give different results.
    """
    right = found.allowed or found.hint
    if found.place.line is None:
        return Erratum(moved, "", right)
    start = excerpt.offset(found.place)
    fixed: _FixResult | None = None
    if found.code == "T001" and example is not None:
        fixed = _fixed_values(excerpt.text, start, _output_at(found, example))
    elif (shape := (found.repair or {}).get(found.port or "")) is not None:
        if _contradicts_values(found, shape, example):
            return Erratum(moved, _line_of(moved), right)
        right = f"shape {shown_shape(shape)}"
        fixed = _fixed_dims(excerpt.text, start, shape)
    elif found.code in _ATTRIBUTES and (meant := _intended(found)) is not None:
        fixed = _fixed_attribute(excerpt.text, Span(start, found.place.length), meant)
    if fixed is None:
        return Erratum(moved, _line_of(moved), right)
    span, replacement, first = fixed
    if first is not None:
        moved = replace(moved, place=excerpt.place(first.start, first.length))
    printed = excerpt.text[span.start : span.stop]
    if replacement == printed:
        return Erratum(moved, printed, right)
    edit = excerpt.edit(span.start, span.stop, replacement)
    if edit is not None and not moved.fixes:
        safety = Safety.SAFE if certain and _is_certain(found, example) else Safety.UNSAFE
        moved = replace(moved, fixes=(Fix(_title(found, replacement, right), safety, (edit,)),))
    return Erratum(moved, printed, right, replacement)


def _line_of(moved: Diagnostic) -> str:
    """Return the line of a finding, of limited length: a page may be one line with thousands of errata."""
    return cut((moved.place.source_line or "")[: 2 * _LONGEST_LINE].strip(), _LONGEST_LINE)


def _contradicts_values(found: Diagnostic, shape: tuple[int, ...], example: Example | None) -> bool:
    """Return whether a correction would declare an output with a shape that does not fit its documented values.

    Then another part, such as an attribute, is wrong and has to be corrected first.
    """
    if found.code not in _OF_RESULTS or example is None:
        return False
    ports = (output.port for output in example.outputs if output.port is not None)
    listed = next((p.listed for p in ports if str(p.port.id) == found.port), None)
    documented = shape_of(listed.value) if listed is not None else None
    return documented is not None and prod(documented) != prod(shape)


def settled(errata: list[Erratum]) -> list[Erratum]:
    """Return the errors of an example; results are corrected only if each of its other errors has one correction."""

    def is_certain(entry: Erratum) -> bool:
        return any(fix.safety is Safety.SAFE for fix in entry.diagnostic.fixes)

    def of_result(entry: Erratum) -> bool:
        return entry.diagnostic.code in _OF_RESULTS and (is_certain(entry) or entry.diagnostic.code != "T002")

    if all(is_certain(entry) for entry in errata if not of_result(entry)):
        return errata
    return [_doubted(entry) if of_result(entry) else entry for entry in errata]


def _doubted(entry: Erratum) -> Erratum:
    fixes = tuple(replace(fix, safety=Safety.UNSAFE) for fix in entry.diagnostic.fixes)
    return replace(entry, diagnostic=replace(entry.diagnostic, fixes=fixes))


def _intended(found: Diagnostic) -> str | None:
    """Return the correction of an attribute's value or name."""
    if found.code in ("P004", "Q022"):
        return found.allowed
    return clearest(list(found.candidates), found.found or "") if found.code == "D005" else _only(found.candidates)


def _only(candidates: Sequence[str]) -> str | None:
    return candidates[0] if len(candidates) == 1 else None


def _is_certain(found: Diagnostic, example: Example | None) -> bool:
    """Return whether a correction is the only possible one: the result follows from the printed text and is unique."""
    output = _output_at(found, example) if example is not None else None
    if found.code == "T002":
        # A result has one shape. The dims of an input may be right, unless its values give the documented result.
        shape = (found.repair or {}).get(found.port or "")
        if output is not None and shape is not None:
            return output.type.shape == PartialShape(shape)
        agreeing = [output.agrees for output in example.outputs] if example is not None else []
        return True in agreeing and False not in agreeing
    left_open = output is not None and output.difference is not None and output.difference.impossible
    return found.code in _FOLLOWS and not left_open


def _title(found: Diagnostic, replacement: str, right: str | None) -> str:
    """Return a one-line description of a correction."""
    if found.code == "T001":
        return "write the computed values" if "\n" in replacement else f"write {replacement}"
    is_declared = CODES[found.code].area in _OF_PORTS
    return f"declare {right.removeprefix('shape ')}" if right and is_declared else f"write {_intended(found)}"


def _output_at(found: Diagnostic, example: Example) -> ExampleOutput | None:
    return next((o for o in example.outputs if o.port is not None and o.port.place == found.place), None)


def _fixed_values(text: str, start: int, output: ExampleOutput | None) -> _FixResult | None:
    """Return the listed values, in the layout of the page, with values that no execution produces replaced."""
    if output is None or output.array is None or output.documented is None:
        return None
    opening = re.compile(r"[\[{]").search(text, start, start + 200)
    literal = read_literal(text, opening.start(), commented=_in_program_comment(text, start)) if opening else None
    if literal is None or len(literal.leaves) != output.array.size or output.documented.size != output.array.size:
        return None
    same = np.asarray(agrees(output.documented, output.array, output.type.element_type)).reshape(-1)
    computed = output.array.reshape(-1)
    wrong = [(leaf, computed[index]) for index, leaf in enumerate(literal.leaves) if not same[index]]
    parts, position = [], literal.span.start
    for leaf, value in wrong:
        parts += [text[position : leaf.start], _item(value, text[leaf.start : leaf.start + leaf.length])]
        position = leaf.start + leaf.length
    return _FixResult(literal.span, "".join([*parts, text[position : literal.end]]), wrong[0][0] if wrong else None)


def _in_program_comment(text: str, start: int) -> bool:
    """Return whether the values are in a comment of a program, whose lines all start with its marker."""
    line = text.rfind("\n", 0, start) + 1
    return text[line:start].lstrip().startswith(("#", "//"))


def _item(value: Any, printed: str) -> str:
    """Return one element in the format of the `printed` element: with a decimal point if that has one."""
    text = shown_item(value)
    if printed.endswith(".") and text.lstrip("-").isdigit():
        return f"{text}."
    decimals = printed.partition(".")[2]
    if decimals.isdigit() and re.fullmatch(r"-?\d+(?:\.\d+)?", text):
        return f"{float(value):.{len(decimals)}f}"
    return text


def _fixed_dims(text: str, start: int, shape: tuple[int, ...]) -> _FixResult | None:
    """Return the text of the port around `start` with the dims of another shape; its comments are kept."""
    opening = text.rfind("<port", 0, start + 5)
    positions = Positions(text[opening : opening + _LONGEST] if opening >= 0 else "")
    whole, end = positions.extent(0), positions.end_tag(0)
    if whole is None or end is None:
        return None
    span, port = Span(opening, whole.length), positions.text[: whole.stop]
    children = [child for child in positions.children(0) if positions.name_text(child) == "dim"]
    dims = [positions.extents().whole(child) for child in children if positions.is_plain(child)]
    wanted = [f"<dim>{extent}</dim>" for extent in shape]
    if not dims or not wanted:
        return None
    line = port.rfind("\n", 0, dims[0].start) + 1
    between = "\n" + port[line : dims[0].start] if line and not port[line : dims[0].start].strip() else ""
    if len(dims) != len(wanted):
        return _FixResult(span, f"{port[: dims[0].start]}{between.join(wanted)}{port[dims[-1].stop :]}")
    parts, position = [], 0
    for dim, right in zip(dims, wanted, strict=True):
        parts += [port[position : dim.start], right]
        position = dim.stop
    return _FixResult(span, "".join([*parts, port[position:]]))


def _fixed_attribute(text: str, span: Span, value: str) -> _FixResult | None:
    """Return the line with another value for the attribute whose value is at `span`."""
    begin = text.rfind("\n", 0, span.start) + 1
    end = text.find("\n", span.start)
    end = len(text) if end < 0 else end
    begin += len(text[begin : span.start]) - len(text[begin : span.start].lstrip())
    if end - begin > _LONGEST:
        return None
    fixed = f"{text[begin : span.start]}{value}{text[span.start + span.length : end]}"
    return _FixResult(Span(begin, end - begin), fixed)
