"""Other shapes of inputs: given ones, another batch, and fixed or bounded sizes of dynamic dimensions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from irexec.api.openvino.layout import layout_of
from irexec.api.openvino.model import Model
from irexec.core.diagnostics.nearest import did_you_mean
from irexec.core.types import Dimension, PartialShape
from irexec.core.types.dimension import parse_dimension
from irexec.tools.edit.changes import Wanted, impossible, input_named
from irexec.tools.shapes.ask import accepted_shapes


def resize(model: Model, wanted: Wanted) -> Model:
    """Return the model with other shapes of its inputs. Raises IRError."""
    shapes = {}
    for name, shape in wanted.shapes.items():
        number = input_named(model, name, "--shape")
        try:
            shapes[number] = PartialShape.parse(shape) if isinstance(shape, str) else PartialShape(shape)
        except ValueError as error:
            impossible(model, "U004", f"--shape {name}: {error}", "write NAME=1,3,224,224 or NAME=?,3,?,?")
    if shapes:
        model.reshape(shapes)
    if wanted.batch is not None:
        _set_batch(model, wanted.batch, shapes)
    if wanted.static or wanted.bounds:
        _set_sizes(model, wanted.static, wanted.bounds)
    return model


def _set_batch(model: Model, batch: int | str, given: Mapping[int, PartialShape]) -> None:
    extent = batch if isinstance(batch, int) else parse_dimension(batch)
    shapes: dict[int, PartialShape] = {}
    for number, parameter in enumerate(model.parameters):
        shape, layout = parameter.outputs[0].type.shape, layout_of(parameter)
        axis = layout.get_index_by_name("N") if layout.has_name("N") else 0
        if number not in given and shape.rank:
            shapes[number] = PartialShape(shape).with_dim(axis, extent)
    model.reshape(shapes)


def _set_sizes(model: Model, static: Mapping[str, int], bounds: Mapping[str, int]) -> None:
    """Fix or bound the dynamic dimensions of a symbol, in all inputs."""
    found = accepted_shapes(model)
    shapes = [list(parameter.outputs[0].type.shape) for parameter in model.parameters]
    for option, sizes in (("--static", static), ("--bound", bounds)):
        for name, size in sizes.items():
            dims = [dim for dim, symbol in zip(found.dims, found.symbols, strict=True) if symbol == name]
            if not dims:
                hint = did_you_mean(name, found.symbols) or f"the symbols are {', '.join(dict.fromkeys(found.symbols))}"
                impossible(model, "U005", f"{option} {name}: no dynamic dimension has this name", hint)
            for number, axis in (place for dim in dims for place in dim.places):
                extent: Any = Dimension(size) if option == "--static" else Dimension(1, size)
                shapes[number][axis] = extent
    model.reshape(dict(enumerate(map(PartialShape, shapes))))
