"""Editing: the wanted changes, one kind after the other, each followed by validation and, where results should stay the
same, by a comparison with the model before it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from irexec.api.openvino.model import Model
from irexec.core.diagnostics import IRError
from irexec.model.graph.copies import copied
from irexec.tools.edit.changes import Wanted, node_named, value_named
from irexec.tools.edit.checks import Outcome, same_after_cut, same_after_preprocessing, same_results
from irexec.tools.edit.layers import fold, replace_types
from irexec.tools.edit.parts import cut_at
from irexec.tools.edit.preprocessing import preprocess
from irexec.tools.edit.sizes import resize

DIFFER = "the results differ"
"""The words of a note about a change after which the results are others, although they should be the same."""


@dataclass(slots=True)
class Edit:
    """A changed model, and what was verified for each kind of change."""

    model: Model
    notes: list[str] = field(default_factory=list)


def edit(model: Model, wanted: Wanted, *, compare: bool = True) -> Edit:
    """Return a changed copy of a model. `compare`: run both models where the results should stay the same.

    Raises IRError for a change that is impossible, and for a model that is invalid after it.
    """
    done = Edit(copied(model))  # type: ignore[arg-type]

    def change(what: str, apply: Callable[[Model], Model], check: Callable[[Model, Model], Outcome] | None) -> None:
        before = done.model
        made = apply(copied(before))  # type: ignore[arg-type]
        made.validate_nodes_and_infer_types()
        if check is None:
            done.notes.append(f"{what}: valid; the results change")
        elif compare:
            done.notes.append(f"{what}: valid; {_outcome(check, before, made)}")
        else:
            done.notes.append(f"{what}: valid")
        done.model = made

    if wanted.inputs or wanted.outputs:
        change("inputs and outputs", lambda m: cut_at(m, wanted), lambda a, b: same_after_cut(a, b, wanted))
    if wanted.types:
        change("types of layers", lambda m: replace_types(m, wanted.types), None)
    if wanted.resizes:
        change("shapes", lambda m: resize(m, wanted), same_results)
    if wanted.preprocesses:
        change("preprocessing", lambda m: preprocess(m, wanted), lambda a, b: same_after_preprocessing(a, b, wanted))
    if wanted.fold:
        change("folding", fold, same_results)
    if wanted.names:
        rename(done.model, wanted)
        done.notes.append("names: the same model with other names")
    return done


def _outcome(check: Callable[[Model, Model], Outcome], before: Model, made: Model) -> str:
    try:
        found = check(before, made)
    except IRError as error:
        return f"the results were not compared, because a model cannot be run: {error.report.errors[0].message}"
    if found.differs:
        return f"{DIFFER}: {found.text}"
    return found.text


def rename(model: Model, wanted: Wanted) -> None:
    """Give layers and tensors other names."""
    values = {old: value_named(model, old, "--rename") for old in wanted.names}
    nodes = {old: node_named(model, old, "--rename") for old in wanted.names}
    for old, new in wanted.names.items():
        if nodes[old].friendly_name == old:
            nodes[old].friendly_name = new
        for value in (values[old], *(result.outputs[0] for result in values[old].users if result in model.results)):
            if old in value.names:
                value.names = {new if name == old else name for name in value.names}
