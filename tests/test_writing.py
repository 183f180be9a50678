"""Files are written, and files named by a user are read, through one mechanism each, checked in the source."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

pytestmark = pytest.mark.any_python

PACKAGE = Path(__file__).parents[1] / "irexec"

WRITES = {"irexec/ir/io/writing.py"}
READS = {"irexec/ir/io/files.py"}

# Functions of `os`, `shutil` and NumPy, and methods of paths, that change files or open them for writing.
OF_OS = {"rename", "renames", "replace", "link", "symlink", "unlink", "remove", "rmdir", "truncate", "mkfifo", "open"}
OF_NUMPY = {"save", "savez", "savez_compressed", "savetxt", "memmap", "fromfile", "load"}
OF_PATHS = {"write_text", "write_bytes", "touch", "unlink", "symlink_to", "hardlink_to", "tofile", "rename", "rmdir"}
READING = {"read_text", "read_bytes"}

ALLOWED = {
    # The stream is open already.
    ("irexec/model/arrays/loading.py", "np.memmap(stream, dtype, 'r', start, shape, 'F' if fortran else 'C')"),
    # A file of irexec itself, read at every start: importlib.resources would take longer than the rest.
    (
        "irexec/ops/spec/contents.py",
        "open(os.path.join(os.path.dirname(__file__), 'table.txt'), encoding='ascii')",
    ),
    (
        "irexec/__init__.py",
        "open(__file__.rpartition('__init__')[0] + '__init__.pyi', encoding='utf-8')",
    ),
    # Graphs that OpenVINO writes into a temporary folder: equal ones are deleted, and their weights linked.
    ("irexec/tools/passes/dumps.py", "os.link(file, name)"),
    ("irexec/tools/passes/dumps.py", "name.symlink_to(file.absolute())"),
    ("irexec/tools/passes/dumps.py", "dump.weights.unlink()"),
    ("irexec/tools/passes/dumps.py", "dump.file.unlink()"),
    ("irexec/tools/passes/dumps.py", "dump.weights.unlink(missing_ok=True)"),
    # A model of ONNX in the temporary folder of the process that reads it.
    ("irexec/tools/conformance/defendant.py", "path.write_bytes(case.source)"),
    (
        "irexec/tools/conformance/defendant.py",
        "path.write_bytes(OnnxGraph(case.model, onnx).proto.SerializeToString())",
    ),
    # The limits of the machine.
    ("irexec/ops/spec/capacity.py", "open('/sys/fs/cgroup/memory.max')"),
    # Functions of the Python API that only read, for programs, not in commands.
    ("irexec/api/openvino/exporting.py", "path.read_bytes()"),
    ("irexec/api/openvino/exporting.py", "path.with_suffix('.bin').read_bytes()"),
    # The name of the processor, in a process without irexec.
    ("irexec/tools/conformance/defendant.py", "open('/proc/cpuinfo', encoding='utf-8', errors='replace')"),
    # A temporary folder, in a process without irexec.
    ("irexec/tools/compare/adapters/openvino.py", "shutil.rmtree(folder, ignore_errors=True)"),
}


@cache
def calls() -> list[tuple[str, ast.Call, str]]:
    """Return every call of a function that opens, writes, renames or removes files: the file, the call, and its
    text.
    """
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE.parent).as_posix()
        tree = ast.parse(path.read_text("utf-8"))
        for node in ast.walk(tree):
            # The null device replaces a stream that is closed, or has no reader: it is not a file.
            if isinstance(node, ast.Call) and touches_files(node.func) and "os.devnull" not in ast.unparse(node):
                found.append((name, node, ast.unparse(node)))
    return found


def touches_files(function: ast.expr) -> bool:
    if isinstance(function, ast.Name):
        return function.id == "open"
    if not isinstance(function, ast.Attribute):
        return False
    owner, method = function.value, function.attr
    if isinstance(owner, ast.Name) and owner.id in ("os", "shutil", "np", "numpy", "io"):
        by_module = {"os": OF_OS, "np": OF_NUMPY, "numpy": OF_NUMPY, "io": {"open", "open_code"}}
        # Functions of shutil that only query and change nothing are allowed.
        return method in by_module[owner.id] if owner.id in by_module else not method.startswith(("get_", "which"))
    return method in OF_PATHS | READING or (method == "open" and ast.unparse(function).startswith(("path.", "Path(")))


def package_data(text: str) -> bool:
    """Return whether a call reads files of irexec itself."""
    return text.startswith(("files(", "resources.files(", "_FILE.")) or text == "path.read_text(encoding='utf-8')"


def test_nothing_else_opens_writes_renames_or_removes_a_file() -> None:
    found = {
        f"{name}:{call.lineno}: {text}"
        for name, call, text in calls()
        if name not in WRITES | READS and (name, text) not in ALLOWED and not package_data(text)
    }
    assert not found, "use irexec.ir.io.writing, irexec.ir.io.files or irexec.model.arrays.saving, or say here why not"


def test_what_is_allowed_is_there() -> None:
    there = {(name, text) for name, _, text in calls()}
    assert there >= ALLOWED
    assert {name for name, _ in there} >= WRITES | READS
