"""What findings say of OpenVINO, judged by OpenVINO: each `openvino:` statement of a file with one anomaly is true.

    python benchmarks/openvino_statements.py                        every anomaly of every model
    python benchmarks/openvino_statements.py --part 40              every 40th
    python benchmarks/openvino_statements.py --only D005 FOLDER ... one code; also of the models in these folders

A model is one operator, or a small net with order, state or bodies. An anomaly changes one place of it: an attribute,
an id, a name, a version, a dim, a precision, a port, an edge, a section. irexec validates the file, and a child process
asks OpenVINO: does `read_model` read it, does the CPU plugin compile it, is the model the same as without the place?

A statement that begins with `rejects` promises that `read_model` fails, `the CPU plugin rejects it` that only
`compile_model` fails, and every other statement that `read_model` reads the file. `ignores` and `inferred` promise the
same model as the unchanged file's. A statement with `most`, `unless` or the like promises nothing for one file, and is
only counted, and so is one that promises reading if the file has another finding that may prevent it.

Prints for each code and statement the number of files, and of those for which it is not true, with the shortest.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

HOME = Path(__file__).parent.parent
sys.path[:0] = [str(HOME / "tests" / "lib"), str(HOME)]

from support.meanings import Origin, below, of_operators, origins  # noqa: E402

from irexec.core.diagnostics import Diagnostic, Report, Severity  # noqa: E402
from irexec.core.diagnostics.statements import MEASURED_WITH  # noqa: E402
from irexec.tools.fixes.applying import examine  # noqa: E402

PER_PROCESS, SECONDS = 2000, 30  # Of processor time, for one file.
MOST_SHOWN = 3

# What is written instead of a text; None removes the attribute.
_TEXTS = (
    "",
    "-1",
    "0",
    "abc",
    "2x",
    "1.5",
    "yes",
    " 1 ",
    "1,",
    "1,,1",
    "99999999999999999999",
    "f32",
    "FP32",
    "+1",
    "",
)
_ATTRIBUTES = {
    "id": ("", "x", "-1", "99", " 0", "+1", "0"),
    "name": ("", None),
    "type": ("", None, "Nothing", "abs", "parameter", "Constant"),
    "version": (None, "", "opset99", "opset", "experimental", "extension", "opset1", "opset16", "11"),
    "precision": (None, "", "F32", "FP33", "I64", "FP16", "fp32", "BOOL"),
    "from-layer": (None, "", "x", "99", "0", "1"),
    "from-port": (None, "", "x", "99", "0"),
    "to-layer": (None, "", "x", "99", "0", "1"),
    "to-port": (None, "", "x", "99", "0"),
    "external_port_id": (None, "", "x", "99", "0", "-1"),
    "internal_layer_id": (None, "", "x", "99", "0"),
    "purpose": (None, "", "x"),
    "axis": (None, "", "x", "99", "-1"),
    "part_size": ("0", "-1", "x", "99"),
    "stride": ("0", "-1", "x"),
}
_DIMS = ("", "x", "-1", "-2", "7", "3x", "?", "+2", " 2 ", "99999999999999999999")
_SECTIONS = ("layers", "edges", "port_map", "back_edges", "body", "input", "output", "data", "port", "edge", "layer",
             "then_body", "else_port_map", "dim")  # fmt: skip


class Anomaly(NamedTuple):
    """A file, and the file without the place: OpenVINO ignores the place if it reads both as the same model.

    `without` is empty if the place has a meaning, right or wrong.
    """

    origin: str
    what: str
    text: str
    without: str
    weights: bytes

    @property
    def kind(self) -> str:
        """The place and the change, whatever the name and the former value of an attribute of `<data>`."""
        found = re.fullmatch(r"(<\w+(?: [\w-]+)?|[\w:-]+?)(=|: )(.*)", self.what, re.DOTALL)
        assert found is not None
        place, sign, change = found.groups()
        if place.startswith("<") or place in (*_SECTIONS, "weights"):
            return f"{place}{sign}{change}"
        is_text = sign == "=" and change.strip("'") not in _TEXTS
        return "its own value changed" if is_text else f"attribute{sign}{change}"


def anomalies(origin: Origin) -> Iterator[Anomaly]:
    """Yield each change of one place of a model."""
    text = origin.text

    def change(what: str, start: int, end: int, new: str, without: str = "") -> Anomaly:
        return Anomaly(origin.name, what, text[:start] + new + text[end:], without, origin.weights)

    for data in re.finditer(r"<data\b([^>]*?)/?>", text):
        yield change("data: more", data.end(1), data.end(1), ' surplus="1"', text)
        for found in re.finditer(r'\s([\w:-]+)="([^"]*)"', data[0]):
            start, end = data.start() + found.start(), data.start() + found.end()
            absent = text[:start] + text[end:]
            yield change(f"{found[1]}: missing", start, end, "", absent)
            yield change(f"{found[1]}: misspelt", start, end, f' {found[1]}x="{found[2]}"', absent)
            is_boolean = found[2] in ("true", "false")
            texts = (*_TEXTS, found[2].upper(), found[2] + ",1", f"-{found[2]}", f"{found[2]} ", f"{found[2]}x")
            for new in dict.fromkeys(texts):
                if new != found[2]:
                    yield change(
                        f"{found[1]}={new!r}", start, end, f' {found[1]}="{new}"', absent if is_boolean else ""
                    )
            yield change(f"{found[1]}: twice", end, end, f' {found[1]}="7"', text)
    for tag in re.finditer(r"<(?!data\b|\?)[a-z_]+\b[^>]*>", text):
        for found in re.finditer(r'\s([\w-]+)="([^"]*)"', tag[0]):
            start, end = tag.start() + found.start(), tag.start() + found.end()
            for new in _ATTRIBUTES.get(found[1], ()):
                if new != found[2]:
                    written = "" if new is None else f' {found[1]}="{new}"'
                    ignored = text if found[1] == "precision" and tag[0].startswith("<port") else ""
                    yield change(f"{tag[0].split()[0]} {found[1]}={new!r}", start, end, written, ignored)
        if '="' in tag[0]:
            place = tag.end() - (2 if tag[0].endswith("/>") else 1)
            yield change(f"{tag[0].split()[0]}: more", place, place, ' surplus="1"', text)
    for dim in re.finditer(r"<dim>([^<]*)</dim>", text):
        for new in _DIMS:
            yield change(f"dim={new!r}", dim.start(1), dim.end(1), new, text)
    for section in _SECTIONS:
        for found in re.finditer(rf"<{section}\b(?:[^>]*/>|[^>]*>.*?</{section}>)", text, re.DOTALL):
            yield change(f"{section}: missing", found.start(), found.end(), "")
            yield change(f"{section}: twice", found.end(), found.end(), found[0])
            yield change(f"{section}: unknown", found.end(), found.end(), "<nothing/>", text)
            yield change(f"{section}: text", found.end(), found.end(), "text", text)
    for cut in (1, origin.weights and len(origin.weights)):
        if origin.weights:
            yield change("weights: short", 0, 0, "")._replace(weights=origin.weights[:-cut], text=text)


# What OpenVINO does


class Treatment(NamedTuple):
    """`read`, `compiled`: the first line of the exception, or an empty text. `same`: as for the file without the place,
    which OpenVINO may reject as well.
    """

    read: str
    compiled: str
    same: bool | None


@cache
def _core() -> Any:
    import openvino

    return openvino.Core()


def _read(text: str, weights: bytes) -> tuple[Any, str]:
    import numpy
    import openvino

    tensor = openvino.Tensor(numpy.frombuffer(weights, numpy.uint8)) if weights else b""
    try:
        return _core().read_model(text.encode("utf-8", "surrogatepass"), tensor), ""
    except Exception as error:  # OpenVINO rejects texts with exceptions of any class.
        lines = [line for line in str(error).splitlines() if line and not line.startswith(("Exception", "Check"))]
        return None, (lines or ["refused"])[-1][:120]


def _print(model: Any) -> list[str]:
    """Return the operators of a model with their attributes and types; an empty list if OpenVINO rejects its file."""
    found = []
    for node in [] if model is None else model.get_ordered_ops():
        attributes: Any = None
        with contextlib.suppress(Exception):
            attributes = node.get_attributes()
        types = [f"{out.get_element_type()}{out.get_partial_shape()}" for out in node.outputs()]
        found.append(f"{node.get_type_name()} {attributes} {types}")
    return found


def treated(anomaly: Anomaly, statements: str) -> Treatment:
    """Return what OpenVINO does with a file; it compiles the model only if the statements are about that."""
    model, read = _read(anomaly.text, anomaly.weights)
    same = None
    if anomaly.without and _OF_MODELS.search(statements):
        without = _read(anomaly.without, anomaly.weights)[0]
        same = _print(model) == _print(without)
    if model is None:
        return Treatment(read, read, same)
    try:
        if _OF_THE_PLUGIN in statements:
            _core().compile_model(model, "CPU")
    except Exception as error:
        return Treatment("", str(error).strip().splitlines()[-1][:120], same)
    return Treatment("", "", same)


# Statements


# Messages of operators, not of the reader: the values that were read do not fit together.
_OF_MODELS = re.compile(r"\b(ignores? it|inferred|never (compares|reads))\b")
_OF_THE_PLUGIN = "CPU plugin rejects"
_NOT_READING = re.compile(r"\bparse|parameters!|stoll|member of|mandatory|Missing|must be defined|unsupported opset")


def truth(statement: str, treatment: Treatment) -> bool | None:
    """Return whether a statement is true; None if it promises nothing for one file."""
    if re.search(r"\b(most|some|unless|probably|depend(s|ing) on the|undefined)\b", statement):
        return None
    if statement.startswith("rejects"):
        return bool(treatment.read)
    if treatment.read and not (treatment.same and "ignores it" in statement):
        return (
            None
            if re.match(r"(silently )?(reads|uses|accepts|ignores them)\b", statement)
            and not _NOT_READING.search(treatment.read)
            else False
        )
    if _OF_THE_PLUGIN in statement:
        return bool(treatment.compiled)
    if _OF_MODELS.search(statement):
        return treatment.same is not False
    return True


class Judgement(NamedTuple):
    code: str
    statement: str
    true: bool | None
    origin: str
    what: str
    treatment: Treatment
    size: int


def judged(anomaly: Anomaly) -> list[Judgement]:
    """Return the judgements of the statements about a file."""
    report: Report = examine(anomaly.text.encode("utf-8", "surrogatepass"), weights=anomaly.weights).report
    if not len(report):
        return []
    treatment = treated(anomaly, "; ".join(finding.openvino or "" for finding in report))
    found = []
    for code, statement in dict.fromkeys((f.code, f.openvino) for f in report if f.openvino):
        assert statement is not None
        others = [f for f in report if (f.code, f.openvino) != (code, statement)]
        prevented = any(_may_prevent(f) for f in others) and not statement.startswith("rejects")
        true = None if prevented else truth(statement, treatment)
        found.append(Judgement(code, statement, true, anomaly.origin, anomaly.what, treatment, len(anomaly.text)))
    return found


def _may_prevent(finding: Diagnostic) -> bool:
    """Return whether OpenVINO may reject a file, or read it differently, because of a finding."""
    statement = finding.openvino
    if (statement or "").startswith("rejects the file"):
        return True
    return finding.severity is Severity.ERROR and (
        statement is None or truth(statement, Treatment("", "", None)) is not True
    )


@cache
def models(folders: tuple[Path, ...]) -> list[Origin]:
    return [*origins(), *of_operators(), *(origin for folder in folders for origin in below(folder))]


@cache
def known(folders: tuple[Path, ...]) -> list[Anomaly]:
    return [anomaly for origin in models(folders) for anomaly in anomalies(origin)]


@cache
def _is_sound(origin: str, folders: tuple[Path, ...]) -> bool:
    """Return whether irexec and OpenVINO accept a model without an anomaly."""
    model = next(model for model in models(folders) if model.name == origin)
    if not examine(model.text.encode(), weights=model.weights).report.ok:
        return False
    return not treated(Anomaly(origin, "", model.text, "", model.weights), _OF_THE_PLUGIN).compiled


def in_children(numbers: list[int], folders: tuple[Path, ...] = ()) -> Iterator[list[Judgement]]:
    """Yield the judgements of anomalies from child processes; one that ends its process has none."""
    while numbers:
        part, numbers = numbers[:PER_PROCESS], numbers[PER_PROCESS:]
        while part:
            command = [sys.executable, __file__, "--child", ",".join(map(str, part)), *map(str, folders)]
            with subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
                assert child.stdout is not None
                done = 0
                for line in child.stdout:
                    if line.startswith("["):
                        done += 1
                        yield [Judgement(*row)._replace(treatment=Treatment(*row[5])) for row in json.loads(line)]
            part = part[done + 1 :]


def answer(numbers: Iterable[int], folders: tuple[Path, ...]) -> None:
    import signal

    for number in numbers:
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        anomaly = known(folders)[number]
        judgements = judged(anomaly) if _is_sound(anomaly.origin, folders) else []
        os.write(1, json.dumps(judgements).encode() + b"\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--part", type=int, default=1, help="judge every N-th anomaly")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--what", default="", help="a regular expression: judge these anomalies only")
    parser.add_argument("--only", help="show this code only")
    parser.add_argument("--log", type=Path, help="write each judgement that is not true to this file")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    folders = tuple(folder.resolve() for folder in args.folders)
    if args.child:
        answer(map(int, args.child.split(",")), folders)
        return 0
    begin = time.monotonic()
    rows: dict[tuple[str, str], Counter[bool | None]] = defaultdict(Counter)
    false: dict[tuple[str, str], list[Judgement]] = defaultdict(list)
    numbers = [n for n, anomaly in enumerate(known(folders)) if re.search(args.what, anomaly.what)]
    numbers = numbers[args.first :: args.part]
    log = args.log.open("w") if args.log else None
    for judgements in in_children(numbers, folders):
        for judgement in judgements:
            key = judgement.code, judgement.statement
            rows[key][judgement.true] += 1
            if judgement.true is False:
                false[key].append(judgement)
            if log is not None and judgement.true is not True:
                print(json.dumps(judgement), file=log, flush=True)
    release = metadata.version("openvino")
    print(f"{len(numbers):,} files, OpenVINO {release}; the findings name {MEASURED_WITH}")
    print(f"{time.monotonic() - begin:.0f} s\n true  false  open  statement")
    for key in sorted(rows):
        if args.only and key[0] != args.only:
            continue
        print(f"{rows[key][True]:5} {rows[key][False]:6} {rows[key][None]:5}  {key[0]} {key[1]}")
        for judgement in sorted(false[key], key=lambda j: j.size)[:MOST_SHOWN]:
            treatment = judgement.treatment
            print(f"{'':20}  {judgement.origin}, {judgement.what}: {treatment}")
    print(f"not true: {sum(map(len, false.values()))} of {sum(row[True] + row[False] for row in rows.values())}")
    return int(any(false.values()))


if __name__ == "__main__":
    sys.exit(main())
