"""The runtime of `--with`, with its properties, in the environment of irexec or of another interpreter."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from irexec.model.graph.model import Model
    from irexec.tools.compare.errors import Bounds
    from irexec.tools.compare.runtimes.runtime import Runtime


def add_python(parser: argparse.ArgumentParser) -> None:
    """Add `--python PATH`."""
    about = "the Python interpreter in which openvino or onnxruntime is installed, e.g. of another release"
    parser.add_argument("--python", default="", metavar="PATH", help=about)


def config_of(args: argparse.Namespace) -> dict[str, str]:
    """Return the properties of `--config`. Raises IRError."""
    from irexec.tools.run.values import read_properties

    return read_properties(args.config)


def bounds_of(args: argparse.Namespace) -> Bounds | None:
    """Return the tolerances of `--atol` and `--rtol`; None if neither is given."""
    from irexec.tools.compare.errors import Bounds

    return Bounds.given(args.atol, args.rtol)


def runtime_for(args: argparse.Namespace, text: str, model: Model) -> Runtime:
    """Return the runtime that `text`, a value of `--with`, names. It reads the file of the model itself, unless the
    weights are in another file. Raises CannotRun.
    """
    from irexec.tools.compare.runtimes.choose import runtime_of

    return runtime_of(text, config_of(args), model, args.timeout, args.python)
