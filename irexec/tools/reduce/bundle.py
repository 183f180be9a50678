"""Bundles: the files of a reduction as one archive to be sent, with the text of an issue, and anonymized on demand."""

from __future__ import annotations

import platform
import re
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from importlib.resources import files
from pathlib import Path
from typing import IO, Any

from irexec.core.diagnostics import Refusal
from irexec.core.diagnostics.render.markdown import code, fenced, prose
from irexec.ir.beside import Unreadable, json_of, shaped, text_of
from irexec.ir.io.files import read_file
from irexec.model.arrays.loading import BadArrayFile, load
from irexec.model.arrays.saving import save_atomically, save_text
from irexec.tools.cut.extract import renamed
from irexec.tools.reduce.case import Case
from irexec.tools.reduce.case_files import load_case, save_case
from irexec.tools.reduce.repro import State
from irexec.tools.run.dump import input_names

_FIRST_DATE = (1980, 1, 1, 0, 0, 0)
_NAME = "model"
# Scripts for runtimes contain expected results, scripts for commands do not.
_EXPECTED = "EXPECTED = "


class NoReduction(Refusal, ValueError):
    """Raised for a model without the files that `irexec reduce` writes next to it."""

    code = "U012"


def bundle(model: Path, target: Path, *, anonymise: bool = False, answers: Sequence[str] = ()) -> list[str]:
    """Write an archive with a reduced model, its inputs, script and report, and ISSUE.md, the text for an issue of
    OpenVINO. Return the names of the files in the archive.

    `anonymise`: layers, tensors and files get other names, and runtime information and the report are left out; values
    are kept, because the failure depends on them. `answers`: sentences about the cause, for the issue. Raises
    NoReduction, OSError and IRError.
    """
    if model.suffix.lower() not in (".xml", ".onnx"):
        raise NoReduction(f"{model} is not a model: give the .xml or .onnx file that irexec reduce wrote")
    script, state = model.with_suffix(".py"), model.with_suffix(".json")
    for file in (model, script, state):
        if not file.is_file():
            raise NoReduction(f"{file} does not exist: a bundle contains the files written by irexec reduce")
    packed = [*_files(model)]
    for file in (state, *packed):
        if file.is_symlink():
            raise NoReduction(f"{file} is a symbolic link: a bundle contains files of this folder only")
    for file in packed:
        try:
            if file.suffix == ".npz":
                load(file)
        except BadArrayFile as error:
            raise NoReduction(f"{file} is not a file of arrays: {error}") from None
    try:
        message = shaped(State, json_of(state)).message
        text = text_of(script)
    except Unreadable as error:
        raise NoReduction(f"{model.with_suffix('')} was not written by irexec reduce: {error}") from None
    if not anonymise:
        return _written(target, packed, _issue(model.name, f"python {script.name}", message, text, answers))
    with tempfile.TemporaryDirectory(prefix="irexec-") as folder:
        message = _kind(text)
        made = Path(folder) / f"{_NAME}{model.suffix}"
        _anonymised(model, made, text, message)
        run = f"python {_NAME}.py" + ("" if _EXPECTED in text else " COMMAND {}")
        return _written(target, [*_files(made)], _issue(made.name, run, message, text))


def _files(model: Path) -> Iterator[Path]:
    """Yield the files of a reduction, without the state for continuing it."""
    archives = sorted(model.parent.glob("*.npz"))
    own = re.compile(rf"{re.escape(model.stem)}(\.\d+|\.expected)?\.npz")
    for path in (model, model.with_suffix(".bin"), model.with_suffix(".py"), model.with_suffix(".md")):
        if path.is_file():
            yield path
    yield from (path for path in archives if own.fullmatch(path.name))


