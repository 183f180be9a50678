"""The page about ONNX support: `python -m irexec.frontends.onnx.status > docs/onnx.md`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onnx import defs

from irexec.frontends.onnx import refusals
from irexec.frontends.onnx.registry import EXPERIMENTAL, MICROSOFT, OF_ONNX, translators

_PAGE = """\
# ONNX models

`irexec run model.onnx`, `irexec validate model.onnx` and every function that takes the path of a model read ONNX files,
with `pip install 'irexec[onnx]'`. The file becomes a model of IR operators; where IR has no operator that computes
exactly the same, operators with the version `onnxN` are used, whose kernels are in
[irexec/ops/onnx](../irexec/ops/onnx). Functions of the model, and those by which ONNX defines operators, are inlined.

Supported are tensors of every ONNX type, sequences of tensors (lists of arrays), optional values (None if there is
none), external data below the model's folder, and sparse initializers. Names of dimensions (`dim_param`) are in the
model's `rt_info["dimensions"]`, its metadata in `rt_info["metadata"]`. An initializer that is also an input is the
default value of that input (`model.optional_inputs`, from version 4 of the format, as in ONNX Runtime): a call may give
another value by name. Where a node can only be translated for a known value, the initializer is a constant. A saved IR
contains these default values as constants.

A layer has the name of the node whose output it produces; additional layers of a node have that name with a number.

| package | purpose |
|---|---|
| `irexec[onnx]` | reading ONNX files; the checks and the reference of ONNX in addition to irexec's findings |
| `onnxruntime`, where installed | ONNX Runtime's verdict on invalid files; `compare MODEL.onnx --with onnxruntime` |
| `openvino`, where installed | `compare MODEL.onnx --with openvino` |

## Validating a model

```pycon
>>> import onnx
>>> text = \"\"\"<ir_version: 9, opset_import: ["" : 17]>
... g (float[3,4] x, float[5] b) => (float[3,4] y) {{
...     t = Relu<slope = 1.0>(x)
...     u = Add(t, b)
...     y = Sigmod(u)
... }}\"\"\"
>>> onnx.save(onnx.parser.parse_model(text), "faulty.onnx")

```

```console
$ irexec validate faulty.onnx
error[F004]: Relu: the operator has no attribute 'slope'
 --> faulty.onnx
  = layer: Relu 't' (onnx17), attribute slope
  = inputs: x f32[3,4]
  = onnx.checker {onnx_version}: Unrecognized attribute: slope for operator Relu

error[O001]: shapes [3,4] and [5] do not broadcast
...
  = inputs: t f32[3,4] from Relu 't', b f32[5]
  = onnx.shape_inference {onnx_version}: Incompatible dimensions
...
```

Errors reported by `onnx.checker` and `onnx.shape_inference` are added to irexec's finding about the same node, or are
separate findings ([F013](codes/F013.md)). [F014](codes/F014.md) reports how onnx.reference and ONNX Runtime treat a
file that has findings. All of them run in separate processes, because a hostile file may crash them. `--alone` skips
them, as does `irexec.validate(path)` without `others=True`.

## Comparing a model with its IR

`irexec convert model.onnx -o model.xml` writes IR where every operator is one of OpenVINO's, and reports operators for
which this is impossible. An IR from any converter can be compared with the model layer by layer:

```pycon
>>> text = \"\"\"<ir_version: 9, opset_import: ["" : 17]>
... g (float[1,3,8,8] x) => (float[1,4,8,8] y) <float[4,3,1,1] w = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}}> {{
...     c = Conv(x, w)
...     r = Relu(c)
...     y = Softmax<axis = 1>(r)
... }}\"\"\"
>>> onnx.save(onnx.parser.parse_model(text), "model.onnx")

```

```console
$ irexec convert model.onnx -o model.xml
...
$ irexec compare model.onnx --with model.xml
all 3 layers agree with model.xml

...
```

This also works for an IR from `openvino.convert_model`: `irexec compare model.onnx --with theirs.xml` pairs layers
by the names of nodes and values, and reports the node that the conversion changed.

## Operators of ai.onnx

How each version that onnx {version} knows is run: *yes*, translated; *function*, by ONNX's own definition; *no*,
rejected with finding [F003](codes/F003.md). {count} of {total} operators run in their newest version.

| operator | versions | not translated |
|---|---|---|
{rows}

ai.onnx.preview.training: {training}. From before versions counted: {experimental}.

## Differences from ONNX Runtime

irexec follows ONNX's specification where ONNX Runtime 1.31 does not:

- pools with `auto_pad` SAME_UPPER or SAME_LOWER that are dilated: the extents are input / stride, rounded up. ONNX
  Runtime pads for a kernel that is not dilated
- the same where the stride exceeds the kernel: nothing is padded. ONNX Runtime refuses MaxPool
- a pooling kernel larger than the image and its padding does not fit and is rejected
  ([O001](codes/O001.md)). ONNX Runtime returns empty results, or those of the part of the kernel that fits

## Unsupported operators

- ai.onnx: {missing}
- ai.onnx.ml: {classical}
- ai.onnx.preview.training: {no_training}

All operators of these domains are rejected with finding [F003](codes/F003.md), which suggests a solution:

| domain | description and solution |
|---|---|
{domains}

## Operators of com.microsoft

ONNX Runtime {runtime} has {on_cpu} of them for CPUs, and more for other devices alone. What exporters write for CPUs
runs, {translated} operators: {microsoft}.

The others are rejected with finding [F003](codes/F003.md), which suggests a solution:

| operator | description and solution |
|---|---|
{refused}
| {elsewhere} | for GPUs alone: optimise the model for CPUs, or not at all |
"""


def page() -> str:
    """Return the text of docs/onnx.md."""
    import onnx

    own = ways("")
    table = translators()
    named = {domain: sorted(type for d, type, _ in table if d == domain) for domain in {d for d, _, _ in table}}
    microsoft = sorted([*named[MICROSOFT], *OF_ONNX])
    missing = {domain: _missing(ways(domain)) for domain in ("", "ai.onnx.ml", "ai.onnx.preview.training")}
    return _PAGE.format(
        version=".".join(onnx.__version__.split(".")[:2]),
        onnx_version=onnx.__version__,
        count=sum(versions[-1][1] != "no" for versions in own.values()),
        total=len(own),
        rows="\n".join(_row(name, versions) for name, versions in own.items()),
        missing=missing[""],
        classical=missing["ai.onnx.ml"],
        no_training=missing["ai.onnx.preview.training"],
        training=", ".join(named.get("ai.onnx.preview.training", [])),
        experimental=", ".join(sorted(type for domain, type, since in table if (domain, since) == ("", EXPERIMENTAL))),
        runtime=refusals.RUNTIME,
        # SimplifiedLayerNormalization is used in ONNX's own domain.
        on_cpu=len(microsoft) - 1 + len(refusals.ON_CPU),
        translated=len(microsoft),
        microsoft=", ".join(microsoft),
        domains="\n".join(f"| {domain} | {about} |" for domain, about in refusals.DOMAINS.items()),
        refused="\n".join(f"| {name} | {about} |" for name, about in refusals.ON_CPU.items()),
        elsewhere=", ".join(sorted(refusals.ELSEWHERE)),
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
    return ", ".join(names) or "nothing"


if __name__ == "__main__":
    print(page(), end="")
