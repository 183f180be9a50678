"""Drawing cases of one operator: the n-th case for a seed is always the same."""

from __future__ import annotations

import zlib
from functools import lru_cache
from itertools import product

import numpy as np

from irexec.core.diagnostics import IRError
from irexec.core.diagnostics.findings import Findings
from irexec.core.records import replace
from irexec.core.types import BF16, F32, F64, ElementType, TensorType
from irexec.model.inference import infer
from irexec.ops.spec.contents import category_of, everything
from irexec.ops.spec.operator import ConstraintError, Operator
from irexec.tools.conformance.case import Case, operator_case, parsed_attributes
from irexec.tools.conformance.changes import change_values, changed, enlarge, extent, pick
from irexec.tools.conformance.draft import Draft, are_small, draft_of, texts_of
from irexec.tools.conformance.forbidden import draw_forbidden
from irexec.tools.conformance.missing import missing_input, with_missing_inputs
from irexec.tools.conformance.names import CaseName, Dim, Port
from irexec.tools.conformance.seeds import calls_of
from irexec.tools.conformance.values import draw_inputs

_ANY_VALUES = ("activation", "arithmetic", "comparison", "movement", "logical", "condition", "infrastructure", "type")
"""The categories whose pages define the result for infinities and NaN."""
_LINEAR = ("reduction", "matrix", "convolution", "pooling", "shape", "sparse", "sort")
"""The categories in which an infinity or NaN affects only the results that depend on it."""
_TIES = ("sort", "reduction", "comparison", "condition")


@lru_cache(maxsize=2048)
def profiles_of(operator: Operator, kind: ElementType) -> tuple[str, ...]:
    """Return the profiles of values that a case of this operator may have, for the element type of its first input."""
    category = category_of(operator.type)
    found = ["plain", "plain", "plain"]
    if category in _ANY_VALUES and operator.oracle.allowed.special:
        found.append("edges")
    if category in _TIES and (category != "sort" or operator.oracle.allowed.chosen is not None):
        found.append("ties")
    if category in ("activation", "arithmetic", "normalization", "movement", "comparison", "reduction"):
        found.append("tails")
    if category in ("activation", "arithmetic") and kind.is_real:
        # Devices that compute f64 in f32 lose small numbers.
        found += ["far"] if kind is F64 else ["far", "tiny"]
    if category in _LINEAR and kind.is_real and operator.oracle.allowed.special:
        found.append("sparse")
    if category in ("movement", "comparison", "type"):
        found.append("large")
    if category == "image":
        found += ["pixels", "pixels"]
    if kind.is_integral and kind.bitwidth >= 32 and category not in ("detection", "image", "signals", "generation"):
        found += ["wide", "wide"]
        if kind.name != "i32":
            found.append("beyond")
    if category == "type" and kind.is_real:
        found.append("beyond")
    if category == "comparison" and len(operator.inputs) == 1:
        found += ["denormal", "edges"]
    return tuple(found)


_ATTEMPTS = 12
_FORBIDDEN = 12
"""One in this number of cases is forbidden by the specification."""
_FOLDED = 0.04
"""The share of cases without a computed input, which a runtime may compute when it compiles the model."""
_COMPLETE = 0.4
"""The share of cases that get the optional inputs that no call of the table has, if there are any."""
_HUGE = 0.06
"""The share of cases with one large extent."""
_OF_CALLS = frozenset({"twice", "again", "requests"})
_WITH_WEIGHTS = frozenset({"convolution", "sequence", "normalization", "quantization", "activation"})
"""Categories of operators whose further inputs are mostly constants."""
_AS_DECLARED = frozenset({"matrix", "convolution", "pooling", "activation"})
"""Categories of operators for which devices use their bf16 units if the model declares bf16."""
_WITH_FIXED_ROWS = frozenset({"boxes", "rois", "input_rois", "anchors", "im_info", "image_shape", "im_data"})
"""Inputs whose last axis has the same extent in every model."""


@lru_cache(maxsize=1)
def operators() -> tuple[Operator, ...]:
    """Return the operators that have cases of their own."""
    return tuple(op for _, _, op in everything() if op is not None and str(op) in calls_of())


