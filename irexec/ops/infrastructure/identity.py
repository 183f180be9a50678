"""Identity: the input, unchanged.

Source: operation page Identity-16.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from irexec.ops.declare.operator import Elements, operator
from irexec.ops.rules.shapes import same_as
from irexec.types import ANY, CONTAINERS, FOREIGN, Array

T: TypeAlias = Annotated[Array, Elements("T", ANY | FOREIGN | CONTAINERS)]


@operator("Identity", "opset16", shapes=same_as(), view="input", reshapes=True, values="kernel")
def identity_16(input: T, /) -> T:
    """The input, unchanged."""
    return input
