"""Operators are named by strings only where they are declared, and in the few tables listed here."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from irexec.ops.spec.contents import CONTENTS, TOKENIZERS

PACKAGE = Path(__file__).parents[1] / "irexec"
TYPES = {*CONTENTS, *TOKENIZERS}
DECLARED = ("ops/", "frontends/", "runtime/lowering/table.py")
"""Where operators are declared, where other formats are translated to them, and the table of their compiled forms."""
NAMED = {
    "core/structure.py": "the types of layers that the grammar knows",
    "ir/checks/edges.py": "the cell of which OpenVINO leaves a constant behind in files",
    "api/openvino/kinds/families.py": "the classes of OpenVINO's Python API",
    "api/openvino/reported.py": "the attributes that OpenVINO's nodes report",
    "api/opsets/calls.py": "the parameters of OpenVINO's functions",
    "api/opsets/left_out.py": "the arguments that OpenVINO's functions do not require",
    "api/opsets/names.py": "the names of OpenVINO's functions",
    "tools/catalog/documentation.py": "the addresses of pages",
    "tools/conformance/changes.py": "an attribute with another name in files",
    "tools/conformance/onnx_": "ONNX models made from operators",
    "tools/sensitivity/batching.py": "how the calls of several inputs are computed as one",
}
"""The other files that name operators, and what they name them for."""
MOST = 12


def named(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the strings of a file that are types of operators, with their lines.

    `__all__` and the tables of modules that are imported later contain names of Python.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    python = {
        id(item)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in ("__all__", "_HOMES")
        for item in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value in TYPES and id(node) not in python:
            yield node.lineno, str(node.value)


def test_operators_are_named_by_strings_where_they_are_declared() -> None:
    found: dict[str, list[tuple[int, str]]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if not name.startswith(DECLARED) and (own := [*named(path)]):
            found[next((key for key in NAMED if name.startswith(key)), name)] = own
    unexpected = {name: own for name, own in found.items() if name not in NAMED}
    assert not unexpected, "declare a trait instead (irexec/ops/spec/traits.py)"
    assert found.keys() == NAMED.keys()
    assert len(NAMED) <= MOST
