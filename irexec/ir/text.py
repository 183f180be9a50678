"""Lists of names in a file, and texts of a file in messages."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice


def name_list(text: str) -> list[str]:
    r"""Return the names in `names` or `output_names`: commas separate, `\,` is a comma, blanks are kept, empty names
    are dropped.
    """
    if "\\" not in text:
        return [name for name in text.split(",") if name]
    names = re.findall(r"(?:\\,|[^,])+", text)
    return [name.replace("\\,", ",") for name in names]


def write_name_list(names: list[str]) -> str:
    """Return the text that `name_list` reads as these names."""
    return ",".join(name.replace(",", "\\,") for name in names)


def result_name(name: str, output: int, outputs: int) -> str:
    """Return the default name of the Result of a layer's output. `outputs`: the number of the layer's outputs."""
    return f"{name}/result" + (f"_{output}" if outputs > 1 else "")


def cut(text: str, length: int = 60) -> str:
    """Return the text; of a text of more than `length` characters, the beginning and `...`."""
    return text if len(text) <= length else text[: length - 3] + "..."


def quoted(text: str) -> str:
    """Return the text in quotes for a message, shortened if it is long."""
    return repr(cut(text))


def listed(values: Iterable[object]) -> str:
    """Return the values separated by commas for a message; if there are many, the first twelve."""
    first = [str(value) for value in islice(values, 13)]
    return ", ".join(first if len(first) <= 12 else [*first[:12], "..."])
