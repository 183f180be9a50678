"""Cases of ONNX front ends: models of one node, which a runtime reads as they are.

    onnx.LSTM-22/lstm_defaults/layout=1

The name consists of the operator, a call (a node test of ONNX), and one change of it.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import zip_longest
from typing import Any

import numpy as np

from irexec.core.diagnostics import IRError
from irexec.core.types import Array, ElementType
from irexec.frontends.onnx import read_onnx
from irexec.model.graph.model import Model
from irexec.tools.conformance.case import Case
from irexec.tools.conformance.forbidden import FLAG as FORBIDDEN
from irexec.tools.conformance.names import UnreadableName
from irexec.tools.conformance.onnx_calls import OnnxCall, calls
from irexec.tools.conformance.onnx_changes import COMPUTED, changed, changes, variables_of
from irexec.tools.conformance.titles import reason_of

PREFIX = "onnx."


def onnx_operators() -> list[str]:
    """Return the names of all operators of ONNX that have cases."""
    return list(calls())


def draw_onnx(operator: str, index: int) -> Case | None:
    """Return the case number `index` of an operator; None behind the last."""
    names = _names(operator)
    return onnx_case(names[index]) if index < len(names) else None


@cache
def _names(operator: str) -> list[str]:
    """Return the names of all cases: first each change of one call, then the same changes of further calls. Kinds of
    changes take turns."""
    rounds: dict[int, list[list[str]]] = {}
    seen: Counter[str] = Counter()
    for name, call in calls()[operator].items():
        for group in changes(call):
            columns: dict[int, list[str]] = {}
            for text in group:
                if _is_change(call, text):
                    columns.setdefault(seen[text], []).append(f"{operator}/{name}/{text}")
                    seen[text] += 1
            for number, column in columns.items():
                rounds.setdefault(number, []).append(column)
    rows = (row for number in sorted(rounds) for row in zip_longest(*rounds[number]))
    return [name for row in rows for name in row if name is not None]


def _is_change(call: OnnxCall, text: str) -> bool:
    try:
        changed(call, text)
    except UnreadableName:
        return False
    return True


def onnx_case(text: str) -> Case:
    """Return the case of a name; one that irexec refuses is forbidden, and has no layers. Raises UnreadableName."""
    operator, _, rest = text.partition("/")
    name, _, change = rest.partition("/")
    if operator not in calls() or name not in calls()[operator]:
        raise UnreadableName(f"{text!r} is not the name of a case, expected onnx.TYPE-VERSION/CALL/CHANGE")
    call = changed(calls()[operator][name], change)
    constants = [] if change == COMPUTED else list(call.inputs)[1:]
    source = _proto(call, constants).SerializeToString()
    given = [array for key, array in call.inputs.items() if key not in constants]
    facts = _facts(call, name, change)
    try:
        model, report = read_onnx(source)
    except IRError as error:
        model, report = None, error.report
    if model is None:
        return Case(
            text, Model([], [], operator), [given], (0,), (FORBIDDEN,), operator, "static",
            facts | {FORBIDDEN: f"{report.errors[0].code} ({reason_of(report.errors[0].message)})"}, source,
        )  # fmt: skip
    return Case(text, model, [given], (0,), (), operator, "static", facts, source)


def _facts(call: OnnxCall, name: str, change: str) -> dict[str, str]:
    first = next(iter(call.inputs.values()), None)
    found = {"type": "f32" if first is None else ElementType.of(first.dtype).name, "call": name}
    key, separator, value = change.partition("=")
    if separator and ":" not in key:
        return found | {f"attribute {key}": value}
    return found | {"change": change}


def _proto(call: OnnxCall, constants: list[str]) -> Any:
    """Return the model. ONNX's own shape inference does not determine the types of its outputs: a node that it does not
    expect ends the process."""
    from onnx import helper

    given = [name for name in call.inputs if name not in constants]
    graph = helper.make_graph(
        [call.node],
        "g",
        [helper.make_tensor_value_info(name, _kind(call.inputs[name]), call.inputs[name].shape) for name in given],
        [
            helper.make_tensor_value_info(name, kind, None)
            for name, kind in zip(call.node.output, output_kinds(call), strict=True)
            if name
        ],
        [_tensor(name, call.inputs[name]) for name in constants],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", call.opset)], ir_version=10)


def output_kinds(call: OnnxCall) -> list[int]:
    """Return the element types of the outputs in onnx's numbers: that of an input with the same type variable, that of
    an attribute, or that of the unchanged call."""
    variables = {own: _kind(call.inputs[name]) for name, own in variables_of(call).items() if name in call.inputs}
    stated = next((a.i for a in call.node.attribute if a.name in ("to", "dtype", "output_dtype") and a.i), 0)
    formals, found = call.definition.schema.outputs, []
    for place, known in enumerate(call.outputs):
        own = variables.get(formals[min(place, len(formals) - 1)].type_str)
        found.append(own or (stated if not place else 0) or known or next(iter(variables.values()), 1))
    return found


def _kind(array: Array) -> int:
    from onnx import TensorProto, helper

    if array.dtype.kind == "T":
        return int(TensorProto.STRING)
    return int(helper.np_dtype_to_tensor_dtype(array.dtype))


def _tensor(name: str, array: Array) -> Any:
    from onnx import helper, numpy_helper

    if array.dtype.kind == "T":
        texts: list[Any] = [str(text).encode() for text in array.reshape(-1)]
        return helper.make_tensor(name, _kind(array), array.shape, texts)
    return numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)
