"""Changes of a call of an ONNX node: an attribute away from its default, an input left out, another type, rank or size.

Each change has a text, which is a part of the name of a case: `layout=1`, `omit:B`, `type:T=f16`, `rank:X=+1`,
`size:W.0=-1`, `computed`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from irexec.core.types import Array, ElementType
from irexec.tools.conformance.names import UnreadableName
from irexec.tools.conformance.onnx_calls import OnnxCall

UNCHANGED, COMPUTED = "unchanged", "computed"
_TEXTS = {
    "auto_pad": ("SAME_UPPER", "SAME_LOWER", "VALID"),
    "direction": ("reverse", "bidirectional", "LEFT", "RIGHT"),
    "mode": ("nearest", "linear", "cubic", "bilinear", "bicubic", "constant", "reflect", "edge", "wrap", "max", "avg",
             "DCR", "CRD", "circular", "TF", "IDF", "TFIDF"),
    "padding_mode": ("zeros", "border", "reflection"),
    "coordinate_transformation_mode": ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                                       "asymmetric", "tf_crop_and_resize", "output_half_pixel"),
    "nearest_mode": ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"),
    "keep_aspect_ratio_policy": ("stretch", "not_larger", "not_smaller"),
    "reduction": ("none", "add", "mul", "max", "min", "mean", "sum"),
    "approximate": ("none", "tanh"),
    "round_mode": ("up", "down", "nearest"),
    "case_change_action": ("LOWER", "UPPER", "NONE"),
}  # fmt: skip
_LISTS = {
    "activations": ("Relu", "Sigmoid", "Affine", "HardSigmoid", "LeakyRelu", "Softsign", "Elu"),
    "activation_alpha": (0.3,),
    "activation_beta": (0.2,),
}
"""The values of which lists consist; a list has one of them for each activation."""
_SPATIAL = {"strides": (2,), "dilations": (2,), "pads": (1, 2), "output_padding": (1,), "kernel_shape": (2,)}
_NUMBERS = {"to": (10, 6, 7, 1), "dtype": (10, 6, 7, 1), "output_dtype": (1, 2, 3, 10), "stash_type": (1, 10, 16)}
_TYPES = ("f16", "f64", "bf16", "f32", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "boolean")


def changes(call: OnnxCall) -> Iterator[list[str]]:
    """Yield groups of changes: unchanged, the attributes and optional inputs, and then one group for each other
    property."""
    yield [UNCHANGED, COMPUTED]
    for name in call.definition.attributes:
        yield [f"{name}={_text(value)}" for value in _values(call, name)]
        if any(attribute.name == name for attribute in call.node.attribute):
            yield [f"omit:{name}"]
    names = [name for name in call.node.input if name]
    for place, name in enumerate(names):
        yield [f"omit:{name}"] if place else []
    variables = dict.fromkeys(variables_of(call).values())
    for variable in variables:
        yield [f"type:{variable}={kind}" for kind in _TYPES]
    for name in names:
        array = call.inputs.get(name)
        if array is not None:
            yield [f"rank:{name}=+1", *([f"rank:{name}=-1"] if array.ndim else [])]
            yield [f"size:{name}.{axis}={step}" for axis in range(array.ndim) for step in ("+1", "-1")]


def changed(call: OnnxCall, text: str) -> OnnxCall:
    """Return the call with one change. Raises UnreadableName if the change does not apply to it."""
    if text in (UNCHANGED, COMPUTED):
        return call
    kind, _, rest = text.partition(":") if text.partition("=")[0].count(":") else ("", "", text)
    name, _, value = rest.partition("=")
    try:
        if kind == "omit":
            return _without(call, name)
        if kind == "type":
            return _typed(call, name, ElementType.by_name[value])
        if kind == "rank":
            return _reshaped(call, name, _ranked(call.inputs[name], value))
        if kind == "size":
            name, _, axis = name.rpartition(".")
            return _reshaped(call, name, _resized(call.inputs[name], int(axis), int(value)))
        return _with_attribute(call, name, value)
    except (KeyError, ValueError, IndexError):
        raise UnreadableName(f"{text!r} is not a change of this call of {call.definition.type}") from None


def _values(call: OnnxCall, name: str) -> list[Any]:
    """Return values of an attribute that differ from the given one, or from its default."""
    from onnx import helper

    entry = call.definition.schema.attributes[name]
    given = next((a for a in call.node.attribute if a.name == name), None)
    default = given if given is not None else entry.default_value
    now = helper.get_attribute_value(default) if default is not None and default.type else None
    kind = entry.type.name
    if kind == "STRING":
        found: list[Any] = [*_TEXTS.get(name, ()), "unknown"]
        now = now.decode() if isinstance(now, bytes) else now
    elif kind == "INT":
        found = list(_NUMBERS.get(name, dict.fromkeys([0, 1, 2, -1, *([] if now is None else [now + 1, now - 1])])))
    elif kind == "FLOAT":
        found = [0.5, -1.0, 2.5, 0.0]
    elif name in _LISTS:
        count = _activations(call)
        found = [[value] * count for value in _LISTS[name]]
    elif kind == "INTS":
        found = _integers(call, name, now)
    else:
        return []
    return [value for value in found if value != now]


def _activations(call: OnnxCall) -> int:
    each = {"LSTM": 3, "GRU": 2}.get(call.definition.type, 1)
    both = any(a.name == "direction" and a.s == b"bidirectional" for a in call.node.attribute)
    return each * (2 if both else 1)


def _integers(call: OnnxCall, name: str, now: list[int] | None) -> list[list[int]]:
    """Return lists of integers: the given one with other elements and lengths, or one for each spatial axis."""
    first = next(iter(call.inputs.values()), np.zeros(0))
    if now:
        once = [[*now[:i], n + step, *now[i + 1 :]] for i, n in enumerate(now) for step in (1, -1)]
        return [*once, [*now, now[-1]], list(now[:-1]), list(reversed(now))]
    if name in _SPATIAL:
        count = max(0, first.ndim - 2) * (2 if name == "pads" else 1)
        return [[number] * count for number in _SPATIAL[name]] + [[1] * (count + 1)]
    return [[0], [first.ndim - 1], [-1], [0, first.ndim - 1], [first.ndim], []]


def _text(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _with_attribute(call: OnnxCall, name: str, text: str) -> OnnxCall:
    from onnx import helper

    kind = call.definition.schema.attributes[name].type.name
    parts = text.split(",") if text else []
    values: dict[str, Any] = {
        "INT": lambda: int(text),
        "FLOAT": lambda: float(text),
        "STRING": lambda: text,
        "INTS": lambda: list(map(int, parts)),
        "FLOATS": lambda: list(map(float, parts)),
        "STRINGS": lambda: parts,
    }
    node = _node(call, name)
    node.attribute.append(
        helper.make_attribute(name, values[kind](), attr_type=call.definition.schema.attributes[name].type.value)
    )
    return call._replace(node=node)


def _node(call: OnnxCall, without: str = "") -> Any:
    """Return a copy of the node, without an attribute."""
    node = type(call.node)()
    node.CopyFrom(call.node)
    kept = [attribute for attribute in call.node.attribute if attribute.name != without]
    del node.attribute[:]
    node.attribute.extend(kept)
    return node


def _without(call: OnnxCall, name: str) -> OnnxCall:
    node = _node(call, name)
    if name in call.node.input:
        names = ["" if given == name else given for given in call.node.input]
        while names and not names[-1]:
            names.pop()
        del node.input[:]
        node.input.extend(names)
        return call._replace(node=node, inputs={key: a for key, a in call.inputs.items() if key != name})
    if len(node.attribute) == len(call.node.attribute):
        raise KeyError(name)
    return call._replace(node=node)


def variables_of(call: OnnxCall) -> dict[str, str]:
    """Return the type variable of each input."""
    formals = call.definition.schema.inputs
    places = zip(call.node.input, range(len(call.node.input)), strict=True)
    return {name: formals[min(i, len(formals) - 1)].type_str for name, i in places if name}


def _typed(call: OnnxCall, variable: str, kind: ElementType) -> OnnxCall:
    names = [name for name, own in variables_of(call).items() if own == variable]
    if not any(call.inputs[name].dtype != kind.dtype for name in names) or kind.dtype is None:
        raise KeyError(variable)
    if any(call.inputs[name].dtype.kind == "T" for name in names):
        raise KeyError(variable)
    with np.errstate(all="ignore"):
        new = {name: call.inputs[name].astype(kind.dtype) for name in names}
    return call._replace(inputs={**call.inputs, **new})


def _reshaped(call: OnnxCall, name: str, array: Array) -> OnnxCall:
    return call._replace(inputs={**call.inputs, name: array})


def _ranked(array: Array, step: str) -> Array:
    return array[None] if step == "+1" else array[:1].reshape(array.shape[1:])


def _resized(array: Array, axis: int, step: int) -> Array:
    return array.take(range(array.shape[axis] + step), axis, mode="wrap")