def draw(operator: Operator, seed: int, index: int) -> Case | None:
    """Return the case number `index` of an operator; None if no legal case was found."""
    for attempt in range(_ATTEMPTS):
        rng = np.random.default_rng([seed, zlib.crc32(str(operator).encode()), index, attempt])
        forbidden = index % _FORBIDDEN == _FORBIDDEN - 1 and attempt < _ATTEMPTS // 2
        name = draw_forbidden(rng, operator) if forbidden else draw_name(rng, operator)
        if name is not None and not forbidden:
            name = revealing(rng, name, operator)
        if name is not None and (case := made(name)) is not None:
            return case
    return None


def revealing(rng: np.random.Generator, name: CaseName, operator: Operator) -> CaseName:
    """Return the name with other data if all elements of the results are the same: an error of a kernel would not
    change them. Other seeds are tried, then other profiles of values.
    """
    profiles = [name.data, name.data, *rng.permutation(sorted({*profiles_of(operator, name.base)}))]
    trials = (replace(name, data=str(profile), seed=int(rng.integers(1000))) for profile in profiles)
    return next((trial for trial in (name, *trials) if not _is_uniform(trial, operator)), name)


def _is_uniform(name: CaseName, operator: Operator) -> bool:
    """Return whether all elements of each result of the first call are the same; False without several elements, and
    for results that are too large for a case.
    """
    try:
        attributes = parsed_attributes(name, operator)
        inputs = draw_inputs(name, operator, attributes, 0)
        pairs = zip(inputs, name.ports, strict=True)
        types = [None if a is None or p is None else TensorType.of(a, p.kind) for a, p in pairs]
        if not are_small(operator.infer(types, attributes, [])):
            return False
        with np.errstate(all="ignore"):
            found = operator.compute(*inputs, **attributes)
    except (IRError, ConstraintError, ValueError, OverflowError, TypeError, MemoryError):
        return False
    results = found if isinstance(found, (tuple, list)) else [found]
    several = [a.reshape(-1) for a in map(np.asarray, results) if a.size > 1]
    return bool(several) and all(((a == a[0]) | (a != a)).all() for a in several)


def made(name: CaseName) -> Case | None:
    """Return the case; None if irexec does not accept it."""
    try:
        case = operator_case(name)
        is_packed = any(value.element_type.is_packed for value in case.model.outputs)
        return case if not is_packed and _is_small(case) else None
    except (IRError, ConstraintError, ValueError, OverflowError, TypeError):
        return None


def _is_small(case: Case) -> bool:
    """Return whether the results of all calls are small, if the inputs determine their shapes."""
    for arrays in case.inputs:
        given = [
            TensorType.of(array, value.element_type) for array, value in zip(arrays, case.model.inputs, strict=True)
        ]
        found = infer(case.model, given, Findings())
        if not are_small(found[value] for value in case.model.outputs):
            return False
    return True


def draw_name(rng: np.random.Generator, operator: Operator) -> CaseName | None:
    """Return the name of a drawn case that is legal with static shapes; None if the draw gives no such case."""
    lines = calls_of()[str(operator)]
    draft = changed(rng, draft_of(operator, pick(rng, lines)), int(rng.integers(1, 10)))
    if missing_input(operator) is not None and rng.random() < _COMPLETE:
        draft = with_missing_inputs(rng, draft)
    if rng.random() < _HUGE:
        larger = draft.copy()
        enlarge(rng, larger)
        draft = larger if larger.is_legal() else draft
    if not draft.is_legal():
        return None
    folded = rng.random() < _FOLDED
    constant = [port is not None for port in draft.ports] if folded else _constants(rng, draft)
    dims = _dims(rng, draft, constant)
    ports: list[Port | None] = []
    for number, port in enumerate(draft.ports):
        if port is None:
            ports.append(None)
            continue
        rank = len(port.shape)
        turns = not constant[number] and rank > 1 and port.values is None and rng.random() < 0.15
        order = tuple(int(i) for i in rng.permutation(rank)) if turns else None
        second = None
        if port.values and not constant[number] and rng.random() < 0.25:
            second = _other_values(rng, draft, number)
        named = port.named(constant=constant[number])
        ports.append(replace(named, dims=dims[number], order=order, second=second))
    profile = pick(rng, profiles_of(operator, draft.given[0].kind if draft.given else F32))
    flags = [
        flag
        for flag, share in (
            ("turned", 0.1),
            ("twice", 0.08),
            ("again", 0.3),
            ("requests", 0.04),
            ("cache", 0.05),
            ("one-thread", 0.08),
        )
        if rng.random() < share and not (flag in _OF_CALLS and folded)
    ]
    if (
        draft.given
        and draft.given[0].kind is BF16
        and category_of(operator.type) in _AS_DECLARED
        and rng.random() < 0.3
    ):
        flags = [*(flag for flag in flags if flag != "one-thread"), "default"]
    return CaseName(
        str(operator), tuple(draft.attributes.items()), tuple(ports), int(rng.integers(1000)), profile, tuple(flags)
    )


