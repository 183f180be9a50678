"""The table of translators: the function that translates each version of each ONNX operator."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from irexec.frontends.onnx.op import Op
from irexec.model.graph.model import Value

Result = Value | Sequence[Value | None]
Translator = Callable[[Op], Result]
Check = Callable[[Op], None]

# (domain, type, version that introduced it) → translator. ONNX's own domain is "".
_TRANSLATORS: dict[tuple[str, str, int], Translator] = {}
_CHECKS: dict[str, Check] = {}

NAMES: dict[tuple[str, str], list[str]] = {}
"""The names of the inputs of operators, as far as their shapes are declared: domain and type → names."""

MICROSOFT = "com.microsoft"
OPENVINO = "org.openvinotoolkit"
# The version of operators that existed before opsets were numbered.
EXPERIMENTAL = 0
# Operators of ONNX Runtime's domain that ONNX adopted and defines by functions.
OF_ONNX = ("CausalConvWithState", "LinearAttention")


def translates(
    *operators: str, since: Iterable[int], domain: str = "", shapes: str = ""
) -> Callable[[Translator], Translator]:
    """Return a decorator that registers a translator for operators of a domain, in the versions that `since` lists.

    `shapes`: the shapes that ONNX requires of the inputs (see shapes.py).
    """

    def declare(function: Translator) -> Translator:
        def checked(op: Op) -> Result:
            op.check_shapes(shapes)
            return function(op)

        for type in operators:
            NAMES[domain, type] = [part.partition(":")[0].strip() for part in shapes.split(";") if part]
            for version in since:
                if (domain, type, version) in _TRANSLATORS:
                    raise TypeError(f"{type}-{version} is translated by two functions")
                _TRANSLATORS[domain, type, version] = checked if shapes else function
        return function

    return declare


def requires(*operators: str, shapes: str) -> Callable[[Check], Check]:
    """Return a decorator that registers what is required of operators that ONNX defines by functions: `shapes` as in
    `translates`, and a function that reads attributes, and raises Refused."""

    def declare(function: Check) -> Check:
        def checked(op: Op) -> None:
            op.check_shapes(shapes)
            function(op)

        _CHECKS.update(dict.fromkeys(operators, checked))
        return function

    return declare


def check_of(type: str) -> Check | None:
    """Return the check of an operator that ONNX defines by a function; None if nothing more than its definition is
    required."""
    translators()
    return _CHECKS.get(type)


def corresponds(
    operator: str,
    type: str,
    inputs: int = 1,
    *,
    since: Iterable[int],
    domain: str = "",
    opset: int | str = 1,
    shapes: str = "",
    **fixed: Any,
) -> None:
    """Register the translation of an operator to an operator `type` of `opset` with the same inputs and with fixed
    attributes."""

    @translates(operator, since=since, domain=domain, shapes=shapes)
    def _(op: Op) -> Value:
        return op.make(type, *(op[i] for i in range(inputs)), opset=opset, **fixed)


def translators() -> dict[tuple[str, str, int], Translator]:
    """Return the whole table; the first call imports its modules."""
    if not _TRANSLATORS:
        package: Any = importlib.import_module("irexec.frontends.onnx.operators")
        for family in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{package.__name__}.{family.name}")
    return _TRANSLATORS
