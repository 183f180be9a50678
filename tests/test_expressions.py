"""Regular expressions of the package: the time that each takes grows no faster than the text, whatever the text is.

Every call of `re` is found in the source, at module level and in functions. A text that pumps one part of the
expression, and then does not match, is the worst case of a matcher that backtracks.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from functools import cache
from re import _constants as words  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from time import process_time
from typing import Any, NamedTuple

import pytest
from support.sources import ROOT, Source, sources

# The modules of the ONNX front end are imported, too.
pytest.importorskip("onnx")

ANCHORED, SEARCHING = {"match", "fullmatch"}, {"search", "sub", "subn", "split", "findall", "finditer"}
OF_RE = {f"re.{method}" for method in ("compile", *ANCHORED, *SEARCHING)}
SAMPLES = [
    "a", "a ", "a,", " ", "\t", "\n", " \n", "<", "<a ", '<a b="c" ', "1", "1,", "1, ", "-", "=", "`", "[", "[1,", "]",
    "(", '"', "'", ".", "..", "a.", "#", "\\", "_", "a_", "*", "is ", "a: ", "/", "</a>", "<!--", "</", "|", "~",
    "    a\n", "$", "a\n", "1 ", "is an ", "[a", "a-", "e", "1e", "0x",
]  # fmt: skip
SIZES = (*range(16, 65, 4), 128, 256, 512, 1024, LONG := 4096)
LINEAR = re.compile(r"(?:\w+,)*;")
SLOW = 16
"""How many times longer than LINEAR an expression takes for LONG characters: few take a tenth of it, and superlinear
ones many times more. The sizes increase slowly at first, so that exponential ones end."""


class Use(NamedTuple):
    place: str
    pattern: str | bytes
    flags: int
    methods: frozenset[str]


def uses(source: Source) -> Iterator[Use]:
    """Yield every call in a file that gives `re` an expression."""
    calls = [node for node in source.of(ast.Call) if node.args and isinstance(node.func, ast.Attribute)]
    given = [node for node in calls if ast.unparse(node.func) in OF_RE]
    if not given:
        return
    space, names = vars(importlib.import_module(source.module)), names_of(source)
    for node in given:
        method = ast.unparse(node.func).removeprefix("re.")
        methods = {method} if method != "compile" else called(source, names.get(node, ast.unparse(node)))
        options = {keyword.arg: keyword.value for keyword in node.keywords}
        flags = options.get("flags", node.args[1] if method == "compile" and len(node.args) > 1 else None)
        pattern = value(node.args[0], space)
        if isinstance(pattern, str | bytes):
            number = 0 if flags is None else int(value(flags, space))
            yield Use(f"{source.name}:{node.lineno}", pattern, number, frozenset(methods))


def names_of(source: Source) -> dict[ast.expr | None, str]:
    """Return how other code refers to a value: by a variable, or by a call of the function that returns it."""
    names: dict[ast.expr | None, str] = {node.value: ast.unparse(node.targets[0]) for node in source.of(ast.Assign)}
    returning = [(node, node.body[-1]) for node in source.of(ast.FunctionDef)]
    return names | {last.value: f"{node.name}()" for node, last in returning if isinstance(last, ast.Return)}


def called(source: Source, name: str) -> set[str]:
    """Return the methods of a compiled expression that a module calls; all, if it is used in another way."""
    kind = type(ast.parse(name, mode="eval").body)
    read = {node for node in source.of(kind) if is_read(node) and ast.unparse(node) == name}
    methods = [node.attr for node in source.of(ast.Attribute) if node.value in read]
    # Elements.take matches at its position.
    methods += ["match" for node in source.of(ast.Call) if ast.unparse(node).endswith(f".take({name})")]
    is_known = len(methods) == len(read) and {*methods} <= ANCHORED | SEARCHING
    return {*methods} if is_known else ANCHORED | SEARCHING


def is_read(node: ast.AST) -> bool:
    return isinstance(getattr(node, "ctx", ast.Load()), ast.Load)


def value(node: ast.expr, space: dict[str, Any]) -> Any:
    """Return the value of an expression of a module; parts that only a function knows are names."""
    if isinstance(node, ast.JoinedStr):
        return "".join(str(value(part, space)) for part in node.values)
    expression = node.value if isinstance(node, ast.FormattedValue) else node
    try:
        return eval(compile(ast.Expression(expression), "expression", "eval"), dict(space))
    except (NameError, TypeError):
        return "name" if isinstance(node, ast.FormattedValue) else None


def pumped(items: Any) -> Iterator[tuple[str, str]]:
    """Yield, for every repeat without an end in an expression, a text that leads to it, and a text that it repeats."""
    before = ""
    for kind, argument in items:
        if kind in (words.MAX_REPEAT, words.MIN_REPEAT, words.POSSESSIVE_REPEAT):
            if argument[1] > 100:
                for each in samples(argument[2]):
                    yield before, each
            yield from ((before + start, each) for start, each in pumped(argument[2]))
        elif kind is words.SUBPATTERN:
            yield from ((before + start, each) for start, each in pumped(argument[3]))
        elif kind is words.ATOMIC_GROUP:
            yield from ((before + start, each) for start, each in pumped(argument))
        elif kind is words.BRANCH:
            for branch in argument[1]:
                yield from ((before + start, each) for start, each in pumped(branch))
        before += next(iter(samples([(kind, argument)])), "")


def samples(items: Any) -> list[str]:
    """Return a few texts that an expression matches."""
    texts = [""]
    for kind, argument in items:
        texts = [text + each for text in texts[:3] for each in parts(kind, argument)[:3]]
    return texts


def parts(kind: Any, argument: Any) -> list[str]:
    if kind is words.LITERAL:
        return [chr(argument)]
    if kind is words.IN:
        negated = argument[0][0] is words.NEGATE
        members = [each for item in argument for each in parts(*item)]
        return [char for char in "a 1-;\n" if char not in members] if negated else members
    if kind is words.RANGE:
        return [chr(argument[0])]
    if kind is words.CATEGORY:
        return [CATEGORIES.get(argument, "a")]
    if kind is words.NOT_LITERAL:
        return [char for char in "a 1" if ord(char) != argument]
    if kind is words.ANY:
        return ["a", " "]
    if kind in (words.MAX_REPEAT, words.MIN_REPEAT, words.POSSESSIVE_REPEAT):
        return [each * max(argument[0], 1) for each in samples(argument[2])]
    if kind is words.SUBPATTERN:
        return samples(argument[3])
    if kind is words.ATOMIC_GROUP:
        return samples(argument)
    if kind is words.BRANCH:
        return [each for branch in argument[1] for each in samples(branch)]
    return [""]


CATEGORIES = {words.CATEGORY_SPACE: " ", words.CATEGORY_DIGIT: "1", words.CATEGORY_NOT_WORD: ";"}


def seconds(found: re.Pattern[Any], method: str, text: Any, least: float = 0.0) -> float:
    """Return the processor time of a call, the shortest of several if it is not less than `least`."""
    taken = []
    for _ in range(5):
        begun = process_time()
        if method in ANCHORED or method == "search":
            getattr(found, method)(text)
        else:
            for _ in found.finditer(text):
                pass
        taken.append(process_time() - begun)
        if taken[-1] < least:
            break
    return min(taken)


@cache
def slow() -> float:
    """Return the seconds that count as slow on this machine."""
    return SLOW * min(seconds(LINEAR, "match", "a," * (LONG // 2)) for _ in range(100))


def superlinear(use: Use) -> str | None:
    """Return a text for which the time of an expression grows faster than the text; None if none was found."""
    found = re.compile(use.pattern, use.flags)
    tree = parser.parse(use.pattern.decode("latin1") if isinstance(use.pattern, bytes) else use.pattern, use.flags)
    repeated = [*pumped(tree)]
    # An expression that is searched for may also begin again and again.
    texts = {
        *repeated,
        *(("", start + each) for start, each in repeated),
        *((start, each) for start in ("", "<", "a") for each in SAMPLES),
    }
    methods = {"finditer" if method in SEARCHING - {"search"} else method for method in use.methods}
    for start, each in sorted(texts):
        for end in ("", "\0"):
            if not each:
                continue

            def text(size: int, start: str = start, each: str = each, end: str = end) -> Any:
                made = start + each * (size // len(each)) + end
                return made.encode("latin1", "replace") if isinstance(use.pattern, bytes) else made

            for method in methods:
                for size in SIZES:
                    if (long := seconds(found, method, text(size), slow())) > slow():
                        short = seconds(found, method, text(size // 4), slow())
                        if size < LONG or long > 8 * short:
                            return f"{method} {start!r} {each!r} {end!r}"
    return None


FOLDERS = sorted(path.name for path in (ROOT / "irexec").iterdir() if (path / "__init__.py").exists())


@pytest.mark.parametrize(
    ("pattern", "method"),
    [(r"\s*\n", "search"), (r"(?:a|a)*b", "match"), (r"[\w ]+? is [\w ]*\.?", "fullmatch"), (r"<!--.*-->", "sub")],
)
def test_superlinear_expressions_are_found(pattern: str, method: str) -> None:
    assert superlinear(Use("", pattern, 0, frozenset({method})))


@pytest.mark.parametrize(("pattern", "method"), [(r"(?<!\s)\s*+\n", "search"), (r"\w+ \d+", "match"), ("<a>", "sub")])
def test_others_are_not(pattern: str, method: str) -> None:
    assert superlinear(Use("", pattern, 0, frozenset({method}))) is None


@pytest.mark.by_hand(3)
@pytest.mark.parametrize("folder", FOLDERS)
def test_the_time_grows_no_faster_than_the_text(folder: str) -> None:
    files = [source for source in sources(f"irexec/{folder}") if re.search(r"\bre\.\w+\(", source.text)]
    found = [use for source in files for use in uses(source)]
    assert len(found) >= len([source for source in files if "re.compile(" in source.text])
    assert {use: text for use in found if (text := superlinear(use)) is not None} == {}


def test_the_files_beside_the_folders_have_none() -> None:
    assert not [path for path in (ROOT / "irexec").glob("*.py") if re.search(r"\bre\.\w+\(", path.read_text("utf-8"))]
