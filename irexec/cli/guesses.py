"""Names of commands and options that people expect from other tools, with the names that they have here."""

from __future__ import annotations

from collections.abc import Collection

COMMANDS = {
    "check": "validate", "lint": "validate", "verify": "validate", "format": "fix", "repair": "fix", "test": "doctest",
    "exec": "run", "execute": "run", "infer": "run", "benchmark": "run --repeat N", "bench": "run --repeat N",
    "profile": "run --trace", "trace": "run --trace", "info": "show", "inspect": "show", "print": "show",
    "summary": "show", "graph": "report", "html": "report", "view": "report", "visualize": "report",
    "debug": "compare", "minimize": "reduce", "extract": "cut", "subgraph": "cut",
    "export": "convert", "upgrade": "convert", "quantize": "sensitivity", "codes": "explain", "rule": "explain",
    "rules": "explain", "operators": "ops", "server": "lsp", "version": "--version",
}  # fmt: skip
"""Command of another tool → the text to write after `irexec`."""

OPTIONS = {
    "-d": ("--with openvino:DEVICE",), "-f": ("--format",), "-i": ("--input",), "-n": ("--repeat", "--most", "--worst"),
    "-s": ("--shape",), "-t": ("--trace",), "--against": ("--with",), "--batch": ("--shape NAME=DIMS",),
    "--check": ("--diff",), "--data": ("--inputs",), "--device": ("--with openvino:DEVICE",), "--dry-run": ("--diff",),
    "--fix-unsafe": ("--unsafe", "--fix"),
    "--exclude": ("--ignore",), "--iterations": ("--repeat",), "--json": ("--format json",),
    "--junit": ("--format junit",), "--markdown": ("--format markdown",), "--max": ("--most", "--worst"),
    "--niter": ("--repeat",), "--num-workers": ("--jobs",), "--processes": ("--jobs",), "--profile": ("--trace",),
    "--reference": ("--with",), "--runtime": ("--with",), "--sarif": ("--format sarif",), "--tol": ("--atol", "--rtol"),
    "--svg": ("--format svg",), "--threads": ("--jobs",), "--time-limit": ("--timeout",),
    "--timeout": ("--time-limit",),
    "--tolerance": ("--atol", "--rtol"),
    "--top": ("--worst", "--most"), "--workers": ("--jobs",),
}  # fmt: skip
"""Option of another tool → the options that may be meant, some with a value or its metavar."""


def meant(option: str, known: Collection[str]) -> list[str]:
    """Return the options that may be meant by an option that the command does not have. `known`: its options."""
    return [each for each in OPTIONS.get(option, ()) if each.split()[0] in known]
