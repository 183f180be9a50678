"""Legal calls of every operator version without a body: a table of small examples, converted to arrays.

The table is that of irexec.tools.conformance.seeds. Values that are not given are drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

import irexec
from irexec.core.types import ElementType
from irexec.ops.spec.contents import find
from irexec.ops.spec.operator import Operator
from irexec.tools.conformance.seeds import table


class Call(NamedTuple):
    """An operator with inputs and attributes."""

    operator: Operator
    arrays: list[Any]
    attributes: dict[str, Any]

    def run(self) -> Any:
        """Return the result of the public function of the operator's own opset."""
        function = _functions(self.operator.opset)[self.operator.type.lower()]
        names = [port.name for port in self.operator.inputs]
        if not self.operator.signature.is_variadic and len(self.arrays) <= len(names):
            # Some of OpenVINO's functions take the inputs in another order, or attributes between them.
            return function(**dict(zip(names, self.arrays, strict=False)), **self.attributes)
        return function(*self.arrays, **self.attributes)

    def __str__(self) -> str:
        inputs = ", ".join(f"{a.dtype}{list(a.shape)}" if isinstance(a, np.ndarray) else repr(a) for a in self.arrays)
        return f"{self.operator}({inputs}, {self.attributes})"


@cache
def _functions(opset: str) -> dict[str, Callable[..., Any]]:
    """Return the functions of an opset by the type in lower case, which is the function's name without underscores."""
    namespace = getattr(irexec, opset)
    return {name.replace("_", ""): getattr(namespace, name) for name in dir(namespace) if not name.startswith("__")}


def calls(seed: int = 0) -> list[Call]:
    """Return every call of the table, with random values for those that are not given."""
    rng = np.random.default_rng(seed)
    return [
        Call(_operator(name), [_array(rng, i) for i in inputs], dict(attributes))
        for name, inputs, attributes in table()
    ]


def _operator(name: str) -> Operator:
    type, version = name.rsplit("-", 1)
    found = find(type, f"opset{version}")
    assert found is not None and found.versioned_name == name, name
    return found


def _array(rng: np.random.Generator, item: list[Any] | None) -> np.ndarray | None:
    if item is None:
        return None
    dtype, shape = ElementType.by_name[item[0]].dtype, tuple(item[1])
    assert dtype is not None
    if len(item) == 3:
        values = [float(v) if isinstance(v, str) and item[0] != "string" else v for v in item[2]]
        return np.array(values, None if item[0] != "string" else dtype).reshape(shape).astype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    drawn = rng.uniform(0.1, 2, math.prod(shape)).reshape(shape)
    return drawn.astype(dtype)
