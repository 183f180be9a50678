"""The packages of irexec in the order in which they may import each other."""

from __future__ import annotations

LAYERS: list[set[str]] = [
    {
        "core/arguments",
        "core/collector",
        "core/display",
        "core/environment",
        "core/forms",
        "core/records",
        "core/structure",
        "version",
    },
    {"core/types", "core/diagnostics"},
    {"core/threads"},
    {"ir"},
    {"ops"},
    {"model/arrays"},
    {"model/graph"},
    {"model/inference"},
    {"model/weightless"},
    {"runtime/engine", "runtime/processes"},
    {"runtime/lowering"},
    {"frontends/onnx", "frontends/pages", "frontends/text"},
    {"frontends/reading"},
    {"api/opsets"},
    {"api/openvino"},
    {"api/aliases"},
    {"tools/settings", "tools/status"},
    {"tools/catalog", "tools/script", "tools/shapes"},
    {"tools/run"},
    {"tools/doctest"},
    {"tools/fixes"},
    {"tools/inspect"},
    {"tools/cut"},
    {"tools/compare"},
    {"tools/diff"},
    {"tools/edit"},
    {"tools/reduce"},
    {"tools/sensitivity"},
    {"tools/passes"},
    {"tools/render"},
    {"tools/parallel"},
    {"tools/conformance"},
    {"tools/bisect"},
    {"tools/language"},
    {"tools/blame"},
    {"tools/functions"},
    {"lsp"},
    {"cli"},
    {"__init__", "__main__"},
]
"""A package may import packages on earlier lines; packages on one line do not import each other."""
LAYER = {package: number for number, packages in enumerate(LAYERS) for package in packages}
DIVIDED = {package.partition("/")[0] for package in LAYER if "/" in package}
"""The folders at the top whose packages have an order of their own."""


def package_of(module: str) -> str:
    """Return the row of LAYERS to which a module belongs: `irexec.core.types.shape` to `core/types`."""
    first, *rest = module.removeprefix("irexec.").split(".")
    return f"{first}/{rest[0]}" if first in DIVIDED and rest else first
