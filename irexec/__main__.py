"""`python -m irexec`: the command, for an interpreter that is not on the path."""

from __future__ import annotations

import sys

from irexec.cli.start import start

if __name__ == "__main__":
    sys.exit(start())
