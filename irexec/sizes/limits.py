"""Limits: what accepted sizes change without a refusal, and what the answer does not cover."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from irexec.runs.run import port_name
from irexec.sizes.probe import Sizes

if TYPE_CHECKING:
    from irexec.sizes.answer import Shapes


def limits(shapes: Shapes, samples: Sequence[Sizes]) -> list[str]:
    """Return sentences for the reader."""
    return [*_tables(shapes, samples), *_mixed_batches(shapes), *_unknown_outputs(shapes), *_gaps(shapes)]


def _tables(shapes: Shapes, samples: Sequence[Sizes]) -> list[str]:
    """Return the tables that accepted sizes read behind their last row."""
    found: dict[str, None] = {}
    for sizes in samples:
        for node, rows in shapes.probe(sizes).beyond:
            found.setdefault(
                f"{node.type} {node.friendly_name!r} reads a table of {rows} rows behind its end for some accepted "
                f"sizes: it gives zeros there"
            )
    return list(found)


def _mixed_batches(shapes: Shapes) -> list[str]:
    """Return the outputs of which an axis other than the first depends on the batch."""
    batches = {number for number, name in enumerate(shapes.symbols) if name.startswith("batch")}
    found: list[str] = []
    for value, dims in zip(shapes.model.outputs, shapes.outputs_expressions, strict=False):
        for axis, expression in enumerate(dims or ()):
            if axis and expression is not None and expression.dims & batches:
                found.append(
                    f"dimension {axis} of the output {port_name(value)!r} is {expression.text(shapes.symbols)}: "
                    f"the elements of a batch are mixed"
                )
    return found


def _unknown_outputs(shapes: Shapes) -> list[str]:
    found: list[str] = []
    for value, dims in zip(shapes.model.outputs, shapes.outputs_expressions, strict=False):
        if dims is None:
            found.append(f"the rank of the output {port_name(value)!r} depends on values")
        elif any(each is None for each in dims):
            found.append(f"dimensions of the output {port_name(value)!r} depend on values, or no expression fits them")
    return found


def _gaps(shapes: Shapes) -> list[str]:
    found = [
        f"refused although all conditions hold: {_listed(shapes, reason.sizes)} "
        f"({reason.refusal.finding.layer or 'the model'}: {reason.refusal.finding.message})"
        for reason in shapes.unexplained()
    ]
    if not shapes.is_complete and not found:
        found.append("the study is not complete: there may be more sizes, or more conditions, than those listed")
    return found


def _listed(shapes: Shapes, sizes: Sizes) -> str:
    return ", ".join(f"{name} = {size}" for name, size in shapes.assignment(sizes).items())
