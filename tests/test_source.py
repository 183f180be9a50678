"""Rules about the source, a function each, with its exceptions. The source is read and walked once for all of them."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import NamedTuple

import pytest
from support.layers import DIVIDED, LAYER, package_of
from support.sources import ROOT, Source, sources

from irexec.ops.spec.contents import CONTENTS, TOKENIZERS

pytestmark = pytest.mark.any_python

Found = Iterator[tuple[int, str]]
PYTHON = ("benchmarks", "irexec", "samples", "tests")
COMPARED_WITH = {"openvino", "onnx", "onnxruntime"}
LONGEST = 450


class Rule(NamedTuple):
    """What finds, in a file of the folders, lines with something that is not allowed, and what to do instead.

    Exceptions are the beginnings of `NAME: TEXT`, with the reasons.
    """

    find: Callable[[Source], Found]
    folders: tuple[str, ...]
    instead: str
    exceptions: dict[str, str]


RULES: dict[str, Rule] = {}


def rule(
    instead: str, *folders: str, exceptions: dict[str, str] | None = None
) -> Callable[[Callable[[Source], Found]], Callable[[Source], Found]]:
    def register(find: Callable[[Source], Found]) -> Callable[[Source], Found]:
        RULES[find.__name__] = Rule(find, folders or ("irexec/",), instead, exceptions or {})
        return find

    return register


@rule("shorten the file", *(f"{folder}/" for folder in PYTHON))
def too_long_for_one_sitting(source: Source) -> Found:
    if (length := len(source.text.splitlines())) >= LONGEST:
        yield length, f"{length} lines"


@rule("state in one line why the module is there")
def states_not_why_it_is_there(source: Source) -> Found:
    lines = (ast.get_docstring(source.tree) or "").splitlines()
    if not lines or len(lines[0].split()) < 3 or not source.text.startswith('"""'):
        yield 1, source.text.partition("\n")[0]


@rule("describe the behaviour that is tested, or name the operator", "tests/")
def states_not_what_it_tests(source: Source) -> Found:
    if source.name.rpartition("/")[2].startswith("test_") and not re.match(r'"""\S', source.text):
        yield 1, source.text.partition("\n")[0]


@rule("imports go one way, see LAYERS")
def imports_a_higher_layer(source: Source) -> Found:
    for node, module, _ in source.imports:
        other = package_of(module)
        is_other = module.startswith("irexec.") and other != source.package and other in LAYER
        if is_other and LAYER[other] >= LAYER.get(source.package, -1):
            yield node.lineno, module


@rule(
    "a module name in a text is an import that the imports of the source do not show",
    exceptions={
        "irexec/api/aliases.py": "the names of OpenVINO's modules",
        "irexec/core/display.py": "the modules whose objects are shown in notebooks",
    },
)
def names_a_higher_package(source: Source) -> Found:
    for node in source.of(ast.Constant):
        is_module = isinstance(node.value, str) and re.fullmatch(r"irexec\.(\w+)[\w.]*", node.value) is not None
        if is_module and LAYER.get(package_of(str(node.value)), -1) > LAYER.get(source.package, -1):
            yield node.lineno, str(node.value)


@rule(
    "irexec does not need what it is compared with",
    exceptions={
        "irexec/frontends/onnx/": "reads files of ONNX",
        "irexec/tools/compare/adapters/openvino.py": "an adapter",
        "irexec/tools/compare/adapters/onnx_runtime.py": "an adapter",
        "irexec/tools/compare/adapters/onnx_reference.py": "an adapter",
        "irexec/tools/conformance/onnx_": "models of ONNX",
        "irexec/tools/conformance/defendant.py": "runs in a process of its own",
    },
)
def imports_what_it_is_compared_with(source: Source) -> Found:
    for node, module, _ in source.imports:
        if module.split(".")[0] in COMPARED_WITH:
            yield node.lineno, module


@rule("import it when it is used; the front end of ONNX may import onnx in modules that only it imports")
def imports_at_once_what_it_is_compared_with(source: Source) -> Found:
    if source.name.endswith("__init__.py") or not source.name.startswith("irexec/frontends/onnx/"):
        for node, module, _ in source.imports:
            if module.split(".")[0] in COMPARED_WITH and node in source.at_once:
                yield node.lineno, module


