"""The sizes that a model accepts, as text."""

from __future__ import annotations

from collections.abc import Sequence

from irexec.arrays.brief import plural
from irexec.diagnostics import IRError
from irexec.graph.model import Model, Node
from irexec.graph.ports import port_name
from irexec.inspect.costs import costs
from irexec.render.printing import Printout
from irexec.render.summary import shown_bytes, shown_count
from irexec.sizes.answer import Because, Shapes
from irexec.sizes.ask import accepted_shapes
from irexec.sizes.conditions import Compare, Condition, OneOf, Residue
from irexec.sizes.expressions import Linear
from irexec.sizes.rows import Row

_MOST_ALTERNATIVES = 12
_LONGEST_MESSAGE = 110
_FEW_SECONDS = 5.0


def show_shapes(shapes: Shapes, page: Printout) -> None:
    """Print the inputs with the conditions on their sizes and the reasons, the outputs, and the remarks."""
    page.line(shapes.model.name or "model", "heading")
    common, rest = _common(shapes.alternatives)
    together = [each for each in common if _subject(shapes, each) is None]
    elsewhere = {shapes.symbols[dim] for each in (*together, *(c for each in rest for c in each)) for dim in each.dims}
    reasons = _own_reasons(shapes)
    page.heading("inputs")
    seen: set[str] = set()
    for number, value in enumerate(shapes.model.inputs):
        text = ", ".join(map(str, shapes.input_text(number)))
        page.line(f"  {port_name(value)}  {value.element_type} [{text}]")
        own = [name for name, dim in zip(shapes.symbols, shapes.dims, strict=True) if dim.input == number]
        new = [name for name in dict.fromkeys(own) if name not in seen]
        seen.update(new)
        rows = [
            (name, _words(shapes, name, common) or ("see below" if name in elsewhere else "any"), reasons.get(name, ""))
            for name in new
        ]
        page.table([("", *row) for row in _merged(rows)], (None, "name", None, "dim"), wrap=True)
    if not shapes.dims:
        page.line("  every dimension is fixed" if shapes.model.inputs else "  none", "dim")
    _alternatives(shapes, together, rest, page)
    _outputs(shapes, page)
    _costs(shapes, page)
    _equalities(shapes, page)
    _remarks(shapes, page)


def condition_rows(model: Model) -> list[tuple[str, str]]:
    """Return the symbols of a model's open dimensions with the conditions on them, found in a few seconds.

    Nothing where every dimension is fixed, or no sizes were found that the model accepts.
    """
    if not any(value.type.shape.is_dynamic for value in model.inputs):
        return []
    try:
        shapes = accepted_shapes(model, seconds=_FEW_SECONDS)
    except IRError:  # The rank of an input is not known.
        return []
    if not shapes.has_sizes:
        return []
    common, rest = _common(shapes.alternatives)
    names = list(dict.fromkeys(shapes.symbols))
    told = [(name, _words(shapes, name, common)) for name in names]
    several = [each.text(shapes.symbols) for each in common if _subject(shapes, each) is None]
    cases = [" and ".join(each.text(shapes.symbols) for each in conditions) for conditions in rest]
    inputs = [
        (port_name(value), f"[{', '.join(map(str, shapes.input_text(number)))}]")
        for number, value in enumerate(model.inputs)
        if value.type.shape.is_dynamic
    ]
    rows = [(name, words or ("any" if not several and not cases else "see below")) for name, words in told]
    rows += [("together", text) for text in several]
    rows += [("one of" if not number else "or", text or "no further condition") for number, text in enumerate(cases)]
    return [*inputs, *rows]


def show_rows(rows: Sequence[Row], shapes: Shapes, page: Printout) -> None:
    """Print for each row of a list whether the model accepts it."""
    page.heading("sizes")
    for row in rows:
        sizes = ", ".join(f"{name} = {size}" for name, size in shapes.assignment(row.sizes).items())
        if row.refusal is None:
            page.line(f"  line {row.line}: {sizes}: accepted", "good")
        else:
            refusal = f"{_layer(row.refusal.node)}: {_brief(row.refusal.finding.message)}"
            page.paragraph(f"  line {row.line}: {sizes}: refused by {refusal}", "error")
    refused = sum(row.refusal is not None for row in rows)
    page.line(f"{len(rows) - refused} of {plural(len(rows), 'combination')} accepted")


def _common(alternatives: Sequence[Sequence[Condition]]) -> tuple[list[Condition], list[list[Condition]]]:
    """Return the conditions of all alternatives, and the others of each; none where there is a single alternative."""
    if not alternatives:
        return [], []
    common = [each for each in alternatives[0] if all(each in other for other in alternatives[1:])]
    rest = [[each for each in other if each not in common] for other in alternatives]
    return common, rest if any(rest) else []


def _subject(shapes: Shapes, condition: Condition) -> str | None:
    """Return the symbol that a condition restricts; None for a condition on several."""
    if isinstance(condition, OneOf):
        return shapes.symbols[condition.dim]
    if isinstance(condition, Compare) and isinstance(condition.left, Linear) and condition.left.is_plain:
        return shapes.symbols[condition.left.terms[0][1]] if condition.left.terms else None
    names = {shapes.symbols[dim] for dim in condition.dims}
    return names.pop() if len(names) == 1 else None


