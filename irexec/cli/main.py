"""The `irexec` command: run the module of the subcommand, and convert the outcome into an exit code.

0 no errors, 1 errors, 2 unusable input, unwritable output or an internal error, 130 interrupted, 141 the output
pipe was closed.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import TYPE_CHECKING, Any, NoReturn

from irexec.cli.guesses import COMMANDS as ELSEWHERE
from irexec.cli.guesses import meant
from irexec.cli.helps import ExamplesFormatter, examples_text, groups_text
from irexec.cli.interrupts import INTERRUPTED, received
from irexec.cli.streams import complain, is_of_output, prepare, print_line, settle
from irexec.core.diagnostics.render.characters import visible_text
from irexec.ir.io.guard import OutputIsInput, announce, guarded

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

COMMANDS = {
    "run": "run a model or a snippet and print its inputs, outputs and checks",
    "generate": "continue a text with a language model in a folder, and print its speed and memory",
    "validate": "report all errors in models and snippets",
    "fix": "fix errors in models, in place, where the intended meaning is unambiguous",
    "show": "summarize a model's inputs, outputs, size and operators",
    "text": "print a model with one layer a line, or write it as a text that every command reads",
    "shapes": "list the input sizes that a dynamic model accepts, and the layers that reject all others",
    "report": "write an HTML report on a model or on the examples of a page",
    "compare": "find the first layer whose results differ from another runtime",
    "diff": "list the differences between two models",
    "passes": "find the pass of OpenVINO's compiler that changes a model's results",
    "reduce": "reduce a model to the smallest one that still fails in the same way",
    "bundle": "pack the output of irexec reduce into one archive, with the text of a bug report",
    "blame": "find the layer, pass, release and setting that make a result wrong, and pack a bug report",
    "bisect": "find the release of a runtime in which a failure appeared, or the settings that remove it",
    "sensitivity": "measure which quantizers or layers lose accuracy, and suggest those to leave out",
    "conformance": "test a runtime with generated cases of all operators, and report wrong results",
    "cut": "extract part of a model as a standalone model, with recorded inputs",
    "convert": "convert a model to an IR for a current or older OpenVINO release, or to a Python script",
    "doctest": "run the examples in documentation pages and check the values they state",
    "lsp": "start a language server: findings, quick fixes, hover, completion, navigation",
    "ops": "list the operators, or describe one",
    "explain": "explain a diagnostic code",
    "schema": "print the schema of the file format or of one operator",
    "completion": "print a shell completion script",
}
"""Command → its line in the help. The module of the same name has `add_arguments(parser)` and `run(args) -> int`, and,
if it writes files, `outputs(args)`, which yields options, each with the files or folders that it writes."""

NO_READER = 141

EXIT_CODES = (
    "Exit codes of every command: 0 no errors or differences (report, reduce: the output is written), 1 errors or "
    "differences, 2 a file or the command line cannot be used, the output cannot be written, or irexec failed, "
    "130 interrupted, 141 the output pipe was closed."
)

_SUFFIXES = (".bin", ".csv", ".html", ".irt", ".json", ".md", ".npz", ".onnx", ".py", ".svg", ".txt", ".xml", ".zip")
"""Suffixes of outputs that are single files."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; argparse raises SystemExit for --help and for wrong usage."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        prepare()
        try:
            return _dispatch(arguments)
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        return NO_READER
    except OutputIsInput as error:
        return _refused(str(error), error.path)
    except Exception as error:
        if received():
            return INTERRUPTED
        if isinstance(error, OSError) and is_of_output(error):
            complain(f"irexec: the output cannot be written: {error.strerror}")
            return 2
        return _failed(error)
    finally:
        settle()


def _dispatch(arguments: list[str]) -> int:
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:2], "--help"]
    chosen = arguments[0] if arguments else ""
    parser, commands = command_parsers([chosen])
    if not arguments:
        parser.print_help()
        return 2
    if chosen and not chosen.startswith("-") and chosen not in COMMANDS:
        advice = f": did you mean {ELSEWHERE[chosen]}?" if chosen in ELSEWHERE else _suggestion(chosen, COMMANDS)
        parser.error(f"unknown command {chosen!r}{advice}")
    if chosen.startswith("--") and not any(option.startswith(chosen) for option in parser._option_string_actions):
        parser.error(f"unrecognized arguments: {chosen}{_suggestion(chosen, parser._option_string_actions)}")
    args, unknown = parser.parse_known_args(arguments)
    if unknown:
        command = commands[chosen]
        # Option names of earlier versions are accepted, but not suggested.
        shown = (entry for entry in command._actions if entry.help != argparse.SUPPRESS)
        known = {name for entry in shown for name in entry.option_strings}
        command.error(f"unrecognized arguments: {' '.join(unknown)}{_advice(unknown[0].partition('=')[0], known)}")
    with guarded(), _time_limit(args):
        for option, paths in args.outputs(args):
            announce(option, paths)
            if (folder := _missing_folder(paths[0])) is not None:
                return _refused(f"{option}: there is no folder {folder!r}", paths[0])
        code: int = args.run(args)
    return code