def _anonymised(model: Path, made: Path, text: str, message: str) -> None:
    case = _renamed(load_case(model))
    save_case(case, made)
    if _EXPECTED not in text:
        # A command, and the expression that its output matches, may contain any names.
        usage = f"usage: python {_NAME}.py COMMAND {{}}, where {{}} is the model"
        command = f"[word.replace('{{}}', {made.name!r}) for word in sys.argv[1:]]"
        given = f"{command}\nif not COMMAND:\n    print({usage!r})\n    sys.exit(2)"
        save_text(made.with_suffix(".py"), _with(text, {"COMMAND": given, "SAME": "''"}))
        return
    expected = read_file(str(model.with_name(f"{model.stem}.expected.npz")))
    save_atomically(made.with_name(f"{_NAME}.expected.npz"), lambda stream: _write_all(stream, expected))
    values: dict[str, Any] = {
        "MODEL": made.name,
        "ARCHIVES": [f"{_NAME}.npz", *(f"{_NAME}.{number}.npz" for number in range(1, len(case.steps)))],
        "INPUTS": input_names(case.model),
        "EXPECTED": f"{_NAME}.expected.npz",
        "MESSAGE": message,
        "WORDS": [],
    }
    save_text(made.with_suffix(".py"), _with(text, {name: repr(value) for name, value in values.items()}))


def _renamed(case: Case) -> Case:
    if not hasattr(case, "proto"):
        return Case(renamed(case.model), case.steps, case.results)
    from irexec.frontends.onnx import parts
    from irexec.tools.reduce.onnx_case import onnx_case

    return onnx_case(parts.renamed(case.proto), case.steps)


def _with(text: str, values: Mapping[str, str]) -> str:
    """Return the script with these values assigned to its variables. Raises NoReduction if it lacks a variable."""
    for name, value in values.items():
        found = re.search(rf"^{name} = .*$", text, re.MULTILINE)
        if found is None:
            raise NoReduction(f"the script beside the model does not set {name}: `irexec reduce` did not write it")
        text = f"{text[: found.start()]}{name} = {value}{text[found.end() :]}"
    return text


def _write_all(stream: IO[bytes], data: bytes) -> None:
    stream.write(data)


def _kind(text: str) -> str:
    """Return the failure that a script looks for, without names."""
    found = re.search(r"^KIND = '([a-z ]+)'$", text, re.MULTILINE)
    return {
        "difference": "The results differ from the expected ones.",
        "refusal": "The model is rejected.",
        "crash": "The process crashes.",
        "hang": "The model does not finish.",
    }.get("" if found is None else found[1], "The command fails.")


def _issue(model: str, run: str, message: str, text: str, answers: Sequence[str] = ()) -> str:
    device = re.search(r"^DEVICE = '([\w.:,()]+)'$", text, re.MULTILINE)
    has_runtime = _EXPECTED in text
    log = (
        "versions, device, precision, settings and the difference"
        if has_runtime
        else "the command's output and exit code"
    )
    try:
        version = metadata.version("openvino")
    except metadata.PackageNotFoundError:
        version = "see the output of the script"
    return (
        files("irexec.tools.reduce")
        .joinpath("issue.md")
        .read_text("utf-8")
        .format(
            version=version,
            system=f"{platform.system()} {platform.release()} ({platform.machine()})",
            device="see the script" if device is None else device[1],
            framework="ONNX" if model.lower().endswith(".onnx") else "None (OpenVINO IR)",
            model=code(model),
            message="\n".join(
                [*fenced(message), *(["", *(f"- {prose(line)}" for line in answers)] if answers else [])]
            ),
            run=code(run),
            needs="It needs NumPy and the runtime." if has_runtime else "It needs the command that fails.",
            log=log,
        )
    )


def _written(target: Path, files: list[Path], issue: str) -> list[str]:
    def write(stream: IO[bytes]) -> None:
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in files:
                archive.writestr(zipfile.ZipInfo(path.name, _FIRST_DATE), read_file(str(path)), zipfile.ZIP_DEFLATED)
            archive.writestr(zipfile.ZipInfo("ISSUE.md", _FIRST_DATE), issue, zipfile.ZIP_DEFLATED)

    save_atomically(target, write)
    return [*(path.name for path in files), "ISSUE.md"]
