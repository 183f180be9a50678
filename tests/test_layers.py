"""The layers of the package: allowed imports, the length of files, and their first lines, checked in the source."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest
from support.waiting import PATIENCE

pytestmark = pytest.mark.any_python

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "irexec"
MODULES = sorted(PACKAGE.rglob("*.py"))

# A package may import packages on earlier lines; packages on one line do not import each other.
LAYERS: list[set[str]] = [
    {
        "core/arguments",
        "core/collector",
        "core/display",
        "core/environment",
        "core/forms",
        "core/records",
        "core/structure",
        "version",
    },
    {"core/types", "core/diagnostics"},
    {"core/threads"},
    {"ir"},
    {"ops"},
    {"model/arrays"},
    {"model/graph"},
    {"model/inference"},
    {"model/weightless"},
    {"runtime/engine", "runtime/processes"},
    {"runtime/lowering"},
    {"frontends/onnx", "frontends/pages", "frontends/text"},
    {"frontends/reading"},
    {"api/opsets"},
    {"api/openvino"},
    {"api/aliases"},
    {"tools/settings", "tools/status"},
    {"tools/catalog", "tools/script", "tools/shapes"},
    {"tools/run"},
    {"tools/doctest"},
    {"tools/fixes"},
    {"tools/inspect"},
    {"tools/cut"},
    {"tools/compare"},
    {"tools/diff"},
    {"tools/edit"},
    {"tools/reduce"},
    {"tools/sensitivity"},
    {"tools/passes"},
    {"tools/render"},
    {"tools/parallel"},
    {"tools/conformance"},
    {"tools/bisect"},
    {"tools/language"},
    {"tools/blame"},
    {"tools/functions"},
    {"lsp"},
    {"cli"},
    {"__init__", "__main__"},
]
LAYER = {package: number for number, packages in enumerate(LAYERS) for package in packages}
DIVIDED = {package.partition("/")[0] for package in LAYER if "/" in package}
"""The folders at the top whose packages have an order of their own."""
COMPARED_WITH = {"openvino", "onnx", "onnxruntime"}
MAY_IMPORT_ONNX = "frontends/onnx"
RUNTIMES = (
    "tools/compare/adapters/openvino.py",
    "tools/compare/adapters/onnx_runtime.py",
    "tools/compare/adapters/onnx_reference.py",
    "tools/conformance/onnx_",
    "tools/conformance/defendant.py",
)
"""Adapters for packages that irexec is compared with: they import the package when they are used."""
LONGEST = 450


def name(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def package_of(module: str) -> str:
    """Return the row of LAYERS to which a module belongs: `irexec.core.types.shape` to `core/types`."""
    first, *rest = module.removeprefix("irexec.").split(".")
    return f"{first}/{rest[0]}" if first in DIVIDED and rest else first


def package(path: Path) -> str:
    return package_of("irexec." + ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__"))


class Imports(ast.NodeVisitor):
    """The modules that a file imports, with their lines: all of them, and those imported at module level."""

    def __init__(self, module: ast.Module) -> None:
        self.all: list[tuple[str, int]] = []
        self.at_once: list[tuple[str, int]] = []
        self.names: list[tuple[str, int]] = []
        self._inside = 0
        self.visit(module)

    def generic_visit(self, node: ast.AST) -> None:
        """Visit statements only: expressions contain no imports."""
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.expr):
                self.visit(child)

    def visit_If(self, node: ast.If) -> None:
        checking = ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
        self._inside += checking
        self.generic_visit(node)
        self._inside -= checking

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._inside += 1
        self.generic_visit(node)
        self._inside -= 1

    def visit_Import(self, node: ast.Import) -> None:
        self._add([alias.name for alias in node.names], node)
        self.names += [(alias.name, node.lineno) for alias in node.names]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        assert node.level == 0, f"line {node.lineno}: modules are named whole"
        module = node.module or ""
        self.names += [(f"{module}.{alias.name}", node.lineno) for alias in node.names]
        # `from irexec import graph` names a package as well as `from irexec.model.graph import Model`.
        self._add([f"irexec.{a.name}" for a in node.names] if module == "irexec" else [module], node)

    def _add(self, modules: list[str], node: ast.stmt) -> None:
        found = [(module, node.lineno) for module in modules]
        self.all += found
        if not self._inside:
            self.at_once += found


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@cache
def imports(path: Path) -> Imports:
    return Imports(parsed(path))


def wrong_ways(path: Path) -> Iterator[str]:
    """Yield the imports of a file from a higher layer, or from another package of its own."""
    own = package(path)
    for module, line in imports(path).all:
        if not module.startswith("irexec."):
            continue
        other = package_of(module)
        if other == own or other not in LAYER:
            continue
        if LAYER[other] >= LAYER.get(own, -1):
            yield f"{name(path)}:{line} imports {module}"


def test_every_package_has_its_layer() -> None:
    packages = {package(path) for path in MODULES} - DIVIDED
    assert packages == LAYER.keys(), "a new package needs a place in LAYERS, below all that it imports"


def test_the_folder_list_shows_the_layers() -> None:
    folders = {path.relative_to(PACKAGE).parts[0] for path in MODULES if path.parent != PACKAGE}
    modules = {path.stem for path in MODULES if path.parent == PACKAGE}
    assert len(folders) <= 10
    assert modules == {"__init__", "__main__", "version"}


def test_imports_go_one_way() -> None:
    assert [wrong for path in MODULES for wrong in wrong_ways(path)] == []


def test_higher_packages_are_named_in_tables_only() -> None:
    """A module name in a text is an import that the imports of the source do not show."""
    named = [
        f"{name(path)}:{node.lineno} names {node.value}"
        for path in MODULES
        if package(path) not in ("__init__", "api/aliases", "core/display")
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if re.fullmatch(r"irexec\.(\w+)[\w.]*", node.value) is not None
        if LAYER.get(package_of(node.value), -1) > LAYER.get(package(path), -1)
    ]
    assert named == []


def test_no_two_files_import_each_other() -> None:
    """Check that no modules import each other, even within a package; imports inside functions and for type checkers
    count.
    """
    files = {".".join(("irexec", *path.relative_to(PACKAGE).with_suffix("").parts)): path for path in MODULES}
    files = {module.removesuffix(".__init__"): path for module, path in files.items()}
    graph = {
        module: {_file_of(imported, files) for imported, _ in imports(path).names} - {module}
        for module, path in files.items()
    }
    assert list(_circles(graph)) == []


def _file_of(imported: str, modules: Iterable[str]) -> str | None:
    """Return the module that an imported name is, or belongs to."""
    while imported and imported not in modules:
        imported = imported.rpartition(".")[0]
    return imported or None


def _circles(graph: dict[str, set[str | None]]) -> Iterator[list[str]]:
    """Yield each module that imports itself indirectly, with the path (a depth-first search that visits each module
    once).
    """
    done: set[str] = set()
    for start in graph:
        path: list[str] = []
        work: list[tuple[str, bool]] = [(start, True)]
        while work:
            module, enters = work.pop()
            if not enters:
                done.add(path.pop())
            elif module in path:
                yield [*path[path.index(module) :], module]
            elif module not in done:
                path.append(module)
                work.append((module, False))
                work += [(other, True) for other in sorted(filter(None, graph[module])) if other in graph]


def test_the_core_does_not_need_what_it_is_compared_with() -> None:
    needed = [
        f"{name(path)}:{line} imports {module}"
        for path in MODULES
        for module, line in imports(path).all
        if module.split(".")[0] in COMPARED_WITH and not name(path).startswith((MAY_IMPORT_ONNX, *RUNTIMES))
    ]
    assert needed == []


def test_the_frontend_imports_onnx_only_when_it_reads_a_file() -> None:
    eager = [
        f"{name(path)}:{line} imports {module}"
        for path in MODULES
        if path.name == "__init__.py" or not name(path).startswith(MAY_IMPORT_ONNX)
        for module, line in imports(path).at_once
        if module.split(".")[0] in COMPARED_WITH
    ]
    assert eager == []


def test_the_lower_layers_declare_records() -> None:
    """`irexec.core.records` states the rule; test_import_time shows the exceptions above."""
    lower = [path for path in MODULES if LAYER.get(package(path), 1 << 8) <= LAYER["runtime/lowering"]]
    found = [name(path) for path in lower if "dataclasses" in {module for module, _ in imports(path).all}]
    assert found == ["core/records.py"]


@pytest.mark.parametrize("folder", ["irexec", "tests", "benchmarks", "samples"])
def test_files_can_be_read_in_one_sitting(folder: str) -> None:
    lengths = {p: len(p.read_text("utf-8").splitlines()) for p in sorted((ROOT / folder).rglob("*.py"))}
    assert [f"{path}: {length} lines" for path, length in lengths.items() if length >= LONGEST] == []


def test_every_module_states_in_one_line_why_it_is_there() -> None:
    without = []
    for path in MODULES:
        doc = ast.get_docstring(parsed(path))
        first = (doc or "").splitlines()[0] if doc else ""
        if len(first.split()) < 3 or not path.read_text("utf-8").startswith('"""'):
            without.append(name(path))
    assert without == []


