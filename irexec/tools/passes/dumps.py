"""Dumps: the graphs that OpenVINO's compiler writes after each of its passes, without repetitions.

OpenVINO writes a pair of files for each pass while it compiles: `Model2_110_ov::pass::NopElimination.xml` and `.bin`,
where 2 is the number of the model or of a body, and 110 counts all passes. Most passes change nothing.
"""

from __future__ import annotations

import os
import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from irexec.tools.passes.constants import Constants, Kept, Written

_NAME = re.compile(r"Model(\d+)_(\d+)_(.+)\.xml")
_NAMESPACES = re.compile(r"(?<!\w)(?:\w++::)++")
_PERIOD = 0.01
_MUCH = 1 << 24
"""The number of bytes that OpenVINO may write before they are looked at."""


@dataclass(frozen=True, slots=True)
class Dump:
    """The graph after a pass. `number` counts all passes of the compilation, `model` the models and bodies."""

    number: int
    model: int
    title: str
    file: Path

    @property
    def name(self) -> str:
        """The name of the pass without its namespace."""
        return _NAMESPACES.sub("", self.title)

    @property
    def weights(self) -> Path:
        return self.file.with_name(self.file.name.removesuffix(".xml") + ".bin")


class Folder:
    """The folder that receives dumps. Each complete pair is compared with the pair of the pass before it, and is
    deleted if the graph is the same. Constants that are the same are kept once, also while their file is written.

    `own`: the file and the weights of the model itself, which take no space.
    """

    def __init__(self, path: Path, own: tuple[Path, Path] | None = None) -> None:
        self.path = path
        self.dumps: list[Dump] = []
        self.total = 0
        """The number of passes so far."""
        self.last = ""
        """The name of the last one."""
        self.constants = Constants(path / "constants", own)
        self._layouts: dict[int, list[Kept]] = {}
        self._layout = self.constants.layout
        self._last: dict[int, bytes] = {}
        self._written: tuple[int, Written] | None = None
        self._done = -1

    def close(self) -> None:
        self._forget()
        self.constants.close()

    def take(self, *, all_complete: bool) -> None:
        """Take the pairs that were written since the last call; without `all_complete` the last one is incomplete."""
        found = self._new()
        for dump in found if all_complete else found[:-1]:
            self._keep(dump)
            self._done, self.total, self.last = dump.number, self.total + 1, dump.name
        if found and not all_complete and (written := self._weights(found[-1])) is not None:
            written.follow()

    def is_behind(self) -> bool:
        """Return whether a pair is complete, or much of the next one was written, that was not taken yet."""
        found = self._new()
        if len(found) > 1:
            return True
        written = self._weights(found[0]) if found else None
        return written is not None and written.behind() > _MUCH

    def _new(self) -> list[Dump]:
        """Return the pairs that were not taken yet, in order."""
        found = []
        for entry in os.scandir(self.path):
            if (match := _NAME.fullmatch(entry.name)) is not None and int(match[2]) > self._done:
                found.append(Dump(int(match[2]), int(match[1]), match[3], Path(entry.path)))
        return sorted(found, key=lambda dump: dump.number)

    def _weights(self, dump: Dump) -> Written | None:
        """Return the weights of a pair that was not taken yet; None if they are not there."""
        if self._written is None or self._written[0] != dump.number:
            self._forget()
            with suppress(FileNotFoundError):
                expected = self._layouts.get(dump.model, self._layout)
                self._written = dump.number, Written(dump.weights, self.constants, expected)
        return None if self._written is None else self._written[1]

    def _forget(self) -> None:
        if self._written is not None:
            self._written[1].close()
            self._written = None

    def _keep(self, dump: Dump) -> None:
        graph = dump.file.read_bytes()
        if (written := self._weights(dump)) is not None:
            graph, self._layout = self.constants.take(graph, written)
            self._layouts[dump.model] = self._layout
            self._forget()
        dump.weights.unlink(missing_ok=True)
        digest = blake2b(graph, digest_size=16).digest()
        if self._last.get(dump.model) == digest:
            dump.file.unlink()
            return
        dump.file.write_bytes(graph)
        self._last[dump.model] = digest
        self.dumps.append(dump)


@contextmanager
def taking(
    folder: Folder, process: Callable[[], int | None], progress: Callable[[int], None] = lambda taken: None
) -> Iterator[None]:
    """Take the dumps that another process writes in this context; it is stopped while they are taken, so that
    they do not fill the disk. `progress` is called with the number of passes, in a thread.
    """
    ended = threading.Event()

    def follow() -> None:
        while not ended.wait(_PERIOD):
            if folder.is_behind():
                with _stopped(process()):
                    folder.take(all_complete=False)
                progress(folder.total)

    thread = threading.Thread(target=follow, name="irexec-passes", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    folder.take(all_complete=True)


@contextmanager
def _stopped(process: int | None) -> Iterator[None]:
    """Stop a process in this context, on systems that have signals for it."""
    stop, go = getattr(signal, "SIGSTOP", None), getattr(signal, "SIGCONT", None)
    if process is None or stop is None or go is None:
        yield
        return
    with suppress(ProcessLookupError):
        os.kill(process, stop)
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.kill(process, go)
