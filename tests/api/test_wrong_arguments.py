"""Objects of wrong types, in each position of every public function: an exception that the function documents, never
one from inside, such as an AttributeError of the object that was given.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irexec
from irexec import opset15 as ops

WRONG = [1.5, None, b"x", object(), [object()], {"a": 1}, np.float32(1), len, "zz", [], (1, 2, 3, 4), {1: 2}]
INSIDE = (AttributeError, LookupError, AssertionError, RecursionError, StopIteration, NameError, ZeroDivisionError)
# Exceptions of irexec itself are also RuntimeErrors or ValueErrors.
OWN = (RuntimeError, ValueError, TypeError)
# What the engine and the commands call; a Reduction is only made of a failure.
LEFT_OUT = {"inferred", "computed", "show", "save"}
# Exceptions of mappings and arrays that OpenVINO and NumPy document: a key is any object.
KEYS = {"RTMap.__getitem__", "RTMap.__delitem__", "RTMap.pop", "Tensor.__getitem__"}
OPERATORS = {
    f"__{name}__"
    for name in "getitem setitem delitem contains call eq lt add radd sub rsub mul rmul floordiv".split()  # noqa: SIM905
}
MODULES = ("op", "passes", "preprocess", "properties", "utils", "frontend", "helpers", "layout_helpers", "experimental")
STUB = Path(irexec.__file__).with_suffix(".pyi").read_text()


def theirs(module: str) -> dict[str, Any]:
    """Return the names of a module of OpenVINO; none if OpenVINO is not installed."""
    if not find_spec("openvino"):
        return {}
    openvino = import_module("openvino")
    return vars(getattr(openvino, module, None) or import_module(f"openvino.{module}") if module else openvino)


NAMES = [
    *(f"irexec.{name}" for name in re.findall(r" as (\w+)$", STUB, re.MULTILINE)),
    *(
        f"irexec.{module}.{name}"
        for module in MODULES
        for name, found in sorted(vars(import_module(f"irexec.{module}")).items())
        if name[0] != "_" and callable(found) and name in theirs(module)
    ),
]


def network(extent: int = 2) -> irexec.Model:
    x = ops.parameter([extent, 3], np.float32, name="x")
    return irexec.Model([ops.relu(x, name="r")], [x], "m")


# A part of an annotation → an object of that type; the first part that occurs counts.
RIGHT: dict[str, Callable[[], Any]] = {
    "Prober": lambda: made("Shapes")._prober,
    "CompiledModel": lambda: made("CompiledModel"),
    "Shape": lambda: irexec.PartialShape([1, -1]),
    "Dim": lambda: irexec.Dimension(3),
    "Layout": lambda: "NC",
    "Type": lambda: irexec.Type.f32,
    "Operand": lambda: network().outputs[0].node,
    "Node": lambda: network().outputs[0].node,
    "Model": network,
    "Value": lambda: network().outputs[0],
    "Output": lambda: network().outputs[0],
    "Tensor": lambda: made("Tensor"),
    "Inputs": lambda: np.zeros((2, 3), np.float32),
    "Data": lambda: np.zeros((2, 3), np.float32),
    "Array": lambda: np.zeros((2, 3), np.float32),
    "Path": lambda: "m.xml",
    "Callable": lambda: lambda *_: True,
    "str": lambda: "x",
    "int": lambda: 0,
    "bool": lambda: True,
    "float": lambda: 1.0,
    "Mapping": dict,
    "dict": dict,
    "Iterable": list,
    "Sequence": list,
    "list": list,
}
# A function that does much by default → arguments with which it does little.
LITTLE: dict[str, dict[str, Any]] = {"conformance": {"runtime": "irexec", "only": "Sign-1", "cases": 1}}
MADE: dict[str, Callable[[], Any]] = {
    "Model": network,
    "CompiledModel": lambda: irexec.compile_model(network()),
    "InferRequest": lambda: made("CompiledModel").create_infer_request(),
    "AsyncInferQueue": lambda: irexec.AsyncInferQueue(made("CompiledModel"), 1),
    "Node": lambda: network().outputs[0].node,
    "Input": lambda: network().outputs[0].node.input(0),
    "Output": lambda: network().outputs[0],
    "Value": lambda: network().outputs[0],
    "ConstOutput": lambda: made("CompiledModel").inputs[0],
    "PartialShape": lambda: irexec.PartialShape([1, -1]),
    "Dimension": lambda: irexec.Dimension(1, 4),
    "Layout": lambda: irexec.Layout("NC"),
    "Type": lambda: irexec.Type.f32,
    "ElementType": lambda: irexec.Type.f32,
    "Tensor": lambda: irexec.Tensor(np.zeros((2, 3), np.float32)),
    "Report": lambda: irexec.validate("m.xml"),
    "Shapes": lambda: irexec.shapes(network(-1)),
    "Differences": lambda: irexec.diff(network(), network()),
    "Comparison": lambda: irexec.compare(network(), network()),
    "Sides": lambda: irexec.Sides([made("Comparison"), made("Comparison")]),
    "OVAny": lambda: irexec.OVAny(1),
}


def made(name: str) -> Any:
    return MADE[name]()


def right(parameter: inspect.Parameter) -> Any:
    found = (make for part, make in RIGHT.items() if part in str(parameter.annotation))
    return next(found, lambda: None)()


def parameters_of(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return []
    return [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]


def methods(name: str, kind: type, known: set[str]) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield the public methods of a class that are among the known, each with a function that returns it bound to a new
    object.
    """

    def make() -> Any:
        if name in MADE:
            return made(name)
        return kind(*(right(each) for each in parameters_of(kind) if each.default is each.empty))

    try:
        example = make()
    except (*OWN, OSError):
        return
    for method in sorted(known & {each for each in dir(kind) if each[0] != "_" or each in OPERATORS}):
        bound = inspect.getattr_static(kind, method)
        is_method = callable(bound) or isinstance(bound, (staticmethod, classmethod))
        if is_method and parameters_of(getattr(example, method)):
            yield f"{name}.{method}", lambda method=method: getattr(make(), method)  # type: ignore[misc]


