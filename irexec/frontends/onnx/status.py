"""The page about ONNX support, docs/onnx.md, generated from status.md."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from onnx import defs

from irexec.frontends.onnx import refusals
from irexec.frontends.onnx.registry import EXPERIMENTAL, MICROSOFT, OF_ONNX, OPENVINO, translators


def page() -> str:
    """Return the text of docs/onnx.md."""
    import onnx

    own = ways("")
    table = translators()
    named = {domain: sorted(type for d, type, _ in table if d == domain) for domain in {d for d, _, _ in table}}
    # ONNX Runtime defines SimplifiedLayerNormalization in ONNX's own domain.
    microsoft = sorted({*named[MICROSOFT], *OF_ONNX} - {"SimplifiedLayerNormalization"})
    missing = {domain: _missing(ways(domain)) for domain in ("", "ai.onnx.ml")}
    return (
        files("irexec.frontends.onnx")
        .joinpath("status.md")
        .read_text("utf-8")
        .format(
            version=".".join(onnx.__version__.split(".")[:2]),
            onnx_version=onnx.__version__,
            count=sum(versions[-1][1] != "no" for versions in own.values()),
            total=len(own),
            rows="\n".join(_row(name, versions) for name, versions in own.items()),
            missing=missing[""],
            classical=missing["ai.onnx.ml"],
            training=", ".join(named.get("ai.onnx.preview.training", [])),
            openvino=", ".join(named[OPENVINO]),
            experimental=", ".join(
                sorted(type for domain, type, since in table if (domain, since) == ("", EXPERIMENTAL))
            ),
            runtime=refusals.RUNTIME,
            on_cpu=len(microsoft) + len(refusals.ON_CPU),
            translated=len(microsoft),
            microsoft=", ".join(microsoft),
            domains="\n".join(f"| {domain} | {about} |" for domain, about in refusals.DOMAINS.items()),
            refused="\n".join(f"| {name} | {about} |" for name, about in refusals.ON_CPU.items()),
            elsewhere=", ".join(sorted(refusals.ELSEWHERE)),
        )
    )


Versions = list[tuple[int, str]]
"""Versions of an operator in order, and the support of each: "yes", "function" or "no"."""


def ways(domain: str) -> dict[str, Versions]:
    """Return the support of a domain's operators, by name."""
    table = translators()
    found: dict[str, Versions] = {}
    schemas: Sequence[Any] = defs.get_all_schemas_with_history()
    for schema in (s for s in schemas if s.domain == domain):
        function = schema.has_function or schema.has_context_dependent_function
        how = "function" if function and not schema.deprecated and domain != "ai.onnx.ml" else "no"
        known = (domain, schema.name, schema.since_version) in table
        found.setdefault(schema.name, []).append((schema.since_version, "yes" if known else how))
    return {name: sorted(versions) for name, versions in sorted(found.items())}


def _row(name: str, versions: Versions) -> str:
    runs = [f"{since}" + (" (function)" if how == "function" else "") for since, how in versions if how != "no"]
    missing = [str(since) for since, how in versions if how == "no"]
    return f"| {name} | {', '.join(runs)} | {', '.join(missing)} |"


def _missing(ways: dict[str, Versions]) -> str:
    """Return the unsupported versions, or the operator's name if no version is supported."""
    names = []
    for name, versions in ways.items():
        lost = [since for since, how in versions if how == "no"]
        names += [name] if len(lost) == len(versions) else [f"{name}-{since}" for since in lost]
    return ", ".join(names)
