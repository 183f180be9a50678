"""Running a program, statement by statement, with the outcome of each statement in a form that can be compared."""

from __future__ import annotations

import ast
import builtins
import re
import warnings
from collections.abc import Mapping
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

# Numbers at the end of names that a library generates.
_INVENTED = re.compile(r"(_\d+)+(?=$|[.:])")
_MODEL = re.compile(r"^Model\d+$")


class Outcome(NamedTuple):
    """The outcome of a statement: an exception, as the names of its built-in base classes (the nearest one first) and
    its message, or a value in plain form.
    """

    raised: tuple[str, ...]
    message: str
    value: Any


def data(shape: list[int], dtype: str, seed: int) -> np.ndarray:
    """Return an array of small numbers that all types represent exactly."""
    rng = np.random.default_rng(seed)
    if dtype == "bool_":
        return np.asarray(rng.integers(0, 2, shape), bool)
    low = 0 if dtype.startswith("u") else -4
    whole = rng.integers(low, 5, shape)
    return np.asarray(whole / 2 if dtype.startswith("float") else whole, dtype)


def execute(lines: list[str], library: ModuleType) -> list[Outcome]:
    """Run the statements with a library as `ov`, and continue after a statement that raises an exception."""
    scope: dict[str, Any] = {"ov": library, "np": np, "data": data, "F32": {"INFERENCE_PRECISION_HINT": "f32"}}
    found = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for line in lines:
            found.append(_outcome(line, scope))
    return found


def _outcome(line: str, scope: dict[str, Any]) -> Outcome:
    try:
        body = ast.parse(line).body
        if not isinstance(body[-1], ast.Expr):
            exec(compile(line, "program", "exec"), scope)
            return Outcome((), "", "done")
        exec(compile(ast.Module(body[:-1], []), "program", "exec"), scope)
        return Outcome((), "", plain(eval(compile(ast.Expression(body[-1].value), "program", "eval"), scope)))
    except Exception as error:
        return Outcome(_built_in(type(error)), str(error), None)


def _built_in(kind: type[BaseException]) -> tuple[str, ...]:
    return tuple(base.__name__ for base in kind.__mro__ if getattr(builtins, base.__name__, None) is base)


def plain(value: Any) -> Any:
    """Return a value without the classes of a library: shapes and types as texts, arrays unchanged."""
    if isinstance(value, (bool, int, float, type(None), bytes)):
        return value
    if isinstance(value, str):
        return "Model#" if _MODEL.match(value) else _INVENTED.sub("_#", value)
    if isinstance(value, (np.ndarray, np.generic)):
        return np.array(value)
    if isinstance(value, np.dtype):
        return str(value)
    kind = type(value).__name__
    if kind in ("PartialShape", "Dimension", "Layout"):
        return value.to_string()
    if kind in ("Type", "ElementType"):
        return f"Type {value.get_type_name()}"
    if kind == "Tensor":
        return ["Tensor", plain(value.element_type), plain(value.data)]
    if isinstance(value, Mapping) or kind == "RTMap":
        pairs = [(str(plain(key)), plain(item)) for key, item in value.items()]
        return dict(sorted(pairs, key=lambda pair: pair[0]))
    if isinstance(value, (set, frozenset)) or kind == "AxisSet":
        return sorted((plain(item) for item in value), key=str)
    if kind == "OVAny":
        return plain(value.value)
    if hasattr(value, "get_type_name"):
        return f"node {value.get_type_name()}"
    if hasattr(value, "get_any_name") or kind in ("Output", "ConstOutput", "Input", "ConstInput", "Value"):
        return ["port", value.get_index(), plain(value.get_partial_shape()), plain(value.get_element_type())]
    if isinstance(value, (list, tuple)) or hasattr(value, "__getitem__"):
        return [plain(item) for item in value]
    return kind
