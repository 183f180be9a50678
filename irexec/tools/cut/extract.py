"""Extracts: a part of a model with the values that reach it in a run, written as a model and an archive of inputs."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from irexec.core.diagnostics import IRError
from irexec.core.types import BOOLEAN, DYNAMIC, Array, ElementType, PartialShape
from irexec.frontends.text.printer import print_text
from irexec.ir.io.writing import Together, together
from irexec.model.arrays.brief import plural
from irexec.model.arrays.saving import save_text
from irexec.model.graph.copies import copied
from irexec.model.graph.cut import Part, cut
from irexec.model.graph.model import Body, Model, Node, Value
from irexec.model.graph.write import write_model
from irexec.model.inference import infer_types
from irexec.runtime.engine import CompiledModel
from irexec.tools.run.dump import save_inputs
from irexec.tools.run.record import Reference, same

# Integer constants up to this size are axes, shapes and indices; larger ones are weights.
MAX_STRUCTURE = 64


@dataclass(slots=True)
class Extract:
    """A model with its inputs, and its results as computed in the model from which it was cut.

    `checked`: running it gives these results again, bit for bit; None for a model whose values were replaced.
    """

    model: Model
    inputs: list[Array]
    results: list[Array]
    checked: bool | None

    def save(self, path: str | os.PathLike[str], files: Together | None = None) -> list[Path]:
        """Write the model, its weights, its text form and its inputs (.xml, .bin, .irt, .npz); these and `files` are
        all written, or none.

        Raises IRError and OSError.
        """
        xml = Path(path).with_suffix(".xml")
        with together(files) as all_files:
            save_inputs(self.model, self.inputs, xml.with_suffix(".npz"), all_files)
            # The text refers to the constants in the .bin.
            save_text(xml.with_suffix(".irt"), print_text(self.model), all_files)
            write_model(self.model, xml, files=all_files)
        return [xml, *(xml.with_suffix(suffix) for suffix in (".bin", ".irt", ".npz"))]


def find(model: Model, name: str) -> tuple[Model, Node] | None:
    """Return the layer with this name (or else id), and the model or body that contains it."""
    for node in model.nodes:
        if node.friendly_name == name:
            return model, node
    for node in model.nodes:
        for body in node.bodies:
            if (found := find(body.model, name)) is not None:
                return found
    return next(((model, node) for node in model.nodes if node.id and node.id == name), None)


def extract(
    reference: Reference, whole: Model, nodes: Collection[Node], ends: Sequence[Value], *, call: int = 0
) -> Extract:
    """Return a model of these layers of `whole` (the reference's model or one of its bodies), with the inputs recorded
    in a run.

    `call`: the iteration of a body. Raises IRError if the model cannot be run, ValueError if these layers do not run
    in this iteration.
    """
    part = cut(whole, [node for node in nodes if not node.has_state], ends)
    values = reference.record({*part.begins, *part.ends}, call)[0]
    inputs = [values[value] for value in part.begins if value in values]
    if len(inputs) < len(part.begins):
        missing = next(value for value in part.begins if value not in values)
        raise ValueError(f"{missing.node.friendly_name!r} {_runs(reference, missing.node, call)}")
    give_types(part, inputs)
    try:
        results = list(CompiledModel(part.model)(inputs).to_tuple())
    except IRError:
        return Extract(part.model, inputs, [], False)
    expected = [values.get(value) for value in part.ends]
    checked = all(e is not None and same(e, r) for e, r in zip(expected, results, strict=True))
    return Extract(part.model, inputs, results, checked)


def _runs(reference: Reference, node: Node, call: int) -> str:
    """Return the reason why a layer has no values in iteration `call` of its body."""
    readers = {user for value in node.outputs for user in value.users}
    counts = reference.count()
    times = max(counts.get(n, 0) for n in (node, *readers))
    if times:
        known = f"{plural(times, 'iteration')} with these inputs, 0 to {times - 1}"
        return f"is computed in {known}, so there is no iteration {call}"
    return "is not computed with these inputs"


def give_types(part: Part, inputs: Sequence[Array]) -> None:
    """Infer the types of the part's values from its Parameters; unknown element types are those of `inputs`."""
    for parameter, array in zip(part.model.parameters, inputs, strict=True):
        fix_type(parameter, array)
    infer_types(part.model)


def fix_type(parameter: Node, array: Array) -> None:
    """Give a Parameter with an unknown element type or rank the type or rank of an array."""
    kind, shape = parameter.attributes["element_type"], parameter.attributes["shape"]
    kind = ElementType.of(array.dtype) if kind is DYNAMIC else kind
    shape = shape if shape.rank is not None else PartialShape([-1] * array.ndim)
    parameter._attributes = parameter.attributes | {"element_type": kind, "shape": shape}


def anonymised(part: Extract) -> Extract:
    """Return the same structure with other names, no rt_info, and noise of the same range for weights and inputs.

    Integer inputs are kept only if the model does not run with other values.
    """
    rng = np.random.default_rng(0)
    model = copied(part.model)
    model.name = "model"
    _strip(model, rng, [0])
    run = CompiledModel(model)
    try:
        inputs = [_noise(array, rng, structure=0) for array in part.inputs]
        results = list(run(inputs).to_tuple())
    except IRError:
        inputs = [_noise(array, rng) for array in part.inputs]
        results = list(run(inputs).to_tuple())
    return Extract(model, inputs, results, None)


def renamed(model: Model) -> Model:
    """Return the same model with other names and no rt_info."""
    made = copied(model)
    made.name = "model"
    _strip(made, None, [0])
    return made


def _strip(model: Model, rng: np.random.Generator | None, counter: list[int]) -> None:
    model.rt_info, model.file, model.source = {}, None, None
    for node in model.nodes:
        node.friendly_name = f"{node.type.lower()}_{counter[0]}"
        counter[0] += 1
        node.layer, node.rt_info, node.input_rt_info = None, {}, {}
        for value in node.outputs:
            value.names, value.rt_info = set(), {}
        if node.constant is not None and rng is not None:
            node.constant = _noise(node.constant, rng)
        for body in node.bodies:
            _strip_body(body, rng, counter)


def _strip_body(body: Body, rng: np.random.Generator | None, counter: list[int]) -> None:
    _strip(body.model, rng, counter)
    body.model.name = "body"


def _noise(array: Array, rng: np.random.Generator, structure: int = MAX_STRUCTURE) -> Array:
    """Return random values of the same type, shape and range. Arrays of up to `structure` integers or booleans, and
    common numbers, such as 0.5 and 1e-5, are kept: they are structure.
    """
    kind = ElementType.of(array.dtype)
    if array.dtype.kind in "TUO":
        words = ["".join(rng.choice([*"abcdefgh"], len(text))) for text in array.reshape(-1).tolist()]
        return np.array(words, array.dtype).reshape(array.shape)
    if array.size <= structure and not kind.is_real:
        return array
    if kind is BOOLEAN:
        return rng.permutation(array.reshape(-1)).reshape(array.shape)
    wide = array.astype(np.float64)
    finite = wide[np.isfinite(wide)]
    if not finite.size:
        return array
    low, high = float(finite.min()), float(finite.max())
    if low == high and kind.is_real:
        if _is_common(low, array.dtype):
            return array
        low, high = 0.5 * low, 1.5 * low
    noise: Array = np.asarray(rng.uniform(low, high, array.shape))
    return (np.rint(noise) if kind.is_integral_number else noise).astype(array.dtype)


def _is_common(number: float, dtype: np.dtype[Any]) -> bool:
    """Return whether a number has at most two digits or is a power of two, and so reveals nothing of the model."""
    return number == float(np.asarray(float(f"{number:.2g}")).astype(dtype)) or abs(np.frexp(number)[0]) == 0.5
