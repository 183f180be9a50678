"""The shapes that ONNX requires of a node's inputs, written as `x: N C ...; scale: C; bias: C`.

One pattern for each input, in order. A name stands for one extent, the same wherever it occurs; `_` for any extent;
`...` for any number of them, `D...` for the same ones wherever it occurs; `n.rank` for the rank of the input n; `4*H`
for a product. The names of the node's integer attributes stand for their values. `scalar` is a value of one element, as
exporters write it, `[]` a value without axes,
`<X` a shape that broadcasts to that of the input X. `|` separates alternatives; an input without a pattern has any
shape.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest

from irexec.core.types import Dimension, PartialShape
from irexec.frontends.onnx.errors import Refused

Extents = dict[str, int]
"""The extents that names stand for, as far as they are known."""


def check_shapes(patterns: str, shapes: Sequence[PartialShape | None], known: Mapping[str, int]) -> None:
    """Compare the shapes of a node's inputs (None for an omitted input) with their patterns. `known`: extents that
    attributes give. Raises Refused (O001)."""
    names = [part.partition(":")[0].strip() for part in patterns.split(";")]
    found, given = dict(known), dict(zip(names, shapes, strict=False))
    for name, shape in given.items():
        if shape is not None and shape.rank is not None:
            found[f"{name}.rank"] = shape.rank
    for part, shape in zip(patterns.split(";"), shapes, strict=False):
        name, _, pattern = (text.strip() for text in part.partition(":"))
        if not pattern or shape is None or shape.rank is None:
            continue
        for alternative in pattern.split("|"):
            if (bound := _matched(alternative.strip(), shape, found, given)) is not None:
                found |= bound
                break
        else:
            expected = " or ".join(dict.fromkeys(_described(text.strip(), found, given) for text in pattern.split("|")))
            message = f"{name} has the shape {shape}, expected {expected}"
            raise Refused("O001", message, port=name, found=str(shape), allowed=expected)


def _matched(
    pattern: str, shape: PartialShape, found: Extents, given: Mapping[str, PartialShape | None]
) -> Extents | None:
    """Return the extents that names of the pattern stand for in a shape that matches it; None if it does not."""
    if pattern == "scalar":
        return {} if shape.rank == 0 or shape.compatible(PartialShape([1])) else None
    if pattern == "[]":
        return {} if shape.rank == 0 else None
    if pattern.startswith("<"):
        target = given.get(pattern[1:])
        return {} if target is None or broadcasts_to(shape, target) else None
    extents = list(shape)
    bound = dict(found)
    terms = _spread(pattern, bound, len(extents))
    if len(terms) != len(extents):
        return None
    fits = all(_fits(term, extent, bound) for term, extent in zip(terms, extents, strict=True))
    return bound if fits else None


def _spread(pattern: str, bound: Extents, rank: int | None = None) -> list[str]:
    """Return the terms of a pattern, with one for each extent that `...` stands for in a shape of this rank; without a
    rank, `D...` stands for as many extents as it did elsewhere."""
    terms = pattern.split()
    at = next((i for i, term in enumerate(terms) if term.endswith("...")), None)
    if at is None:
        return terms
    name = terms[at].removesuffix("...")
    count = bound.get(f"{name}.count", -1 if rank is None else rank - len(terms) + 1)
    if count < 0:
        return terms
    if name:
        bound[f"{name}.count"] = count
    terms[at : at + 1] = [f"{name}[{i}]" if name else "_" for i in range(count)]
    return terms


def _fits(term: str, extent: Dimension, bound: Extents) -> bool:
    """Compare an extent with a term; the only unknown name of the term gets its extent."""
    product, unknown = _product(term, bound)
    if term == "_" or not extent.is_static:
        return True
    if not unknown:
        return extent.value == product
    if len(unknown) == 1:
        if not product or extent.value % product:
            return False
        bound[unknown[0]] = extent.value // product
    return True


def _product(term: str, bound: Extents) -> tuple[int, list[str]]:
    """Return the product of the known factors of a term, and the names of the others."""
    product, unknown = 1, []
    for factor in term.split("*"):
        if factor.isdigit() or factor in bound:
            product *= int(factor) if factor.isdigit() else bound[factor]
        else:
            unknown.append(factor)
    return product, unknown


def _described(pattern: str, found: Extents, given: Mapping[str, PartialShape | None]) -> str:
    """Return a pattern with the extents that are known, as `[2,3,_]`."""
    if pattern in ("scalar", "[]"):
        return "[]"
    if pattern.startswith("<"):
        return f"one that broadcasts to that of {pattern[1:]}, {given[pattern[1:]]}"
    terms = []
    for term in _spread(pattern, found):
        product, unknown = _product(term, found)
        terms.append(term if unknown else str(product))
    return f"[{','.join(terms)}]"


def broadcasts_to(shape: PartialShape, target: PartialShape) -> bool:
    """Return False if a shape does not broadcast to the target without changing it, as far as the extents are known."""
    if shape.rank is None or target.rank is None:
        return True
    if shape.rank > target.rank:
        return False
    pairs = zip_longest(reversed(list(shape)), reversed(list(target)), fillvalue=Dimension(1))
    return all(a == 1 or not (a.is_static and b.is_static) or a == b for a, b in pairs)