@rule(
    "the lower layers declare records (irexec/core/records.py); test_import_time shows the exceptions above",
    exceptions={"irexec/core/records.py": "states the rule"},
)
def imports_dataclasses(source: Source) -> Found:
    if LAYER.get(source.package, 1 << 8) <= LAYER["runtime/lowering"]:
        for node, module, _ in source.imports:
            if module == "dataclasses":
                yield node.lineno, module


TYPES = {*CONTENTS, *TOKENIZERS}


@rule(
    "declare a trait instead (irexec/ops/spec/traits.py)",
    exceptions={
        "irexec/ops/": "where operators are declared",
        "irexec/frontends/": "where other formats are translated to them",
        "irexec/runtime/lowering/table.py": "the table of their compiled forms",
        "irexec/core/structure.py": "the types of layers that the grammar knows",
        "irexec/ir/checks/edges.py": "the cell of which OpenVINO leaves a constant behind in files",
        "irexec/api/openvino/kinds/families.py": "the classes of OpenVINO's Python API",
        "irexec/api/openvino/reported.py": "the attributes that OpenVINO's nodes report",
        "irexec/api/opsets/calls.py": "the parameters of OpenVINO's functions",
        "irexec/api/opsets/left_out.py": "the arguments that OpenVINO's functions do not require",
        "irexec/api/opsets/names.py": "the names of OpenVINO's functions",
        "irexec/tools/catalog/documentation.py": "the addresses of pages",
        "irexec/tools/conformance/changes.py": "an attribute with another name in files",
        "irexec/tools/conformance/onnx_": "ONNX models made from operators",
        "irexec/tools/sensitivity/batching.py": "how the calls of several inputs are computed as one",
    },
)
def names_an_operator(source: Source) -> Found:
    """`__all__` and the tables of modules that are imported later contain names of Python."""
    named = [node for node in source.of(ast.Constant) if isinstance(node.value, str) and node.value in TYPES]
    if named:
        tables = [node for node in source.of(ast.Assign) if ast.unparse(node.targets[0]) in ("__all__", "_HOMES")]
        python = {item for table in tables for item in ast.walk(table)}
        yield from ((node.lineno, str(node.value)) for node in named if node not in python)


# Functions of `os`, `shutil` and NumPy, and methods of paths, that change files or open them for writing.
FILES = {
    "os": {
        "rename", "renames", "replace", "link", "symlink", "unlink", "remove", "rmdir", "truncate", "mkfifo", "open",
    },
    "np": {"save", "savez", "savez_compressed", "savetxt", "memmap", "fromfile", "load"},
    "io": {"open", "open_code"},
}  # fmt: skip
FILES["numpy"] = FILES["np"]
OF_PATHS = {
    "write_text", "write_bytes", "touch", "unlink", "symlink_to", "hardlink_to", "tofile", "rename", "rmdir",
    "read_text", "read_bytes",
}  # fmt: skip


@rule(
    "use irexec.ir.io.writing, irexec.ir.io.files or irexec.model.arrays.saving",
    exceptions={
        "irexec/ir/io/writing.py": "writes files",
        "irexec/ir/io/files.py": "reads the files that a user names",
        "irexec/model/arrays/loading.py: np.memmap(stream, ": "the stream is open already",
        "irexec/ops/spec/contents.py: open(os.path.join(os.path.dirname(__file__), 'table.txt')": "read at every "
        "start: importlib.resources would take longer than the rest",
        "irexec/__init__.py: open(__file__.rpartition('__init__')[0] + '__init__.pyi'": "read at every start",
        "irexec/tools/passes/constants.py: os.open(": "constants of graphs that OpenVINO writes into a "
        "temporary folder are kept once",
        "irexec/tools/passes/constants.py: own[0].read_bytes()": "likewise",
        "irexec/tools/passes/dumps.py: dump.file.": "equal ones of these graphs are deleted",
        "irexec/tools/passes/dumps.py: dump.weights.unlink(": "likewise",
        "irexec/tools/conformance/defendant.py: path.write_bytes(case.source)": "the temporary folder of its process",
        "irexec/tools/conformance/defendant.py: path.write_bytes(OnnxGraph(case.model, onnx)": "likewise",
        "irexec/tools/conformance/defendant.py: open('/proc/cpuinfo'": "the processor, in a process without irexec",
        "irexec/tools/compare/adapters/openvino.py: shutil.rmtree(folder, ": "temporary, in a process without irexec",
        "irexec/ops/spec/capacity.py: open('/sys/fs/cgroup/memory.max')": "the limits of the machine",
        "irexec/api/openvino/exporting.py: path.read_bytes()": "for programs, not in commands",
        "irexec/api/openvino/exporting.py: path.with_suffix('.bin').read_bytes()": "likewise",
    },
)
def opens_writes_renames_or_removes_a_file(source: Source) -> Found:
    for node in source.of(ast.Call):
        # The null device replaces a stream that is closed, or has no reader: it is not a file.
        if touches_files(node.func) and "os.devnull" not in (text := ast.unparse(node)):
            of_irexec = text.startswith(("files(", "resources.files(", "_FILE."))
            if not of_irexec and text != "path.read_text(encoding='utf-8')":
                yield node.lineno, text


