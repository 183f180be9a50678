"""Einsum: sums of products, described by an equation on the labels of dimensions.

Source: operation page Einsum-7.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod

import numpy as np

from irexec.core.records import record
from irexec.core.types import Array, Dimension, PartialShape, TensorType
from irexec.ops.compute.products import settle, sum_dtype
from irexec.ops.matrix.product import multiply, product_shape
from irexec.ops.spec.operator import Check, ConstraintError, operator, require, rounded
from irexec.ops.spec.tensors import NumericTensor
from irexec.ops.spec.traits import MayOverflow

Labels = tuple[str, ...]
_SUBSCRIPT = re.compile(r"[A-Za-z]*(\.\.\.[A-Za-z]*)?\Z")


@record(frozen=True)
class Equation:
    """The labels of each input and of the output; the ellipsis is the label `...`."""

    inputs: tuple[Labels, ...]
    output: Labels

    @staticmethod
    def parse(text: str) -> Equation:
        """Read an equation in explicit or implicit mode. Raises ConstraintError C1 or C2."""
        left, arrow, right = text.replace(" ", "").partition("->")
        inputs = tuple(_labels(part, f"input {n}") for n, part in enumerate(left.split(",")))
        seen = [label for labels in inputs for label in labels]
        if not arrow:
            once = sorted(label for label in set(seen) if seen.count(label) == 1 and label != "...")
            return Equation(inputs, (*(["..."] if "..." in seen else []), *once))
        output = _labels(right, "the output")
        strange = sorted(set(output) - set(seen))
        require("C2", not strange, f"the output contains {', '.join(strange)}, which no input contains")
        require("C2", len(set(output)) == len(output), f"the output {right!r} repeats a label")
        return Equation(inputs, output)


def _labels(part: str, where: str) -> Labels:
    is_subscript = _SUBSCRIPT.match(part) is not None
    require("C1", is_subscript, f"the subscript {part!r} of {where} may contain only letters and at most one ellipsis")
    return tuple(re.findall(r"\.\.\.|[A-Za-z]", part))


def _spread(labels: Labels, rank: int, port: str) -> Labels:
    """Return the labels with the ellipsis expanded to numbers, from its right end. Raises ConstraintError C4."""
    covered = rank - len([label for label in labels if label != "..."])
    fits = covered == 0 or (covered > 0 and "..." in labels)
    require("C4", fits, f"{port} has rank {rank}, which its subscript {''.join(labels)!r} does not fit", port=port)
    dots = tuple(f".{n}" for n in reversed(range(covered)))
    at = labels.index("...") if "..." in labels else len(labels)
    return (*labels[:at], *dots, *labels[at + 1 :])


@operator("Einsum", "opset7", MayOverflow, tolerance=rounded(64))
def einsum_7(*inputs: NumericTensor, equation: str) -> NumericTensor:
    """Sums of products of `inputs` over the labels that are missing in the output subscript of `equation`.

    C1: subscripts are letters with at most one ellipsis. C2: the output's labels are labels of inputs, each once. C3:
    there is one subscript per input. C4: a subscript covers its input's rank. C5: dimensions of one label, in one
    input, are equal. C6: dimensions of one label in different inputs broadcast.
    """
    parsed = Equation.parse(equation)
    labels = [
        _spread(part, x.ndim, f"inputs[{n}]") for n, (part, x) in enumerate(zip(parsed.inputs, inputs, strict=True))
    ]
    longest = max((sum(label[0] == "." for label in part) for part in labels), default=0)
    dots = tuple(f".{n}" for n in reversed(range(longest)))
    output = tuple(label for part in parsed.output for label in (dots if part == "..." else (part,)))
    extents = _extents(labels, inputs)
    declared = inputs[0].dtype
    dtype = sum_dtype(declared, prod(extents.values()))
    terms = [_Term.diagonal(x.astype(dtype, copy=False), part) for x, part in zip(inputs, labels, strict=True)]
    with np.errstate(over="ignore", invalid="ignore"):
        total = terms[0]
        for number, term in enumerate(terms[1:], 1):
            later = set(output).union(*(t.labels for t in terms[number + 1 :]))
            total = _contract(total, term, later)
        result = total.summed(set(output)).ordered(output)
        shape = tuple(extents[label] for label in output)
    return settle(np.array(np.broadcast_to(result.array, shape)), declared)


def _extents(labels: list[Labels], inputs: tuple[Array, ...]) -> dict[str, int]:
    """Return the extent of each label."""
    extents: dict[str, int] = {}
    for part, x in zip(labels, inputs, strict=True):
        for label, extent in zip(part, x.shape, strict=True):
            if extents.get(label, 1) == 1:
                extents[label] = extent
    return extents


@record(frozen=True)
class _Term:
    """An operand whose axes have distinct labels."""

    array: Array
    labels: Labels

    @staticmethod
    def diagonal(array: Array, labels: Labels) -> _Term:
        """Return a term of an array; repeated labels select its diagonal."""
        unique = tuple(dict.fromkeys(labels))
        if len(unique) < len(labels):
            numbers = {label: n for n, label in enumerate(unique)}
            array = np.einsum(array, [numbers[label] for label in labels], list(range(len(unique))))
        return _Term(array, unique)

    def summed(self, keep: set[str]) -> _Term:
        """Return the term summed over the labels that are not in `keep`."""
        axes = tuple(n for n, label in enumerate(self.labels) if label not in keep)
        if not axes:
            return self
        return _Term(self.array.sum(axis=axes, dtype=self.array.dtype), tuple(x for x in self.labels if x in keep))

    def ordered(self, labels: Labels) -> _Term:
        """Return the term with its axes in this order; a missing label becomes an axis of extent 1."""
        have = [label for label in labels if label in self.labels]
        array = self.array.transpose([self.labels.index(label) for label in have])
        return _Term(array.reshape([array.shape[have.index(x)] if x in have else 1 for x in labels]), labels)


def _contract(a: _Term, b: _Term, later: set[str]) -> _Term:
    """Return the product of two terms, summed over labels not needed later, as one stack of matrix products."""
    a, b = a.summed(later | set(b.labels)), b.summed(later | set(a.labels))
    shared = [label for label in a.labels if label in b.labels]
    sizes_a, sizes_b = (dict(zip(t.labels, t.array.shape, strict=True)) for t in (a, b))
    inner = tuple(x for x in shared if x not in later and sizes_a[x] == sizes_b[x])
    # A label whose extent is 1 in one term only is summed in the second term if possible, and kept otherwise.
    a, b = (
        a.summed(set(a.labels) - _alone(shared, later, sizes_a, sizes_b)),
        b.summed(set(b.labels) - _alone(shared, later, sizes_b, sizes_a)),
    )
    batch = tuple(x for x in shared if x not in inner and x in a.labels and x in b.labels)
    left = tuple(x for x in a.labels if x not in batch and x not in inner)
    right = tuple(x for x in b.labels if x not in batch and x not in inner)
    x, y = a.ordered((*batch, *left, *inner)).array, b.ordered((*batch, *inner, *right)).array
    n, m, k = len(batch), len(left), len(inner)
    rows, depth, columns = prod(x.shape[n : n + m]), prod(x.shape[n + m :]), prod(y.shape[n + k :])
    left_shape, right_shape = x.shape[n : n + m], y.shape[n + k :]
    x, y = x.reshape((*x.shape[:n], rows, depth)), y.reshape((*y.shape[:n], depth, columns))
    target = np.empty(product_shape(x.shape, y.shape), x.dtype)
    multiply(x, y, target)
    labels = tuple(z for z in (*batch, *left, *right))
    return _Term(target.reshape((*target.shape[:-2], *left_shape, *right_shape)), labels).summed(later)


def _alone(shared: list[str], later: set[str], here: dict[str, int], there: dict[str, int]) -> set[str]:
    """Return the labels to sum immediately: labels not needed later whose extent is 1 in the other term only."""
    return {x for x in shared if x not in later and here[x] != there[x] and there[x] == 1}


@einsum_7.multiply_adds
def _(outputs: Sequence[TensorType], *inputs: TensorType, equation: str) -> int:
    """Return an upper bound of the number of products: for each combination of labels, one less than operands."""
    extents: dict[str, int] = {}
    for part, tensor in zip(Equation.parse(equation).inputs, inputs, strict=True):
        shape = tensor.shape.to_shape()
        for label, extent in zip(_spread(part, len(shape), ""), shape, strict=True):
            extents[label] = max(extent, extents.get(label, 1))
    return (len(inputs) - 1) * prod(extents.values())


@einsum_7.shapes
def _(check: Check, *inputs: TensorType, equation: str) -> PartialShape:
    try:
        parsed = Equation.parse(equation)
    except ConstraintError as error:
        check(error.constraint, False, f"equation: {error.message}", attribute="equation", found=equation)
        return PartialShape.dynamic()
    count, given = len(parsed.inputs), len(inputs)
    message = f"the equation has {count} subscripts, expected one for each of the {given} inputs"
    if not check("C3", count == given, message, attribute="equation", found=str(count), allowed=str(given)):
        return PartialShape.dynamic()
    extents: dict[str, Dimension] = {}
    longest, complete = 0, True
    for number, (part, tensor) in enumerate(zip(parsed.inputs, inputs, strict=True)):
        port = f"inputs[{number}]"
        if tensor.rank is None:
            complete = complete and "..." not in part
            # The extents may be any that extents of 1 in other inputs are broadcast to.
            for label in set(part) - {"..."}:
                extents[label] = extents.get(label, Dimension(-1)).broadcast(Dimension(-1)) or Dimension(-1)
            continue
        try:
            labels = _spread(part, tensor.rank, port)
        except ConstraintError as error:
            check(error.constraint, False, error.message, port=port, found=str(tensor.rank), hint=error.hint)
            return PartialShape.dynamic()
        longest = max(longest, sum(label[0] == "." for label in labels))
        _note(check, port, labels, tensor.shape, extents)
    if not complete and "..." in parsed.output:
        return PartialShape.dynamic()
    dots = tuple(f".{n}" for n in reversed(range(longest)))
    output = tuple(label for part in parsed.output for label in (dots if part == "..." else (part,)))
    return PartialShape([extents.get(label, Dimension(-1)) for label in output])


def _note(check: Check, port: str, labels: Labels, shape: PartialShape, extents: dict[str, Dimension]) -> None:
    """Check C5 and C6; add the extents of one input to `extents` by label."""
    here: dict[str, Dimension] = {}
    for label, extent in zip(labels, shape, strict=True):
        merged = here.get(label, extent).merge(extent)
        message = f"{port}: the repeated label {label} has different extents, {here.get(label)} and {extent}"
        if check("C5", merged is not None, message, port=port):
            here[label] = merged or extent
    for label, extent in here.items():
        together = extents.get(label, extent).broadcast(extent)
        message = f"label {label} has extent {extent} in {port}, expected {extents.get(label)} as in an earlier input"
        if check("C6", together is not None, message, port=port, found=str(extent)) and together is not None:
            extents[label] = together
