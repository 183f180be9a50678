"""`irexec lsp`: the language server, which an editor uses over standard input and output."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import redirect_stdout

from irexec.cli.options import add_limit
from irexec.cli.start import stay
from irexec.cli.streams import complain
from irexec.core.diagnostics.choice import Choice
from irexec.core.diagnostics.findings import Mode
from irexec.core.environment import installing
from irexec.tools.settings import read_settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--stdio", action="store_true", help="use standard input and output (default; accepted for compatibility)"
    )
    add_limit(parser, 30, each="check of a document")


def _project(path: str | None) -> tuple[Mode, Choice]:
    """Return the settings in the folder of a file or in a folder above it; the defaults if they cannot be read, which
    is printed on standard error, where editors show the messages of a server.
    """
    settings, report = read_settings(os.path.dirname(os.path.abspath(path)) if path else os.getcwd())
    for finding in report.errors:
        complain(f"irexec lsp: {finding.file}: {finding.message}")
    return settings.mode or "strict", settings.choice


def run(args: argparse.Namespace) -> int:
    try:
        from irexec.lsp.requests import make_server
    except ModuleNotFoundError as error:
        if error.name not in ("pygls", "lsprotocol"):
            raise
        complain(f"irexec lsp: the language server needs pygls: {installing('lsp')}")
        return 2
    stay()
    # The server uses copies, because it closes its streams, and because printed output must not mix with its messages.
    numbers = os.dup(sys.stdin.fileno()), os.dup(sys.stdout.fileno())
    with os.fdopen(numbers[0], "rb") as stdin, os.fdopen(numbers[1], "wb") as stdout, redirect_stdout(sys.stderr):
        make_server(args.timeout, _project).start_io(stdin, stdout)
    return 0
