"""Wrong kernels that irexec conformance detects: `kernel_mutants.py [PATTERN] [CASES] [SECONDS] [COUNT:SEED]`.

All mutants of the operators whose names match, at most twelve of each operator, or COUNT mutants drawn from these.

Each mutant is an operator's kernel, or a function of its module that the kernel calls, with one change: a number
differs by one, an operation is replaced by its inverse, a comparison gains or loses equality, arguments are exchanged,
a factor is dropped, a value is rounded differently, or a condition is negated. A mutant is killed if one of the
operator's cases judges its results as wrong. Prints the mutants that survive, and the score. Mutants that compute the
same as the kernel, or whose difference the page allows, cannot be killed: `equivalent_mutants.py` lists them with
reasons, and they do not count.
"""

from __future__ import annotations

import ast
import copy
import fnmatch
import inspect
import signal
import sys
import textwrap
import time
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from equivalent_mutants import reason_of

from irexec.ops.spec.operator import Operator
from irexec.ops.spec.traits import Random
from irexec.tools.conformance.case import Case
from irexec.tools.conformance.defendant import Answer
from irexec.tools.conformance.drawing import draw, operators
from irexec.tools.conformance.verdict import FAILED, judge_case

_MOST = 12
"""The maximum number of mutants of one operator."""
_SECONDS = 10
_INVERSE: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.And: ast.Or, ast.Or: ast.And, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
_ROUNDINGS = {"rint": "floor", "floor": "ceil", "ceil": "floor", "trunc": "floor", "maximum": "minimum"}
_ROUNDINGS |= {"minimum": "maximum", "max": "min", "min": "max", "sum": "mean", "sin": "cos", "exp": "expm1"}


def changes(node: ast.AST) -> Iterator[tuple[str, Callable[[Any], ast.AST]]]:
    """Yield the changes of one node of a syntax tree."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield f"{node.value} + 1", lambda n: ast.Constant(n.value + 1)
    if isinstance(node, ast.BinOp) and type(node.op) in _INVERSE:
        yield "inverse operation", lambda n: ast.BinOp(n.left, _INVERSE[type(n.op)](), n.right)
        if isinstance(node.op, (ast.Mult, ast.Div, ast.Add, ast.Sub)):
            yield "dropped operand", lambda n: n.left
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _INVERSE:
        yield "other comparison", _other_comparison
    if isinstance(node, ast.Attribute) and node.attr in _ROUNDINGS:
        yield f"{node.attr} replaced", lambda n: ast.Attribute(n.value, _ROUNDINGS[n.attr], n.ctx)
    if isinstance(node, ast.Call) and len(node.args) == 2 and not _is_commutative(node) and not _is_same(node):
        yield "exchanged arguments", lambda n: ast.Call(n.func, n.args[::-1], n.keywords)
    if isinstance(node, ast.IfExp):
        yield "negated condition", lambda n: ast.IfExp(n.test, n.orelse, n.body)


def _is_commutative(call: ast.Call) -> bool:
    """Return whether the order of the arguments does not matter, or is unknown."""
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    return name in _COMMUTATIVE or any(isinstance(argument, ast.Starred) for argument in call.args)


def _is_same(call: ast.Call) -> bool:
    """Return whether both arguments are the same, or one of them is the buffer for results, which a direct call does
    not have.
    """
    first, second = map(ast.dump, call.args)
    return first == second or any(isinstance(a, ast.Name) and a.id == "out" for a in call.args)


_COMMUTATIVE = {
    "swapaxes",
    "max",
    "min",
    "maximum",
    "minimum",
    "add",
    "multiply",
    "equal",
    "array_equal",
    "result_type",
    "isinstance",
}


def _other_comparison(node: Any) -> ast.AST:
    return ast.Compare(node.left, [_INVERSE[type(node.ops[0])](), *node.ops[1:]], node.comparators)


def functions_of(operator: Operator) -> list[types.FunctionType]:
    """Return the kernel and the functions of its module that it calls, directly or indirectly."""
    found: list[types.FunctionType] = []
    waiting: list[Any] = [operator.kernel]
    while waiting:
        function = waiting.pop()
        if not isinstance(function, types.FunctionType) or function in found or function.__closure__:
            continue
        found.append(function)
        for name in function.__code__.co_names:
            other = function.__globals__.get(name)
            same = isinstance(other, types.FunctionType) and other.__module__ == operator.kernel.__module__
            # Functions that check constraints are called with the function that reports a violation.
            if same and "check" not in other.__code__.co_varnames[: other.__code__.co_argcount]:
                waiting.append(other)
    return found


def mutants_of(function: types.FunctionType) -> Iterator[tuple[str, types.CodeType]]:
    """Yield the code of each mutant, with a description of the change."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, SyntaxError):
        return
    whole = tree.body[0]
    if not isinstance(whole, ast.FunctionDef):
        return
    whole.decorator_list = []
    places = [n for statement in whole.body for n in ast.walk(statement)]
    inside_checks = {id(n) for place in places for part in _no_results(place) for n in ast.walk(part)}
    for number, place in enumerate(places):
        if id(place) in inside_checks:
            continue
        for what, change in changes(place):
            made = copy.deepcopy(tree)
            twin = [n for statement in made.body[0].body for n in ast.walk(statement)][number]
            _replace(made, twin, change(twin))
            try:
                code = compile(ast.fix_missing_locations(made), "mutant", "exec", flags=_FUTURE)
            except (SyntaxError, ValueError, TypeError):
                continue
            inner = next(c for c in code.co_consts if isinstance(c, types.CodeType) and c.co_name == whole.name)
            if len(inner.co_freevars) == 0:
                before, after = (_written(tree_, number) for tree_ in (whole, made.body[0]))
                yield f"{function.__name__}: {what}: {before} -> {after}", inner


