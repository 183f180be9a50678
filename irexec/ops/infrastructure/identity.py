"""Identity: the input, unchanged.

Source: operation page Identity-16.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from irexec.ops.operator import ANY_ELEMENTS, Array, operator
from irexec.ops.rules import same_as

T: TypeAlias = Annotated[Array, ANY_ELEMENTS]


@operator("Identity", "opset16", shapes=same_as(), view="input", values="kernel")
def identity_16(input: T, /) -> T:
    """The input."""
    return input