def _other_values(rng: np.random.Generator, draft: Draft, number: int) -> tuple[str, ...] | None:
    """Return new values of a computed input for the second call; None if none of four attempts
    gives other values that the operator accepts."""
    for _ in range(4):
        trial = draft.copy()
        port = trial.ports[number]
        assert port is not None
        change_values(rng, trial, port)
        if port.values != draft.ports[number].values and trial.is_legal():  # type: ignore[union-attr]
            return texts_of(port.values or ())
    return None


def _constants(rng: np.random.Generator, draft: Draft) -> list[bool]:
    """Return which inputs are constants of the model; at least one input is computed."""
    share = pick(rng, (0.0, 0.5, 0.9, 0.9))
    category = category_of(draft.operator.type)
    others = pick(rng, (0.0, 0.9, 0.9)) if category in _WITH_WEIGHTS else share / 2
    return [
        port is not None
        and ((number > 0 and rng.random() < (share if port.values is not None else others)) or port.kind.is_packed)
        for number, port in enumerate(draft.ports)
    ]


def _dims(rng: np.random.Generator, draft: Draft, constant: list[bool]) -> list[tuple[Dim, ...]]:
    """Return the dimensions of all inputs: static, bounded or dynamic, with the extents of one or two calls."""
    static = [() if p is None else tuple(Dim((n,)) for n in p.shape) for p in draft.ports]
    kind = pick(rng, ("static", "static", "static", "dynamic", "bounded", "sequence", "sequence", "sequence"))
    if kind == "static":
        return static
    other = _other_call(rng, draft, constant) if kind == "sequence" else None
    everywhere = rng.random() < 0.35
    open_extents = {n for p in draft.given for n in p.shape if rng.random() < 0.6}
    found = []
    for number, (port, dims) in enumerate(zip(draft.ports, static, strict=True)):
        if port is None or constant[number]:
            found.append(dims)
            continue
        second = None if other is None else other.ports[number]
        made = []
        for place, dim in enumerate(dims):
            n = dim.extents[0]
            m = n if second is None else second.shape[place]
            if m != n:
                bounds = (min(n, m), max(n, m) + 1) if kind == "bounded" else None
                made.append(Dim((n, m), bounds is None, bounds))
            elif (everywhere or n in open_extents) and not (port.name in _WITH_FIXED_ROWS and place == len(dims) - 1):
                made.append(Dim((n,), True) if kind != "bounded" else Dim((n,), False, (min(n, 1), n + 2)))
            else:
                made.append(dim)
        found.append(tuple(made))
    return found


def _other_call(rng: np.random.Generator, draft: Draft, constant: list[bool]) -> Draft | None:
    """Return the draft with other extents, for the second call: legal, with the same constants and stated values."""
    extents = sorted(
        {n for number, p in enumerate(draft.ports) if p is not None and not constant[number] for n in p.shape}
    )
    trials = [(old, new) for old, new in product(extents, (1, 2, 3, 5, 8, 0, extent(rng), extent(rng))) if old != new]
    for at in rng.permutation(len(trials))[:10]:
        old, new = trials[int(at)]
        trial = draft.copy()
        for number, port in enumerate(trial.ports):
            if port is not None and not constant[number] and port.values is None:
                port.shape = tuple(new if n == old else n for n in port.shape)
        if trial.is_legal():
            return trial
    return None
