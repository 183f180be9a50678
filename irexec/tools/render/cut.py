"""An extracted part of a model as text: its size, its inputs and outputs, and the checks performed."""

from __future__ import annotations

from collections.abc import Sequence

from irexec.core.structure import STRUCTURAL
from irexec.core.types import Array, ElementType
from irexec.model.arrays.brief import plural, shown, shown_shape
from irexec.model.graph.model import Model
from irexec.model.graph.ports import port_name
from irexec.tools.cut.extract import Extract
from irexec.tools.render.printing import Printout

_FEW = 40


def show_extract(extract: Extract, files: Sequence[str], whole: Model, page: Printout) -> None:
    """Print the part's inputs and outputs, and the files it was written to."""
    computing = [n for n in extract.model.nodes if n.type not in STRUCTURAL]
    page.line(f"{plural(len(computing), 'layer')} of {whole.name or 'the model'}", "heading")
    page.heading("inputs")
    rows = [_row(port_name(p), a) for p, a in zip(extract.model.inputs, extract.inputs, strict=True)]
    page.table(rows, ("name",), names=0)
    page.heading("outputs")
    rows = [_row(port_name(p), a) for p, a in zip(extract.model.outputs, extract.results, strict=False)]
    page.table(rows, ("name",), names=0)
    page.line()
    if extract.checked is None:
        page.line("names, weights and inputs were replaced; the extracted part runs", "good")
    elif extract.checked:
        page.line("verified: the extracted part reproduces its results in the full model bit for bit", "good")
    else:
        page.line("the extracted part does not reproduce its results in the full model", "error")
    page.line(f"saved {', '.join(files)}", "dim")


def _row(name: str, array: Array) -> tuple[str, ...]:
    return name, str(ElementType.of(array.dtype)), shown_shape(array.shape), shown(array, _FEW)