def _words(shapes: Shapes, symbol: str, conditions: Sequence[Condition]) -> str:
    """Return the conditions on a symbol in words; nothing where there are none."""
    low: int | None = None
    high: int | None = None
    words: list[str] = []
    for each in conditions:
        if _subject(shapes, each) != symbol:
            continue
        if isinstance(each, Residue):
            words.append(_residue(each))
        elif isinstance(each, OneOf):
            words.append(_one_of(shapes, each))
        elif isinstance(each, Compare) and each.operator != "==" and not each.right.dims:
            bound = each.right.value(())
            low, high = (bound, high) if each.operator == ">=" else (low, bound)
        else:
            words.append(each.text(shapes.symbols))
    if low is not None and high is not None:
        words.append(f"{low} to {high}")
    elif low is not None:
        words.append(f"at least {low}")
    elif high is not None:
        words.append(f"at most {high}")
    return ", ".join(words)


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
        return f"{texts[0]} only" if len(texts) == 1 else " or ".join(texts)
    others = sorted({shapes.symbols[dim] for dim in dims} - {shapes.symbols[condition.dim]})
    if len(others) > 1:
        return f"1, or the largest of {', '.join(others)}"
    return f"equal to {others[0]}, or one of them 1" if condition.dim in dims else f"1, or equal to {others[0]}"


def _merged(rows: Sequence[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Return the rows, those with the same words as one, with the first reason."""
    found: dict[str, list[tuple[str, str]]] = {}
    for name, words, reason in rows:
        found.setdefault(words, []).append((name, reason))
    return [
        (", ".join(name for name, _ in same), words, next((reason for _, reason in same if reason), ""))
        for words, same in found.items()
    ]


def _alternatives(
    shapes: Shapes, together: Sequence[Condition], rest: Sequence[Sequence[Condition]], page: Printout
) -> None:
    if together:
        page.heading("together")
        for each in together:
            page.line(f"  {each.text(shapes.symbols)}")
    if rest:
        page.heading("one of")
        for conditions in rest[:_MOST_ALTERNATIVES]:
            page.line("  " + (" and ".join(each.text(shapes.symbols) for each in conditions) or "no further condition"))
        if len(rest) > _MOST_ALTERNATIVES:
            page.line(f"  and {len(rest) - _MOST_ALTERNATIVES} more; --format json lists all", "dim")


def _outputs(shapes: Shapes, page: Printout) -> None:
    page.heading("outputs")
    rows = []
    for value, dims in zip(shapes.model.outputs, shapes.outputs_expressions, strict=False):
        text = "..." if dims is None else ", ".join("?" if each is None else each.text(shapes.symbols) for each in dims)
        rows.append((port_name(value), str(value.element_type), f"[{text}]"))
    page.table(rows, ("name",), names=0, wrap=True)


def _costs(shapes: Shapes, page: Printout) -> None:
    found = costs(shapes)
    rows: list[tuple[str, str]] = []
    for label, cost, least, shown in (
        ("multiply-adds", found.multiply_adds, found.smallest[0], shown_count),
        ("peak activations", found.activations, found.smallest[1], shown_bytes),
    ):
        if cost is not None:
            unit = " bytes" if label == "peak activations" else ""
            rows.append((label, f"{cost.text(shapes.symbols)}{unit}"))
        elif least is not None:
            rows.append((label, f"{shown(least)} at the smallest sizes"))
    if rows:
        page.heading("size")
        page.table(rows, wrap=True)


def _own_reasons(shapes: Shapes) -> dict[str, str]:
    """Return for each symbol the constant that fixes it, or the refusal of a size that it cannot have."""
    found = {shapes.symbols[baked.dim]: baked.text(shapes.symbols[baked.dim]) for baked in shapes.baked}
    found = {symbol: f"{text} (--unbake replaces it)" for symbol, text in found.items()}
    for each in shapes.because():
        size = each.sizes[each.dim]
        if shapes.assignment(each.sizes).get(each.symbol) == size and each.symbol not in found:
            found[each.symbol] = f"{each.symbol} = {size}: {_refusal(each)}"
    return found


def _equalities(shapes: Shapes, page: Printout) -> None:
    """Print the layers because of which dimensions of several inputs are equal."""
    rows: list[tuple[str, str]] = []
    for each in shapes.because():
        size = each.sizes[each.dim]
        other = shapes.assignment(each.sizes)[each.symbol]
        if other != size:
            name = shapes.input_names[shapes.dims[each.dim].input]
            rows.append((f"{each.symbol} of {name}", f"{size} beside {other}: {_refusal(each)}"))
    if rows:
        page.heading("equal sizes")
        page.table(rows, ("name", "dim"), names=0, wrap=True)


def _refusal(because: Because) -> str:
    finding = because.refusal.finding
    node = because.refusal.node
    layer = (
        f"{finding.constraint} of {node.friendly_name!r}" if node is not None and finding.constraint else _layer(node)
    )
    return f"{layer}: {_brief(finding.message)}"


def _layer(node: Node | None) -> str:
    return "the variables" if node is None else f"{node.type} {node.friendly_name!r}"


def _brief(message: str) -> str:
    return message if len(message) <= _LONGEST_MESSAGE else message[: _LONGEST_MESSAGE - 3] + "..."


def _remarks(shapes: Shapes, page: Printout) -> None:
    limits = shapes.limits()
    if limits:
        page.heading("remarks")
        for each in limits:
            page.paragraph(f"  {each}")
    if not shapes.dims:
        return
    page.line()
    smallest = " ".join(f"{name}={','.join(map(str, shape))}" for name, shape in shapes.smallest().items())
    page.paragraph(f"smallest: {smallest}")
    page.line(f"checked by inference at {plural(shapes.probes, 'combination')} of sizes", "dim")
