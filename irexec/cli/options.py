"""Options that several commands have, each declared once."""

from __future__ import annotations

from argparse import ArgumentTypeError, _ActionsContainer
from collections.abc import Callable
from contextlib import suppress


def add_weights(parser: _ActionsContainer, file: str) -> None:
    """`--weights BIN`. `file`: what the help calls the model."""
    parser.add_argument("--weights", metavar="BIN", help=f"the .bin file (default: beside {file}, with the same name)")


def add_shapes(parser: _ActionsContainer) -> None:
    """`--shape NAME=DIMS`, any number of times."""
    parser.add_argument(
        "--shape", action="append", default=[], metavar="NAME=DIMS", help="of an open input: x=1,3,224,224"
    )


def add_extensions(parser: _ActionsContainer) -> None:
    """`--extension PY`, any number of times."""
    parser.add_argument(
        "--extension", action="append", default=[], metavar="PY", help="a Python file that declares more operators"
    )


def whole(least: int = 0) -> Callable[[str], int]:
    """The type of an option that is a whole number of `least` or more."""

    def read(text: str) -> int:
        with suppress(ValueError):
            if (value := int(text)) >= least:
                return value
        raise ArgumentTypeError(f"{text!r} is not an integer of {least} or more")

    return read


def number(text: str) -> float:
    """The type of an option that is a number of 0 or more."""
    with suppress(ValueError):
        if (value := float(text)) >= 0:
            return value
    raise ArgumentTypeError(f"{text!r} is not a number of 0 or more")


def release(text: str) -> tuple[int, int]:
    """A release of OpenVINO, such as 2024.2, as the type of an option."""
    from irexec.graph.releases import release_of

    try:
        return release_of(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None
