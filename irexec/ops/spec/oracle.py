"""The oracle of an operator: which inputs to try, and which results besides the kernel's are right.

Only tests and debugging ask it. The functions of an oracle receive the inputs and attributes of a call, as the kernel
does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np

from irexec.core.records import record
from irexec.core.types import Array, ElementType, TensorType
from irexec.ops.spec.binding import LaterBinding
from irexec.ops.spec.signature import Signature

F = TypeVar("F", bound=Callable[..., Any])
G = TypeVar("G")
Inputs: TypeAlias = Sequence[Array | None]
Undefined: TypeAlias = bool | Literal["no result"] | tuple[Array, ...]
"""The part of the results that a page leaves undefined for some inputs: no value (False), all values (True), even their
existence ("no result"), or a mask of the undefined elements for each output."""

_LOST, _LOWEST = 1e-5, 3e38
"""The magnitude below which a result that cancels may be lost, and the extremum of no numbers in place of infinity."""


class Tolerance(NamedTuple):
    """The difference allowed between two correct results: "exact", "rounded" by some units in the last place, or
    "random".

    `per`: the units are multiplied by the root of the number of terms in the sum ("root"), by the extent of the
    interpolated axes ("extent"), or by that of the transformed axes ("angle"). `least`: results of smaller magnitude
    are compared in units of this number; if `among` names inputs, it is the largest magnitude in these inputs.
    """

    kind: Literal["exact", "rounded", "random"]
    ulp: float = 0.0
    per: Literal["element", "root", "extent", "angle"] = "element"
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


def transformed() -> Tolerance:
    """Return the tolerance of a sum of terms that are turned by angles computed in floats: 6π units times n, if the
    transformed axes have n elements in total.

    The largest angle, 2πjk / n, is nearly 2πn, and its unit as many times that of 1. It is rounded three times: π, the
    product and the quotient. OpenVINO's DFT of 7 to 4,099 elements, no power of 2, and f64 are up to 17.8 n units
    apart; with powers of 2 and for RDFT it computes smaller angles, and the errors are those of `summed(2)`.
    """
    return Tolerance("rounded", 6 * math.pi, "angle")


@record(eq=False)
class Open:
    """A result that the page leaves open: the values that each slot of the output may take.

    The output, seen as rows of `slice_size` elements, may hold in row `r` any one of `candidates[r]` (each an array of
    slice_size elements); the other rows are determined.
    """

    note: str
    slice_size: int
    candidates: dict[int, list[Array]]

    @property
    def text(self) -> str:
        places = len(self.candidates)
        return f"{places} place{'s' * (places != 1)} of the result with more than one correct value: {self.note}"


@record(frozen=True)
class Deviation:
    """OpenVINO's treatment of the sizes of a layer. `text` completes a sentence that begins with the layer's name.

    Without a flag, OpenVINO refuses sizes that the page allows. `accepts`: it accepts sizes that the page does not
    allow. `resizes`: the outputs have other sizes, so that later layers may accept or refuse any sizes.
    """

    text: str
    accepts: bool = False
    resizes: bool = False


@record(frozen=True)
class Allowed:
    """Results that a page allows besides the kernel's.

    `nan`: the numbers that a layer which orders values may read instead of NaN, by the attribute `reduction` if they
    depend on it. `special`: false if the page does not define the results for NaN, infinities and zeros. `limit`:
    infinity times zero may be 0 instead of NaN. `cancels`: the formula on the page adds 1 to small numbers or subtracts
    it, so that small results may be lost. `rounding`: integers may be rounded "either" way, or their rounding is
    "open". `mixes`: each result depends on several elements of an input of the same shape. `reciprocal`: a quotient may
    be a product with a reciprocal, which is rounded twice. `ties`: `f(*inputs, **attributes)` returns a message if the
    results depend on the choice or order of equal values. `moves`: `f(*inputs, **attributes)` returns whether all
    results may be moved by less than their step. `composes`: false if inputs have a special meaning, such as boxes, or
    if errors are amplified, so that generated graphs do not contain the operator. `chosen`: `f(expected, found,
    *inputs, **attributes)` returns whether `found` is another valid choice; None if the inputs allow only one choice.
    """

    nan: tuple[float, ...] | dict[str, tuple[float, ...]] = ()
    special: bool = True
    limit: bool = False
    cancels: bool = False
    rounding: Literal["", "either", "open"] = ""
    mixes: bool = False
    reciprocal: bool = False
    ties: Callable[..., str | None] | None = None
    moves: Callable[..., bool] | None = None
    composes: bool = True
    chosen: Callable[..., bool | None] | None = None


LARGEST, LEAST = Allowed(nan=(-math.inf,)), Allowed(nan=(math.inf,))
"""The results allowed for the largest and for the least of several values."""
REDUCED = Allowed(nan={"max": (-math.inf,), "min": (math.inf,)})
"""The results allowed for values that an attribute `reduction` combines."""
FINITE, ROUNDED = Allowed(special=False), Allowed(rounding="open")
"""The declarations of operators whose pages define only results for finite numbers, or not the rounding of integers."""


class Called(Protocol):
    """The members of an operator that its oracle uses."""

    @property
    def signature(self) -> Signature: ...
    def binding(self, function: Callable[..., Any], role: str, *, ports: int | None = None) -> LaterBinding: ...
    def padded(self, inputs: Sequence[G | None]) -> Sequence[G | None]: ...
    def compute(self, *inputs: Any, **attributes: Any) -> Any: ...


class Oracle:
    """The declarations of one operator for tests and debugging, and the answers that follow from them."""

    def __init__(self, operator: Called, tolerance: Tolerance) -> None:
        self._operator, self.tolerance = operator, tolerance
        self.allowed = Allowed()
        self.generators: dict[str, Callable[..., Any]] = {}
        self.deviation_ports: tuple[str, ...] = ()
        self._deviation: Callable[..., Deviation | None] | None = None
        self._alternatives: Callable[..., Open | None] | None = None
        self._undefined: Callable[..., Undefined] | None = None

    # Declarations. The functions request attributes and groups by parameter name.

    def draw(self, *ports: str) -> Callable[[F], F]:
        """Declare a generator of random values for these ports: `f(rng, port, types, *, attributes)` → array or None.

        `types` maps input names to static TensorTypes, which have a `.value` if the input was drawn before.
        """

        def declare(function: F) -> F:
            binding = self._operator.binding(function, "generator of random values", ports=3)
            for port in ports:
                self.generators[port] = lambda rng, port, types, attributes: function(
                    rng, port, types, **binding(attributes)
                )
            return function

        return declare

    def alternatives(self, function: F) -> F:
        """Declare the parts of a result that the page leaves open: `f(*inputs, *, attributes)` → Open or None."""
        self._alternatives = self._bound(function, "function of alternatives")
        return function

    def undefined_for(self, function: F) -> F:
        """Declare the parts of the result that the page leaves undefined: `f(*inputs, *, attributes)` → Undefined."""
        self._undefined = self._bound(function, "rule of undefined results")
        return function

    def deviates(self, *ports: str) -> Callable[[F], F]:
        """Declare deviations, given the types of `ports`: `f(*input types, *, attributes)` → Deviation or None."""

        def declare(function: F) -> F:
            self.deviation_ports, self._deviation = ports, self._bound(function, "deviation")
            return function

        return declare

    def _bound(self, function: Callable[..., Any], role: str) -> Callable[..., Any]:
        binding = self._operator.binding(function, role)
        return lambda *inputs, **attributes: function(*inputs, **binding(attributes))

    # Answers.

    def deviation(self, inputs: Sequence[TensorType | None], attributes: dict[str, Any]) -> Deviation | None:
        """Return how OpenVINO deviates from the page for inputs of these types."""
        return None if self._deviation is None else self._deviation(*self._operator.padded(inputs), **attributes)

    def open(self, *inputs: Array | None, **attributes: Any) -> Open | None:
        """Return the part of the result that may have other values."""
        return None if self._alternatives is None else self._alternatives(*self._operator.padded(inputs), **attributes)

    def undefined(self, *inputs: Array | None, **attributes: Any) -> Undefined:
        """Return the part of the result that is undefined."""
        least = self._operator.signature.min_inputs
        if self._undefined is None or any(array is None for array in inputs[:least]):
            return False
        return self._undefined(*self._operator.padded(inputs), **attributes)

    def ambiguity(self, *inputs: Array | None, **attributes: Any) -> str | None:
        """Return the message about a result that depends on the order of equal values or of updates, if it does."""
        if self.allowed.ties is not None:
            return self.allowed.ties(*inputs, **attributes)
        found = self.open(*inputs, **attributes)
        return None if found is None else found.text

    def is_open(self, inputs: Inputs, attributes: dict[str, Any], *, partly: bool = False) -> bool:
        """Return whether the page leaves the result open. `partly`: also if it leaves only some elements open, or lets
        a following layer make small errors large.
        """
        found = self.undefined(*inputs, **attributes)
        if partly and isinstance(found, tuple):
            found = any(mask.any() for mask in found)
        return (
            (bool(found) and not isinstance(found, tuple))
            or (partly and (self._moves(inputs, attributes) or self._loses(inputs, attributes)))
            or self.ambiguity(*inputs, **attributes) is not None
            or (
                bool(self._instead_of_nan(attributes))
                and any(is_float(a) and np.isnan(a).any() for a in _given(inputs))
            )
            or (self.allowed.rounding == "open" and inputs[0] is not None and inputs[0].dtype.kind in "iu")
        )

    def free(
        self, inputs: Inputs, attributes: dict[str, Any], expected: Sequence[Array], found: Sequence[Array]
    ) -> list[Array | bool]:
        """Return for each output which elements of `found` may stand for those of `expected`, although other elements
        of the same results may not: undefined ones, limits where the kernel computes NaN (infinity times zero), and
        integers rounded the other way.
        """
        masks: list[Array | bool] = [False] * len(found)
        if isinstance(parts := self.undefined(*inputs, **attributes), tuple):
            masks = list(parts)
        elif self.allowed.limit and inputs[0] is not None:
            with np.errstate(all="ignore"):
                infinite, nan = np.isinf(inputs[0].astype(np.float64)), np.isnan(expected[0].astype(np.float64))
                masks[0] = infinite & nan & (found[0] == 0)
        elif self.allowed.rounding == "either" and found[0].dtype.kind == "u":
            masks[0] = np.abs(expected[0].astype(np.int64) - found[0].astype(np.int64)) <= 1
        return masks

    def accepts(
        self, inputs: Inputs, attributes: dict[str, Any], expected: Sequence[Array], found: Sequence[Array]
    ) -> bool:
        """Return whether `found` may stand for `expected`, beyond rounding: the page leaves the result open for these
        inputs, and `found` follows a reading of the page. A maximum that is neither NaN nor a largest element, or the
        index of another value, follows none.
        """
        with np.errstate(all="ignore"):
            return self.is_open(inputs, attributes) and not self._contradicts(inputs, attributes, expected, found)

    def _contradicts(
        self, inputs: Inputs, attributes: dict[str, Any], expected: Sequence[Array], found: Sequence[Array]
    ) -> bool:
        if any(a.shape != b.shape for a, b in zip(expected, found, strict=True)):
            return False
        if inputs and inputs[0] is not None and not inputs[0].size:
            return False  # Empty data has no order.
        if (chosen := self.allowed.chosen) is not None:
            return (
                len(found) == len(self._operator.signature.outputs)
                and chosen(expected, found, *inputs, **attributes) is False
            )
        numbers = self._instead_of_nan(attributes)
        if not numbers or not any(map(is_float, _given(inputs))):
            return False
        right, other = expected[0].astype(np.float64), found[0].astype(np.float64)
        fits = _is_close(right, other)
        for number in numbers:
            fits |= _is_close(self._first(_without_nan(inputs, number), attributes), other)
        return not bool(fits.all())

    def _instead_of_nan(self, attributes: dict[str, Any]) -> tuple[float, ...]:
        """Return the numbers that a call may read instead of NaN; an empty tuple if it does not order values."""
        nan = self.allowed.nan
        return nan.get(str(attributes.get("reduction")), ()) if isinstance(nan, dict) else nan

    def _moves(self, inputs: Inputs, attributes: dict[str, Any]) -> bool:
        """Return whether a runtime may move all results, which a following layer could make large."""
        moves = self.allowed.moves
        return moves is not None and len(_given(inputs)) == len(inputs) and moves(*inputs, **attributes)

    def _loses(self, inputs: Inputs, attributes: dict[str, Any]) -> bool:
        """Return whether the formula may lose small results, which a following layer could make large."""
        if not self.allowed.cancels or inputs[0] is None or not is_float(inputs[0]):
            return False
        with np.errstate(all="ignore"):
            found = np.abs(self._first(inputs, attributes))
        return bool(((found > 0) & (found < _LOST)).any())

    def _first(self, inputs: Inputs, attributes: dict[str, Any]) -> Array:
        """Return the first result of a call, in f64."""
        results = self._operator.compute(*inputs, **attributes)
        return np.asarray(results[0] if isinstance(results, (tuple, list)) else results).astype(np.float64)


def is_float(array: Array) -> bool:
    """Return whether an array has floating-point values, including bf16."""
    return array.dtype.kind in "fV" and bool(ElementType.of(array.dtype).is_real)


def _given(inputs: Inputs) -> list[Array]:
    return [array for array in inputs if array is not None]


def _without_nan(inputs: Inputs, number: float) -> list[Array | None]:
    return [
        np.where(np.isnan(a), np.asarray(number, a.dtype), a) if a is not None and is_float(a) else a for a in inputs
    ]


def _is_close(right: Array, other: Array) -> Array:
    """Return a mask of equal values; instead of an infinity, the extremum of no numbers may be the lowest or highest
    finite number.
    """
    with np.errstate(all="ignore"):
        near = np.isfinite(right) & (np.abs(right - other) <= 1e-5 * np.abs(right))
        ends = np.isinf(right) & (np.sign(right) == np.sign(other)) & (np.abs(other) >= _LOWEST)
    return np.asarray(near | ends | (right == other) | (np.isnan(right) & np.isnan(other)))
