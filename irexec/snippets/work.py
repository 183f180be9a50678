"""An estimate of the time that an example takes, from its shapes."""

from __future__ import annotations

import math

from irexec.snippets.example import Example
from irexec.types import TensorType

_MULTIPLYING = frozenset({"convolution", "matrix"})
_SAMPLING = frozenset({"detection"})
_SAMPLES = 20


def estimated_work(example: Example) -> float:
    """Return an estimate of the operations of an execution: its output elements, or its multiplications."""
    sizes = [_size(entry.type) for entry in example.inputs]
    results = [_size(output.type) for output in example.outputs]
    work = float(sum(sizes) + sum(results))
    operator = example.operator
    family = operator.kernel.__module__.split(".")[-2] if operator is not None else ""
    if family in _SAMPLING:
        work *= _SAMPLES
    if family in _MULTIPLYING and len(sizes) > 1:
        # The work of a matrix product is the square root of the product of the sizes of its three matrices; a
        # convolution
        # takes a multiple.
        first, second = sorted(sizes)[-2:]
        work = max(work, math.sqrt(first * second * max(results, default=1)))
    return work


def _size(type: TensorType) -> float:
    if type.rank is None:
        return 1.0
    return math.prod(float(d.value) if d.is_static else 2.0 for d in type.shape)