def calls(function: Callable[[], Any]) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield calls of a function, each with one wrong argument, and right ones where arguments are required."""
    parameters = parameters_of(function())
    little = LITTLE.get(getattr(function(), "__name__", ""), {})
    for position, tested in enumerate(parameters):
        for wrong in WRONG:
            given, named = [], {name: value for name, value in little.items() if name != tested.name}
            for number, each in enumerate(parameters):
                if number != position and (each.default is not each.empty or each.kind is each.VAR_POSITIONAL):
                    continue
                value = wrong if number == position else right(each)
                if each.kind is each.KEYWORD_ONLY or (len(given) < number and each.kind is each.POSITIONAL_OR_KEYWORD):
                    named[each.name] = value
                else:
                    given.append(value)
            yield f"{tested.name}={wrong!r}", partial(called, given, named, function)


def called(given: list[Any], named: dict[str, Any], function: Callable[[], Any], other: Any = None) -> Any:
    return (other or function())(*given, **named)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", NAMES)
def test_no_exception_comes_from_inside(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    irexec.save_model(network(), "m.xml")
    module, _, name = path.rpartition(".")
    found = getattr(import_module(module), name)
    functions = [(name, lambda: found)]
    other = theirs(module.partition(".")[2]).get(name)
    if inspect.isclass(found):
        known = {*dir(found)} if module == "irexec" else {*dir(other)}
        functions += methods(name, found, known - LEFT_OUT)
    wrong = []
    for label, function in functions:
        for argument, call in calls(function):
            error = inside(call)
            if error is None or label in KEYS or (label == name and inside(partial(call, other)) == error):
                continue
            wrong.append(f"{label}({argument}): {error}")
    assert not wrong, "\n".join(wrong)


def inside(call: Callable[[], Any]) -> str | None:
    """Return the name of the exception that a call raises and no function documents; None if there is none."""
    try:
        call()
    except INSIDE as error:
        return None if isinstance(error, OWN) else type(error).__name__
    except Exception:
        pass
    return None
