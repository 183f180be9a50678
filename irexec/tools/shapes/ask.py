"""Asking for the sizes that a model accepts: `irexec.shapes`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from irexec.core.arguments import expected
from irexec.core.diagnostics import IRError, WrongArgument
from irexec.core.diagnostics.codes import CODES
from irexec.core.diagnostics.findings import Findings
from irexec.core.diagnostics.nearest import did_you_mean
from irexec.core.types import MAX_LENGTH, Dimension, PartialShape
from irexec.frontends.reading import GivenWeights, PathLike, Reading, accepted, read
from irexec.model.graph.model import Model
from irexec.model.graph.ports import port_name
from irexec.tools.shapes.answer import Shapes
from irexec.tools.shapes.study import study
from irexec.tools.shapes.tracer import Tracer

DEFAULT_SECONDS = 60.0
"""The default time limit for the study of a model."""

Given = Mapping[str, str | int | Sequence[int]]
"""Shapes of inputs by name, such as "?,3,224,224", and sizes of symbols of the answer, such as `seq` 128."""


def shapes(
    model: Model | PathLike | bytes,
    given: Given | None = None,
    *,
    weights: GivenWeights = None,
    seconds: float = DEFAULT_SECONDS,
    progress: Callable[[int], None] | None = None,
) -> Shapes:
    """Return the sizes of dynamic dimensions that a model accepts, found by inference at a few hundred combinations.

    `model`: a model, or a file or bytes of IR or ONNX. `given`: shapes of inputs by name, such as "?,3,224,224", and
    sizes of symbols of the answer, such as `seq` 128. `seconds`: the time limit of the study, at which the sizes found
    so far are returned. `progress` is called with the number of combinations.

    Raises IRError if the model has errors or the rank of an input is not known, and ValueError for a name or a shape
    that does not fit the model.
    """
    if not isinstance(model, Model):
        reading = read(model, weights, mode="openvino")
        model = model_with_sizes(reading) or accepted(reading)
    return accepted_shapes(model, given, seconds=seconds, progress=progress)


def model_with_sizes(reading: Reading) -> Model | None:
    """Return the model of a file without errors, or with errors that do not concern sizes; None for other files."""
    return reading.model if all(CODES[error.code].concerns_types for error in reading.report.errors) else None


class UnknownName(WrongArgument):
    """A name that is neither an input's name nor a symbol; `hint` suggests similar names."""

    def __init__(self, message: str, hint: str | None) -> None:
        super().__init__(message)
        self.hint = hint


def accepted_shapes(
    model: Model,
    given: Mapping[str, str | int | Sequence[int]] | None = None,
    *,
    seconds: float = DEFAULT_SECONDS,
    progress: Callable[[int], None] | None = None,
) -> Shapes:
    """Return the sizes that a model accepts, found by inference at a few hundred combinations of sizes.

    `given`: shapes of inputs by name, such as "?,3,224,224", and sizes of symbols of the answer, such as `seq` 128.
    `seconds`: the time limit of the study, at which the sizes found so far are returned. `progress` is called with the
    number of combinations. Raises UnknownName, WrongArgument for a shape that contradicts the declared shape, and
    IRError if the rank of an input is not known.
    """
    shapes = {port_name(value): value.type.shape for value in model.inputs}
    sizes: dict[str, int] = {}
    wanted: Mapping[str, str | int | Sequence[int]] = expected({} if given is None else given, Mapping, "shapes()")
    for name, text in wanted.items():
        is_size = isinstance(text, int) or (isinstance(text, str) and text.isdecimal())
        if name in shapes and not (is_size and shapes[name].rank != 1):
            shapes[name] = _given_shape(name, text, shapes[name])
        elif is_size:
            (size,) = _given_shape(name, text, PartialShape([-1]))
            if size.is_dynamic:
                raise WrongArgument(f"{name}: {text} is not a size")
            sizes[name] = size.value
        else:
            raise UnknownName(f"the model has no input {name!r}", did_you_mean(name, shapes))
    found = _study(model, list(shapes.values()), seconds, progress)
    if not sizes:
        return found
    for name in sizes:
        if name not in found.symbols:
            known = [*shapes, *dict.fromkeys(found.symbols)]
            raise UnknownName(f"the model has no input or symbol {name!r}", did_you_mean(name, known))
    fixed = [list(shape) for shape in shapes.values()]
    for dim, symbol in zip(found.dims, found.symbols, strict=True):
        if symbol in sizes:
            for number, axis in dim.places:
                fixed[number][axis] = Dimension(sizes[symbol])
    return _study(model, list(map(PartialShape, fixed)), seconds, progress)


def _given_shape(name: str, text: str | int | Sequence[int], declared: PartialShape) -> PartialShape:
    try:
        if isinstance(text, str):
            shape = PartialShape.parse(text)
        else:
            shape = PartialShape([text] if isinstance(text, int) else list(text))
    except ValueError as error:
        raise WrongArgument(f"{name}: {error}") from None
    if shape.rank is not None and (large := next((each.min for each in shape if each.min > MAX_LENGTH), None)):
        raise WrongArgument(f"{name}: {large} exceeds the 64-bit range of a dimension")
    if not shape.compatible(declared):
        raise WrongArgument(f"{name}: the shape {shape} contradicts the declared shape {declared}")
    return shape


def _study(
    model: Model, shapes: Sequence[PartialShape], seconds: float, progress: Callable[[int], None] | None
) -> Shapes:
    for value, shape in zip(model.inputs, shapes, strict=True):
        if shape.rank is None:
            findings = Findings(file=model.file)
            name = port_name(value)
            hint = f"give its dimensions: --input {name}=?,?,?, or in Python given={{{name!r}: '?,?,?'}}"
            findings.add("U006", f"the rank of the input {name!r} is not known", hint=hint)
            raise IRError(findings.report)
    prober = Tracer(model, shapes, progress)
    return Shapes(prober, study(prober, seconds))
