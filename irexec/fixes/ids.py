"""The ids of layers, or of the ports on one side of a layer, indexed once for all findings about them."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from irexec.fixes.written import Written, number
from irexec.ir.document import Layer, Net, Port

_MOST_FALLS = 2
"""If ids are out of order in this number of places, a single id can be the reason: it is in two pairs of neighbours."""


class Ids:
    """The ids that are numbers, in file order. The time of a query does not depend on their number.

    `places`: positions of the entries by the numbers of their elements. `lacking`: the number of entries without an id,
    or with the id of an earlier entry.
    """

    def __init__(self, entries: Sequence[Port] | Sequence[Layer]) -> None:
        self.entries = entries
        self.numbers = [number(entry.id) for entry in entries]
        self.places = {entry.at: place for place, entry in enumerate(entries)}
        self._known = [place for place, id in enumerate(self.numbers) if id is not None]
        self._alike: dict[int | None, list[int]] = {}
        for place in self._known:
            self._alike.setdefault(self.numbers[place], []).append(place)
        self.lacking = len(entries) - len(self._alike)
        self._falls = [(a, b) for a, b in pairwise(self._known) if self._number(a) >= self._number(b)]

    def __contains__(self, id: int) -> bool:
        return id in self._alike

    def fitting(self, at: int, id: int) -> list[int]:
        """Return the elements with the id of the element `at` that may get `id` so that all ids ascend."""
        if len(self._falls) > _MOST_FALLS:
            return []
        place = self.places[at]
        own = self.numbers[place]
        alike = [place] if own is None else self._alike[own]
        return [self.entries[other].at for other in alike if self._ascend(other, id)]

    def _ascend(self, place: int, id: int) -> bool:
        """Return whether the ids are in ascending order with `id` at a position; entries without an id fit anywhere."""
        spot = bisect_left(self._known, place)
        before = self._known[spot - 1 : spot] if spot else []
        behind = [other for other in self._known[spot : spot + 2] if other > place][:1]
        return (
            all(place in fall for fall in self._falls)
            and all(self._number(other) < id for other in before)
            and all(id < self._number(other) for other in behind)
        )

    def _number(self, place: int) -> int:
        found = self.numbers[place]
        assert found is not None
        return found


def ids_of_ports(layer: Layer, net: Net, written: Written, *, is_output: bool) -> Ids:
    """Return the ids on one side of a layer."""
    ports = layer.outputs if is_output else layer.inputs
    return written.shared(f"ids of {layer.at} {is_output}", net, lambda: Ids(ports))


def dangling_ids(layer: Layer, net: Net, written: Written, *, is_output: bool) -> set[int]:
    """Return the ids that edges name on one side of a layer and no port there has."""

    def make() -> set[int]:
        ids = ids_of_ports(layer, net, written, is_output=is_output)
        named = written.ports_named(net).get((is_output, number(layer.id)), set())
        return {id for id in named if id not in ids}

    return written.shared(f"ids dangling of {layer.at} {is_output}", net, make)


class Free:
    """The ids that are not in use by a port of a layer."""

    def __init__(self, layer: Layer) -> None:
        self._counts = Counter(number(port.id) for port in (*layer.inputs, *layer.outputs))
        # Maps each id in use to the first free id after it.
        self._behind: dict[int, int] = {}
        for id in sorted((id for id in self._counts if id is not None), reverse=True):
            self._behind[id] = self._behind.get(id + 1, id + 1)

    def from_(self, first: int, own: int | None) -> int:
        """Return the first free id from a number on, for a port whose own id is taken by another port."""
        found = self._behind.get(first, first)
        return own if own is not None and self._counts[own] == 1 and first <= own < found else found