def _missing_folder(path: str) -> str | None:
    """Return the folder of an output file if it does not exist; outputs that are folders are created when needed."""
    folder = os.path.dirname(path)
    is_file = os.path.splitext(path)[1].lower() in _SUFFIXES
    return folder if is_file and folder and not os.path.isdir(folder) else None


def _time_limit(args: argparse.Namespace) -> AbstractContextManager[None]:
    """Return a context that applies the time limit of a command, if it has one limit for all of its work."""
    limit = getattr(args, "time_limit", None)
    if limit is None:
        return nullcontext()
    from irexec.core.diagnostics.deadline import time_limit

    return time_limit(limit, option="--time-limit")


def command_parsers(chosen: Container[str]) -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    """Return the parser of the command line, and the parser of each command.

    Only the parsers of the `chosen` commands have arguments.
    """
    parser = _MainParser(prog="irexec", description="Run, check and explain OpenVINO IR.", epilog=EXIT_CODES)
    parser.add_argument("-V", "--version", action=_Version, nargs=0, help="print the version and exit")
    # If `prog` is given, argparse does not need to format a usage line to derive it.
    subparsers = parser.add_subparsers(
        prog="irexec", dest="command", metavar="COMMAND", required=True, parser_class=_Parser
    )
    commands: dict[str, argparse.ArgumentParser] = {}
    for name, summary in COMMANDS.items():
        command = subparsers.add_parser(
            name,
            description=f"{summary[0].upper()}{summary[1:]}.",
            epilog=examples_text(name),
            formatter_class=ExamplesFormatter,
        )
        if name in chosen:
            module = importlib.import_module(f"irexec.cli.{name}")
            module.add_arguments(command)
            command.set_defaults(run=module.run, outputs=getattr(module, "outputs", _no_outputs))
        commands[name] = command
    return parser, commands


def _no_outputs(args: argparse.Namespace) -> Iterator[tuple[str, Iterable[str]]]:
    """Return the outputs of a command that writes no file."""
    return iter(())


def _advice(unknown: str, known: Collection[str]) -> str:
    """Return suggestions for the first unknown argument of a command, as the end of a message."""
    if not unknown.startswith("-"):
        return f": did you mean --with {unknown}?" if "--with" in known else ""
    others = meant(unknown, known)
    return f": did you mean {' or '.join(others)}?" if others else _suggestion(unknown, known)


def _suggestion(name: str, known: Collection[str]) -> str:
    """Return similar names, as the end of a message."""
    from irexec.core.diagnostics.nearest import did_you_mean

    longer = [each for each in known if len(name) > 2 and each.startswith(name)]
    advice = did_you_mean(name, longer or known, cutoff=0.0 if longer else 0.6)
    return f": {advice}" if advice else ""


class _Parser(argparse.ArgumentParser):
    """A parser that reports an error in one line, without the usage of up to ten lines that argparse would print."""

    def error(self, message: str) -> NoReturn:
        if "invalid choice: 'junit'" in message:
            message += "; for JUnit, test models and pages with pytest: pytest --ir-doctest PATH --junitxml FILE"
        self.exit(2, f"{self.prog}: error: {visible_text(message)}\nfor help: {self.prog} --help\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            error.message += _suggestion(str(value), [str(choice) for choice in action.choices or ()])
            raise

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        """Write a help text or an error; argparse would ignore a stream that does not accept it."""
        (file or sys.stderr).write(message)


class _MainParser(_Parser):
    """The parser of the command line, whose help lists the commands in groups."""

    def format_help(self) -> str:
        layout = self._get_formatter()
        layout.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        layout.add_text(self.description)
        beginning = layout.format_help()
        layout = self._get_formatter()
        layout.start_section("options")
        layout.add_arguments([action for action in self._actions if action.option_strings])
        layout.end_section()
        layout.add_text("irexec COMMAND --help describes a command and ends with two examples.")
        layout.add_text(self.epilog)
        return f"{beginning}\n{groups_text(COMMANDS)}\n\n{layout.format_help()}"


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from irexec.version import __version__

        print_line(f"irexec {__version__}")
        parser.exit()


def _refused(message: str, path: str | None) -> int:
    """Report an output that would overwrite an input, or that cannot be written."""
    from irexec.cli.inputs import refuse, refused
    from irexec.core.diagnostics import Place

    return refused(refuse("U007", message, place=Place(file=path)))


def _failed(error: Exception) -> int:
    """Report an exception that escaped from a command: the findings of an IRError, or an internal error."""
    if os.environ.get("IREXEC_TRACEBACK") == "1":
        raise error
    from irexec.core.diagnostics import IRError, Report
    from irexec.core.diagnostics.render import write

    if isinstance(error, IRError):
        with suppress(OSError):
            write(Report(error.report.errors), sys.stderr)
    elif isinstance(error, MemoryError):
        complain(f"irexec: not enough memory: {error}")
    else:
        what = f"{type(error).__name__}: {error}"
        complain(f"irexec: internal error: {what} (please report it; IREXEC_TRACEBACK=1 shows the traceback)")
    return 2