def test_every_test_file_states_in_its_first_line_what_it_tests() -> None:
    """The first line describes the behaviour, or at least names the operator."""
    lines = {path: path.read_text("utf-8").partition("\n")[0] for path in (ROOT / "tests").rglob("test_*.py")}
    assert [str(path) for path, line in lines.items() if not re.match(r'"""\S', line)] == []


def test_tests_stand_in_folders_of_the_same_names() -> None:
    folders = {path.parent.relative_to(ROOT / "tests").as_posix() for path in (ROOT / "tests").rglob("test_*.py")}
    ours = {path.parent.relative_to(PACKAGE).as_posix() for path in MODULES}
    assert folders - ours == {"benchmarks", "docs", "samples"}


# Imports the modules in the order given, and compares each class with the one that its module defined.
PROGRAM = """
import importlib, json, sys

def classes(module):
    return [c for c in vars(module).values() if isinstance(c, type) and c.__module__ == module.__name__]

CACHES = ("__abstractmethods__", "_abc_impl", "__doc__", "__pydantic", "__signature__")

def attributes(cls):
    # A record writes its methods when one is first called (irexec/core/records.py): their names stay.
    written_later = hasattr(cls, "_record_fields") or hasattr(cls, "_fields")
    return {n: 0 if written_later else id(value) for n, value in vars(cls).items() if not n.startswith(CACHES)}

defined, missing = {}, []
for name in json.load(sys.stdin):
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        # The package of an extra may not be installed.
        if error.name is None or error.name.split(".")[0] == "irexec":
            missing.append(f"{name}: {error}")
    for module in [m for n, m in list(sys.modules.items()) if n.split(".")[0] == "irexec" and n not in defined]:
        defined[module.__name__] = [(cls, attributes(cls)) for cls in classes(module)]
changed = [
    f"{cls.__module__}.{cls.__qualname__}: {sorted(before.items() ^ attributes(cls).items())}"
    for found in defined.values() for cls, before in found if before != attributes(cls)
]
print(json.dumps([sum(map(len, defined.values())), changed, missing]))
"""


def modules_by_layer() -> list[str]:
    """Return all modules, those of lower layers first, so that a class is recorded before a higher one can
    change it.
    """
    paths = sorted((path for path in MODULES if path.stem != "__main__"), key=lambda path: LAYER.get(package(path), -1))
    names = (".".join(("irexec", *path.relative_to(PACKAGE).with_suffix("").parts)) for path in paths)
    return [name.removesuffix(".__init__") for name in names]


def test_no_class_changes_after_its_definition() -> None:
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps(modules_by_layer()),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        cwd=ROOT,
    )
    assert run.returncode == 0, run.stderr
    count, changed, missing = json.loads(run.stdout)
    assert changed == []
    assert missing == []
    assert count > 500
