"""Virtual environments with one release of a package each, made on demand by pip in a folder of the user."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from irexec.core.diagnostics import Refusal
from irexec.model.arrays.saving import save_text
from irexec.runtime.processes.starting import outcome
from irexec.tools.compare.runtimes.runtime import CannotRun

PACKAGES = {"openvino": ("numpy",), "onnxruntime": ("numpy", "onnx")}
"""The packages whose releases can be searched, and what scripts need beside them."""
_READY = "irexec-ready.txt"
_LIMIT = 1800.0
_VERSION = re.compile(r"\d+(?:\.\d+)*(?:[a-z.+-]+\d*)?")


def package_of(text: str) -> str:
    """Return the package of a runtime, as `--with` names it. Raises CannotRun."""
    kind = text.partition(":")[0]
    if kind not in PACKAGES or (kind == "onnxruntime" and text != kind):
        raise CannotRun(f"{text!r} has no releases to search: give openvino, openvino:DEVICE or onnxruntime", "U005")
    return kind


class NoRelease(Refusal, LookupError):
    """Raised for a release without an environment; the message states the reason."""

    code = "U005"


class Environments:
    """The interpreters of releases. `given` are the user's own; others are made below `folder`, and stay there.

    `folder`: None if no environment may be made.
    """

    def __init__(
        self, package: str, folder: str | os.PathLike[str] | None = None, given: Mapping[str, str] | None = None
    ) -> None:
        self.package, self.given = package, dict(given or {})
        self._folder = None if folder is None else Path(folder).absolute()

    def python(self, release: str) -> str:
        """Return the interpreter that has a release. Raises NoRelease."""
        if release in self.given:
            return self.given[release]
        if self._folder is None:
            raise NoRelease("no folder for environments is given, and no interpreter with this release")
        if not _VERSION.fullmatch(release):
            raise NoRelease(f"{release!r} is not a release")
        home = self._folder / f"{self.package}-{release}"
        python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        if not (home / _READY).is_file():
            self._make(home, str(python), release)
        return str(python)

    def _make(self, home: Path, python: str, release: str) -> None:
        wanted = [f"{self.package}=={release}", *PACKAGES[self.package]]
        for words in (
            [sys.executable, "-m", "venv", "--clear", str(home)],
            [python, "-m", "pip", "install", "--disable-pip-version-check", "--only-binary", ":all:", *wanted],
        ):
            code, printed = outcome(words, _LIMIT)
            if code != 0:
                raise NoRelease(_reason(printed) if code is not None else f"no end after {_LIMIT:g} s")
        save_text(home / _READY, " ".join(wanted) + "\n")

    def releases(self, text: str) -> list[str]:
        """Return the releases of a list (A,B,C) or a range (A..B, A..), the oldest first. Raises NoRelease.

        The releases of a range are those that pip finds.
        """
        if ".." not in text:
            found = [part.strip() for part in text.split(",") if part.strip()]
            return sorted(dict.fromkeys([*found, *self.given]), key=version_key)
        first, _, last = text.partition("..")
        words = [sys.executable, "-m", "pip", "index", "versions", "--disable-pip-version-check", self.package]
        code, printed = outcome(words, _LIMIT)
        line = next((line for line in printed.splitlines() if line.startswith("Available versions:")), None)
        if code != 0 or line is None:
            raise NoRelease(f"the releases of {self.package} are not known: {_reason(printed)}; list them: A,B,C")
        known = [part.strip() for part in line.partition(":")[2].split(",")]
        low, high = version_key(first.strip()), version_key(last.strip() or known[0])
        return sorted((r for r in known if low <= version_key(r) <= high), key=version_key)


def version_key(release: str) -> tuple[int, ...]:
    """Return the order of a release, whose trailing zeros do not count."""
    numbers = [int(part) for part in re.findall(r"\d+", release)]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def _reason(printed: str) -> str:
    """Return pip's own reason: its last line that states an error, or else its last line."""
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    return (errors or lines or ["no message"])[-1].removeprefix("ERROR: ")
