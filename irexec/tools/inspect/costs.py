"""Multiply-adds and peak memory of a dynamic model as functions of its sizes."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import lcm, prod
from typing import Any

import numpy as np

from irexec.core.records import record
from irexec.model.graph.model import Model
from irexec.model.inference import Inference
from irexec.tools.inspect.memory import peak_of
from irexec.tools.inspect.summary import multiply_adds_of
from irexec.tools.shapes.answer import Shapes
from irexec.tools.shapes.probe import Sizes

# The highest power of a size (attention is quadratic in the number of tokens), and the highest degree of a product.
_HIGHEST_POWER, _HIGHEST_DEGREE = 2, 5
_MOST_SYMBOLS = 5
# The number of sizes of each dimension at which the costs are determined, and the largest number of combinations of
# these sizes: twice the number of terms for five symbols.
_EACH, _MOST_SAMPLES = 4, 300
# The number of sizes of the alternatives with which the fitted costs are compared.
_OTHERS = 16
_MULTIPLES = (1, 32)
# A column counts as a combination of earlier columns if its independent part is at most this fraction of it.
_DEPENDENT = 1e-9


@record(frozen=True)
class Polynomial:
    """A sum of products of sizes. `terms`: the coefficients with the powers of the dimensions."""

    terms: tuple[tuple[int, tuple[tuple[int, int], ...]], ...]
    divisor: int = 1

    def value(self, sizes: Sizes) -> Fraction:
        whole = sum(factor * prod(sizes[dim] ** power for dim, power in powers) for factor, powers in self.terms)
        return Fraction(whole, self.divisor)

    def text(self, names: Sequence[str]) -> str:
        parts = [
            "*".join(
                [
                    *([str(factor)] if factor != 1 or not powers else []),
                    *(names[dim] for dim, power in powers for _ in range(power)),
                ]
            )
            for factor, powers in self.terms
        ]
        text = " + ".join(parts).replace("+ -", "- ") or "0"
        if self.divisor == 1:
            return text
        return f"({text}) // {self.divisor}" if len(parts) > 1 else f"{text} // {self.divisor}"


@record(frozen=True)
class Cost:
    """A cost as a polynomial of the sizes, valid for sizes that are multiples of `multiple`."""

    polynomial: Polynomial
    multiple: int

    def text(self, names: Sequence[str], unit: str = "") -> str:
        text = self.polynomial.text(names) + unit
        return text if self.multiple == 1 else f"{text} for multiples of {self.multiple}"


@record(frozen=True)
class Costs:
    """The costs of a model: `multiply_adds`, and the largest `activations` in bytes; None if no polynomial fits.

    `smallest`: both at the smallest sizes that the model accepts.
    """

    multiply_adds: Cost | None
    activations: Cost | None
    smallest: tuple[int | None, int | None]

    def to_dict(self, names: Sequence[str]) -> dict[str, str | None]:
        """Return both costs as formulas; `names`: the symbols of the dimensions."""
        return {
            "multiply_adds": None if self.multiply_adds is None else self.multiply_adds.text(names),
            "activations": None if self.activations is None else self.activations.text(names),
        }


def costs(shapes: Shapes, seconds: float = 10.0) -> Costs:
    """Return the costs of a model as functions of its sizes, fitted to the costs at some accepted sizes.

    A layer with a stride rounds sizes up, so that the costs may be a polynomial only for multiples of a number.
    `seconds`: the time limit, at which the costs found so far are returned.
    """
    found: list[Cost | None] = [None, None]
    end = time.thread_time() + seconds
    leads = _moving(shapes)
    decided = [sizes for sizes in shapes.decided_sizes if not shapes.broadcasts(sizes)]
    has_cases = len(shapes.alternatives) > 1
    for multiple in _MULTIPLES:
        samples = shapes.regular_samples(leads, _EACH, multiple) if len(leads) <= _MOST_SYMBOLS else []
        # Sizes between the samples show where a layer with a stride rounds.
        samples += shapes.regular_samples(leads, 2, multiple, start=1) if samples and multiple == 1 else []
        samples = random.Random(1).sample(samples, min(len(samples), _MOST_SAMPLES))
        made: list[tuple[Sizes, tuple[int | None, int | None]]] = []
        for sizes in samples:
            if time.thread_time() > end:
                return Costs(found[0], found[1], _costs_at(shapes, shapes.smallest_sizes))
            made.append((sizes, _costs_at(shapes, sizes)))
        regular = [sizes for sizes in decided if all(sizes[lead] % multiple == 0 for lead in leads)]
        others = [(sizes, _costs_at(shapes, sizes)) for sizes in regular[:: len(regular) // _OTHERS + 1]]
        # A model with alternatives accepts sizes that the samples around the base leave out.
        for index in (0, 1) if regular or not has_cases else ():
            if found[index] is None:
                polynomial = _fitted([(sizes, values[index]) for sizes, values in made], leads)
                if polynomial is not None and all(polynomial.value(each) == values[index] for each, values in others):
                    found[index] = Cost(polynomial, multiple)
        if None not in found:
            break
    return Costs(found[0], found[1], _costs_at(shapes, shapes.smallest_sizes))


def _moving(shapes: Shapes) -> list[int]:
    """Return the dimensions that change the costs; those of a mask, for example, often do not."""
    base = _costs_at(shapes, shapes.base_sizes)
    return [
        lead
        for lead in shapes.leads
        if any(_costs_at(shapes, sizes) != base for sizes in shapes.regular_samples([lead], 3, 1))
    ]


def _costs_at(shapes: Shapes, sizes: Sizes) -> tuple[int | None, int | None]:
    types = shapes.types_at(sizes)
    peak = peak_of(shapes.model, types)
    return _multiply_adds(shapes.model, types), None if peak is None else peak.bytes


def _multiply_adds(model: Model, types: Inference) -> int | None:
    """Return the multiply-adds of all layers; None if the number of a body's iterations depends on values."""
    total = 0
    for node in model.nodes:
        if node.bodies:
            return None
        found = multiply_adds_of(node, types)
        if found is None:
            return None
        total += found
    return total


