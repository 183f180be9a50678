"""The verdict on a case: whether a runtime's results are within what the specification allows, and who is right."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

import numpy as np

from irexec.core.diagnostics import IRError
from irexec.core.records import record
from irexec.core.types import BF16, F16, F32, F64, Array, ElementType
from irexec.model.graph.model import Model, Node
from irexec.ops.spec.operator import Tolerance
from irexec.tools.compare.errors import Error, measure, shown_error
from irexec.tools.compare.judge import explains
from irexec.tools.compare.numbers import FUSED
from irexec.tools.compare.tolerances import combined, tolerance_of
from irexec.tools.conformance.bias import least_normal, lost, systematic
from irexec.tools.conformance.case import Case, computing
from irexec.tools.conformance.defendant import Answer
from irexec.tools.conformance.exact import exact_results
from irexec.tools.conformance.wrapping import exceeds
from irexec.tools.run.record import Reference

WORDS = (
    "passed", "wrong", "shape", "type", "refused", "error", "crash", "hang", "open", "accepted", "reference", "invalid",
)  # fmt: skip
"""passed; wrong: wrong values; shape, type: a wrong shape or element type; refused: a valid model was refused; error: a
call of a compiled model raised an exception; crash, hang: the process ended or did not answer; open: the page leaves
the result open; accepted: a case that the specification forbids was computed; reference: exact evaluation agrees with
the runtime and not with irexec; invalid: irexec itself refuses the case when it runs."""
_ROUNDING = 2.0**-22
"""The rounding error of f32."""
_MOVED_LEVELS = 0.5
"""The part of a level by which OpenVINO moves results in graphs: it rounds zero points."""
_F32_MAX, _F32_MIN = float(np.finfo(np.float32).max), least_normal(F32)
_I32_END = 2.0**31
_ENDLESS = 2.0**60
_F16_MAX = float(np.finfo(np.float16).max)
FAILED = frozenset({"wrong", "shape", "type", "error", "crash", "hang"})
OUTCOMES = dict.fromkeys(WORDS, "agrees") | dict.fromkeys(
    ("wrong", "shape", "type", "reference", "accepted"), "differs"
)
OUTCOMES |= dict.fromkeys(("refused", "error", "crash", "hang"), "fails") | {"invalid": "not judged"}
"""What a runtime does, by the verdict: its results agree or differ, or there are none."""


@record
class Verdict:
    """A verdict: its word, a description of the error, and the wrong call (from 0) and output."""

    word: str
    detail: str = ""
    call: int = 0
    output: int = 0
    ulp: float = 0.0


def judge_case(case: Case, answer: Answer, units: Mapping[str, str]) -> Verdict:
    """Judge an answer. `units`: element type → the type in which the device computes it, such as {"f64": "f32"}."""
    if answer.how == "memory":
        return Verdict("invalid", answer.message)
    if "forbidden" in case.flags:
        accepted = {"results": "accepted", "refused": "passed"}
        return Verdict(accepted.get(answer.how, answer.how), answer.message)
    stateful = bool(case.model.sinks)
    steps = [case.inputs[call] for call in case.calls] if stateful else case.inputs
    try:
        expected = Reference(case.model, steps).results()
    except IRError as error:
        # A case that irexec rejects at run time is not legal, regardless of the runtime's behaviour.
        return Verdict("invalid", str(error.report.errors[0].message))
    if answer.how != "results":
        meaningless = any(
            node.operator is not None and node.operator.oracle.undefined(*values, **node.all_attributes) == "no result"
            for call in case.inputs
            for node, values in _nodes(case.model, call)
        )
        # A runtime that has compiled the model must accept legal inputs.
        how = "error" if answer.how == "refused" and answer.stage == "infer" else answer.how
        return Verdict("open" if meaningless else how, answer.message)
    # After a reset the calls are repeated, with the same results.
    per_call = 1 if stateful else max(1, len(answer.results) // len(case.calls))
    result = Verdict("passed")
    for position, found in enumerate(answer.results):
        place = position // per_call % len(case.calls)
        call = case.calls[place]
        right = expected[place if stateful else call]
        done = steps[: place + 1] if stateful else [case.inputs[call]]
        verdict = _judge_call(case, done, right, found, units)
        verdict.call = position // per_call
        if verdict.word not in ("passed", "open"):
            return verdict
        result = verdict if verdict.word == "open" and result.word == "passed" else result
    return result


def _judge_call(
    case: Case,
    steps: Sequence[Sequence[Array]],
    expected: Sequence[Array],
    found: Sequence[Array],
    units: Mapping[str, str],
) -> Verdict:
    """Judge the results of the last of these steps, which begin with the first values of variables."""
    model, inputs = case.model, steps[-1]
    if len(found) != len(expected):
        return Verdict("shape", f"{len(found)} outputs instead of {len(expected)}")
    expected, found = _in_range(expected, found, units), [_comparable(a, units) for a in found]
    expected = [_comparable(a, units) for a in expected]
    if forms := _judge_forms(expected, found):
        return Verdict("open", forms.detail, output=forms.output) if _is_open(case, inputs) else forms
    tolerance = _tolerance(model, inputs, expected)
    if tolerance.kind == "random":
        return Verdict("passed")
    if case.config != "default" and (small := lost(model, inputs, expected, found)) and not _is_open(case, inputs):
        return Verdict("wrong", small)
    worst = _worst(expected, found, tolerance, units)
    if worst is not None and (changed := _with_allowances(_nodes(model, inputs), model, expected, found)) is not None:
        found = changed
        worst = _worst(expected, found, tolerance, units)
    if worst is None:
        whole = None if case.config == "default" else systematic(model, inputs, found, tolerance)
        return Verdict("passed") if whole is None or _is_open(case, inputs) else Verdict("wrong", whole)
    return _second_look(case, steps, expected, found, tolerance, worst, units)


def _with_allowances(
    layers: Sequence[tuple[Node, list[Array | None]]], model: Model, expected: Sequence[Array], found: Sequence[Array]
) -> list[Array] | None:
    """Return the results of a single layer with the elements that may stand for the expected ones replaced by these.
    None if nothing is replaced, or there are several layers. `layers`: all layers, with their inputs.
    """
    if len(layers) != 1 or (operator := layers[0][0].operator) is None:
        return None
    node, inputs = layers[0]
    turned = [result.inputs[0] not in node.outputs for result in model.results]
    own = [[a.T if back else a for a, back in zip(arrays, turned, strict=True)] for arrays in (expected, found)]
    masks = operator.oracle.free(inputs, node.all_attributes, *own)
    if not any(np.any(mask) for mask in masks):
        return None
    return [
        np.where(np.transpose(mask) if back else mask, right, other).astype(other.dtype)
        for mask, right, other, back in zip(masks, expected, found, turned, strict=True)
    ]


def _worst(
    expected: Sequence[Array], found: Sequence[Array], tolerance: Tolerance, units: Mapping[str, str]
) -> tuple[int, Error] | None:
    """Return the output with the largest error, and this error, if one exceeds the tolerance."""
    worst: tuple[int, Error] | None = None
    for number, (right, other) in enumerate(zip(expected, found, strict=True)):
        error = measure(right, other, _unit(right, units))
        limit = max(tolerance.ulp, FUSED) if ElementType.of(right.dtype).is_real else 0.0
        if error.ulp > limit and (worst is None or error.ulp > worst[1].ulp):
            worst = (number, error)
    return worst


def _second_look(
    case: Case,
    steps: Sequence[Sequence[Array]],
    expected: Sequence[Array],
    found: Sequence[Array],
    tolerance: Tolerance,
    worst: tuple[int, Error],
    units: Mapping[str, str],
) -> Verdict:
    """Judge results beyond the tolerance: by what rounding in the layers can change, and by what the page allows."""
    (number, error), inputs = worst, steps[-1]
    try:
        levels = _MOVED_LEVELS if len(computing(case.model)) > 1 else 0.0
        if explains(case.model, steps, found, _computed(case, units), levels):
            return Verdict("passed")
    except IRError as failed:
        return Verdict("invalid", str(failed.report.errors[0].message))
    place = _place_of(error, expected[number], found[number])
    if not case.model.sinks and _accepts(case, inputs, expected, found):
        return Verdict("open", f"{shown_error(error)}{place}", output=number)
    if not case.model.sinks and _agrees_with_exact(case, inputs, found, expected, tolerance):
        return Verdict("reference", f"exact evaluation agrees with the runtime: {shown_error(error)}", output=number)
    note = _of_integers(case, inputs, expected, found, units)
    return Verdict(
        "wrong", f"{shown_error(error)}{place}{note}", output=number, ulp=float(min(error.ulp, sys.float_info.max))
    )


def _computed(case: Case, units: Mapping[str, str]) -> dict[ElementType, ElementType]:
    """Return the types in which the device computes; by default devices compute in bf16."""
    if case.config == "default":
        return dict.fromkeys((F64, F32, F16), BF16)
    return {F64: F32} if units.get("f64") == "f32" else {}


def _place_of(error: Error, right: Array, other: Array) -> str:
    """Return the index of an error and the two values there, as the end of a sentence."""
    place = error.at
    if (
        place is None
        or len(place) != right.ndim
        or any(at >= extent for at, extent in zip(place, right.shape, strict=True))
    ):
        return "" if place is None else f" at {list(place)}"
    return f" at {list(place)}: {right[place]} expected, {other[place]} found"


def _of_integers(
    case: Case, inputs: Sequence[Array], expected: Sequence[Array], found: Sequence[Array], units: Mapping[str, str]
) -> str:
    """Return the limit of an integer type that may have caused a wrong result."""
    if _is_beyond([*inputs, *_constants(case.model), *expected], units):
        return f"; {NARROWED}"
    if all(map(_is_rounded, expected, found)):
        return f"; {ROUNDED}"
    return f"; {WRAPS}" if any(exceeds(node, values) for node, values in _nodes(case.model, inputs)) else ""


NARROWED = "64-bit integers beyond 32 bits"
WRAPS = "the result exceeds the integer type"
ROUNDED = "integers above 2**24 are rounded as f32 rounds them"


def _is_rounded(right: Array, other: Array) -> bool:
    """Return whether all differences between integers are as small as rounding errors of f32."""
    if right.dtype.kind not in "iu":
        return False
    a, b = right.astype(np.float64), other.astype(np.float64)
    return bool((np.abs(a - b) <= _ROUNDING * np.abs(a).max(initial=0.0)).all())


def _constants(model: Model) -> list[Array]:
    """Return the integers of a model's constants, except for those that mean "up to the end"."""
    found = (node.constant for node in model.nodes if node.constant is not None)
    return [a[np.abs(a.astype(np.float64)) < _ENDLESS] for a in found if a.dtype in (np.int64, np.uint64)]


