"""The places in the source of an operator that state a constraint: a condition with its message.

A place is a call of `check`, `require` or `ConstraintError`. The source of a rule or a kernel is followed into the
functions of irexec.ops that it uses, with the constraint numbers that it passes to them.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from irexec.ops.spec.operator import Operator

_NUMBER = re.compile(r"C\d+")
_STATING = {"check", "require", "ConstraintError"}


class Place(NamedTuple):
    module: str
    function: str
    line: int


def stated(function: Callable[..., Any]) -> dict[str, set[Place]]:
    """Return, by constraint number, the places that state it in a rule or a kernel."""
    found: dict[str, set[Place]] = {}
    todo: list[tuple[Callable[..., Any], tuple[tuple[str, str], ...]]] = [(function, ())]
    seen = set()
    while todo:
        current, numbers = todo.pop()
        if (current.__code__, numbers) in seen:
            continue
        seen.add((current.__code__, numbers))
        known, tree = dict(numbers), _tree(current)
        called = set()
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            given = [_number(argument, known) for argument in call.args]
            if _name(call.func) in _STATING and given:
                line = current.__code__.co_firstlineno + call.lineno - 1
                for number in [given[0]] if given[0] else _looped(tree, call.args[0]):
                    found.setdefault(number, set()).add(Place(current.__module__, current.__name__, line))
            elif isinstance(call.func, ast.Attribute) and given and given[0]:  # Extents.match of a rule
                found.setdefault(given[0], set()).add(Place(current.__module__, ast.unparse(call.func), call.lineno))
            elif isinstance(call.func, ast.Name) and (target := _function(current, call.func.id)) is not None:
                called.add(call.func)
                names = list(inspect.signature(target).parameters)
                passed = dict(zip(names, given, strict=False))
                passed |= {k.arg: _number(k.value, known) for k in call.keywords if k.arg}
                todo.append((target, tuple((k, v) for k, v in sorted(passed.items()) if v)))
        for other in _others(current, tree, called):
            todo.append((other, ()))
    return found


def _looped(tree: ast.AST, argument: ast.expr) -> list[str]:
    """Return the constraint numbers over which a loop runs whose variable is the argument."""
    found: list[str] = []
    for loop in (node for node in ast.walk(tree) if isinstance(node, (ast.For, ast.comprehension))):
        targets = {node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)}
        if isinstance(argument, ast.Name) and argument.id in targets:
            found += [number for node in ast.walk(loop.iter) if (number := _number(node, {})) is not None]
    return found


def _others(function: Callable[..., Any], tree: ast.AST, called: set[ast.Name]) -> Iterator[Callable[..., Any]]:
    """Return the functions that are used other than by a direct call, and the methods of the classes used."""
    module = sys.modules[function.__module__]
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node not in called and node.id != "_":
            value = getattr(module, node.id, None)
            if inspect.isclass(value) and value.__module__.startswith("irexec.ops."):
                yield from (m for m in vars(value).values() if inspect.isfunction(m) and _is_source(m))
            elif (target := _function(function, node.id)) is not None:
                yield target


def _function(user: Callable[..., Any], name: str) -> Callable[..., Any] | None:
    """Return the function of irexec.ops that a name in the source of `user` stands for."""
    cells = dict(zip(user.__code__.co_freevars, user.__closure__ or (), strict=True))
    value = cells[name].cell_contents if name in cells else getattr(sys.modules[user.__module__], name, None)
    if isinstance(value, functools.partial):
        value = value.func
    value = value.kernel if isinstance(value, Operator) else value
    return value if inspect.isfunction(value) and _is_source(value) else None


def _is_source(function: Callable[..., Any]) -> bool:
    module = function.__module__ or ""  # None for a function created by exec()
    return module.startswith("irexec.ops.") and not module.startswith("irexec.ops.spec.")


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _number(node: ast.AST, known: dict[str, str]) -> str | None:
    """Return the constraint number of an argument: a literal, or a parameter that was given one."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and _NUMBER.fullmatch(node.value):
        return node.value
    return known.get(node.id) if isinstance(node, ast.Name) else None


@functools.cache
def _tree(function: Callable[..., Any]) -> ast.AST:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, SyntaxError):  # a lambda within an expression
        return ast.Module([], [])
    if isinstance(tree.body[0], ast.FunctionDef):
        tree.body[0].decorator_list = []
    return tree
