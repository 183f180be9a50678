"""The pages of the site that are generated from the code: operators, commands, codes, packages.

`docs/conf.py` has them written to docs/reference, which is not part of the repository, so they are never out of date.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import inspect
import io
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from markup import cell, described, first_sentence, prose, text_of_value

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
TARGET = DOCS / "reference"
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "lib")]

from support.examples import Example, example_of  # noqa: E402
from support.layers import LAYERS  # noqa: E402
from support.notebooks import read as read_notebook  # noqa: E402
from support.notebooks import text_of  # noqa: E402

import irexec  # noqa: E402
from irexec.cli.main import COMMANDS, main  # noqa: E402
from irexec.core.diagnostics.codes import CODES  # noqa: E402
from irexec.ops.spec.contents import CONTENTS  # noqa: E402
from irexec.tools.catalog.documentation import page_address  # noqa: E402
from irexec.tools.catalog.facts import OperatorFacts, PortFacts, all_facts, module_path, operator_of  # noqa: E402
from irexec.tools.render.operators import count_text, opsets_text, types_text  # noqa: E402

_LONGEST = 1200
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
EXAMPLES = DOCS / "examples"
"""Python for operators that no call with arrays can show: they do something to graphs, variables, or single bits."""


def write() -> None:
    """Write all generated pages anew. A page that would be the same keeps its time, so that it is not read again."""
    pages = dict([*_operator_pages(), *_command_pages(), *_code_pages(), *_package_pages(), *_reports(), *_notebooks()])
    for stale in TARGET.rglob("*") if TARGET.exists() else ():
        if stale.is_file() and stale.relative_to(TARGET).as_posix() not in pages:
            stale.unlink()
    for name, text in pages.items():
        path = TARGET / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")


def clean() -> None:
    """Take the generated pages away."""
    shutil.rmtree(TARGET, ignore_errors=True)


# Operators


def _operator_pages() -> Iterator[tuple[str, str]]:
    by_category = lambda facts: facts.category  # noqa: E731
    rows = sorted(all_facts(), key=lambda facts: (facts.category, facts.type, int(facts.opset[5:])))
    lines = ["# Operators", "", "All operators, generated from their declarations.", "", count_text(rows), ""]
    for category, members in groupby(rows, by_category):
        lines += [f"## {category.capitalize()}", ""]
        lines += ["| operator | opsets | element types | attributes |", "|---|---|---|---|"]
        for type, versions in groupby(members, lambda facts: facts.type):
            found = list(versions)
            yield f"operators/{type}.md", _operator_page(type, found[::-1])
            for facts in found:
                attributes = ", ".join(a.name if a.required else f"[{a.name}]" for a in facts.attributes)
                link = f"[{facts.name}]({type}.md#{facts.name.lower()})"
                cells = (link, opsets_text(facts), cell(types_text(facts)), cell(attributes))
                lines.append(f"| {' | '.join(cells)} |")
        lines.append("")
    yield "operators/index.md", "\n".join(lines)


def _operator_page(type: str, versions: Sequence[OperatorFacts]) -> str:
    newest = versions[0]
    lines = [f"# {type}", "", first_sentence(newest.description), ""]
    if len(versions) > 1:
        lines += ["Versions: " + ", ".join(f"[{f.name}](#{f.name.lower()})" for f in versions) + ".", ""]
    for facts in versions:
        # What the newest one does is said above.
        said = facts.description.partition("\n\n")[2] if facts is newest else facts.description
        lines += _version(facts, said)
    lines += _notes(newest)
    return "\n".join(lines) + "\n"


def _version(facts: OperatorFacts, said: str) -> Iterator[str]:
    yield from (f"({facts.name.lower()})=", f"## {facts.name}", "")
    yield from (f"`version` in a file: opset {opsets_text(facts)}.", "")
    yield from (described(said), "") if said else ()
    yield from ("```python", _signature(facts), "```", "")
    yield from ("| port | type | element types |", "|---|---|---|")
    yield from map(_port_row, facts.inputs)
    for number, port in enumerate(facts.outputs):
        name = "outputs" if port.variadic else "output" if len(facts.outputs) == 1 else f"output {number}"
        yield f"| *{name}* | {port.group or ''} | {cell(port.types)} |"
    yield ""
    if facts.attributes:
        yield from ("| attribute | value | default |", "|---|---|---|")
        for attribute in facts.attributes:
            value = ", ".join(f"`{v}`" for v in attribute.values) or attribute.type
            default = (
                "required" if attribute.required else f"`{text_of_value(attribute.default)}`".replace("``", "none")
            )
            yield f"| `{attribute.name}` | {cell(value)} | {cell(default)} |"
        yield ""
    page = page_address(facts)
    yield from (f"Tolerance of a comparison: {facts.tolerance}.", "")
    yield from (f"[OpenVINO's page]({page}) · source: `{module_path(facts)}`", "")
    yield from _example(facts)


def _port_row(port: PortFacts) -> str:
    how = " (any number)" if port.variadic else " (optional)" if port.optional else ""
    return f"| `{port.name}`{how} | {port.group or ''} | {cell(port.types)} |"


def _signature(facts: OperatorFacts) -> str:
    """The declaration in one line: `scatter_nd_update(data: T, indices: T_IND, updates: T, /, *, reduction="none")`."""
    operator = operator_of(facts)
    name = _python_name(facts)
    ports = [f"{'*' * p.variadic}{p.name}: {p.group or 'array'}{' = None' if p.optional else ''}" for p in facts.inputs]
    named = {a.file_name: a.name for a in operator.attributes} if operator else {}
    attributes = [
        named.get(a.name, a.name) if a.required else f"{named.get(a.name, a.name)}={_default(a.default)}"
        for a in facts.attributes
    ]
    closing = ["/"] if ports and not any(p.variadic for p in facts.inputs) else []
    opening = ["*"] if attributes and not any(p.variadic for p in facts.inputs) else []
    return f"{name}({', '.join([*ports, *closing, *opening, *attributes])})"


def _python_name(facts: OperatorFacts) -> str:
    """The function of the opset's namespace: `scatter_nd_update`."""
    plain = {name.replace("_", ""): name for name in dir(getattr(irexec, facts.opset))}
    return plain.get(facts.type.lower()) or _WORD.sub("_", facts.type).lower()


