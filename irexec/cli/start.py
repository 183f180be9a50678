"""The start of the command: until `start` is called, nothing is imported that takes time."""

from __future__ import annotations

import gc

from irexec.cli import interrupts

# Threshold of the garbage collector: importing modules creates a tenth of this number of objects, and no garbage.
_MANY_OBJECTS = 1 << 17
_USUAL = gc.get_threshold()


def start() -> int:
    """Run the command line of this process; return the exit code."""
    interrupts.install()
    from irexec.runtime.processes.path import leave_current_folder

    leave_current_folder()
    gc.set_threshold(_MANY_OBJECTS)
    from irexec.cli.later import wait_with

    wait_with("numpy")
    from irexec.cli.main import main

    code = interrupts.run(main)
    # The process exits, so remaining objects need not be collected.
    gc.freeze()
    return code


def stay() -> None:
    """Restore the usual thresholds of the garbage collector, for a process that runs until it is terminated.

    Existing objects are exempt from collection.
    """
    gc.freeze()
    gc.set_threshold(*_USUAL)
