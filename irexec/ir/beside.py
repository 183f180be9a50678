"""Files beside a model: JSON, TOML, CSV and other texts, read within limits of size and depth.

Everything that irexec reads beside models and arrays is read here. Whatever a file contains, it is either read or
raises Unreadable, whose message says why; `shaped` and `written_by` do the same for the values in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from os import PathLike
from typing import Any

from irexec.ir.io.files import open_regular

MOST_BYTES, MOST_OF_SETTINGS = 1 << 28, 1 << 20
"""The largest size of a file; settings are found, not named, and are read by every command."""


class Unreadable(ValueError):
    """A file, or a value in it, that is not of the expected kind. The message does not contain the path."""


def text_of(path: str | PathLike[str], role: str = "a file", most: int = MOST_BYTES) -> str:
    """Return the text of a file in UTF-8. Raises OSError and Unreadable."""
    with open_regular(path, role) as stream:
        data = stream.read(most + 1)
    if len(data) > most:
        raise Unreadable(f"the file is larger than {most:,} bytes")
    with _readable("UTF-8"):
        return data.decode("utf-8-sig")


def json_of(path: str | PathLike[str], role: str = "a file") -> Any:
    """Return the value in a file of JSON. Raises OSError and Unreadable."""
    return read_json(text_of(path, role))


def read_json(text: str | bytes) -> Any:
    """Return the value of a text in JSON. Raises Unreadable."""
    import json

    with _readable("JSON"):
        return json.loads(text)


def read_toml(text: str) -> dict[str, Any]:
    """Return the table of a text in TOML. Raises Unreadable."""
    import tomllib

    with _readable("TOML"):
        return tomllib.loads(text)


def read_csv(text: str, **form: Any) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a text in CSV, each with the number of its last line. Raises Unreadable."""
    import csv

    reader = csv.reader(text.splitlines(keepends=True), **form)
    try:
        for row in reader:
            yield reader.line_num, row
    except csv.Error as error:
        raise Unreadable(f"line {reader.line_num}: {error}") from None


@contextmanager
def written_by(command: str) -> Iterator[None]:
    """Convert the errors about a value that does not have the form in which a command writes it into Unreadable."""
    try:
        yield
    except Unreadable:
        raise
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError) as error:
        raise Unreadable(f"it was not written by {command}: {_brief(error)}") from None


def shaped(kind: Any, value: Any) -> Any:
    """Return a value converted to a type as pydantic does. Raises Unreadable with the place of the first error."""
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(kind).validate_python(value)
    except ValidationError as error:
        first = error.errors()[0]
        raise Unreadable(f"{_place(first['loc'])}: {first['msg']}") from None


@contextmanager
def _readable(form: str) -> Iterator[None]:
    try:
        yield
    except RecursionError:
        raise Unreadable(f"the file is not {form} that can be read: its values are nested too deeply") from None
    except ValueError as error:
        raise Unreadable(f"the file is not {form}: {_brief(error)}") from None


def _place(parts: Iterable[int | str]) -> str:
    return ".".join(map(str, parts))


def _brief(error: Exception) -> str:
    return f"{error.args[0]!r} is missing" if isinstance(error, KeyError) and error.args else str(error)[:200]
