"""Commands as values: made of the options that have the names of their arguments, carried out, and printed."""

from __future__ import annotations

import argparse
from collections.abc import Set
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

from irexec.cli.given import Loaded
from irexec.cli.inputs import refusing
from irexec.cli.runtimes import config_of
from irexec.cli.streams import print_json, printout

if TYPE_CHECKING:
    from irexec.tools.functions.beside import Beside
    from irexec.tools.functions.result import Result

C = TypeVar("C")
R = TypeVar("R")
_LOADED = {"inputs", "weights", "shapes", "seed"}
"""Arguments that the loaded model takes the place of."""


def carried_out(args: argparse.Namespace, command: type[Beside[R]], loaded: Loaded, **more: Any) -> R:
    """Return the answer of a command for a model. `more`: arguments besides those that options of the same names
    state. Raises IRError.
    """
    from irexec.tools.status import Status

    with refusing(args), Status() as status:
        return made(args, command, _LOADED, **more, model=loaded.reference).work(status)


def made(args: argparse.Namespace, command: type[C], without: Set[str] = frozenset(), **more: Any) -> C:
    """Return a command with the arguments that options of the same names state, but `without` some of them. Raises
    IRError.
    """
    names = {field.name for field in fields(command)} - without  # type: ignore[arg-type]
    given = {name: value for name, value in vars(args).items() if name in names} | {"config": config_of(args)}
    return command(**given | more)


def printed(args: argparse.Namespace, found: Result, loaded: Loaded | None = None, **how: Any) -> int:
    """Print an answer, with the inputs that were chosen for it, and return its exit code."""
    if getattr(args, "format", "text") == "json":
        print_json(found.to_dict())  # type: ignore[attr-defined]
        return found.exit_code
    with printout() as page:
        found.show(page, **how)
        if loaded is not None and loaded.chosen:
            page.paragraph(f"inputs chosen with --seed {args.seed}: {loaded.chosen}", "dim")
    return found.exit_code
