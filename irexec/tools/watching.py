"""The listeners that a run was asked for, from the first to the last layer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from irexec.diagnostics import Place
from irexec.diagnostics.findings import Findings
from irexec.engine import Listener
from irexec.tools.dump import Dump
from irexec.tools.trace import Trace


@contextmanager
def watchers(*, trace: bool, dump: str | None, findings: Findings) -> Iterator[tuple[list[Listener], Trace | None]]:
    """The listeners, and the trace among them. What cannot be written becomes a finding; the index is written last."""
    listeners: list[Listener] = []
    tracer = Trace() if trace else None
    if tracer is not None:
        listeners.append(tracer)
    writer: Dump | None = None
    try:
        if dump is not None:
            writer = Dump(dump)
            listeners.append(writer)
        try:
            yield listeners, tracer
        finally:
            if writer is not None:
                writer.close()
    except OSError as error:
        message = f"--dump: a file cannot be written: {error.strerror or error}"
        findings.add("U007", message, place=Place(file=dump))
