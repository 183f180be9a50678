"""Values given on a command line: `data=file.npy`, `data=[1,2,3]`, `data=f16`, `x=1,3,224,224`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

import numpy as np

from irexec.core.diagnostics import IRError, Place
from irexec.core.diagnostics.findings import Findings
from irexec.core.diagnostics.nearest import did_you_mean, likely_names
from irexec.core.types import FOREIGN, Array, ElementType, PartialShape
from irexec.frontends.pages.listed import Listed, read_values
from irexec.ir.io.files import unreadable
from irexec.model.arrays.loading import BadArrayFile, load

T = TypeVar("T")
_FORMS = "write NAME=FILE.npy, NAME=@FILE.npz:KEY or NAME=[1, 2, 3]"


def split(option: str, *, last: bool = False, nameless: bool = False) -> tuple[str, str] | None:
    """Return the name and the value of NAME=VALUE; None for other texts. `last`: the name may contain `=`, but not the
    value. `nameless`: the name may be left out, and is empty then.
    """
    if nameless and "=" not in option:
        return "", option
    name, equals, value = option.rpartition("=") if last else option.partition("=")
    return (name, value) if equals and name else None


def named(
    options: Iterable[str],
    convert: Callable[[str], T],
    findings: Findings,
    flag: str,
    form: str,
    *,
    last: bool = False,
    nameless: bool = False,
) -> dict[str, T]:
    """Return the values of the options `flag` NAME=VALUE by name. Options of another form than the example `form`, and
    those for whose value `convert` raises ValueError, are findings. `last`, `nameless`: see `split`.
    """
    found = {}
    for option in options:
        try:
            if (pair := split(option, last=last, nameless=nameless)) is None:
                raise ValueError(f"the option does not have the form {form}")
            found[pair[0]] = convert(pair[1])
        except ValueError as error:
            findings.add("U004", f"{flag} {option}: {error}", hint=f"write {form}")
    return found


def read_properties(options: Iterable[str]) -> dict[str, str]:
    """Return the properties of a runtime that --config states. Raises IRError."""
    findings = Findings()
    found = named(options, str, findings, "--config", "INFERENCE_PRECISION_HINT=f32")
    if not findings.report.ok:
        raise IRError(findings.report)
    return found


def read_inputs(
    options: Iterable[str], findings: Findings, archives: dict[str, str] | None = None, flag: str = "--input"
) -> dict[str, Any]:
    """Return values by input name: arrays from files, nested lists from texts. Invalid values are reported as findings.

    Without a name, a .npz file supplies each of its arrays to the input with the array's name, and any other value is
    that of the first input. `archives` receives the path of that file for each of its keys. `flag`: the option's name
    in findings.
    """
    supplied: dict[str, Any] = {}
    for option in options:
        name, text = split(option) or (("0", option) if "=" not in option and _is_value(option) else ("", ""))
        if not text:
            findings.add("U004", f"{flag} {option}: the option does not have the form NAME=VALUE", hint=_FORMS)
        elif name == "0" and text == option and option.endswith(".npz"):
            arrays = _whole_archive(option, findings, flag)
            supplied |= arrays
            if archives is not None:
                archives |= dict.fromkeys(arrays, option)
        elif (value := _value(name, text, findings, flag)) is not None:
            supplied[name] = value
    return supplied


def file_of_option(option: str) -> tuple[str, str, str] | None:
    """Return the path of the file that a value is read from, with the text before and after it in the option.

    Return None for an option that contains the value itself.
    """
    _, value = split(option, nameless=True) or ("", option)
    if not value.startswith("@") and (value.startswith(("[", "{")) or _written_out(value) is not None):
        return None
    named = value.removeprefix("@")
    path, _ = _path_and_key(named)
    return option.removesuffix(named), path, named.removeprefix(path)


def read_precisions(options: Iterable[str], findings: Findings) -> dict[str, ElementType]:
    """Return element types by input name; FIRST_GROUP is the key of a type that is given without a name."""
    found = {}
    for option in options:
        name, text = split(option, last=True, nameless=True) or ("", "")
        kind = ElementType.from_attribute(text) or ElementType.from_port(text)
        if kind is None or kind.is_dynamic:
            names = sorted(n for n, t in ElementType.by_name.items() if t.dtype is not None and t not in FOREIGN)
            hint = did_you_mean(text, names, 1)
            message = f"--precision {option}: {text!r} is not an element type"
            findings.add("U004", message, hint=hint, allowed=", ".join(names))
        else:
            found[name] = kind
    return found


def read_shapes(options: Iterable[str], findings: Findings) -> dict[str, tuple[int, ...]]:
    """Return static shapes by input name: `x=1,3,224,224`, `x=[1,3]`, `x=` for a scalar."""
    return named(options, lambda text: PartialShape.parse(text).to_shape(), findings, "--shape", "NAME=1,3,224,224")


def _is_value(text: str) -> bool:
    return text.startswith(("[", "{", "@")) or text.endswith((".npy", ".npz"))


def _value(name: str, text: str, findings: Findings, flag: str) -> Any:
    """Return a list or number given as text, or else the array of a file; None, with a finding, when it is neither."""
    if not text.startswith("@"):
        if (listed := _written_out(text)) is not None:
            return listed.value
        if text.startswith(("[", "{")):
            findings.add("U004", f"{flag} {name}: {text!r} is not a list of values", hint=_FORMS)
            return None
    path, key = _path_and_key(text.removeprefix("@"))
    return _array_of(name, path, key, findings, flag)


def _written_out(text: str) -> Listed | None:
    """Return the list or number that a text contains; None for any other text."""
    listed = read_values(text)
    plain = isinstance(listed, Listed) and listed.name is None and not listed.note and listed.balanced
    return cast(Listed, listed) if plain else None


def _path_and_key(text: str) -> tuple[str, str | None]:
    """Split `file.npz:key` into path and key; a colon elsewhere belongs to the path."""
    start = max(text.find(".npz:"), text.find(".npy:"))
    return (text[: start + 4], text[start + 5 :]) if start >= 0 and not os.path.exists(text) else (text, None)


def _array_of(name: str, path: str, key: str | None, findings: Findings, flag: str) -> Array | None:
    loaded = _load(name, path, findings, flag)
    if loaded is None or isinstance(loaded, np.ndarray):
        if key is not None and loaded is not None:
            findings.add("U004", f"{flag} {name}: {path} is not an .npz archive, so it cannot contain {key!r}")
            return None
        return loaded
    names = list(loaded)
    chosen = key if key is not None else name if name in names else names[0] if len(names) == 1 else None
    if chosen in names:
        return loaded[chosen]
    message = f"{path} contains no array {key!r}" if key is not None else f"{path} contains {len(names)} arrays"
    hint = likely_names(key, names) if key is not None else f"choose one with {name}=@{path}:KEY"
    findings.add("U005", f"{flag} {name}: {message}", hint=hint, allowed=", ".join(names[:20]))
    return None


def _whole_archive(path: str, findings: Findings, flag: str) -> dict[str, Array]:
    loaded = _load(path, path, findings, flag)
    return loaded if isinstance(loaded, dict) else {}


def _load(name: str, path: str, findings: Findings, flag: str) -> Array | dict[str, Array] | None:
    """Return the array of a .npy file, memory-mapped, or the arrays of a .npz. Pickled objects are refused."""
    try:
        return load(path)
    except BadArrayFile as error:
        findings.add(
            "U004", f"{flag} {name}: the file contains no arrays: {error}", place=Place(file=path), hint=_FORMS
        )
    except OSError as error:
        message, hint = unreadable(path, error)
        hint = hint or (_FORMS if not _is_value(path) else None)
        findings.add("U001", f"{flag} {name}: {message}", place=Place(file=path), hint=hint)
    return None
