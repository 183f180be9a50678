"""Conditions on sizes as sentences, for `irexec shapes`, the report and the editor."""

from __future__ import annotations

from collections.abc import Sequence

from irexec.core.diagnostics import IRError
from irexec.model.graph.model import Model
from irexec.model.graph.ports import port_name
from irexec.tools.shapes.answer import Shapes
from irexec.tools.shapes.ask import accepted_shapes
from irexec.tools.shapes.conditions import Compare, Condition, OneOf, Residue
from irexec.tools.shapes.expressions import Linear

# The largest number of sizes that are listed in words; `irexec shapes --format json` lists all.
_MOST_LISTED = 8


def studied(model: Model, seconds: float = 5.0) -> Shapes | None:
    """Return the sizes that a model accepts, found within some seconds; None if every dimension is fixed, or if no
    accepted sizes were found.
    """
    if not any(value.type.shape.is_dynamic for value in model.inputs):
        return None
    try:
        shapes = accepted_shapes(model, seconds=seconds)
    except IRError:  # The rank of an input is not known.
        return None
    return shapes if shapes.has_sizes else None


def condition_rows(shapes: Shapes) -> list[tuple[str, str]]:
    """Return the symbols of a model's dynamic dimensions with the conditions on them."""
    common, rest = common_conditions(shapes.alternatives)
    names = list(dict.fromkeys(shapes.symbols))
    described = [(name, words_of(shapes, name, [*common, *shapes.declared])) for name in names]
    several = [each.text(shapes.symbols) for each in common if subject(shapes, each) is None]
    cases = [" and ".join(each.text(shapes.symbols) for each in conditions) for conditions in rest]
    inputs = [
        (port_name(value), f"[{', '.join(map(str, shapes.input_text(number)))}]")
        for number, value in enumerate(shapes.model.inputs)
        if value.type.shape.is_dynamic
    ]
    rows = [(name, text or ("any" if not several and not cases else "see below")) for name, text in described]
    rows += [("together", text) for text in several]
    rows += [("one of" if not number else "or", text or "no further condition") for number, text in enumerate(cases)]
    if not shapes.is_complete:
        rows.append(("incomplete", "other sizes may be accepted, or refused"))
    return [*inputs, *rows]


def common_conditions(alternatives: Sequence[Sequence[Condition]]) -> tuple[list[Condition], list[list[Condition]]]:
    """Return the conditions that all alternatives share, and the further conditions of each alternative (an empty list
    if there is a single alternative).
    """
    if not alternatives:
        return [], []
    common = [each for each in alternatives[0] if all(each in other for other in alternatives[1:])]
    rest = [[each for each in other if each not in common] for other in alternatives]
    return common, rest if any(rest) else []


def subject(shapes: Shapes, condition: Condition) -> str | None:
    """Return the symbol that a condition restricts; None for a condition on several symbols."""
    if isinstance(condition, OneOf):
        return shapes.symbols[condition.dim]
    if isinstance(condition, Compare) and isinstance(condition.left, Linear) and condition.left.is_plain:
        return shapes.symbols[condition.left.terms[0][1]] if condition.left.terms else None
    names = {shapes.symbols[dim] for dim in condition.dims}
    return names.pop() if len(names) == 1 else None


def words_of(shapes: Shapes, symbol: str, conditions: Sequence[Condition]) -> str:
    """Return a text with the conditions on a symbol; empty for a symbol without conditions."""
    low: int | None = None
    high: int | None = None
    found: list[str] = []
    for each in conditions:
        if subject(shapes, each) != symbol:
            continue
        if isinstance(each, Residue):
            found.append(_residue(each))
        elif isinstance(each, OneOf):
            found.append(_one_of(shapes, each))
        elif isinstance(each, Compare) and each.operator != "==" and not each.right.dims:
            bound = each.right.value(())
            low, high = (bound, high) if each.operator == ">=" else (low, bound)
        else:
            found.append(each.text(shapes.symbols))
    if low is not None and high is not None:
        found.append(f"{low} to {high}")
    elif low is not None:
        found.append(f"at least {low}")
    elif high is not None:
        found.append(f"at most {high}")
    return ", ".join(found)


def _residue(condition: Residue) -> str:
    residues = condition.residues
    if residues == (0,):
        return f"multiples of {condition.modulus}"
    if len(residues) > 2 and residues == tuple(range(residues[0], residues[-1] + 1)):
        listed = f"{residues[0]} to {residues[-1]}"
    else:
        listed = " or ".join(map(str, residues))
    return f"remainder {listed} when divided by {condition.modulus}"


def _one_of(shapes: Shapes, condition: OneOf) -> str:
    dims = {dim for value in condition.values for dim in value.dims}
    if not dims:
        texts = [value.text(shapes.symbols) for value in condition.values]
        if len(texts) > _MOST_LISTED:
            return f"one of {len(texts)} sizes: {', '.join(texts[: _MOST_LISTED - 1])}, ..., {texts[-1]}"
        return f"{texts[0]} only" if len(texts) == 1 else " or ".join(texts)
    others = sorted({shapes.symbols[dim] for dim in dims} - {shapes.symbols[condition.dim]})
    if len(others) > 1:
        return f"1, or the largest of {', '.join(others)}"
    return f"equal to {others[0]}, or one of them 1" if condition.dim in dims else f"1, or equal to {others[0]}"
