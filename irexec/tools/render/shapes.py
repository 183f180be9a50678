"""The sizes that a model accepts, as text."""

from __future__ import annotations

from collections.abc import Sequence

from irexec.core.records import field, record
from irexec.ir.text import cut
from irexec.model.arrays.brief import plural
from irexec.model.graph.model import Model, Node
from irexec.model.graph.ports import port_name
from irexec.tools.inspect.costs import costs
from irexec.tools.render.printing import Printout
from irexec.tools.render.summary import shown_bytes, shown_count
from irexec.tools.shapes.answer import Because, Shapes
from irexec.tools.shapes.conditions import Condition
from irexec.tools.shapes.rows import Row
from irexec.tools.shapes.words import common_conditions, condition_rows, studied, subject, words_of

_MOST_ALTERNATIVES = 12
_LONGEST_MESSAGE = 160
_SECONDS = 5.0


@record(frozen=True)
class SizeRows:
    """Rows about the dynamic sizes of a model: the conditions on them, and the costs as functions of them."""

    conditions: list[tuple[str, str]] = field(default_factory=list)
    costs: list[tuple[str, str]] = field(default_factory=list)


def open_sizes(model: Model | None) -> SizeRows:
    """Return the rows about a model's dynamic sizes that are found within some seconds; no rows for a static model."""
    shapes = None if model is None else studied(model)
    return SizeRows() if shapes is None else SizeRows(condition_rows(shapes), cost_rows(shapes, _SECONDS))


def show_shapes(shapes: Shapes, page: Printout) -> None:
    """Print the inputs with the conditions on their sizes and the reasons, the outputs, and the remarks."""
    page.line(shapes.model.name or "model", "heading")
    common, rest = common_conditions(shapes.alternatives)
    together = [each for each in common if subject(shapes, each) is None]
    elsewhere = {shapes.symbols[dim] for each in (*together, *(c for each in rest for c in each)) for dim in each.dims}
    reasons = _own_reasons(shapes)
    page.heading("inputs")
    seen: set[str] = set()
    for number, value in enumerate(shapes.model.inputs):
        text = ", ".join(map(str, shapes.input_text(number)))
        page.line(f"  {port_name(value)}  {value.element_type} [{text}]")
        own = [name for name, dim in zip(shapes.symbols, shapes.dims, strict=True) if dim.axis_of(number) is not None]
        new = [name for name in dict.fromkeys(own) if name not in seen]
        seen.update(new)
        rows = [
            (
                name,
                words_of(shapes, name, [*common, *shapes.declared]) or ("see below" if name in elsewhere else "any"),
                reasons.get(name, ""),
            )
            for name in new
        ]
        page.table([("", *row) for row in _merged(rows)], (None, "name", None, "dim"))
    if not shapes.dims:
        page.line("  every dimension is fixed" if shapes.model.inputs else "  none", "dim")
    _alternatives(shapes, together, rest, page)
    _outputs(shapes, page)
    _costs(shapes, page)
    _equalities(shapes, page)
    _remarks(shapes, page)


def show_rows(rows: Sequence[Row], shapes: Shapes, page: Printout) -> None:
    """Print for each row of a list whether the model accepts it."""
    page.heading("sizes")
    for row in rows:
        sizes = ", ".join(f"{name} = {size}" for name, size in shapes.assignment(row.sizes).items())
        if row.refusal is None:
            page.line(f"  line {row.line}: {sizes}: accepted", "good")
        else:
            refusal = f"{_layer(row.refusal.node)}: {cut(row.refusal.finding.message, _LONGEST_MESSAGE)}"
            page.paragraph(f"  line {row.line}: {sizes}: refused by {refusal}", "error")
    refused = sum(row.refusal is not None for row in rows)
    page.line(f"{len(rows) - refused} of {plural(len(rows), 'combination')} accepted")


def _merged(rows: Sequence[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Return the rows; rows with the same text are merged, and the first reason is kept."""
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
    page.table(rows, ("name",), names=0)


def _costs(shapes: Shapes, page: Printout) -> None:
    rows = cost_rows(shapes)
    if rows:
        page.heading("size")
        page.table(rows)


def cost_rows(shapes: Shapes, seconds: float = 10.0) -> list[tuple[str, str]]:
    """Return the multiply-adds and the memory of activations as functions of the sizes, as rows."""
    found = costs(shapes, seconds)
    rows: list[tuple[str, str]] = []
    for label, cost, least, shown in (
        ("multiply-adds", found.multiply_adds, found.smallest[0], shown_count),
        ("peak activations", found.activations, found.smallest[1], shown_bytes),
    ):
        if cost is not None:
            unit = " bytes" if label == "peak activations" else ""
            rows.append((label, cost.text(shapes.symbols, unit)))
        elif least is not None:
            rows.append((label, f"{shown(least)} at the smallest sizes"))
    return rows


def _own_reasons(shapes: Shapes) -> dict[str, str]:
    """Return for each symbol the reason for its restrictions: the constant that fixes it, or the refusal of a size."""
    found = {shapes.symbols[baked.dim]: baked.text(shapes.symbols[baked.dim]) for baked in shapes.baked}
    found = {symbol: f"{text} (see --unbake)" for symbol, text in found.items()}
    for each in shapes.because():
        size = each.sizes[each.dim]
        if shapes.assignment(each.sizes).get(each.symbol) == size and each.symbol not in found:
            found[each.symbol] = f"{each.symbol} = {size}: {_refusal(each)}"
    return found


def _equalities(shapes: Shapes, page: Printout) -> None:
    """Print the layers that require dimensions of several inputs to be equal."""
    rows: list[tuple[str, str]] = []
    for each in shapes.because():
        size = each.sizes[each.dim]
        other = shapes.assignment(each.sizes)[each.symbol]
        if other != size:
            name = shapes.input_names[shapes.dims[each.dim].input]
            rows.append((f"{each.symbol} of {name}", f"{size} beside {other}: {_refusal(each)}"))
    if rows:
        page.heading("equal sizes")
        page.table(rows, ("name", "dim"), names=0)


def _refusal(because: Because) -> str:
    finding = because.refusal.finding
    node = because.refusal.node
    layer = (
        f"{finding.constraint} of {node.friendly_name!r}" if node is not None and finding.constraint else _layer(node)
    )
    return f"{layer}: {cut(finding.message, _LONGEST_MESSAGE)}"


def _layer(node: Node | None) -> str:
    return "the variables" if node is None else f"{node.type} {node.friendly_name!r}"


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
    certainty = {"proved": "proved by traces of the shape rules; ", "incomplete": "incomplete; "}.get(
        shapes.evidence, ""
    )
    page.paragraph(f"{certainty}checked by inference at {plural(shapes.probes, 'combination')} of sizes", "dim")
