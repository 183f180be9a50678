"""The `irexec` command: picks the module of the subcommand, and turns what happens there into an exit code.

0 done, 1 findings, 2 unusable input or an internal error, 130 interrupted, 141 nobody reads the output any more.
"""

from __future__ import annotations

import argparse
import errno
import importlib
import io
import os
import sys
from collections.abc import Container, Iterable, Sequence
from typing import NoReturn

COMMANDS = {
    "run": "run a model or a snippet; print inputs, outputs and what was checked",
    "validate": "report everything that is wrong with models and snippets",
    "fix": "mend what is wrong with models, where it is certain what is meant",
    "show": "tell what a model is made of, without running it",
    "report": "write an HTML file that shows a model, or the examples of a page, in a browser",
    "compare": "find the first layer where another runtime computes something else",
    "diff": "tell what changed between two models",
    "reduce": "find the smallest model that still fails in the same way",
    "cut": "make a part of a model a model of its own, with the inputs that reach it",
    "convert": "write a model, ONNX or IR, as IR that OpenVINO reads, or an older release of it",
    "doctest": "run the examples inside documentation pages and compare the values they state",
    "lsp": "serve an editor: findings while typing, quick fixes, hover, completion, navigation",
    "ops": "show the operator set",
    "explain": "explain a diagnostic code",
    "schema": "print the schema of the file format or of one operator",
    "completion": "print what makes a shell complete irexec's commands and options",
}
"""Command → its line in the help. The module of the same name has `add_arguments(parser)` and `run(args) -> int`."""

INTERRUPTED, NO_READER = 130, 141
# Why standard output takes no more: the disk or the quota is full, the device fails.
_NO_ROOM = {errno.ENOSPC, errno.EIO, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}

EXIT_CODES = (
    "Exit codes of every command: 0 nothing is wrong or differs, 1 something is, 2 a file or the command line cannot "
    "be used, or irexec failed, 130 interrupted, 141 nobody reads the output."
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; argparse leaves by SystemExit for --help and for wrong usage."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    _replace_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        try:
            return _dispatch(arguments)
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _silence_stdout()
        return NO_READER
    except OSError as error:
        # Files that are written or read have names, and findings of their own: this is standard output.
        if error.filename is not None or error.errno not in _NO_ROOM:
            return _failed(error)
        _silence_stdout()
        print(f"irexec: the output cannot be written: {error.strerror}", file=sys.stderr)
        return 2
    except Exception as error:
        return _failed(error)


def _dispatch(arguments: list[str]) -> int:
    chosen = arguments[0] if arguments else ""
    parser, commands = command_parsers([chosen])
    if chosen and not chosen.startswith("-") and chosen not in COMMANDS:
        parser.error(f"there is no command {chosen!r}{_meant(chosen, COMMANDS)}")
    known = parser._option_string_actions
    if chosen.startswith("--") and not any(option.startswith(chosen) for option in known):
        parser.error(f"unrecognized arguments: {chosen}{_meant(chosen, known)}")
    args, unknown = parser.parse_known_args(arguments)
    if unknown:
        command = commands[chosen]
        known = command._option_string_actions
        advice = "".join(_meant(option.partition("=")[0], known) for option in unknown[:1])
        command.error(f"unrecognized arguments: {' '.join(unknown)}{advice}")
    code: int = args.run(args)
    return code


def command_parsers(chosen: Container[str]) -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    """The parser of the command line, and that of each command; only those that are chosen know their arguments."""
    parser = _Parser(prog="irexec", description="Run, check and explain OpenVINO IR.", epilog=EXIT_CODES)
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    # With `prog` given, argparse does not lay out a usage line to find it.
    subparsers = parser.add_subparsers(prog="irexec", dest="command", metavar="COMMAND", required=True)
    commands: dict[str, argparse.ArgumentParser] = {}
    for name, summary in COMMANDS.items():
        command = subparsers.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
        if name in chosen:
            module = importlib.import_module(f"irexec.cli.{name}")
            module.add_arguments(command)
            command.set_defaults(run=module.run)
        commands[name] = command
    return parser, commands


def _meant(name: str, known: Iterable[str]) -> str:
    """What may be meant, as the end of a message."""
    from irexec.diagnostics.nearest import did_you_mean

    advice = did_you_mean(name, known)
    return f": {advice}" if advice else ""


class _Parser(argparse.ArgumentParser):
    """A parser that says what is wrong in a line, where argparse would first print a usage of up to ten."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {message}\nmore: {self.prog} --help\n")


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from irexec import __version__

        print(f"irexec {__version__}")
        parser.exit()


def _failed(error: Exception) -> int:
    """Report an exception that escaped from a command: the findings of an IRError, or an internal error."""
    if os.environ.get("IREXEC_TRACEBACK") == "1":
        raise error
    from irexec.diagnostics import IRError
    from irexec.diagnostics.render import write
    from irexec.diagnostics.render.characters import visible_text

    if isinstance(error, IRError):
        write(error.report, sys.stderr)
    else:
        what = visible_text(f"{type(error).__name__}: {error}")
        print(
            f"irexec: internal error: {what} (please report it; IREXEC_TRACEBACK=1 shows the traceback)",
            file=sys.stderr,
        )
    return 2


def _replace_closed_streams() -> None:
    """Read nothing from standard streams that are closed (`<&-`, `>&-`), and write to them for nobody."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115


def _silence_stdout() -> None:
    """Let the interpreter's own flush at exit go nowhere instead of failing a second time."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
