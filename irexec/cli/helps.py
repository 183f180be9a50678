"""The texts of `--help`: the commands in groups, and the two examples at the end of each command's help."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

GROUPS = {
    "run": ("run", "generate", "convert"),
    "check": ("validate", "fix", "doctest", "lsp"),
    "debug": ("compare", "diff", "passes", "reduce", "bundle", "bisect", "blame", "cut", "sensitivity", "conformance"),
    "inspect": ("show", "text", "shapes", "report", "ops", "explain", "schema", "completion"),
}
"""Group → its commands, in the order of the help."""

EXAMPLES: dict[str, tuple[tuple[str, str], tuple[str, str]]] = {
    "run": (
        ("irexec run model.xml --input x=image.npy -o results.npz", "run with one input, and save the results"),
        ("irexec run model.xml --worst 10", "list the most expensive layers"),
    ),
    "generate": (
        ("irexec generate exported --prompt 'The sky'", "continue a text with the model that optimum-intel exported"),
        ("irexec generate exported --prompt Hello --raw --tokens 5", "without the chat template, at most five tokens"),
    ),
    "convert": (
        ("irexec convert model.onnx -o converted.xml", "convert an ONNX model to IR"),
        ("irexec convert model.xml -o older.xml --target 2022.1", "write a model that OpenVINO 2022.1 can read"),
    ),
    "validate": (
        ("irexec validate model.xml", "report every error, with suggested fixes"),
        ("irexec validate models -j 4 --format sarif", "check a folder with 4 processes, for a code scanning service"),
    ),
    "fix": (
        ("irexec fix model.xml --diff", "print the fixes without modifying the file"),
        ("irexec fix models --select P004", "apply only the fixes of one diagnostic code, in a folder"),
    ),
    "doctest": (
        ("irexec doctest page.md", "check the examples of a page"),
        ("irexec doctest pages --fix --diff", "print the corrections for a folder of pages"),
    ),
    "lsp": (
        ("irexec lsp", "start the language server; editors run this command"),
        ("irexec lsp --timeout 10", "stop each check of a document after 10 seconds"),
    ),
    "compare": (
        ("irexec compare model.xml --with openvino", "find the first layer that differs on OpenVINO's CPU plugin"),
        ("irexec compare model.onnx --with model.xml --worst 3", "compare a model with its conversion"),
    ),
    "diff": (
        ("irexec diff model.xml changed.xml", "list the differences"),
        ("irexec diff model.xml changed.xml --run", "also run both and compare the results of their layers"),
    ),
    "passes": (
        ("irexec passes model.xml", "find the pass of OpenVINO's compiler that makes a result wrong"),
        ("irexec passes model.xml --all", "list all passes that change the graph"),
    ),
    "reduce": (
        ("irexec reduce model.xml --with openvino:GPU", "find the smallest model whose results differ on the GPU"),
        (
            "irexec reduce model.xml --check './fails.sh {}' -o small.xml",
            "find the smallest model for which your own command fails",
        ),
    ),
    "cut": (
        ("irexec cut model.xml --to relu -o part.xml", "extract the layer 'relu' and all layers that it depends on"),
        ("irexec cut model.xml --around relu --distance 1", "extract a layer and its neighbours"),
    ),
    "bundle": (
        ("irexec bundle repro.xml", "pack the reduced model, its inputs and its script into repro.zip"),
        ("irexec bundle small.xml -o sent.zip", "pack a reduced model with another name"),
    ),
    "bisect": (
        (
            "irexec bisect --check '{python} repro.py' --releases 2024.0.. --environments releases",
            "find the first release of OpenVINO in which the script of irexec reduce fails",
        ),
        (
            "irexec bisect model.xml --releases 2024.4.0,2024.5.0 --python old/bin/python=2024.4.0 --settings",
            "find the release that changed a result, and the settings that remove the difference",
        ),
    ),
    "blame": (
        (
            "irexec blame model.xml --releases 2024.0.. --environments releases",
            "find out everything about a wrong result of OpenVINO, and pack it for a bug report",
        ),
        ("irexec blame model.xml --skip settings -o wrong.zip", "leave out a part"),
    ),
    "sensitivity": (
        (
            "irexec sensitivity float.xml int8.xml --inputs samples",
            "rank the quantizers by their effect on the results for a folder of inputs",
        ),
        ("irexec sensitivity model.xml --as f16 -o marked.xml", "find the layers to keep in f32, and mark them"),
    ),
    "conformance": (
        ("irexec conformance --with irexec --only 'Reduce*'", "test irexec's compiled form of the reductions"),
        (
            "irexec conformance --only Negative-1 --cases 4 --html page.html",
            "test OpenVINO's CPU plugin with four cases of an operator, and write a page",
        ),
    ),
    "show": (
        ("irexec show model.xml", "summarize a model"),
        ("irexec show model.xml --format svg -o model.svg", "draw its graph"),
    ),
    "text": (
        ("irexec text model.xml", "print a model with one layer a line"),
        ("irexec text model.onnx -o model.irt", "write a model as a text, to be edited and read by every command"),
    ),
    "shapes": (
        ("irexec shapes model.xml", "list the input sizes that a dynamic model accepts"),
        ("irexec shapes model.xml --check sizes.csv", "also check combinations of sizes in a table"),
    ),
    "report": (
        ("irexec report model.xml -o model.html", "write the graph and the details of every layer"),
        ("irexec report model.xml --run --input x=image.npy", "also run the model and show the recorded values"),
    ),
    "ops": (
        ("irexec ops Gather", "describe the newest version of an operator"),
        ("irexec ops Gather-7 --format markdown", "describe one version in Markdown"),
    ),
    "explain": (
        ("irexec explain P004", "show the page of a diagnostic code"),
        ("irexec explain", "list all codes"),
    ),
    "schema": (
        ("irexec schema", "print the RELAX NG schema of IR files"),
        ("irexec schema Gather -o schemas", "write the JSON Schema of one operator's attributes to a folder"),
    ),
    "completion": (
        ("irexec completion bash", "print the script for bash"),
        ("irexec completion fish", "print the script for fish"),
    ),
}
"""Command → the two examples at the end of its help, each with a description."""

_HEADING = "examples:\n"


def examples_text(command: str) -> str:
    """Return the examples of a command, as the end of its help."""
    lines = (line for example, purpose in EXAMPLES.get(command, ()) for line in (f"  {example}", f"      {purpose}"))
    text = "\n".join(lines)
    return f"{_HEADING}{text}" if text else ""


def groups_text(summaries: Mapping[str, str]) -> str:
    """Return the commands in their groups, with their summaries."""
    width = max(map(len, summaries)) + 2
    parts = []
    for group, names in GROUPS.items():
        rows = (f"  {name:<{width}}{summaries[name]}" for name in names if name in summaries)
        parts.append("\n".join((f"{group}:", *rows)))
    return "\n\n".join(parts)


class ExamplesFormatter(argparse.HelpFormatter):
    """A formatter that keeps the lines of the examples and wraps every other text."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if text.startswith(_HEADING):
            return "".join(f"{indent}{line}\n" for line in text.splitlines())
        return super()._fill_text(text, width, indent)
