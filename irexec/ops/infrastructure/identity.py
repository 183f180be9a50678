"""Identity: the input, unchanged.

Source: operation page Identity-16.
"""

from __future__ import annotations

from irexec.ops.rules.shapes import same_as
from irexec.ops.spec.operator import operator
from irexec.ops.spec.tensors import AnyValueTensor
from irexec.ops.spec.traits import CarriesSizes, Unchanged


@operator("Identity", "opset16", CarriesSizes, Unchanged, shapes=same_as(), view="input")
def identity_16(input: AnyValueTensor, /) -> AnyValueTensor:
    """The input, unchanged."""
    return input