def _accepts(case: Case, inputs: Sequence[Array], expected: Sequence[Array], found: Sequence[Array]) -> bool:
    """Return whether a page leaves the results open, and those of a single layer follow a reading of it."""
    nodes = _nodes(case.model, inputs)
    if len(nodes) != 1 or case.operator.startswith("graph.") or "turned" in case.flags:
        return _is_open(case, inputs)
    node, values = nodes[0]
    return node.operator is not None and node.operator.oracle.accepts(values, node.all_attributes, expected, found)


def _in_range(expected: Sequence[Array], found: Sequence[Array], units: Mapping[str, str]) -> list[Array]:
    """Return the expected results; if the device computes f64 in f32, numbers beyond the range of f32 are replaced by
    an infinity or the largest f32 where the runtime returned it.
    """
    if units.get("f64") != "f32":
        return list(expected)
    made = []
    for right, other in zip(expected, found, strict=True):
        if right.dtype == np.float64 and other.dtype == np.float64 and right.shape == other.shape:
            beyond = np.isfinite(right) & (np.abs(right) >= _F32_MAX) & (np.abs(other) >= _F32_MAX)
            right = np.where(beyond & (np.signbit(right) == np.signbit(other)), other, right)
        made.append(right)
    return made


def _comparable(array: Array, units: Mapping[str, str]) -> Array:
    """Return results as a device may compute them: with 0 for subnormal numbers, and f64 in f32. NumPy's strings, which
    runtimes return, have no NUL at the end.
    """
    if array.dtype.kind in "UOT":
        texts = [text.rstrip("\0") for text in array.ravel().tolist()]
        return np.array(texts, np.dtypes.StringDType()).reshape(array.shape)
    if array.dtype == np.float64 and units.get("f64") == "f32":
        with np.errstate(all="ignore"):
            array = array.astype(np.float32)
        return np.asarray(np.where(np.abs(array) < _F32_MIN, 0.0, array), np.float64)
    if array.dtype == np.float16:
        # A device may saturate at the limits of a type.
        return np.where(np.abs(array) >= _F16_MAX, np.copysign(np.float16(np.inf), array), array)
    if array.dtype == np.float32:
        return np.asarray(np.where(np.abs(array) < _F32_MIN, np.float32(0), array))
    return array


