"""`irexec completion`: print a shell script that completes irexec's commands, options and their values."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import NamedTuple

from irexec.cli.streams import put_exactly

SHELLS = ("bash", "zsh", "fish")


class Option(NamedTuple):
    """An option of a command: its spellings, its line in the help, and the values it takes, if they can be listed."""

    names: tuple[str, ...]
    help: str
    values: tuple[str, ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "shell", choices=SHELLS, help='the shell; for bash, add eval "$(irexec completion bash)" to ~/.bashrc'
    )


def run(args: argparse.Namespace) -> int:
    scripts = {"bash": bash_script, "zsh": zsh_script, "fish": fish_script}
    put_exactly(scripts[args.shell]())
    return 0


def commands() -> dict[str, tuple[str, list[Option]]]:
    """Return every command with its line in the help and its options."""
    from irexec.cli.main import COMMANDS, command_parsers

    _, parsers = command_parsers(COMMANDS)
    return {name: (COMMANDS[name], list(_options(parser))) for name, parser in parsers.items()}


def _options(parser: argparse.ArgumentParser) -> Iterator[Option]:
    for action in parser._actions:
        names = tuple(name for name in action.option_strings if name.startswith("--"))
        if names and action.help is not argparse.SUPPRESS:
            values = tuple(map(str, action.choices)) if action.choices else ()
            yield Option(names, (action.help or "").partition(" (")[0], values)


def bash_script() -> str:
    """Return a function for bash's `complete`: names of commands and options, values that can be listed, and files.

    Bash splits words at `=`, so `--format=` is three words; and file names at blanks unless IFS is a line break.
    """
    known = commands()
    cases: list[str] = []
    values: dict[str, str] = {"completion/completion": " ".join(SHELLS)}
    for name, (_, options) in known.items():
        words = " ".join(spelling for option in options for spelling in option.names)
        cases.append(f"        {name}) options='{words}' ;;")
        values |= {
            f"{name}/{spelling}": " ".join(option.values)
            for option in options
            for spelling in option.names
            if option.values
        }
    listed = [f"        {key}) values='{words}' ;;" for key, words in values.items()]
    return "\n".join(
        [
            "_irexec() {",
            '    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" options= values=',
            '    if [ "$COMP_CWORD" -eq 1 ]; then',
            f"        COMPREPLY=($(compgen -W '{' '.join(known)}' -- \"$word\"))",
            "        return",
            "    fi",
            '    if [ "$word" = "=" ]; then word=',
            '    elif [ "$before" = "=" ]; then before="${COMP_WORDS[COMP_CWORD-2]}"; fi',
            '    case "${COMP_WORDS[1]}/$before" in',
            *listed,
            "    esac",
            '    case "${COMP_WORDS[1]}" in',
            *cases,
            "    esac",
            '    if [ -n "$values" ]; then COMPREPLY=($(compgen -W "$values" -- "$word"))',
            '    elif [[ "$word" == -* ]]; then COMPREPLY=($(compgen -W "$options" -- "$word"))',
            "    else local IFS=$'\\n'; COMPREPLY=($(compgen -f -- \"$word\")); fi",
            "}",
            "complete -o filenames -F _irexec irexec",
            "",
        ]
    )


def zsh_script() -> str:
    """Return bash's function for zsh, preceded by the commands that make zsh accept functions for bash."""
    switched_on = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit -u; }"
    return f"{switched_on}\nautoload -Uz bashcompinit && bashcompinit\n{bash_script()}"


def fish_script() -> str:
    """Return the `complete` lines of fish."""
    known = commands()
    lines = ["complete -c irexec -n __fish_use_subcommand -f"]
    for name, (summary, options) in known.items():
        lines.append(f"complete -c irexec -n __fish_use_subcommand -a {name} -d {_quoted(summary)}")
        for option in options:
            values = f" -x -a {_quoted(' '.join(option.values))}" if option.values else ""
            for spelling in option.names:
                long = spelling.removeprefix("--")
                condition = f"'__fish_seen_subcommand_from {name}'"
                lines.append(f"complete -c irexec -n {condition} -l {long}{values} -d {_quoted(option.help)}")
    return "\n".join([*lines, ""])


def _quoted(text: str) -> str:
    """Return a text as a word of fish."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
