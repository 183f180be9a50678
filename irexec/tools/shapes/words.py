"""Conditions on sizes as sentences, for `irexec shapes`, the report and the editor."""

from __future__ import annotations

from collections.abc import Sequence

from irexec.core.diagnostics import IRError
from irexec.model.graph.model import Model
from irexec.model.graph.ports import port_name
from irexec.tools.shapes.answer import Shapes
from irexec.tools.shapes.ask import accepted_shapes
from irexec.tools.shapes.conditions import Condition, Guard, OneOf
from irexec.tools.shapes.formulas import Extreme, Formula

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
    if condition.subject is not None:
        return shapes.symbols[condition.subject]
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
        if isinstance(each, OneOf):
            is_size = each.subject is not None
            found.append(_one_of(shapes, each) if is_size else each.text(shapes.symbols))
        elif not isinstance(each, Guard) or each.subject is None or not each.right.is_constant:
            found.append(each.text(shapes.symbols))
        elif each.operator == "==":
            found.append(f"{each.right.constant} only" if each.modulus == 1 else _residue(each.modulus, [each.right]))
        elif each.operator == "!=" or each.modulus > 1:
            found.append(each.text(shapes.symbols))
        else:
            bound = each.right.constant
            low, high = (bound, high) if each.operator == ">=" else (low, bound)
    if low is not None and high is not None:
        found.append(f"{low} to {high}")
    elif low is not None:
        found.append(f"at least {low}")
    elif high is not None:
        found.append(f"at most {high}")
    return ", ".join(found)


def _residue(modulus: int, values: Sequence[Formula]) -> str:
    residues = [each.constant for each in values]
    if residues == [0]:
        return f"multiples of {modulus}"
    if len(residues) > 2 and residues == list(range(residues[0], residues[-1] + 1)):
        listed = f"{residues[0]} to {residues[-1]}"
    else:
        listed = " or ".join(map(str, residues))
    return f"remainder {listed} when divided by {modulus}"


def _one_of(shapes: Shapes, condition: OneOf) -> str:
    """Return the words for a condition on a single size."""
    if condition.modulus > 1:
        return _residue(condition.modulus, condition.values)
    texts = [value.text(shapes.symbols) for value in condition.values]
    if not condition.is_choice:
        if len(texts) > _MOST_LISTED:
            return f"one of {len(texts)} sizes: {', '.join(texts[: _MOST_LISTED - 1])}, ..., {texts[-1]}"
        return f"{texts[0]} only" if len(texts) == 1 else " or ".join(texts)
    largest = condition.values[-1]
    if not isinstance(largest.only, Extreme):
        return f"1, or equal to {texts[-1]}"
    others = sorted({shapes.symbols[dim] for dim in largest.dims} - {shapes.symbols[condition.subject or 0]})
    if len(others) > 1:
        return f"1, or the largest of {', '.join(others)}"
    return f"equal to {others[0]}, or one of them 1" if condition.subject in largest.dims else f"1, or {texts[-1]}"