def _written(function: ast.FunctionDef, number: int) -> str:
    """Return the part of a function that contains the node with this number, in the order of `ast.walk`: a statement,
    or the head of a compound statement. The text identifies a mutant, so that other edits of the function do not rename
    it.
    """
    places = [(n, statement) for statement in function.body for n in ast.walk(statement)]
    place, statement = places[number]
    inside = [s for s in ast.walk(statement) if isinstance(s, ast.stmt) and any(n is place for n in ast.walk(s))]
    smallest = min(inside, key=lambda s: sum(1 for _ in ast.walk(s)), default=statement)
    return ast.unparse(smallest).partition("\n")[0]


_FUTURE = 0x1000000
"""The flag of `from __future__ import annotations`."""


def _no_results(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a node that do not affect results: checks of constraints, which legal cases pass, with the
    conditions under which an error is raised; annotations; negative extents of reshape, which all mean the same.
    """
    if isinstance(node, ast.Call):
        names = [part.id for part in (node.func, *node.args[:1]) if isinstance(part, ast.Name)]
        if {"require", "check", "reserve"} & {*names}:
            yield node
        if isinstance(node.func, ast.Attribute) and node.func.attr == "reshape":
            yield from (n for n in ast.walk(node) if isinstance(n, ast.UnaryOp) and isinstance(n.op, ast.USub))
    elif isinstance(node, ast.Raise):
        yield node
    elif isinstance(node, ast.If) and _refuses(node.body[-1]):
        yield node.test
    elif isinstance(node, ast.AnnAssign):
        yield node.annotation


def _refuses(last: ast.stmt) -> bool:
    """Return whether a block ends with an exception, or with a check of constraints that raises one."""
    call = last.value if isinstance(last, ast.Expr) else None
    return isinstance(last, ast.Raise) or (isinstance(call, ast.Call) and any(_no_results(call)))


def _replace(tree: ast.AST, old: ast.AST, new: ast.AST) -> None:
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if value is old:
                setattr(parent, field, new)
            elif isinstance(value, list):
                setattr(parent, field, [new if item is old else item for item in value])


def results_of(case: Case) -> list[list[np.ndarray]]:
    """Return the results of the kernel for each call of a case, layer by layer."""
    found = []
    for call in case.calls:
        values = dict(zip(case.model.inputs, case.inputs[call], strict=True))
        for node in case.model.nodes:
            if node.type in ("Parameter", "Result"):
                continue
            if node.constant is not None:
                values[node.outputs[0]] = node.constant
                continue
            assert node.operator is not None
            given = [None if v is None else values[v].copy() for v in node.inputs]
            made = node.operator.kernel(*given, **node.operator.bind(node.all_attributes))
            made = list(made) if isinstance(made, (tuple, list)) else [made]
            values |= dict(zip(node.outputs, map(np.asarray, made), strict=False))
        found.append([values[result.inputs[0]] for result in case.model.results])  # type: ignore[index]
    return found


class Cases:
    """The cases of an operator, drawn when they are needed: most mutants do not survive the first cases."""

    def __init__(self, operator: Operator, count: int) -> None:
        self._operator, self._count = operator, count
        self._drawn: list[Case] = []
        self._next = 0

    def __iter__(self) -> Iterator[Case]:
        yield from self._drawn
        while self._next < self._count:
            case = draw(self._operator, 0, self._next)
            self._next += 1
            if case is not None and "forbidden" not in case.flags:
                self._drawn.append(case)
                yield case


def is_killed(function: types.FunctionType, code: types.CodeType, cases: Cases) -> bool:
    """Return whether the results of the mutant are judged as wrong for one of the cases."""
    for case in cases:
        own, function.__code__ = function.__code__, code
        signal.alarm(_SECONDS)
        try:
            results = results_of(case)
        except Exception:
            results = None
        finally:
            signal.alarm(0)
            function.__code__ = own
        if results is None:
            if is_computed(case):
                return True
            continue
        if judge_case(case, Answer("results", results), {}).word in FAILED:
            return True
    return False


def is_computed(case: Case) -> bool:
    """Return whether the kernel accepts all values of a case: values of constants need not fit a call with other
    extents.
    """
    try:
        results_of(case)
    except Exception:
        return False
    return True


def _too_late(*_: object) -> None:
    raise TimeoutError


def drawn(pattern: str) -> Iterator[tuple[Operator, list[tuple[types.FunctionType, str, types.CodeType]]]]:
    """Yield the mutants of each operator, in a fixed order."""
    for operator in operators():
        if fnmatch.fnmatchcase(str(operator), pattern) and Random not in operator.traits:
            found = [(f, what, code) for f in functions_of(operator) for what, code in mutants_of(f)]
            order = np.random.default_rng(0).permutation(len(found))[:_MOST]
            yield operator, [found[int(number)] for number in order]


def sample(pattern: str, count: int, seed: int) -> Iterator[tuple[Operator, list[Any]]]:
    """Yield some mutants, drawn from those of all operators, without equivalent ones."""
    every = [
        (operator, one) for operator, some in drawn(pattern) for one in some if reason_of(operator, one[1]) is None
    ]
    for number in np.random.default_rng(seed).permutation(len(every))[:count]:
        operator, one = every[int(number)]
        yield operator, [one]


def main() -> int:
    arguments = dict(enumerate(sys.argv))
    pattern, count = arguments.get(1, "*"), int(arguments.get(2, "200"))
    end = time.monotonic() + float(arguments.get(3, "inf"))
    signal.signal(signal.SIGALRM, _too_late)
    warnings.simplefilter("ignore")
    killed = total = same = 0
    chosen = sample(pattern, *map(int, arguments[4].split(":"))) if 4 in arguments else drawn(pattern)
    for operator, mutants in chosen:
        if time.monotonic() > end:
            print(f"out of time before {operator}")
            break
        cases = Cases(operator, count)
        for function, what, code in mutants:
            total += 1
            if reason_of(operator, what) is not None:
                same += 1
                continue
            with np.errstate(all="ignore"):
                dead = is_killed(function, code, cases)
            killed += dead
            if not dead:
                print(f"survives: {operator} {what}", flush=True)
    score = 100 * killed / max(1, total - same)
    print(f"{killed} of {total} mutants killed, {same} are equivalent: {score:.1f} %")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
