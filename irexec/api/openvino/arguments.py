"""Types of arguments that several functions of OpenVINO's API take."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike

    from irexec.api.openvino.kinds.descriptions import Variable
    from irexec.api.openvino.layout import Layout
    from irexec.api.openvino.tensor import Tensor
    from irexec.core.types import ElementType, PartialShape, ShapeLike
    from irexec.model.graph.model import Model, Node, Value

PathLike: TypeAlias = str | os.PathLike[str]
"""The name of a file."""
PortKey: TypeAlias = "str | int | Value"
"""An input or output: the name of its tensor, its position, or the port itself."""
OutputName: TypeAlias = "str | tuple[str, int] | Value"
"""A value inside a model: the name of its tensor, the name of a layer and the number of its output, or the port."""
Data: TypeAlias = "ArrayLike | Tensor"
"""The values of one input or output."""
Inputs: TypeAlias = (
    "Mapping[str, Data] | Mapping[int, Data] | Mapping[Value, Data] | Mapping[PortKey, Data] | Sequence[Data] | Data"
)
"""The values of inputs: by name, position or port, in order, or the values of the only input."""
Operand: TypeAlias = "Node | Value"
"""A value for an input: an output, or a node that has one output."""
ModelResults: TypeAlias = "Model | Operand | Iterable[Operand | np.ndarray]"
"""The results of a new model, or a model to copy."""
ModelPart: TypeAlias = "Iterable[Node] | Iterable[Operand] | Iterable[Variable] | str"
"""Parameters, sinks, variables, or the name of a new model."""
LayoutLike: TypeAlias = "Layout | str"
"""A layout, or its text such as `NCHW`."""
Scalar: TypeAlias = bool | int | float | str
AttributeValue: TypeAlias = "Scalar | Sequence[Scalar] | np.ndarray | ElementType | PartialShape"
"""The value of an attribute."""
Shapes: TypeAlias = "Mapping[str, ShapeLike] | Mapping[int, ShapeLike] | Mapping[Value, ShapeLike]"
"""Shapes of several inputs: by name, position or port."""
