"""Tolerances: how far correct results may differ, by rounding, by chance, or because a page leaves the result open."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias

from irexec.core.records import record
from irexec.core.types import Array


class Tolerance(NamedTuple):
    """The difference allowed between two correct results: "exact", "rounded" by some units in the last place, or
    "random".

    `per`: the units are multiplied by the root of the number of terms in the sum ("root"), or by the extent of the
    interpolated axes ("extent"). `least`: results of smaller magnitude are compared in units of this number; if `among`
    names inputs, it is the largest magnitude in these inputs.
    """

    kind: Literal["exact", "rounded", "random"]
    ulp: float = 0.0
    per: Literal["element", "root", "extent"] = "element"
    least: float = 0.0
    among: tuple[str, ...] = ()


exact = Tolerance("exact")
random = Tolerance("random")


def rounded(ulp: float, *, least: float = 0.0, among: tuple[str, ...] = ()) -> Tolerance:
    """Return the tolerance of results that may differ by this many units in the last place of their element type.

    `least` is for results that are small because larger numbers cancel in the usual computation, such as exp(x) - 1:
    OpenVINO's Elu and Erf differ by up to 1 and 8 units of 1 near 0. `among` names the inputs that contain such larger
    numbers.
    """
    return Tolerance("rounded", ulp, least=least, among=among)


def summed(ulp: float) -> Tolerance:
    """Return the tolerance of sums in any order: with n terms, they may differ by this many units times the root of n.

    In a sum of n terms in floats, each partial sum is rounded; these errors are independent and of the size of the
    sum's typical unit, so they add up as the root of n. A few such deviations are allowed, for the largest of many
    elements: the largest measured difference from OpenVINO is 5, for 3 × 3 kernels with 1,728 terms.
    """
    return Tolerance("rounded", ulp, "root")


def positioned(ulp: float) -> Tolerance:
    """Return the tolerance of values interpolated at positions that are computed in floats: if the resized axes have n
    elements in total, results may differ by this many units times n.

    A position near n has an error of some units of n, and so does the weight of a neighbour. For Interpolate, on white
    noise and an axis of 16 to 2,048 elements, irexec and f64 are up to 2.6 times n units apart, OpenVINO and f64 up to
    6.0, OpenVINO and irexec up to 5.7 with aligned corners; if both take the same steps, as ONNX Runtime does, the
    difference is 3 units.
    """
    return Tolerance("rounded", ulp, "extent")


@record(eq=False)
class Open:
    """A result that the page leaves open: the values that each slot of the output may take.

    The output, seen as rows of `slice_size` elements, may hold in row `r` any one of `candidates[r]` (each an array of
    slice_size elements); the other rows are determined.
    """

    note: str
    slice_size: int
    candidates: dict[int, list[Array]]


@record(frozen=True)
class Allowed:
    """Results that a page allows besides the kernel's.

    `nan`: the numbers that a layer which orders values may read instead of NaN, by the attribute `reduction` if they
    depend on it. `special`: false if the page does not define the results for NaN, infinities and zeros. `limit`:
    infinity times zero may be 0 instead of NaN. `cancels`: the formula on the page adds 1 to small numbers or subtracts
    it, so that small results may be lost. `rounding`: integers may be rounded "either" way, or their rounding is
    "open". `mixes`: each result depends on several elements of an input of the same shape. `reciprocal`: a quotient may
    be a product with a reciprocal, which is rounded twice. `ties`: the choice or the order of equal "values", or of
    "boxes" with equal scores, is undefined. `moves`: `f(*inputs, **attributes)` returns whether all results may be
    moved by less than their step. `composes`: false if inputs have a special meaning, such as boxes, or if errors are
    amplified, so that generated graphs do not contain the operator. `chosen`: `f(expected, found, *inputs,
    **attributes)` returns whether `found` is another valid choice; None if the inputs allow only one choice.
    """

    nan: tuple[float, ...] | dict[str, tuple[float, ...]] = ()
    special: bool = True
    limit: bool = False
    cancels: bool = False
    rounding: Literal["", "either", "open"] = ""
    mixes: bool = False
    reciprocal: bool = False
    ties: Literal["", "values", "boxes"] = ""
    moves: Callable[..., bool] | None = None
    composes: bool = True
    chosen: Callable[..., bool | None] | None = None


LARGEST, LEAST = Allowed(nan=(-math.inf,)), Allowed(nan=(math.inf,))
"""The results allowed for the largest and for the least of several values."""
REDUCED = Allowed(nan={"max": (-math.inf,), "min": (math.inf,)})
"""The results allowed for values that an attribute `reduction` combines."""
FINITE, ROUNDED = Allowed(special=False), Allowed(rounding="open")
"""The declarations of operators whose pages define only results for finite numbers, or not the rounding of integers."""


Undefined: TypeAlias = bool | Literal["no result"] | tuple[Array, ...]
"""The part of the results that a page leaves undefined for some inputs: no value (False), all values (True), even their
existence ("no result"), or a mask of the undefined elements for each output."""
