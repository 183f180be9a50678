"""Options that several commands have, each declared once."""

from __future__ import annotations

import math
from argparse import Action, ArgumentTypeError, _ActionsContainer
from collections.abc import Callable
from contextlib import suppress


def add_weights(parser: _ActionsContainer) -> None:
    """Add `--weights BIN`."""
    text = "the file of weights (default: the .bin file with the name of the model, in the same folder)"
    parser.add_argument("--weights", metavar="BIN", help=text)


def add_random_weights(parser: _ActionsContainer, *, seed: bool = False) -> None:
    """Add `--random-weights` and `--constant`. `seed`: also `--seed`, for commands that draw nothing else."""
    parser.add_argument(
        "--random-weights",
        action="store_true",
        help="draw the weights of a model whose .bin file is missing, with --seed; constants that shapes depend on get "
        "the only values that fit the declared shapes",
    )
    add_repeatable(parser, "--constant", "NAME=VALUE", "a constant for --random-weights, e.g. 'axes=[2, 3]'")
    if seed:
        parser.add_argument("--seed", type=whole(), default=0, metavar="N", help="seed of random weights (default: 0)")


def add_repeatable(parser: _ActionsContainer, option: str, metavar: str, help: str, **more: str) -> Action:
    """Add an option that may be given several times; its value is the list of all values."""
    return parser.add_argument(option, action="append", default=[], metavar=metavar, help=help, **more)  # type: ignore[arg-type]


def add_shapes(parser: _ActionsContainer) -> None:
    """Add `--shape NAME=DIMS`, which may be repeated."""
    add_repeatable(parser, "--shape", "NAME=DIMS", "set the shape of a dynamic input, e.g. x=1,3,224,224")


def add_extensions(parser: _ActionsContainer) -> None:
    """Add `--extension PY`, which may be repeated."""
    add_repeatable(parser, "--extension", "PY", "a Python file that declares additional operators")


def add_config(parser: _ActionsContainer) -> None:
    """Add `--config KEY=VALUE`, which may be repeated."""
    about = "set a property of the runtime, e.g. INFERENCE_PRECISION_HINT=f32"
    add_repeatable(parser, "--config", "KEY=VALUE", about)


def add_bounds(parser: _ActionsContainer) -> None:
    """Add `--atol` and `--rtol`."""
    parser.add_argument("--atol", type=number, metavar="X", help="allowed absolute error")
    parser.add_argument("--rtol", type=number, metavar="X", help="allowed relative error")


def add_output(
    parser: _ActionsContainer, metavar: str, help: str, *, default: str | None = None, older: str | None = None
) -> None:
    """Add `-o`, `--output`. `older`: the name of this option in version 0.1."""
    option = parser.add_argument("-o", "--output", default=default, metavar=metavar, help=help)
    if older is not None:
        add_older(parser, option, older)


def add_no_repairs(parser: _ActionsContainer) -> None:
    """Add `--no-repairs`, and its older name `--strict` of version 0.1."""
    about = "treat repairs of incomplete snippets as errors"
    add_older(parser, parser.add_argument("--no-repairs", action="store_true", help=about), "--strict")


def whole(least: int = 0) -> Callable[[str], int]:
    """Return the type of an option that is an integer of `least` or more."""

    def read(text: str) -> int:
        with suppress(ValueError):
            if (value := int(text)) >= least:
                return value
        raise ArgumentTypeError(f"{text!r} is not an integer of {least} or more")

    return read


def amount_above_0(text: str) -> float:
    """Return the value of an option that is a finite number greater than 0."""
    with suppress(ValueError):
        if 0 < (value := float(text)) < math.inf:
            return value
    raise ArgumentTypeError(f"{text!r} is not a finite number greater than 0")


def number(text: str) -> float:
    """Return the value of an option that is a number of 0 or more."""
    with suppress(ValueError):
        if (value := float(text)) >= 0:
            return value
    raise ArgumentTypeError(f"{text!r} is not a number of 0 or more")


SECONDS = 60
"""The limit for files that usually come from other people: 3 million layers are read in that time."""


_LONGEST = 1e9


def seconds(text: str) -> float | None:
    """Return the value of an option that is a time limit in seconds. None is no limit: 0, `none`, or more seconds than
    timers can count.
    """
    value = 0.0 if text == "none" else number(text)
    return value if 0 < value <= _LONGEST else None


def add_limit(parser: _ActionsContainer, default: float | None = None, *, each: str = "") -> None:
    """Add `--timeout SECONDS` for each unit of work, such as a file or a response of another program; without `each`,
    `--time-limit SECONDS` for the whole command. Both were `--limit` first.
    """
    usual = f"{default:g}" if default else "no limit"
    name, of = ("--timeout", f"each {each}") if each else ("--time-limit", "the whole command")
    about = f"time limit in seconds for {of}; 0 or none: no limit (default: {usual})"
    option = parser.add_argument(name, type=seconds, default=default, metavar="SECONDS", help=about)
    add_older(parser, option, "--limit")


def add_older(parser: _ActionsContainer, option: Action, name: str) -> None:
    """Accept an earlier name of an option, which neither the help nor completion shows. Version 0.3 removes it."""
    parser._option_string_actions[name] = option


def release(text: str) -> tuple[int, int]:
    """Return the value of an option that is a release of OpenVINO, such as 2024.2; `openvino`: the newest one that
    irexec knows."""
    from irexec.core.diagnostics.statements import MEASURED_WITH
    from irexec.model.graph.releases import release_of

    try:
        return release_of(MEASURED_WITH if text == "openvino" else text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None
