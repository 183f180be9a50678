"""Identity: the input, unchanged.

Source: operation page Identity-16.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from irexec.core.types import ANY, CONTAINERS, FOREIGN, Array
from irexec.ops.rules.shapes import same_as
from irexec.ops.spec.operator import Elements, operator

T: TypeAlias = Annotated[Array, Elements("T", ANY | FOREIGN | CONTAINERS)]


@operator("Identity", "opset16", shapes=same_as(), view="input", reshapes=True, values="kernel")
def identity_16(input: T, /) -> T:
    """The input, unchanged."""
    return input
