"""Tolerances: how far correct results may differ by rounding or by chance."""

from __future__ import annotations

from typing import Literal, NamedTuple


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
