"""`irexec compare FOLDER --prompt`: a language model continues a text on both sides."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from irexec.cli.extension import load_extensions
from irexec.cli.generate import pixels_of
from irexec.cli.inputs import refuse, refused
from irexec.cli.runtimes import bounds_of, config_of, runtime_for
from irexec.cli.streams import print_json, printout
from irexec.core.diagnostics import Place

if TYPE_CHECKING:
    from irexec.tools.language.folder import Folder
    from irexec.tools.language.prompt import OfRuntime, OtherSide
    from irexec.tools.language.result import PromptComparison

_NOT_WITH = (
    "input",
    "inputs",
    "shape",
    "search",
    "dump",
    "save_inputs",
    "save_culprit",
    "resume",
    "cluster",
    "weights",
)
"""The options of `irexec compare` that are for a model, not for a folder."""


def compare_folder(args: argparse.Namespace) -> int:
    from irexec.tools.compare.runtimes.choose import own_config
    from irexec.tools.compare.runtimes.runtime import CannotRun
    from irexec.tools.language.folder import Folder
    from irexec.tools.language.prompt import OfRuntime, Teacher, compare_prompt
    from irexec.tools.language.settings import tried
    from irexec.tools.language.sides import PromptSides
    from irexec.tools.status import Status

    given = [f"--{name.replace('_', '-')}" for name in _NOT_WITH if getattr(args, name)]
    report = load_extensions(args.extension)
    if given or args.jobs > 1:
        report.extend(refuse("U003", f"{', '.join(given) or '-j'} cannot be combined with --prompt"))
    if not os.path.isdir(args.file):
        message = "--prompt requires a folder with a language model, as optimum-intel writes it"
        report.extend(refuse("U001" if not os.path.exists(args.file) else "U003", message, place=Place(args.file)))
    if not report.ok:
        return refused(report)
    folder, found = Folder(Path(args.file)), list["PromptComparison"]()
    other = ""
    try:
        with Status() as status:
            status.show("irexec continues the prompt")
            pixels = pixels_of(args)
            teacher = Teacher(folder, args.prompt, args.tokens, raw=args.raw, seed=args.seed, pixels=pixels)
            for other in args.others:
                side = _side(args, other, folder)
                one = compare_prompt(teacher, side, bounds=bounds_of(args), window=args.window, progress=status.show)
                if args.settings and isinstance(side, OfRuntime):
                    one.settings = list(
                        tried(
                            teacher, config_of(args) | own_config(other), partial(_with_settings, args, other, folder)
                        )
                    )
                found.append(one)
    except CannotRun as error:
        return refused(refuse(error.code, f"--with {other}: {error}"))
    if args.format == "json":
        print_json(found[0].to_dict() if len(found) == 1 else PromptSides(found).to_dict())
    else:
        _print(args, found)
    return int(not all(one.agrees for one in found))


def _side(args: argparse.Namespace, other: str, folder: Folder) -> OtherSide:
    """Return the side that a value of `--with` names. Raises CannotRun."""
    from irexec.tools.language.folder import Folder
    from irexec.tools.language.prompt import OfFolder, OfRuntime

    if os.path.isdir(other):
        return OfFolder(Folder(Path(other)))
    return OfRuntime(lambda model: runtime_for(args, other, model), folder)


def _with_settings(args: argparse.Namespace, other: str, folder: Folder, config: Mapping[str, str]) -> OfRuntime:
    """Return a side with other properties. Raises CannotRun."""
    from irexec.tools.language.prompt import OfRuntime

    changed = argparse.Namespace(**vars(args) | {"config": [f"{name}={value}" for name, value in config.items()]})
    return OfRuntime(lambda model: runtime_for(changed, other, model), folder)


def _print(args: argparse.Namespace, found: list[PromptComparison]) -> None:
    from irexec.tools.language.show import show_prompt
    from irexec.tools.language.sides import PromptSides

    with printout() as page:
        if len(found) > 1:
            sides = PromptSides(found)
            page.paragraph(sides.verdict, "good" if sides.agrees else "error")
        for number, one in enumerate(found):
            if number or len(found) > 1:
                page.line()
            show_prompt(one, page, worst=args.worst)
