"""What of ONNX is translated, as a page: `python -m irexec.frontends.onnx.status > docs/onnx.md`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from onnx import defs

from irexec.frontends.onnx.registry import MICROSOFT, translators

_PAGE = """\
# ONNX models

`irexec run model.onnx`, `irexec validate model.onnx` and every function that takes the path of a model read ONNX files,
with `pip install 'irexec[onnx]'`. The file becomes a model of IR operators; where IR has no operator that computes
exactly the same, of operators with the version `onnxN`, whose kernels stand in
[irexec/ops/onnx](../irexec/ops/onnx). Functions of the model, and those by which ONNX defines operators, are inlined.

Read are tensors of every type that ONNX has, sequences of tensors (lists of arrays), optional ones (None where there is
none), external data below the model's own folder, and sparse initializers. Names of dimensions (`dim_param`) are in
the model's `rt_info["dimensions"]`, its metadata in `rt_info["metadata"]`.

`irexec convert model.onnx model.xml` writes IR where every operator is one of OpenVINO's, and names those that are not.

## Operators of ai.onnx

How each version that onnx {version} knows is run: *yes*, translated; *function*, by ONNX's own definition; *no*,
refused with finding [F003](codes/F003.md). {count} of {total} operators run in their newest version.

| operator | versions | not translated |
|---|---|---|
{rows}

Operators of ai.onnx.ml are refused: they are classical machine learning. ai.onnx.preview.training: {training}.

## Operators of com.microsoft

What exporters and optimisers of ONNX Runtime write: {microsoft}.
"""


def page() -> str:
    """The text of docs/onnx.md."""
    rows = list(_rows())
    table = translators()
    named = {domain: sorted(type for d, type, _ in table if d == domain) for domain in {d for d, _, _ in table}}
    return _PAGE.format(
        version=".".join(_version().split(".")[:2]),
        count=sum(newest for _, newest in rows),
        total=len(rows),
        rows="\n".join(text for text, _ in rows),
        training=", ".join(named.get("ai.onnx.preview.training", [])),
        microsoft=", ".join(named.get(MICROSOFT, [])) or "none yet",
    )


def _version() -> str:
    import onnx

    return onnx.__version__


def _rows() -> Iterator[tuple[str, bool]]:
    """A row of the table for each operator, and whether its newest version runs."""
    table = translators()
    versions: dict[str, list[tuple[int, str]]] = {}
    schemas: Sequence[Any] = defs.get_all_schemas_with_history()
    for schema in schemas:
        if schema.domain:
            continue
        known = ("", schema.name, schema.since_version) in table
        function = schema.has_function or schema.has_context_dependent_function
        how = "yes" if known else "function" if function and not schema.deprecated else "no"
        versions.setdefault(schema.name, []).append((schema.since_version, how))
    for name, entries in sorted(versions.items()):
        entries.sort()
        runs = [f"{since}" + (" (function)" if how == "function" else "") for since, how in entries if how != "no"]
        missing = [str(since) for since, how in entries if how == "no"]
        yield f"| {name} | {', '.join(runs)} | {', '.join(missing)} |", entries[-1][1] != "no"


if __name__ == "__main__":
    print(page(), end="")
