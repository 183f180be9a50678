"""`irexec lsp`: the language server, spoken to by an editor over standard input and output."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import redirect_stdout


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--stdio", action="store_true", help="speak over standard input and output, as it always does")


def run(args: argparse.Namespace) -> int:
    try:
        from irexec.lsp.server import make_server
    except ModuleNotFoundError as error:
        if error.name not in ("pygls", "lsprotocol"):
            raise
        print("irexec lsp: the language server needs pygls: pip install 'irexec[lsp]'", file=sys.stderr)
        return 2
    # Copies, because the server closes what it is given; and what anything prints does not mix with its messages.
    with os.fdopen(os.dup(0), "rb") as stdin, os.fdopen(os.dup(1), "wb") as stdout, redirect_stdout(sys.stderr):
        make_server().start_io(stdin, stdout)
    return 0