def _default(value: object) -> str:
    return repr(tuple(value)) if isinstance(value, list) else repr(value)


def _example(facts: OperatorFacts) -> Iterator[str]:
    """A call with small arrays and what it gives, computed now."""
    if (written := EXAMPLES / f"{facts.type}.py").exists():
        yield from ("```pycon", _session(written.read_text("utf-8")), "```", "")
        return
    operator = operator_of(facts)
    if operator is None or (found := example_of(operator)) is None:
        return
    name = _python_name(facts)
    call, arguments = _call(facts, name, found, operator)
    try:
        result = eval(call, {"np": np, "irexec": irexec, **arguments})
    except irexec.IRError:  # An element type that no array has by itself, such as u1.
        return
    lines = [f">>> {key} = {_array(value)}" for key, value in arguments.items()]
    shown = [repr(r) if r.size <= 64 else f"<{r.dtype} {list(r.shape)}>" for r in _each(result)]
    text = "\n".join(shown)
    yield from (
        "```pycon",
        *lines,
        f">>> {call}",
        text if len(text) < _LONGEST else f"{text[:_LONGEST]} ...",
        "```",
        "",
    )


def _session(code: str) -> str:
    """Python as it is typed, each value below what gives it."""
    known: dict[str, object] = {"np": np, "irexec": irexec}
    lines = []
    for statement in ast.parse(code).body:
        first, *more = (ast.get_source_segment(code, statement) or "").split("\n")
        lines += [f">>> {first}", *(f"... {line}" for line in more)]
        if isinstance(statement, ast.Expr):
            value = eval(compile(ast.Expression(statement.value), "example", "eval"), known)
            lines += [] if value is None else [repr(value)]
        else:
            exec(compile(ast.Module([statement], []), "example", "exec"), known)
    return "\n".join(lines)


def _call(facts: OperatorFacts, name: str, example: Example, operator: object) -> tuple[str, dict[str, np.ndarray]]:
    required = [port.name.strip("*") for port in facts.inputs if not port.optional]
    arguments = dict(zip(required, example.arrays, strict=False))
    given = {a.file_name: a.name for a in operator.attributes}  # type: ignore[attr-defined]
    chosen = [
        f"{given[a.name]}={_value(example.attributes[given[a.name]])}"
        for a in facts.attributes
        if given[a.name] in example.attributes and (a.required or _is_set(a.default, example.attributes[given[a.name]]))
    ]
    return f"irexec.{facts.opset}.{name}({', '.join([*arguments, *chosen])})", arguments