def _is_beyond(arrays: Sequence[Array], units: Mapping[str, str]) -> bool:
    """Return whether a device that computes 64-bit integers with 32 bits cannot represent a result."""
    if units.get("i64") != "i32":
        return False
    wide = (a for a in arrays if a.dtype in (np.int64, np.uint64) and a.size)
    return any(bool((a.astype(np.float64) >= _I32_END).any() or (a.astype(np.float64) < -_I32_END).any()) for a in wide)


def _is_open(case: Case, inputs: Sequence[Array]) -> bool:
    """Return whether the page leaves the result open for these inputs.

    In a graph, values computed from integers that wrap are also open.
    """
    nodes = _nodes(case.model, inputs)
    wraps = len(nodes) > 1 and any(exceeds(node, values) for node, values in nodes)
    return wraps or any(
        node.operator is not None and node.operator.oracle.is_open(values, node.all_attributes, partly=len(nodes) > 1)
        for node, values in nodes
    )


def _nodes(model: Model, inputs: Sequence[Array]) -> list[tuple[Node, list[Array | None]]]:
    nodes = computing(model)
    wanted = {v for n in nodes for v in n.inputs if v is not None}
    values = Reference(model, [list(inputs)]).record(wanted)[0]
    for value in wanted:
        if value not in values and value.node.constant is not None:
            values[value] = value.node.constant
    return [(n, [None if v is None else values.get(v) for v in n.inputs]) for n in nodes]


