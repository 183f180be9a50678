"""`python -m irexec`: the command, for an interpreter that is not on the path."""

from __future__ import annotations

import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]  # The current folder, which `-m` has put there, whatever it contains.
    from irexec.cli.start import start

    sys.exit(start())