def _is_set(default: object, value: object) -> bool:
    return text_of_value(default) != text_of_value(value) and value not in (None, ())


def _value(value: object) -> str:
    return repr(str(value)) if not isinstance(value, (int, float, bool, tuple, str, type(None))) else repr(value)


def _array(value: np.ndarray) -> str:
    listed = np.array2string(value, separator=", ", threshold=10_000, max_line_width=10_000).replace("\n", "")
    text = re.sub(r"\s+", " ", listed)
    if value.dtype.kind in "TUO":
        return f"np.array({value.tolist()!r})"
    return f"np.{value.dtype.name}({text})" if value.dtype.isbuiltin else f"np.array({text}, {value.dtype.name!r})"


def _each(result: object) -> Iterable[np.ndarray]:
    return map(np.asarray, result if isinstance(result, (tuple, list)) else [result])


def _notes(facts: OperatorFacts) -> Iterator[str]:
    """What the module says of its choices, and the tests that show where OpenVINO does otherwise."""
    module = importlib.import_module(facts.module)
    doc = inspect.cleandoc(module.__doc__ or "")
    said = re.sub(r"\s*\bSource: [^.]*\.", "", doc.partition("\n\n")[2]).strip()
    if said:
        yield from ("## Choices and notes", "", described(said), "")
    if tests := list(_tests(facts)):
        yield from ("## Comparison with OpenVINO", "")
        if told := [f"- {prose(words)} (`{name}`)" for name, words in tests if words]:
            yield from (*told, "")
        if live := [f"`{name}`" for name, words in tests if not words]:
            yield from (f"These tests run both and find no difference: {', '.join(live)}.", "")


def _tests(facts: OperatorFacts) -> Iterator[tuple[str, str]]:
    """The tests of the operator's module in which OpenVINO appears, and what they say of it: in words, or in comments.

    A test that names other operators of the module, and not this one, is about those.
    """
    others = {type for type, (module, _) in CONTENTS.items() if module.startswith(facts.category)} - {facts.type}
    yield from _rows(facts)
    for path in sorted((ROOT / "tests" / "ops" / facts.category).glob("test_*.py")):
        text = path.read_text("utf-8")
        if path.stem != f"test_{facts.module.rpartition('.')[2]}" and not _names(facts.type, text):
            continue
        lines = text.split("\n")
        functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
        sources = {node.name: "\n".join(lines[node.lineno - 1 : node.end_lineno]) for node in functions}
        live = {"openvino"} | {name for name, source in sources.items() if "import openvino" in source}
        for node in functions:
            source = sources[node.name]
            if not node.name.startswith("test_"):
                continue
            said = [part for part in (ast.get_docstring(node) or "", *_comments(source)) if "OpenVINO" in part]
            ours = _names(facts.type, source) or not any(_names(o, f"{node.name} {said}") for o in others)
            if ours and (said or any(f"{name}(" in source for name in live)):
                words = " ".join(" ".join(part.split()).rstrip(".") + "." for part in said)
                yield f"{path.relative_to(ROOT).as_posix()}::{node.name}", words


def _rows(facts: OperatorFacts) -> Iterator[tuple[str, str]]:
    """The rows of the operator that ask OpenVINO, as one test, and the comments of rows that mention it."""
    path = ROOT / "tests" / "ops" / facts.category / f"{facts.module.rpartition('.')[2]}.rows"
    if not path.is_file():
        return
    about, asked, name = False, False, path.relative_to(ROOT).as_posix()
    for line in path.read_text("utf-8").splitlines():
        if line.endswith(":") and not line.startswith("#"):
            about = any(each.rpartition("-")[0] == facts.type for each in line[:-1].split(", "))
        elif about and line.startswith("#") and "OpenVINO" in line:
            yield name, line.removeprefix("#").strip().rstrip(".") + "."
        elif about and {"openvino", "core"} & {*re.split(" {2,}", line)[1:]}:
            asked = True
    if asked:
        yield name, ""


