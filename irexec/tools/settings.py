"""The settings of a project: `irexec.toml`, or `[tool.irexec]` in `pyproject.toml`, here or in a folder above."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatch
from typing import Any

from irexec.core.diagnostics import Place, Report
from irexec.core.diagnostics.choice import Choice, names_no_code
from irexec.core.diagnostics.findings import Findings, Mode
from irexec.core.diagnostics.nearest import did_you_mean
from irexec.core.records import field, record
from irexec.ir.beside import MOST_OF_SETTINGS, Unreadable, read_toml, text_of

_KEYS = ("select", "ignore", "per-file-ignores", "mode", "exclude")
_MODES = ("strict", "openvino")


@record(frozen=True)
class Settings:
    """The settings of a project; None for a setting that is not set. `base` is the folder of the file."""

    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] | None = None
    per_file: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    mode: Mode | None = None
    exclude: tuple[str, ...] = ()
    base: str = "."

    @property
    def choice(self) -> Choice:
        """The choice of findings that count."""
        return Choice(("",) if self.select is None else self.select, self.ignore or (), self.per_file, self.base)

    def excludes(self, path: str) -> bool:
        """Return whether the settings exclude a file found in a folder."""
        return is_excluded(path, self.exclude, self.base)


def read_settings(folder: str) -> tuple[Settings, Report]:
    """Return the settings of the nearest file for a folder, or the default settings; and findings about the file."""
    for above in _and_above(folder):
        for path in (os.path.join(above, "irexec.toml"), os.path.join(above, "pyproject.toml")):
            if os.path.isfile(path):
                table, report = _table(path)
                if not report.ok:
                    return Settings(), report
                if table is not None:
                    return _settings(table, path)
    return Settings(), Report()


def _and_above(folder: str) -> Iterator[str]:
    """Yield a folder and all folders above it, the innermost first."""
    yield folder
    while (above := os.path.dirname(folder)) != folder:
        yield (folder := above)


def _table(path: str) -> tuple[dict[str, Any] | None, Report]:
    """Return the table of settings in a file, None if it has none, and findings about the file."""
    is_own, text, findings = os.path.basename(path) == "irexec.toml", "", Findings()
    try:
        text = text_of(path, "the settings file", MOST_OF_SETTINGS)
        whole = read_toml(text)
    except (OSError, Unreadable) as error:
        if is_own or "tool.irexec" in text:  # Another tool reports other invalid files.
            findings.add("U013", f"the settings cannot be read: {error}", place=Place(path))
        return None, findings.report
    tools = {"irexec": whole} if is_own else whole.get("tool")
    table = tools.get("irexec") if isinstance(tools, dict) else None
    if table is not None and not isinstance(table, dict):
        findings.add("U013", "tool.irexec is not a table", place=Place(path))
        return None, findings.report
    return table, findings.report


def _settings(table: dict[str, Any], path: str) -> tuple[Settings, Report]:
    findings = Findings()

    def wrong(message: str, hint: str | None = None) -> None:
        findings.add("U013", message, place=Place(path), hint=hint)

    def texts(key: str, value: Any) -> tuple[str, ...]:
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
        wrong(f"{key} is {value!r}, expected a list of strings")
        return ()

    def codes(key: str, value: Any) -> tuple[str, ...]:
        found = texts(key, value)
        for code in found:
            if names_no_code(code):
                wrong(f"{key}: no code starts with {code!r}", "`irexec explain` lists all codes")
        return found

    for key in table.keys() - set(_KEYS):
        wrong(f"unknown setting {key!r}", did_you_mean(key, _KEYS) or f"known settings: {', '.join(_KEYS)}")
    per_file = table.get("per-file-ignores", {})
    if not isinstance(per_file, dict):
        wrong(f"per-file-ignores is {per_file!r}, expected a table of patterns with lists of codes")
        per_file = {}
    if (mode := table.get("mode")) not in (None, *_MODES):
        wrong(f"mode is {mode!r}, expected {' or '.join(_MODES)}")
    settings = Settings(
        select=codes("select", table["select"]) if "select" in table else None,
        ignore=codes("ignore", table["ignore"]) if "ignore" in table else None,
        per_file={pattern: codes(f"per-file-ignores of {pattern}", listed) for pattern, listed in per_file.items()},
        mode=mode,
        exclude=texts("exclude", table.get("exclude", [])),
        base=os.path.dirname(path),
    )
    return (settings if findings.report.ok else Settings()), findings.report


def is_excluded(path: str, patterns: Sequence[str], base: str) -> bool:
    """Return whether a pattern names the file, by its name or by its path relative to `base`."""
    relative = os.path.relpath(path, base).replace(os.sep, "/")
    return any(fnmatch(relative, pattern) or fnmatch(os.path.basename(path), pattern) for pattern in patterns)
