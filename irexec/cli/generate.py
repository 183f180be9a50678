"""`irexec generate`: continue a text with a language model in a folder, and print how fast and in how much memory."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from irexec.cli.extension import load_extensions
from irexec.cli.inputs import add_format_argument, refuse, refused
from irexec.cli.options import add_extensions, add_limit, whole
from irexec.cli.streams import print_json, printout
from irexec.core.diagnostics import IRError, Place
from irexec.core.diagnostics.findings import Findings

if TYPE_CHECKING:
    from irexec.core.types import Array
    from irexec.tools.language.generate import Generated


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder",
        metavar="FOLDER",
        help="a folder with openvino_model.xml and openvino_tokenizer.xml, as exporters write it",
    )
    add_prompt(parser, required=True)
    add_format_argument(parser, "json prints one object")
    add_extensions(parser)
    add_limit(parser)


def add_prompt(parser: argparse._ActionsContainer, *, required: bool = False) -> None:
    """Add `--prompt`, `--image`, `--tokens` and `--raw`."""
    parser.add_argument("--prompt", metavar="TEXT", required=required, help="the text that the model continues")
    parser.add_argument(
        "--image",
        metavar="FILE.npy",
        help="an image in the text, or a sound, as the processor of the model prepares it",
    )
    parser.add_argument(
        "--tokens",
        type=whole(1),
        default=40,
        metavar="N",
        help="the largest number of tokens to generate (default: 40)",
    )
    parser.add_argument("--raw", action="store_true", help="do not apply the chat template of the folder")


def pixels_of(args: argparse.Namespace) -> Array | None:
    """Return the array of `--image`; None if the option is not given. Raises IRError."""
    import numpy as np

    from irexec.tools.run.values import read_inputs

    if args.image is None:
        return None
    findings = Findings()
    given = read_inputs([f"image={args.image}"], findings, flag="--image")
    if not findings.report.ok:
        raise IRError(findings.report)
    return np.asarray(given["image"])


def run(args: argparse.Namespace) -> int:
    from irexec.tools.language.folder import Folder
    from irexec.tools.language.generate import generate
    from irexec.tools.status import Status

    path = Path(args.folder)
    report = load_extensions(args.extension)
    if not path.is_dir():
        report.extend(refuse("U001", "there is no such folder", place=Place(args.folder)))
    if not report.ok:
        return refused(report)
    with Status() as status:
        pixels = pixels_of(args)
        found = generate(Folder(path), args.prompt, args.tokens, raw=args.raw, pixels=pixels, progress=status.show)
    if args.format == "json":
        print_json(found.to_dict())
    else:
        _print(found)
    return 0


def _print(found: Generated) -> None:
    from irexec.model.arrays.brief import plural, shown_seconds, three_digits
    from irexec.tools.render.summary import shown_bytes

    with printout() as page:
        for line in found.text.splitlines() or [""]:
            page.line(line)
        page.line()
        rate = f"{three_digits(found.rate)} tokens per second" if found.rate is not None else "no later tokens"
        ended = "" if found.ended else "; the text goes on"
        prompt, made = plural(len(found.prompt), "token"), plural(len(found.tokens), "token")
        rows = [
            ("prompt", f"{prompt} in {shown_seconds(found.seconds[0])}"),
            ("generated", f"{made}, {rate}{ended}"),
            ("memory", ", ".join(f"{name} {shown_bytes(size)}" for name, size in found.memory.items())),
        ]
        page.table(rows, ("name",))