def _comments(source: str) -> list[str]:
    """The comments of a piece of Python; lines that follow one another are one."""
    found = re.findall(r"(?:^|(?<=\s))#[^\n]*(?:\n\s*#[^\n]*)*", source)
    return [re.sub(r"(?:^|\n\s*)#", " ", comment) for comment in found]


def _names(type: str, text: str) -> bool:
    """Whether a text is about an operator, as `ReduceMax` or `reduce_max`."""
    words = "_?".join(_WORD.split(type))
    return re.search(rf"(?<![a-z0-9]){words}(?![a-z0-9])", text, re.IGNORECASE) is not None


# Commands


def _command_pages() -> Iterator[tuple[str, str]]:
    for name, summary in COMMANDS.items():
        yield f"help/{name}.txt", _help([name])
        if not (DOCS / "commands" / f"{name}.md").exists():
            shown = f"```{{literalinclude}} /reference/help/{name}.txt\n:language: text\n```\n"
            yield f"commands/{name}.md", f"# irexec {name}\n\n{summary[0].upper()}{summary[1:]}.\n\n{shown}"
    yield "help/irexec.txt", _help([])
    written = {name: (DOCS / "commands" / f"{name}.md").exists() for name in COMMANDS}
    listed = "".join(f"/{'' if own else 'reference/'}commands/{name}\n" for name, own in written.items())
    yield "commands.txt", f"```{{toctree}}\n:hidden:\n:maxdepth: 1\n\n{listed}```\n"


def _help(arguments: list[str]) -> str:
    printed = io.StringIO()
    os.environ["COLUMNS"] = "100"
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        main([*arguments, "--help"])
    return printed.getvalue()


# Codes


def _code_pages() -> Iterator[tuple[str, str]]:
    lines = [
        "# Diagnostic codes",
        "",
        "Every finding has one of these codes; `irexec explain CODE` shows its page.",
        "",
    ]
    lines += ["| code | title | severity | OpenVINO |", "|---|---|---|---|"]
    for code in CODES.values():
        link = f"[{code.code}](/codes/{code.code}.md)" if (DOCS / "codes" / f"{code.code}.md").exists() else code.code
        lines.append(f"| {link} | {cell(code.title)} | {code.severity} | {cell(code.openvino or '')} |")
    yield "codes.md", "\n".join([*lines, ""])


# Packages


def _package_pages() -> Iterator[tuple[str, str]]:
    lines = ["| package | purpose |", "|---|---|"]
    for layer in LAYERS:
        for package in sorted(layer):
            path = ROOT / "irexec" / package / "__init__.py"
            path = path if path.exists() else ROOT / "irexec" / f"{package}.py"
            if package.startswith("__") or not path.exists():
                continue
            doc = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
            first = " ".join(doc.split("\n\n")[0].split())
            lines.append(f"| `{package}` | {cell(first)} |")
    yield "packages.txt", "\n".join(lines) + "\n"


# Reports, to be opened from the page of `irexec report`


def _reports() -> Iterator[tuple[str, str]]:
    classifier, image = "samples/classifier/model.xml", "samples/classifier/image.npy"
    yield "live/classifier.html", _report(classifier, "--run", "--input", f"image={image}")
    yield "live/transformer.html", _report("samples/transformer/model.xml")
    yield "live/example.html", _report("samples/scatter_nd_update/example_2.xml")


def _report(*arguments: str) -> str:
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(ROOT), contextlib.redirect_stdout(io.StringIO()):
        written = Path(folder) / "report.html"
        assert main(["report", *arguments, "-o", str(written)]) == 0
        return written.read_text("utf-8")


# Notebooks, with the outputs that are stored in them


def _notebooks() -> Iterator[tuple[str, str]]:
    for path in sorted(DOCS.glob("*.ipynb")):
        parts = [part for cell in read_notebook(path)["cells"] for part in _cell_parts(cell)]
        yield f"{path.stem}.md", "\n\n".join([*parts, ""])


def _cell_parts(cell: dict[str, Any]) -> Iterator[str]:
    """A cell of a notebook in Markdown, followed by its outputs."""
    source = text_of(cell["source"])
    yield source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```"
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        if "text/html" in data:
            yield f"```{{raw}} html\n<div>{text_of(data['text/html'])}</div>\n```"
        else:
            yield f"```text\n{text_of(data.get('text/plain') or output.get('text', '')).rstrip()}\n```"


if __name__ == "__main__":
    write()
