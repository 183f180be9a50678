"""How far right results may lie apart: by rounding, by chance, or because a page leaves open which one it is."""

from __future__ import annotations

from typing import Literal

from irexec.records import NamedTuple, record
from irexec.types import Array


class Tolerance(NamedTuple):
    """How far two right results may lie apart: "exact", "rounded" by some units in the last place, or "random".

    `per`: the units are for each square root of the number of terms that an element is a sum of, or for each element of
    the axes along which it lies between others. `least`: smaller numbers are counted in the units of this one, which is
    the largest magnitude of the inputs that `among` names, where it names any.
    """

    kind: Literal["exact", "rounded", "random"]
    ulp: float = 0.0
    per: Literal["element", "root", "extent"] = "element"
    least: float = 0.0
    among: tuple[str, ...] = ()


exact = Tolerance("exact")
random = Tolerance("random")


def rounded(ulp: float, *, least: float = 0.0, among: tuple[str, ...] = ()) -> Tolerance:
    """Results that may differ by this many units in the last place of the output's element type.

    `least` is for what is small because larger numbers cancel in the usual way to compute it, such as exp(x) - 1:
    OpenVINO's Elu and Erf are off by up to 1 and 8 units of 1 near 0. `among` names inputs that are such numbers.
    """
    return Tolerance("rounded", ulp, least=least, among=among)


def summed(ulp: float) -> Tolerance:
    """Sums that may be taken in any order: of n terms, results may differ by this many units times the root of n.

    In a sum of n terms in floats, each partial sum is rounded; these errors are independent and of the size of the
    sum's typical unit, so they add up as the root of n. A few such deviations are allowed, for the largest of many
    elements: the most that was measured beside OpenVINO is 5, of 3 × 3 kernels with 1,728 terms.
    """
    return Tolerance("rounded", ulp, "root")


def positioned(ulp: float) -> Tolerance:
    """Values between others, at places that are computed in floats: where axes of n elements together change, results
    may differ by this many units times n.

    A place near n is off by some units of n, and so is the weight of a neighbour. Of Interpolate, on white noise and an
    axis of 16 to 2,048 elements, irexec and f64 are up to 2.6 times n units apart, OpenVINO and f64 up to 6.0, OpenVINO
    and irexec up to 5.7 with aligned corners; where both take the same steps, as ONNX Runtime does, there are 3 units.
    """
    return Tolerance("rounded", ulp, "extent")


@record(eq=False)
class Open:
    """A result that the page leaves open: which values each slot of the output may take.

    The output, seen as rows of `slice_size` elements, may hold in row `r` any one of `candidates[r]` (each an array of
    slice_size elements); rows that are not named are determined.
    """

    note: str
    slice_size: int
    candidates: dict[int, list[Array]]
