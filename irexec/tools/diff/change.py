"""One difference between two models, and summaries of many differences, for models in which every name differs."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from irexec.model.arrays.brief import plural, shown_number
from irexec.model.graph.model import Node

# The number of types listed in a count of layers.
_TYPES = 2


@dataclass(frozen=True, slots=True)
class Change:
    """One difference. `change` is added, removed, replaced, renamed, opset, connection, attribute, shape, type,
    constant, folded, compressed, rt_info or model; `a` and `b` name the layer in each model, None if it has no such
    layer. A change of many layers has `members`, the pairs of their names, instead. `group` describes such a change of
    any layer; changes without it are not combined."""

    change: str
    a: str | None
    b: str | None
    text: str
    outer: tuple[str, ...] = ()
    members: tuple[tuple[str | None, str | None], ...] = ()
    group: str = field(default="", compare=False)

    @property
    def pairs(self) -> tuple[tuple[str | None, str | None], ...]:
        """The names of the layers in both models."""
        return self.members or ((self.a, self.b),)

    def to_dict(self) -> dict[str, Any]:
        found = {"change": self.change, "a": self.a, "b": self.b, "outer": list(self.outer), "text": self.text}
        return {**found, "members": [list(pair) for pair in self.members]} if self.members else found


def changes_dict(a: str, b: str, changes: Iterable[Change]) -> dict[str, Any]:
    """Return the changes from one file to another as a JSON-ready object, for `irexec diff` and reports."""
    return {"kind": "diff", "a": a, "b": b, "changes": [change.to_dict() for change in changes]}


def counted(nodes: Sequence[Node], brief: bool) -> str:
    """Return a text with the number of layers, in total and of each type; `brief`: of the most frequent types only."""
    most = Counter(node.type for node in nodes).most_common()
    shown = most[:_TYPES] if brief and len(most) > _TYPES + 1 else most
    such = [f"{count} {type}" for type, count in shown]
    if rest := sum(count for _, count in most[len(shown) :]):
        such.append(f"{rest} of {len(most) - len(shown)} other types")
    return f"{plural(len(nodes), 'layer')}: {', '.join(such)}"


def condensed(changes: Iterable[Change], named: bool) -> list[Change]:
    """Return one line for each kind of change, as between two exports of one network, where the structure is the same
    and all names differ. `named`: name the layer if it is the only one with such a change.
    """
    kinds: dict[str, list[Change]] = defaultdict(list)
    for change in changes:
        kinds["constant" if _is_of_constants(change) else change.change].append(change)
    if len(kinds) == 1:
        return [change for alike in kinds.values() for change in alike]
    found: list[Change] = []
    for kind, alike in kinds.items():
        single = [change for change in alike if not change.group or (named and len(alike) == 1 and not change.members)]
        found += single
        if together := [change for change in alike if change not in single]:
            found.append(_one_line(kind, together))
    return found


def _one_line(kind: str, alike: Sequence[Change]) -> Change:
    pairs = tuple(pair for change in alike for pair in change.pairs)
    groups = list(dict.fromkeys(change.group for change in alike))
    text = groups[0]
    if len(groups) > 1:
        text = f"{text.partition(', such as ')[0]}; {plural(len(groups) - 1, 'other change')}"
    noun = "constant" if kind == "constant" else "layer"
    return Change(kind, None, None, f"{plural(len(pairs), noun)}: {text}", alike[0].outer, pairs)


def _is_of_constants(change: Change) -> bool:
    """Return whether constants have the same values with another element type, or are computed differently."""
    return change.change in ("type", "folded") and " constant" in change.text


def extremes(errors: Iterable[tuple[float, float]]) -> tuple[str, ...]:
    """Return a text with the largest error and the smallest ratio of several constants."""
    found = list(errors)
    if all(largest == 0 for largest, _ in found):
        return ("the same values",)
    return f"largest error {shown_number(max(e for e, _ in found))}", decibels(min(s for _, s in found))


def decibels(ratio: float) -> str:
    """Return the text of a signal-to-noise ratio."""
    return "no noise" if ratio == math.inf else f"SNR {ratio:.3g} dB" if math.isfinite(ratio) else "no signal"
