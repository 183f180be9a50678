"""Simpler cases that fail in the same way: parts of the name are removed one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from irexec.core.diagnostics import IRError
from irexec.core.records import replace
from irexec.tools.conformance.case import Case
from irexec.tools.conformance.drawing import made
from irexec.tools.conformance.graphs import usual_choices
from irexec.tools.conformance.grown import NAME as GROWN
from irexec.tools.conformance.grown import without_layers
from irexec.tools.conformance.made import case_named
from irexec.tools.conformance.names import CaseName, Dim, GraphName, Port

_MOST_TRIES = 120
_LARGEST_KEPT = 3
_SEEDS = 3
_CALLS = frozenset({"twice", "again"})
"""Flags of cases with several calls."""


def simplest(name: str, fails: Callable[[Case], bool], most: int = _MOST_TRIES) -> str:
    """Return the simplest name whose case still fails. `most`: the number of cases that are tried."""
    tries, progress = 0, True
    while progress and tries < most:
        progress = False
        for other in _simpler_names(name):
            if (case := _case(other)) is None:
                continue
            tries += 1
            if fails(case):
                name, progress = other, True
            if progress or tries >= most:
                break
    return name


def _simpler_names(text: str) -> Iterator[str]:
    """Yield simpler names: those of graphs leave out layers or choices of a pattern."""
    if not text.startswith("graph."):
        yield from map(str, _simpler(CaseName.parse(text)))
        return
    name = GraphName.parse(text)
    if name.pattern == GROWN:
        yield from map(str, without_layers(name))
    yield from map(str, name.simpler({} if name.pattern == GROWN else usual_choices(name.pattern)))


def _case(name: str) -> Case | None:
    """Return the case of a name; None if irexec does not accept it."""
    if not name.startswith("graph."):
        return made(CaseName.parse(name))
    try:
        return case_named(name)
    except (IRError, ValueError, TypeError, IndexError):
        return None


def _simpler(name: CaseName) -> Iterator[CaseName]:
    """Yield names without one of their parts, the largest simplifications first."""
    flags = tuple(flag for flag in name.flags if flag not in _CALLS)
    for call in (0, 1):
        alone = name.with_ports([None if p is None else p.in_call(call) for p in name.ports])
        if (alone.ports, flags) != (name.ports, name.flags):
            # A later call alone has other data, which need not fail: other seeds are tried as well.
            seeds = (name.seed, *range(_SEEDS)) if call else (name.seed,)
            yield from (replace(alone, flags=flags, seed=seed) for seed in seeds)
    if any(p is not None and p.second is not None for p in name.ports):
        yield name.with_ports([None if p is None else replace(p, second=None) for p in name.ports])
    for flag in name.flags:
        yield replace(name, flags=tuple(f for f in name.flags if f != flag))
    if any(p is not None and p.order is not None for p in name.ports):
        yield name.with_ports([None if p is None else replace(p, order=None) for p in name.ports])
    if name.data != "plain":
        yield replace(name, data="plain")
    for key, _ in name.attributes:
        yield replace(name, attributes=tuple(pair for pair in name.attributes if pair[0] != key))
    for index, port in enumerate(name.ports):
        if port is not None:
            yield from (_with(name, index, other) for other in _simpler_ports(port))
    extents = sorted({n for p in name.ports if p is not None for d in p.dims for n in d.extents}, reverse=True)
    for extent in extents:
        for smaller in (1, 2, extent // 2, extent - 1):
            if 0 < smaller < extent:
                yield name.with_ports([None if p is None else _renamed(p, extent, smaller) for p in name.ports])


def _with(name: CaseName, index: int, port: Port) -> CaseName:
    return name.with_ports([port if i == index else p for i, p in enumerate(name.ports)])


def _simpler_ports(port: Port) -> Iterator[Port]:
    if not port.constant and port.values is not None and len(port.values) <= _LARGEST_KEPT:
        yield replace(port, constant=True, dims=tuple(Dim((d.at(0),)) for d in port.dims), order=None)
    for place, dim in enumerate(port.dims):
        if dim.bounds is not None or (dim.dynamic and len(dim.extents) == 1):
            yield replace(port, dims=tuple(Dim((d.at(0),)) if i == place else d for i, d in enumerate(port.dims)))
    if len(port.dims) > 1 and port.values is None:
        for place in range(len(port.dims)):
            yield replace(port, dims=port.dims[:place] + port.dims[place + 1 :], order=None)


def _renamed(port: Port, old: int, new: int) -> Port:
    if port.values is not None:
        return port
    dims = tuple(
        Dim(tuple(new if n == old else n for n in d.extents), d.dynamic, None if d.bounds is None else (0, d.bounds[1]))
        for d in port.dims
    )
    return replace(port, dims=dims)
