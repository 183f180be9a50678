"""Print the keyword names of OpenVINO that irexec does not accept: `python benchmarks/public_signatures.py`.

The names are those of Python's signatures and, for compiled functions, of each overload in their help. The last line
states how many names of how many functions are missing without a reason.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

MODULES = ["", "preprocess", "passes", "frontend", "op", "op.util", "runtime", "utils", "helpers", "properties"]
MODULES += [f"opset{number}" for number in range(1, 17)] + ["_offline_transformations", "layout_helpers", "opset_utils"]
# A parameter in the help of a compiled function: `name: type`; parameters without a name do not match.
_PARAMETER = re.compile(r"(\w+)\s*:")
_UNNAMED = re.compile(r"self|arg\d+|args|kwargs")
NOT_OFFERED = {
    "CompiledModel.__init__": "compiled models are made by `compile_model`",
    "InferRequest.__init__": "requests are made by `create_infer_request`",
    "TensorVector.": "a list, whose methods have no keyword names",
    "Type.__init__": "types are found by name or NumPy dtype: `Type(np.float32)`",
    "Dimension.__init__": "numbers by position: `Dimension(1, 10)`",
    "frontend.FrontEnd.__init__": "frontends are found by FrontEndManager",
    "Tensor.__init__": "`Tensor(port)`, `Tensor(list)` and `Tensor(image)` by position",
}
"""A function, as `module.Class.function`, or the beginning of such a path → the reason why irexec has other names."""


def names(function: Any) -> set[str]:
    """Return the keyword names of a function of OpenVINO, from all its overloads."""
    try:
        parameters = inspect.signature(function).parameters.values()
        return {p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)} - {"self", "cls"}
    except (TypeError, ValueError):
        return {name for form in _forms(function) for name in form}


def _forms(function: Any) -> Iterator[list[str]]:
    name = getattr(function, "__name__", "")
    for match in re.finditer(rf"(?m)^(?:\d+\. )?{re.escape(name)}\((.*)\)(?: ->.*)?$", function.__doc__ or ""):
        found = []
        for part in _split(match[1]):
            named = _PARAMETER.match(part)
            if named and not _UNNAMED.fullmatch(named[1]):
                found.append(named[1])
        yield found


def _split(text: str) -> list[str]:
    """Return the parameters of an overload; commas inside brackets do not separate parameters."""
    parts, depth = [""], 0
    for char in text:
        depth += (char in "[({<") - (char in "])}>")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts]


def accepted(function: Any) -> set[str] | None:
    """Return the keyword names of a function of irexec; None if the function accepts any name."""
    parameters = inspect.signature(function).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return None
    return {p.name for p in parameters if p.kind is not p.POSITIONAL_ONLY}


def functions(theirs: Any, mine: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield the public functions of a module or class, and of its classes, that irexec has as well."""
    # Classes such as `Core` inherit most functions from a compiled class; what exceptions inherit is Python's.
    classes = theirs.__mro__ if inspect.isclass(theirs) else (theirs,)
    classes = tuple(one for one in classes if getattr(one, "__module__", "") != "builtins")
    for name in sorted({name for one in classes for name in vars(one)}):
        if name.startswith("_") and name != "__init__":
            continue
        one = getattr(theirs, name)
        other = getattr(mine, name, None)
        if other is None or inspect.ismodule(one):
            continue
        if inspect.isclass(one):
            if inspect.isclass(other):
                yield from functions(one, other, f"{path}{name}.")
        elif callable(one) and callable(other):
            # A class of nodes has a function that makes them.
            made = name == "__init__" and inspect.isclass(mine) and hasattr(mine, "make")
            yield f"{path}{name}", one, mine.make if made else other


def missing() -> Iterator[tuple[str, list[str]]]:
    seen: set[int] = set()
    for module in MODULES:
        try:
            theirs = importlib.import_module(f"openvino.{module}".rstrip("."))
            mine = importlib.import_module(f"irexec.{module}".rstrip("."))
        except ImportError:
            continue
        for path, one, other in functions(theirs, mine, f"{module}." if module else ""):
            if id(one) in seen:
                continue
            seen.add(id(one))
            lacking = _lacking(one, other)
            if lacking:
                yield path, lacking


def _lacking(one: Callable[..., Any], other: Callable[..., Any]) -> list[str]:
    try:
        known = accepted(other)
    except (TypeError, ValueError):
        return []
    return [] if known is None else sorted(names(one) - known)


def main() -> int:
    without = 0
    count = 0
    for path, lacking in missing():
        reason = next((why for start, why in NOT_OFFERED.items() if path.startswith(start)), None)
        print(f"{path}: {', '.join(lacking)}" + (f" ({reason})" if reason else ""))
        without += 0 if reason else len(lacking)
        count += not reason
    print(f"without a reason: {without} names of {count} functions")
    return 1 if without else 0


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main())
