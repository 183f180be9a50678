"""The listeners requested for a run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from irexec.core.diagnostics import Place
from irexec.core.diagnostics.findings import Findings
from irexec.runtime.engine import Listener
from irexec.tools.run.dump import Dump
from irexec.tools.run.trace import Trace


@contextmanager
def watchers(
    *, trace: bool, dump: str | None, findings: Findings, histograms: bool = False
) -> Iterator[tuple[list[Listener], Trace | None]]:
    """Return the listeners, and the trace among them. Files that cannot be written are reported as findings."""
    tracer = Trace(histograms=histograms) if trace else None
    listeners: list[Listener] = [] if tracer is None else [tracer]
    writer = None
    try:
        if dump is not None:
            writer = Dump(dump)
            listeners.append(writer)
    except OSError as error:
        _report(error, dump, findings)
    try:
        yield listeners, tracer
    except OSError as error:
        _report(error, dump, findings)
    finally:
        if writer is not None:
            try:
                writer.close()
            except OSError as error:
                _report(error, dump, findings)


def _report(error: OSError, folder: str | None, findings: Findings) -> None:
    message = f"--dump: a file cannot be written: {error.strerror or error}"
    findings.add("U007", message, place=Place(file=folder))
