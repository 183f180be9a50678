"""What is raised about a part of an ONNX file that cannot be converted; each becomes a finding."""

from __future__ import annotations

from typing import Any


class Refused(Exception):
    """Raised for a node, type or tensor that cannot be converted. `code` is the code of the finding."""

    def __init__(self, code: str, message: str, **details: Any) -> None:
        super().__init__(message)
        self.code, self.details = code, details


class TooLarge(Refused):
    """Raised for a tensor that does not fit in memory, and for a node that would expand to too many nodes."""


class MissingData(Refused):
    """Raised for a tensor whose data is in a file, at `location`, that does not exist."""

    def __init__(self, location: str) -> None:
        super().__init__("F015", f"the file {location!r} with the data of the tensor does not exist")
        self.location = location


class Broken(Exception):
    """Raised if IR's own rules refused the translation of a node; the finding has been added already."""