def touches_files(function: ast.expr) -> bool:
    if isinstance(function, ast.Name):
        return function.id == "open"
    if not isinstance(function, ast.Attribute):
        return False
    owner, method = function.value, function.attr
    if isinstance(owner, ast.Name) and owner.id in FILES:
        return method in FILES[owner.id]
    if isinstance(owner, ast.Name) and owner.id == "shutil":
        return not method.startswith(("get_", "which"))  # These change nothing.
    return method in OF_PATHS or (method == "open" and ast.unparse(function).startswith(("path.", "Path(")))


# Names that start processes, or describe how to: modules, and names of any module.
MODULES = {"subprocess", "multiprocessing", "_posixsubprocess", "_winapi", "pty", "concurrent.futures.process"}
NAMES = {"ProcessPoolExecutor", "system", "popen", "startfile", "create_subprocess_exec", "create_subprocess_shell"}
STARTING = "irexec/runtime/processes/starting.py"


@rule(
    "one room starts processes",
    exceptions={
        STARTING: "the room",
        "irexec/runtime/processes/serve.py": "a script that forks itself in the process that the room started",
    },
)
def starts_processes(source: Source) -> Found:
    for statement, module, name in source.imports:
        whole = f"{module}.{name}".rstrip(".")
        if any(each.split(".")[0] in MODULES or each in MODULES for each in (module, whole)) or {module, name} & NAMES:
            yield statement.lineno, whole
    for node in source.of(ast.Attribute):
        if isinstance(node.value, ast.Name):
            begins = node.attr in NAMES or node.attr.startswith(("fork", "exec", "spawn", "posix_spawn"))
            if (node.value.id in ("os", "asyncio") and begins) or node.attr == "ProcessPoolExecutor":
                yield node.lineno, ast.unparse(node)
    for constant in source.of(ast.Constant):
        if constant.value in ("subprocess", "multiprocessing"):  # As in import_module("subprocess").
            yield constant.lineno, repr(constant.value)


@rule(
    "use irexec.ir.beside",
    exceptions={
        "irexec/ir/beside.py": "reads what is beside a model, with limits",
        "irexec/tools/conformance/seeds.py": "of irexec itself",
        "irexec/tools/conformance/block.py": "of irexec itself",
        "irexec/runtime/processes/serve.py": "what irexec sends to a process",
        "irexec/frontends/onnx/definitions.py": "of irexec itself",
        "irexec/frontends/onnx/of_openvino.py": "of irexec itself",
    },
)
def reads_json_toml_csv_or_npz(source: Source) -> Found:
    for number, line in enumerate(source.text.splitlines(), 1):
        if any(call in line for call in ("json.load", "tomllib.load", "csv.reader(", "np.load(")):
            yield number, line.strip()


@rule("use irexec.cli.streams", "irexec/cli/", exceptions={"irexec/cli/streams.py": "prints"})
def prints(source: Source) -> Found:
    for node in source.of(ast.Call):
        if isinstance(node.func, ast.Name | ast.Attribute):
            called = ast.unparse(node.func)
            if called in ("print", "sys.stdout.write", "sys.stderr.write", "sys.stdout.writelines"):
                yield node.lineno, called


PROCESSES = {"run", "call", "check_call", "check_output"}
WAITS = {"communicate", "wait", "join", "result", "exception", "acquire"}


