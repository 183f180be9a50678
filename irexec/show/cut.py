"""A part that was cut out of a model, for people: how large it is, its inputs and outputs, what was checked."""

from __future__ import annotations

from collections.abc import Sequence

from irexec.arrays.brief import plural, shown, shown_shape
from irexec.graph.model import Model
from irexec.show.printing import Printout
from irexec.trust.extract import Extract
from irexec.types import Array, ElementType
from irexec.watch.run import port_name

_FEW = 40


def show_extract(extract: Extract, files: Sequence[str], whole: Model, page: Printout) -> None:
    """The part's inputs and outputs, and the files it was written to."""
    computing = [n for n in extract.model.nodes if n.type not in ("Parameter", "Const", "Result")]
    page.line(f"{plural(len(computing), 'layer')} of {whole.name or 'the model'}", "heading")
    page.heading("inputs")
    rows = [_row(port_name(p), a) for p, a in zip(extract.model.inputs, extract.inputs, strict=True)]
    page.table(rows, ("name",), names=0)
    page.heading("outputs")
    rows = [_row(port_name(p), a) for p, a in zip(extract.model.outputs, extract.results, strict=False)]
    page.table(rows, ("name",), names=0)
    page.line()
    if extract.checked is None:
        page.line("names, weights and inputs are replaced; it runs", "good")
    elif extract.checked:
        page.line("run alone it gives the results that it has in the model, bit for bit", "good")
    else:
        page.line("run alone it does not give the results that it has in the model", "error")
    page.line(f"saved {', '.join(files)}", "dim")


def _row(name: str, array: Array) -> tuple[str, ...]:
    return name, str(ElementType.of(array.dtype)), shown_shape(array.shape), shown(array, _FEW)
