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

_NAME = re.compile(r"Model(\d+)_(\d+)_(.+)\.xml")
_NAMESPACES = re.compile(r"(?<!\w)(?:\w++::)++")
_PERIOD = 0.01
_BLOCK = 1 << 22


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
    deleted if the graph is the same; weights that are the same are kept once.

    `own`: the weights of the model itself, which take no space where a link to them is possible.
    """

    def __init__(self, path: Path, own: Path | None = None) -> None:
        self.path, self._own = path, own
        self.dumps: list[Dump] = []
        self.total = 0
        """The number of passes so far."""
        self._last: dict[int, tuple[bytes, Path]] = {}
        self._done = -1

    def take(self, *, all_complete: bool) -> None:
        """Take the pairs that were written since the last call; without `all_complete` the last one is incomplete."""
        found = sorted(self._new(), key=lambda dump: dump.number)
        for dump in found if all_complete else found[:-1]:
            self._keep(dump)
            self._done, self.total = dump.number, self.total + 1

    def pending(self) -> int:
        """Return the number of pairs that were not taken yet."""
        return sum(1 for _ in self._new())

    def _new(self) -> Iterator[Dump]:
        for entry in os.scandir(self.path):
            if (match := _NAME.fullmatch(entry.name)) is not None and int(match[2]) > self._done:
                yield Dump(int(match[2]), int(match[1]), match[3], Path(entry.path))

    def _keep(self, dump: Dump) -> None:
        last = self._last.get(dump.model)
        other = last[1] if last is not None else self.dumps[-1].weights if self.dumps else self._own
        # Most passes change no weights: comparing is faster than computing a digest.
        if other is not None and _same(dump.weights, other):
            dump.weights.unlink()
            _link(other, dump.weights)
        graph = _digest(dump.file)
        if last is not None and graph == last[0] and _same_file(dump.weights, last[1]):
            dump.file.unlink()
            dump.weights.unlink(missing_ok=True)
            return
        self._last[dump.model] = graph, dump.weights
        self.dumps.append(dump)


@contextmanager
def taking(
    folder: Folder, process: Callable[[], int | None], progress: Callable[[int], None] = lambda taken: None
) -> Iterator[None]:
    """Take the dumps that another process writes in this context; it is stopped while several dumps are waiting, so
    that they do not fill the disk. `progress` is called with the number of passes, in a thread.
    """
    ended = threading.Event()

    def follow() -> None:
        while not ended.wait(_PERIOD):
            if folder.pending() > 1:
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


def _same(one: Path, two: Path) -> bool:
    """Return whether two files have the same bytes, False for a missing one."""
    if not one.exists() or not two.exists() or one.stat().st_size != two.stat().st_size:
        return False
    with one.open("rb") as left, two.open("rb") as right:
        while block := left.read(_BLOCK):
            if block != right.read(_BLOCK):
                return False
    return True


def _same_file(one: Path, two: Path) -> bool:
    """Return whether two names are those of one file, or of none."""
    return one.samefile(two) if one.exists() and two.exists() else one.exists() == two.exists()


def _link(file: Path, name: Path) -> None:
    """Give a file a second name; where the system refuses it, a symbolic link."""
    try:
        os.link(file, name)
    except OSError:  # another file system, or a file of another user
        name.symlink_to(file.absolute())


def _digest(file: Path) -> bytes:
    found = blake2b(digest_size=16)
    with suppress(FileNotFoundError), file.open("rb") as stream:
        while block := stream.read(_BLOCK):
            found.update(block)
    return found.digest()
