"""Source files as rules about them read them: the text, the syntax tree, and its nodes, each found once."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from support.layers import package_of

ROOT = Path(__file__).parents[3]
Node = TypeVar("Node", bound=ast.AST)


class Source:
    """A file of Python. `name` is its path in the checkout."""

    def __init__(self, name: str, text: str) -> None:
        self.name, self.text = name, text

    @cached_property
    def module(self) -> str:
        return self.name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    @cached_property
    def package(self) -> str:
        """The row of the layers to which the module belongs."""
        return package_of(self.module) if self.module != "irexec" else "__init__"

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def _nodes(self) -> dict[type[ast.AST], list[Any]]:
        nodes = defaultdict(list)
        for node in ast.walk(self.tree):
            nodes[type(node)].append(node)
        return nodes

    def of(self, kind: type[Node]) -> list[Node]:
        """Return the nodes of a type."""
        return self._nodes[kind]

    @cached_property
    def imports(self) -> list[tuple[ast.stmt, str, str]]:
        """The names that are imported: the statement, the module, and the name in it, empty for a whole module.

        `from irexec import graph` imports a package as well as `from irexec.model.graph import Model`.
        """
        found: list[tuple[ast.stmt, str, str]] = [
            (node, a.name, "") for node in self.of(ast.Import) for a in node.names
        ]
        for node in self.of(ast.ImportFrom):
            assert node.level == 0, f"{self.name}:{node.lineno}: modules are named whole"
            module = node.module or ""
            for alias in node.names:
                in_package = (f"irexec.{alias.name}", "") if module == "irexec" else (module, alias.name)
                found.append((node, *in_package))
        return found

    @cached_property
    def at_once(self) -> set[ast.AST]:
        """The statements that are executed when the module is imported."""
        return {*_executed(self.tree)}


def _executed(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        checking = isinstance(child, ast.If) and ast.unparse(child.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
        if not checking and not isinstance(child, ast.FunctionDef | ast.expr):
            yield child
            yield from _executed(child)


def sources(*folders: str) -> Iterator[Source]:
    """Yield the files of folders of the checkout."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield Source(path.relative_to(ROOT).as_posix(), path.read_text("utf-8"))
