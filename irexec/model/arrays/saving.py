"""Writing .npy, .npz, JSON and text files atomically, separately or together."""

from __future__ import annotations

import json
import os
import re
import zipfile
from collections.abc import Callable, Mapping
from typing import IO, Any

import numpy as np

from irexec.core.types import Array
from irexec.ir.io.writing import Together, together

# Characters that are not allowed in file names on every system.
_UNSAFE = re.compile(r"[^\w.-]+", re.ASCII)
_MAX_NAME = 80
_EPOCH = (1980, 1, 1, 0, 0, 0)


def save_atomically(
    path: str | os.PathLike[str], write: Callable[[IO[bytes]], None], files: Together | None = None
) -> None:
    """Call `write` with a temporary file, which then replaces `path`; with `files`, all of these files are replaced
    together.

    Raises OSError and leaves no temporary file.
    """
    with together(files) as all_files, all_files.create(path) as stream:
        write(stream)


def save_array(path: str | os.PathLike[str], array: Array) -> None:
    """Write one array as .npy."""
    save_atomically(path, lambda stream: np.lib.format.write_array(stream, array, allow_pickle=False))


def save_arrays(path: str | os.PathLike[str], arrays: Mapping[str, Array], files: Together | None = None) -> None:
    """Write arrays by name as .npz; equal arrays produce equal bytes. `files`: see `save_atomically`."""

    def write(stream: IO[bytes]) -> None:
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
            for name, array in arrays.items():
                with archive.open(zipfile.ZipInfo(f"{name}.npy", _EPOCH), "w", force_zip64=True) as entry:
                    np.lib.format.write_array(entry, array, allow_pickle=False)

    save_atomically(path, write, files)


def save_json(path: str | os.PathLike[str], value: Any, files: Together | None = None) -> None:
    """Write a JSON text. `files`: see `save_atomically`."""
    save_text(path, json.dumps(value, indent=2, allow_nan=False) + "\n", files)


def save_text(path: str | os.PathLike[str], text: str, files: Together | None = None) -> None:
    """Write a text as UTF-8; characters that UTF-8 cannot encode become question marks.

    `files`: see `save_atomically`.
    """

    def write(stream: IO[bytes]) -> None:
        stream.write(text.encode("utf-8", "replace"))

    save_atomically(path, write, files)


def safe_name(name: str) -> str:
    """Return a safe file name close to `name`: no separators, no leading dot, not too long."""
    return _UNSAFE.sub("_", name)[:_MAX_NAME].lstrip(".-") or "_"


def archive_names(names: list[str], prefix: str = "output_") -> list[str]:
    """Return unique keys of an archive for these names. The first use of a safe name is kept as it is.

    Unsafe and repeated names become the prefix and their position, followed by underscores if that name is in use.
    """
    taken = {name for name in names if _is_safe_key(name)}
    kept: set[str] = set()
    found: list[str] = []
    for index, name in enumerate(names):
        if name in kept or name not in taken:
            name = f"{prefix}{index}"
            while name in taken:
                name += "_"
            taken.add(name)
        kept.add(name)
        found.append(name)
    return found


def _is_safe_key(name: str) -> bool:
    """Return True for a name that is a file name inside the folder where the archive is unpacked."""
    parts = name.replace("\\", "/").split("/")
    leaves = ".." in parts or name.startswith(("/", "\\")) or ":" in parts[0][:2]
    return bool(name) and not leaves and name.isprintable() and len(name) <= 1000
