"""The analysis: `irexec.sensitivity`, and the tasks of `irexec sensitivity` in several processes."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from irexec.core.diagnostics import WrongArgument
from irexec.core.diagnostics.findings import Findings
from irexec.core.diagnostics.nearest import likely_names
from irexec.core.types import Array
from irexec.frontends.reading import for_running, read
from irexec.model.arrays.given import Given, extents_of
from irexec.model.graph.model import Model
from irexec.runtime.engine.arguments import Inputs
from irexec.tools.run.run import completed
from irexec.tools.sensitivity.measure import Effect, Trials
from irexec.tools.sensitivity.metrics import metric_named
from irexec.tools.sensitivity.onnx_names import onnx_names
from irexec.tools.sensitivity.precision import KINDS
from irexec.tools.sensitivity.quantizers import NoPair, quantized_board
from irexec.tools.sensitivity.remedies import NoRemedy, Rescaling, rescaling
from irexec.tools.sensitivity.result import Row, Sensitivity, Step
from irexec.tools.sensitivity.rounding import RoundingBoard, rounding_board
from irexec.tools.sensitivity.search import Target, ranked, search
from irexec.tools.sensitivity.statistics import Range, Statistics
from irexec.tools.sensitivity.switches import Board, Site, Unit
from irexec.tools.sensitivity.weights import weights_board
from irexec.tools.status import Progress

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

PRECISIONS = (*KINDS, "int8-weights", "int4-weights")
"""The precisions that can be simulated without another model."""


def trials_of(
    model: Model, other: Model | str, inputs: Sequence[Sequence[Array]], metric: str, **options: Any
) -> Trials:
    """Return the trials of the units of a quantized model, or of the model in one of PRECISIONS.

    Raises IRError, BadMetric and NoPair.
    """
    measure = metric_named(metric)
    if isinstance(other, Model):
        board, ranges = quantized_board(model, other)
        trials = Trials(board, inputs, measure, _empty(board, ranges), reference=model, **options)
        if trials.fine.noise > trials.coarse.noise:
            raise NoPair(
                f"the results without quantizers are worse (SNR {trials.fine.snr:.1f} dB) than with them "
                f"({trials.coarse.snr:.1f} dB): the models cannot be paired, or layers compute with integers"
            )
        if trials.fine.noise > 1e-3:
            board.notes.append(
                f"with every quantizer left out the results still have an SNR of {trials.fine.snr:.1f} dB: the models "
                "differ in more than quantization"
            )
    else:
        board, ranges = _simulated(model, other)
        trials = Trials(board, inputs, measure, _empty(board, ranges), **options)
    return trials


def analysed(
    trials: Trials,
    effects: Mapping[Unit, Effect],
    target: str,
    file: str,
    other: str,
    progress: Progress = lambda done, total: None,
) -> Sensitivity:
    """Return the result, given the effect of every unit. Raises IRError, BadMetric and WrongArgument."""
    board, wanted = trials.board, Target.read(target)
    ranking = ranked(trials, effects)
    found = search(trials, effects, wanted, progress)
    rows = [_row(trials, unit, effects[unit]) for unit in ranking]
    left_out = frozenset[Site]() if found.layers is None else board.excluding(found.layers)
    chosen = [row for row, unit in zip(rows, ranking, strict=True) if left_out.issuperset(unit.sites)]
    rescaled = _rescaling(trials, other) if other in KINDS else None
    return Sensitivity(
        file,
        other,
        len(trials.inputs),
        trials.metric.name,
        trials.metric.is_noise,
        target,
        trials.coarse,
        trials.fine,
        rows,
        [Step(point.layers, point.score, trials.recovered(point.score)) for point in found.single],
        [Step(point.layers, point.score, trials.recovered(point.score)) for point in found.curve],
        None if found.layers is None else chosen,
        found.layers or [],
        found.score,
        0.0 if found.score is None else trials.recovered(found.score),
        round(trials.inferences, 1),
        list(board.notes),
        None if found.layers is None else board.mixed(found.layers),
        other not in PRECISIONS,
        rescaled,
        onnx_names(file, found.layers or []),
    )


def sensitivity(
    model: Model | str | os.PathLike[str],
    other: Model | str | os.PathLike[str],
    inputs: Iterable[Inputs] | Mapping[str, ArrayLike] | None = None,
    *,
    metric: str = "snr",
    target: str = "90%",
    shapes: Mapping[str, Sequence[int]] | None = None,
    seed: int = 0,
    progress: Progress = lambda done, total: None,
) -> Sensitivity:
    """Measure which quantizers of `other`, the quantized form of `model`, lose accuracy on the inputs; or, if
    `other` is `f16`, `bf16`, `int8-weights` or `int4-weights`, which layers need more precision.

    `inputs`: for each inference an array, arrays by position, or by the name of the input (a mapping alone is one
    inference); by default one inference with random values. `shapes` sets the shapes of dynamic inputs by
    name. `metric`: `snr`, `top1`, `cosine` or `FILE.py:function`. `target`: a share of the loss to recover, or a value
    of the metric. `progress` is called with the numbers of completed and of all groups of layers. Raises IRError
    and WrongArgument.
    """
    ours = _model(model)
    if isinstance(other, str) and not os.path.exists(other) and not os.path.splitext(other)[1]:
        _check_precision(other)
    theirs = other if isinstance(other, str) and other in PRECISIONS else _model(other)
    inferences = [inputs] if isinstance(inputs, Mapping) else inputs
    steps = [_chosen(ours, shapes, seed)] if inferences is None else [_arrays(ours, given) for given in inferences]
    if not steps:
        raise WrongArgument("inputs: at least one inference is required")
    Target.read(target)
    trials = trials_of(ours, theirs, steps, metric)
    effects: dict[Unit, Effect] = {}
    for number in range(count := parts(trials)):
        progress(number, count)
        block = part(trials, number, count)
        effects |= zip(block, trials.effects(block), strict=True)
    named = [part if isinstance(part, (str, os.PathLike)) else (part.file or part.name) for part in (model, other)]
    file, beside = (os.fspath(name) for name in named)
    return analysed(trials, effects, target, file, beside, progress)


def parts(trials: Trials, least: int = 1) -> int:
    """Return the number of blocks into which the units are divided; the units of a block are measured together."""
    together = max(1, trials.lanes_at_once // (2 * len(trials.inputs)))
    return max(1, -(-len(trials.board.units) // together), min(least, len(trials.board.units)))


def part(trials: Trials, number: int, count: int) -> list[Unit]:
    """Return one of `count` blocks of units, in the order of the layers."""
    units = sorted(trials.board.units, key=lambda unit: trials.board.place[unit.sites[0].node])
    return units[len(units) * number // count : len(units) * (number + 1) // count]


def _chosen(model: Model, shapes: Mapping[str, Sequence[int]] | None, seed: int) -> list[Array]:
    """Return random inputs. Raises IRError for a shape that does not fit the model."""
    return _completed(model, Given(shapes=extents_of(shapes), seed=seed, typical=True, python=True))


def _completed(model: Model, given: Given) -> list[Array]:
    """Return the inputs in the types and shapes of the model. Raises IRError for inputs that do not fit the model."""
    entries = completed(model, given, Findings(file=model.file))
    return [entry.array for entry in entries if entry.array is not None]


def _simulated(model: Model, other: str) -> tuple[Board, dict[Unit, Range]]:
    if other in KINDS:
        return rounding_board(model, KINDS[other]), {}
    _check_precision(other)
    return weights_board(model, 8 if other == "int8-weights" else 4)


def _check_precision(name: str) -> None:
    """Raise WrongArgument for a name that is not one of PRECISIONS."""
    if name not in PRECISIONS:
        known, advice = ", ".join(PRECISIONS), likely_names(name, PRECISIONS)
        raise WrongArgument(f"{name!r} is neither a file nor one of {known}{f': {advice}' if advice else ''}")


def _rescaling(trials: Trials, precision: str) -> Rescaling | None:
    """Return the rescaling that removes an overflow; None if nothing overflows or, with a note, if it is impossible."""
    overflows = math.isinf(trials.coarse.noise) or any(found.clipped for found in trials.statistics.values())
    if not overflows or not isinstance(trials.board, RoundingBoard):
        return None
    try:
        return rescaling(trials.board.original, KINDS[precision], trials.inputs)
    except NoRemedy as error:
        trials.board.notes.append(f"rescaling by powers of two is not possible: {error}")
        return None


def _empty(board: Board, ranges: Mapping[Unit, Range]) -> dict[Unit, Statistics]:
    return {unit: _statistics(unit, ranges.get(unit)) for unit in board.units}


def _statistics(unit: Unit, known: Range | None) -> Statistics:
    """Return the statistics per channel: the axis of weights along which their scale differs, or axis 1 of other
    values.
    """
    axis: int | None = 1
    if known is not None and known.low is not None and known.low.size > 1:
        value = unit.sites[0].fine
        rank = value.type.shape.rank
        extents = [1] * max(0, (rank or 0) - known.low.ndim) + list(known.low.shape)
        axis = int(np.argmax(extents))
    elif known is not None and known.axis is not None:
        axis = known.axis
    return Statistics(known, axis)


def _row(trials: Trials, unit: Unit, effect: Effect) -> Row:
    known = trials.statistics[unit]
    return Row(
        unit.name,
        unit.kind,
        effect.without,
        effect.alone,
        trials.recovered(effect.without),
        known.snr,
        known.clipped_share,
        known.unused_share,
        known.worst_channel,
        unit.layers,
    )


def _model(given: Model | str | os.PathLike[str]) -> Model:
    if isinstance(given, Model):
        return given
    reading = for_running(read(os.fspath(given)))
    if reading.model is None or not reading.report.ok:
        from irexec.core.diagnostics import IRError

        raise IRError(reading.report)
    return reading.model


def _arrays(model: Model, given: Any) -> list[Array]:
    """Return one array for each input, in its type. Raises WrongArgument, and IRError for a value that does not fit."""
    names = ", ".join(min(port.names, default=port.node.friendly_name) for port in model.inputs)
    if isinstance(given, Mapping):
        keys = [_key(port, given) for port in model.inputs]
        if unknown := [name for name in given if name not in keys]:
            raise WrongArgument(f"inputs[{unknown[0]!r}]: no input has this name; the inputs are {names}")
        named = [given.get(key) for key in keys]
    else:
        named = [given] if isinstance(given, np.ndarray) else list(given)
    if len(named) != len(model.inputs) or any(array is None for array in named):
        raise WrongArgument(f"inputs: an array is required for each of {names}")
    return _completed(model, Given(inputs=dict(zip(map(str, range(len(named))), named, strict=True)), python=True))


def _key(port: Any, given: Mapping[str, Any]) -> str:
    return next((name for name in (*port.names, port.node.friendly_name) if name in given), "")
