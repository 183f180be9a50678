"""Python files given with --extension, executed so that the operators they declare are known."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from irexec.cli.inputs import check_readable, refuse
from irexec.core.diagnostics import Place, Report


def load_extensions(paths: Sequence[str]) -> Report:
    """Execute the Python files given with --extension; return findings about files that cannot be executed."""
    return Report([finding for path in paths for finding in load_extension(path)])


def load_extension(path: str) -> Report:
    """Execute a Python file that declares operators; return an empty report, or U001 or U002 if that fails."""
    if not (report := check_readable(path, "an extension")).ok:
        return report
    import importlib.util

    spec = importlib.util.spec_from_file_location(
        f"irexec_extension_{os.path.splitext(os.path.basename(path))[0]}", path
    )
    if spec is None or spec.loader is None:
        return refuse("U002", "an extension is a Python file (.py)", place=Place(file=path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        return refuse("U002", f"{type(error).__name__}: {error}", place=_place_of(error, path))
    return Report()


def _place_of(error: BaseException, path: str) -> Place:
    """Return the last line of the file at `path` in the error's traceback."""
    import linecache
    import traceback

    full = os.path.abspath(path)
    if isinstance(error, SyntaxError) and error.filename == full:
        lines, columns = [error.lineno], error.offset
    else:
        lines, columns = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == full], None
    if not lines or not lines[-1]:
        return Place(path)
    text = linecache.getline(full, lines[-1]).rstrip("\n")
    start = columns - 1 if columns else len(text) - len(text.lstrip())
    return Place(path, lines[-1], start + 1, 1 if columns else len(text) - start, text)