def _agrees_with_exact(
    case: Case, inputs: Sequence[Array], found: Sequence[Array], expected: Sequence[Array], tolerance: Tolerance
) -> bool:
    """Return whether an evaluation in f64 agrees with the runtime and not with irexec."""
    exact = exact_results(case.model, inputs)
    if exact is None:
        return False
    limit = max(tolerance.ulp, FUSED)
    theirs = max((measure(e, f).ulp for e, f in zip(exact, found, strict=True)), default=0.0)
    ours = max((measure(e, f).ulp for e, f in zip(exact, expected, strict=True)), default=0.0)
    return theirs <= limit < ours


def _tolerance(model: Model, inputs: Sequence[Array], expected: Sequence[Array]) -> Tolerance:
    known = dict(zip(model.inputs, inputs, strict=True))
    for result, array in zip(model.results, expected, strict=True):
        if result.inputs[0] is not None:
            known[result.inputs[0]] = array
    nodes = computing(model)
    return tolerance_of(nodes[0], known) if len(nodes) == 1 else combined(tolerance_of(n, known) for n in nodes)


def _judge_forms(expected: Sequence[Array], found: Sequence[Array]) -> Verdict | None:
    """Return the verdict on a wrong shape or type; None if all shapes and types are right."""
    forms = (_form(right, other, number) for number, (right, other) in enumerate(zip(expected, found, strict=True)))
    return next((form for form in forms if form is not None), None)


def _form(right: Array, other: Array, number: int) -> Verdict | None:
    if right.shape != other.shape:
        return Verdict("shape", f"shape {list(other.shape)} instead of {list(right.shape)}", output=number)
    if right.dtype.kind in "TU" and other.dtype.kind in "TU":
        return None
    if right.dtype != other.dtype:
        return Verdict("type", f"{other.dtype.name} instead of {right.dtype.name}", output=number)
    return None


def _unit(array: Array, units: Mapping[str, str]) -> ElementType | None:
    return F32 if ElementType.of(array.dtype) is F64 and units.get("f64") == "f32" else None
