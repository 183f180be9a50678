"""The answers of a search that was interrupted, in a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from irexec.ir.beside import Unreadable, json_of, shaped
from irexec.ir.io.guard import own_files
from irexec.model.arrays.saving import save_json
from irexec.tools.reduce.verdict import Fault


@dataclass
class _Saved:
    """The contents of the file: the key of the search, the failure, and the answers by release."""

    of: str
    fault: Fault | None = None
    failures: dict[str, bool] = field(default_factory=dict)


class Log:
    """The answers of a search in a file. `of`: the key of the search; answers of another search are not used."""

    def __init__(self, path: str, of: str) -> None:
        """Raises Unreadable and OSError."""
        self._path, self._of = Path(path), of
        saved = _Saved(of)
        if self._path.exists():
            with own_files():
                saved = shaped(_Saved, json_of(self._path, "the log"))
            if saved.of != of:
                raise Unreadable("it is the log of another search")
        self.failures, self.fault = saved.failures, saved.fault

    def keep(self, failures: Mapping[str, bool], fault: Fault | None) -> None:
        """Write the answers. Raises OSError."""
        save_json(self._path, asdict(_Saved(self._of, fault, {**self.failures, **failures})))
