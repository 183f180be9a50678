"""Predicates: conditions of a pattern on a value beyond the type of its node, and the symbols that a match binds.

A symbol is a name in the text of `shape_matches`: if it occurs twice, both extents must be equal.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from irexec.api.opsets.element_types import element_type_of
from irexec.core.arguments import expected
from irexec.core.types import Dimension, PartialShape, as_dimension
from irexec.model.graph.model import Value

Symbols = dict[str, Any]


class Predicate:
    """A condition on a value: `Predicate(function)` of an output, or of the symbols and an output."""

    def __init__(self, predicate: Callable[..., bool] | None = None) -> None:
        self._takes_symbols = predicate is not None and _positional_count(predicate) > 1
        self._predicate = predicate

    def __call__(self, symbols: Symbols, value: Value) -> bool:
        """Return whether the value is accepted; symbols that it binds are added."""
        if self._predicate is None:
            return True
        return bool(self._predicate(symbols, value) if self._takes_symbols else self._predicate(value))


def as_predicate(given: Any) -> Predicate:
    """Return a predicate unchanged, or one that calls a function; None accepts every value."""
    return given if isinstance(given, Predicate) else Predicate(given)


def _positional_count(function: Callable[..., Any]) -> int:
    """Return the number of required positional arguments of a function."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # built into the interpreter, without a signature
        return 1
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in kinds and p.default is inspect.Parameter.empty for p in parameters)


def consumers_count(count: int) -> Predicate:
    """Return a predicate: exactly this number of inputs take the value."""
    return Predicate(lambda value: len(value.get_target_inputs()) == count)


def has_static_dim(position: int) -> Predicate:
    """Return a predicate: the extent of this axis is known."""
    return has_static_dims([position])


def has_static_dims(positions: Iterable[int]) -> Predicate:
    """Return a predicate: the extents of these axes are known."""
    wanted = list(positions)
    return Predicate(lambda value: _are_static(value.type.shape, wanted))


def _are_static(shape: PartialShape, positions: list[int]) -> bool:
    rank = shape.rank
    return rank is not None and all(-rank <= p < rank and shape.dims[p].is_static for p in positions)


def has_static_shape() -> Predicate:
    """Return a predicate: all extents are known."""
    return Predicate(lambda value: value.type.shape.is_static)


def has_static_rank() -> Predicate:
    """Return a predicate: the number of axes is known."""
    return Predicate(lambda value: value.type.rank is not None)


def rank_equals(rank: Any) -> Predicate:
    """Return a predicate: the value has this rank; a dynamic Dimension stands for an unknown rank."""
    wanted = as_dimension(rank)
    count = wanted.min if wanted.is_static else None
    return Predicate(lambda value: value.type.rank == count)


def type_matches(element_type: Any) -> Predicate:
    """Return a predicate: the value has this element type."""
    return type_matches_any([element_type])


def type_matches_any(element_types: Iterable[Any]) -> Predicate:
    """Return a predicate: the value has one of these element types."""
    wanted = [element_type_of(kind) for kind in element_types]
    return Predicate(lambda value: value.element_type in wanted)


def shape_matches(notation: str) -> Predicate:
    """Return a predicate: the shape matches the text, such as `[1, ?, H, W]`, with `...` or `Name...` for any number of
    axes.

    A number is an extent, `?` any extent, a name any known extent, the same wherever the name occurs. Raises ValueError
    for a text with more than one `...`.
    """
    inner = expected(notation, str, "shape_matches()").strip().strip("[]")
    items = [item.strip() for item in inner.split(",") if item.strip()]
    if sum(item.endswith("...") for item in items) > 1:
        raise ValueError(f"{notation!r} has `...` more than once")
    return Predicate(lambda symbols, value: _shape_matches(items, value.type.shape, symbols))


def _shape_matches(items: list[str], shape: PartialShape, symbols: Symbols) -> bool:
    if shape.rank is None:
        return False
    dims = list(shape.dims)
    several = next((index for index, item in enumerate(items) if item.endswith("...")), None)
    if several is not None:
        count = len(dims) - len(items) + 1
        if count < 0:
            return False
        group = dims[several : several + count]
        name = items[several].removesuffix("...").strip()
        if name and not (all(d.is_static for d in group) and _bind(symbols, name, [d.min for d in group])):
            return False
        items, dims = items[:several] + items[several + 1 :], dims[:several] + dims[several + count :]
    return len(items) == len(dims) and all(
        _dim_matches(item, dim, symbols) for item, dim in zip(items, dims, strict=True)
    )


def _dim_matches(item: str, dim: Dimension, symbols: Symbols) -> bool:
    if item == "?":
        return True
    if not dim.is_static:
        return False
    return dim.min == int(item) if item.lstrip("-").isdigit() else _bind(symbols, item, dim.min)


def _bind(symbols: Symbols, name: str, value: Any) -> bool:
    """Bind a symbol to a value; return False if the symbol already has another value."""
    return bool(symbols.setdefault(name, value) == value)


def attrs_match(attributes: Mapping[str, Any]) -> Predicate:
    """Return a predicate: the node has these attributes with these values. Raises RuntimeError if none is given."""
    wanted = dict(attributes)
    if not wanted:
        raise RuntimeError("attrs_match names no attribute: every node would match")
    return Predicate(lambda value: _attributes_match(wanted, value.node.get_attributes()))


def _attributes_match(wanted: Mapping[str, Any], found: Mapping[str, Any]) -> bool:
    return all(name in found and _plain(value) == _plain(found[name]) for name, value in wanted.items())


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def rank_more_than(rank: int) -> Predicate:
    """Return a predicate: the rank is known and larger than a number."""
    return Predicate(lambda value: value.type.rank is not None and value.type.rank > rank)