@rule(
    "wait for PATIENCE (tests/lib/support/waiting.py)",
    "tests/",
    exceptions={"tests/lib/support/openvino_programs/": "OpenVINO also executes these: its requests wait in this way"},
)
def waits_without_a_limit_or_with_one_of_its_own(source: Source) -> Found:
    """0 does not wait."""
    body = source.tree.body
    numbers = {ast.unparse(node.targets[0]) for node in body if isinstance(node, ast.Assign) and own(node.value)}
    for node in source.of(ast.Call):
        if not isinstance(node.func, ast.Attribute):
            continue
        named = {keyword.arg: keyword.value for keyword in node.keywords}
        whose, name = node.func.value, node.func.attr
        is_process = isinstance(whose, ast.Name) and whose.id == "subprocess" and name in PROCESSES
        limits = [*(node.args if name in WAITS else ()), *(value for key, value in named.items() if key == "timeout")]
        if any(own(limit) or ast.unparse(limit) in numbers for limit in limits) or (
            not limits and not named.keys() & {"blocking", None} and (is_process or name in WAITS)
        ):
            yield node.lineno, ast.unparse(node.func)


def own(limit: ast.expr) -> bool:
    return isinstance(limit, ast.Constant) and isinstance(limit.value, int | float) and limit.value > 0


class Walked(NamedTuple):
    """What each rule found: names of files with lines and texts; the names that each module of irexec imports, and the
    package of each file.
    """

    found: dict[str, list[tuple[str, int, str]]]
    imports: dict[str, list[str]]
    packages: dict[str, str]


@cache
def walked() -> Walked:
    walk = Walked(defaultdict(list), {}, {})
    for source in sources(*PYTHON):
        if source.name.startswith("irexec/"):
            walk.imports[source.module] = [f"{module}.{name}".rstrip(".") for _, module, name in source.imports]
            walk.packages[source.name] = source.package
        for name, each in RULES.items():
            if source.name.startswith(each.folders):
                walk.found[name] += ((source.name, line, text) for line, text in each.find(source))
    return walk


@pytest.mark.parametrize("name", RULES)
def test_the_source_follows_a_rule(name: str) -> None:
    found, exceptions = walked().found[name], tuple(RULES[name].exceptions)
    places = [f"{file}: {text}" for file, _, text in found]
    wrong = [f"{file}:{line}: {text}" for file, line, text in found if not f"{file}: {text}".startswith(exceptions)]
    assert wrong == [], RULES[name].instead
    unused = [each for each in exceptions if not any(place.startswith(each) for place in places)]
    assert unused == []


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("subprocess.run(['x'])", [1]),
        ("subprocess.run(['x'], timeout=PATIENCE)", []),
        ("subprocess.run(['x'], timeout=3)\nprocess.communicate(timeout=0)", [1]),
        ("LIMIT = 60\nevent.wait(LIMIT)", [2]),
        ("subprocess.run(['x'], **details)", []),
        ("thread.join()\nprocess.wait(3)\nfuture.result()\nthread.join(PATIENCE)", [1, 2, 3]),
        ("','.join(names)", []),
    ],
)
def test_waits_are_found(text: str, lines: list[int]) -> None:
    assert [line for line, _ in waits_without_a_limit_or_with_one_of_its_own(Source("", text))] == lines


def test_every_process_is_started_by_one_call() -> None:
    text = (ROOT / STARTING).read_text("utf-8")
    calls = [ast.unparse(node.func) for node in Source(STARTING, text).of(ast.Call)]
    assert [call for call in calls if call.startswith("subprocess.")] == ["subprocess.Popen"]
    assert '"-P"' in text


def test_every_package_has_its_layer() -> None:
    packages = {*walked().packages.values()} - DIVIDED
    assert packages == LAYER.keys(), "a new package needs a place in LAYERS, below all that it imports"


def test_the_folder_list_shows_the_layers() -> None:
    paths = [name.split("/")[1:] for name in walked().packages]
    assert len({first for first, *rest in paths if rest}) <= 10
    assert {first for first, *rest in paths if not rest} == {"__init__.py", "__main__.py", "version.py"}


def test_tests_stand_in_folders_of_the_same_names() -> None:
    folders = {path.parent.relative_to(ROOT / "tests").as_posix() for path in (ROOT / "tests").rglob("test_*.py")}
    ours = {name.removeprefix("irexec/").rpartition("/")[0] or "." for name in walked().packages}
    assert folders - ours == {"benchmarks", "docs", "samples"}


def test_no_two_files_import_each_other() -> None:
    """Check that no modules import each other, even within a package; imports inside functions and for type checkers
    count.
    """
    imports = walked().imports
    graph = {module: {_file_of(name, imports) for name in names} - {module} for module, names in imports.items()}
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
