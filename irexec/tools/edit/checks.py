"""Comparisons of a model before and after a change that should not change its results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from irexec.api.openvino.layout import layout_of
from irexec.core.diagnostics import IRError
from irexec.core.diagnostics.findings import Findings
from irexec.core.types import Array
from irexec.model.arrays.brief import plural
from irexec.model.arrays.given import Given
from irexec.model.graph.model import Model
from irexec.runtime.engine import CompiledModel
from irexec.tools.edit.changes import Wanted
from irexec.tools.edit.parts import begins_of, ends_of
from irexec.tools.edit.preprocessing import Steps, by_input
from irexec.tools.run.record import Reference, same
from irexec.tools.run.run import complete


class Outcome(NamedTuple):
    """The outcome of a comparison in words, and whether results differ."""

    text: str
    differs: bool = False


def same_results(before: Model, after: Model) -> Outcome:
    """Compare the results of two models for the same inputs: those that the second model accepts. Raises IRError."""
    inputs = _drawn(after)
    return _compared(_results(before, inputs), _results(after, inputs))


def same_after_cut(before: Model, after: Model, wanted: Wanted) -> Outcome:
    """Compare a part with the values that the whole model computes. Raises IRError."""
    inputs, ends, begins = _drawn(before), ends_of(before, wanted), begins_of(before, wanted)  # type: ignore[arg-type]
    seen = Reference(before, [inputs]).record([*ends, *begins])[0]
    named = {node.friendly_name: array for node, array in zip(before.parameters, inputs, strict=True)}
    cut = iter(begins)
    given = [named[p.friendly_name] if p.friendly_name in named else seen[next(cut)] for p in after.parameters]
    return _compared([seen[end] for end in ends], _results(after, given))


def same_after_preprocessing(before: Model, after: Model, wanted: Wanted) -> Outcome:
    """Compare the model that preprocesses with the former one, whose inputs NumPy preprocesses. Raises IRError."""
    steps = by_input(before, wanted)  # type: ignore[arg-type]
    given, processed = _drawn(after), []
    for number, (array, parameter) in enumerate(zip(given, before.parameters, strict=True)):
        port = parameter.outputs[0]
        step = steps.get(number)
        axes = "".join(layout_of(parameter).names or ())
        processed.append(array if step is None else _processed(array, step, axes, port.element_type.dtype))
    expected, found = _results(before, processed), _results(after, given)
    pairs = zip(expected, found, strict=True)
    return _compared([a.astype(b.dtype) if a.dtype != b.dtype else a for a, b in pairs], found)


def _processed(array: Array, step: Steps, declared: str, dtype: Any) -> Array:
    """Return an input as the former model takes it, computed by NumPy."""
    source, target = step.layouts
    target = target or declared
    source = source or target
    axis = source.index("C") if "C" in source else 0
    value = np.flip(array, axis) if step.reverse else array
    if step.mean is not None or step.scale is not None:
        value = value.astype(dtype if np.dtype(dtype).kind == "f" else np.float32)
        for numbers, operation in ((step.mean, np.subtract), (step.scale, np.divide)):
            if numbers is not None:
                each = np.asarray(numbers, value.dtype)
                shape = [-1 if n == axis else 1 for n in range(value.ndim)] if each.ndim else []
                value = operation(value, each.reshape(shape))
    value = value.astype(dtype)
    return value if source == target else value.transpose([source.index(name) for name in target])


def _drawn(model: Model) -> list[Array]:
    """Return typical inputs of a model. Raises IRError."""
    findings = Findings(file=model.file)
    entries = complete(model, Given(typical=True), findings)
    if not findings.report.ok:
        raise IRError(findings.report)
    return [entry.array for entry in entries if entry.array is not None]


def _results(model: Model, inputs: Sequence[Array]) -> list[Array]:
    return list(CompiledModel(model)(list(inputs)).to_tuple())


def _compared(expected: Sequence[Array], found: Sequence[Array]) -> Outcome:
    wrong = [number for number, (a, b) in enumerate(zip(expected, found, strict=True)) if not same(a, b)]
    if not wrong:
        return Outcome(f"{plural(len(found), 'result')} as before, bit for bit")
    worst = _largest(expected, found, wrong)
    if worst is not None and worst < _ROUNDING:
        return Outcome(f"{plural(len(found), 'result')} as before, up to rounding ({worst:.1e})")
    return Outcome(f"result {wrong[0]}" + ("" if worst is None else f", by {worst:.3g} of its largest value"), True)


_ROUNDING = 1e-5
"""The largest relative difference that the order of operations explains."""


def _largest(expected: Sequence[Array], found: Sequence[Array], wrong: Sequence[int]) -> float | None:
    """Return the largest difference relative to the largest value; None if the shapes or types differ."""
    worst = 0.0
    for number in wrong:
        a, b = expected[number], found[number]
        if a.shape != b.shape or a.dtype.kind in "TUO":
            return None
        wide = a.astype(np.float64), b.astype(np.float64)
        with np.errstate(all="ignore"):
            scale = float(np.max(np.abs(wide[0]), initial=0.0)) or 1.0
            worst = max(worst, float(np.max(np.abs(wide[0] - wide[1]), initial=0.0)) / scale)
    return worst if worst == worst else None
