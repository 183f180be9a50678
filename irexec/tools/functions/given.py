"""The models and inputs that functions accept: files, bytes and models; arrays by name or in order."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from irexec.api.openvino.editing import current
from irexec.api.openvino.model import Model as OpenVINOModel
from irexec.core.diagnostics.findings import Findings
from irexec.frontends.reading import accepted, read
from irexec.ir.weights.file import RandomWeights
from irexec.model.arrays.given import Given, extents_of
from irexec.model.graph.copies import copied
from irexec.model.graph.model import Model
from irexec.tools.run.record import Reference, run_with
from irexec.tools.run.run import ModelInput, completed

ModelLike = str | os.PathLike[str] | bytes | Model
"""A model: the name of its file, the bytes of an IR or an ONNX model, or a Model."""
WeightsLike = str | os.PathLike[str] | RandomWeights | None
"""The file of a model's weights, or a request to draw those that are missing; None: the `.bin` beside the model."""
Inputs = Mapping[Any, Any] | Sequence[Any]
"""The inputs of a model: arrays by name or position, or in order."""


def model_of(given: ModelLike, weights: WeightsLike = None) -> Model:
    """Return the model of a file or of bytes, or a copy of a Model, so that later changes have no effect. Raises
    IRError.
    """
    if isinstance(given, Model):
        made: Model = copied(current(given))
        made.file = given.file
        return made
    return accepted(read(given, weights, model_class=OpenVINOModel))


def given_of(inputs: Inputs | None, shapes: Mapping[str, Sequence[int]] | None, seed: int) -> Given:
    """Return what is given for the inputs of a model."""
    named = inputs if isinstance(inputs, Mapping) else dict(enumerate(inputs or ()))
    return Given(
        inputs={str(getattr(name, "any_name", name)): value for name, value in named.items()},
        shapes=extents_of(shapes),
        seed=seed,
        typical=True,
        python=True,
    )


def entries_of(
    model: Model,
    inputs: Inputs | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    seed: int = 0,
) -> list[ModelInput]:
    """Return the inputs of a model; inputs that are not given get random arrays. Raises IRError."""
    return completed(model, given_of(inputs, shapes, seed), Findings(file=model.file))


def reference_of(
    model: Model,
    inputs: Inputs | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    seed: int = 0,
) -> Reference:
    """Return irexec's run of a model with these inputs; missing inputs get random values. Raises IRError."""
    return run_with(model, [entries_of(model, inputs, shapes, seed)])


def name_of(given: ModelLike) -> str:
    """Return the name of a model's file, or else the model's own name."""
    if isinstance(given, Model):
        return given.file or given.name or "model"
    return "model" if isinstance(given, bytes) else os.fspath(given)


def names_of(a: ModelLike, b: ModelLike) -> tuple[str, str]:
    """Return the names of two models. If both names are equal, a Model gets a name other than that of the file from
    which it was read, because the Model may have been changed.
    """
    one, other = name_of(a), name_of(b)
    if os.path.abspath(one) != os.path.abspath(other):
        return one, other
    if isinstance(a, Model) and isinstance(b, Model):
        return (one, other) if a is b else (f"{one} (first in memory)", f"{other} (second in memory)")
    one, other = (f"{name} (in memory)" if isinstance(x, Model) else name for name, x in ((one, a), (other, b)))
    return one, other