def _fitted(samples: Sequence[tuple[Sizes, int | None]], dims: Sequence[int]) -> Polynomial | None:
    known = [(sizes, value) for sizes, value in samples if value is not None]
    if not known or len(known) < len(samples) or len(dims) > _MOST_SYMBOLS:
        return None
    every = sorted(
        (each for each in product(range(_HIGHEST_POWER + 1), repeat=len(dims)) if sum(each) <= _HIGHEST_DEGREE), key=sum
    )
    if len(known) <= len(every):
        return None
    scales = [max(sizes[dim] for sizes, _ in known) for dim in dims]
    columns = np.array(
        [
            [
                prod((sizes[dim] / scale) ** power for dim, scale, power in zip(dims, scales, each, strict=True))
                for sizes, _ in known
            ]
            for each in every
        ]
    )
    kept = _independent(columns)
    largest = max(abs(value) for _, value in known) or 1
    wanted = np.array([value / largest for _, value in known])
    solved = np.linalg.lstsq(columns[kept].T, wanted, rcond=1e-13)[0]
    return _exact(solved, [every[number] for number in kept], dims, scales, largest, known)


def _independent(columns: np.ndarray[Any, np.dtype[np.float64]]) -> list[int]:
    """Return the columns that are not combinations of earlier columns: conditions may relate the sizes."""
    kept: list[int] = []
    basis = np.zeros((0, columns.shape[1]))
    for number, column in enumerate(columns):
        rest = column - (basis @ column) @ basis
        rest -= (basis @ rest) @ basis
        if (length := np.linalg.norm(rest)) > _DEPENDENT * np.linalg.norm(column):
            kept.append(number)
            basis = np.concatenate([basis, rest[None] / length])
    return kept


def _exact(
    solved: np.ndarray[tuple[int], np.dtype[np.float64]],
    powers: Sequence[tuple[int, ...]],
    dims: Sequence[int],
    scales: Sequence[int],
    largest: int,
    known: Sequence[tuple[Sizes, int]],
) -> Polynomial | None:
    """Round the coefficients to simple fractions; None if the formula then misses a value."""
    terms: list[tuple[Fraction, tuple[tuple[int, int], ...]]] = []
    for coefficient, each in zip(solved.tolist(), powers, strict=True):
        scale = prod(size**power for size, power in zip(scales, each, strict=True))
        rounded = Fraction(coefficient * largest / scale).limit_denominator(1024)
        if rounded and abs(coefficient) > 1e-12:
            terms.append((rounded, tuple((dim, power) for dim, power in zip(dims, each, strict=True) if power)))
    divisor = lcm(*(factor.denominator for factor, _ in terms)) if terms else 1
    terms.sort(key=lambda term: -sum(power for _, power in term[1]))
    made = Polynomial(tuple((int(factor * divisor), each) for factor, each in terms), divisor)
    return made if all(made.value(sizes) == value for sizes, value in known) else None
