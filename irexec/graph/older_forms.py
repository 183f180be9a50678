"""Operators in the form that an older version of them has, where that computes exactly the same.

A rule for each operator version that has one before it: it says by a Refused what keeps a node from the older form, and
changes what is written in another way there. Sources: the operation pages of both versions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irexec.graph.consumers import consumers
from irexec.graph.model import Model, Node, Value
from irexec.ops.declare import contents
from irexec.ops.declare.operator import Operator
from irexec.types import F32, I64, Array, TensorType

Rule = Callable[[Node], "list[Node] | None"]
"""Makes a node fit for the version before its own. Returns the nodes that it needs beside it, if any."""

RULES: dict[tuple[str, int], Rule] = {}


class Refused(Exception):
    """What keeps a node from having an older form."""


def older_form(node: Node, version: int) -> list[Node]:
    """Give a node the newest version up to `version` of its operator; the nodes that it needs beside it, before it.

    Raises Refused, with the node as far as it came.
    """
    beside: list[Node] = []
    versions = contents.CONTENTS[node.type][1]
    while (own := contents.OPSETS[node.version]) > version:
        before = [number for number in versions if number < own]
        rule = RULES.get((node.type, own))
        if not before:
            raise Refused(f"the operator came with opset{own}")
        if rule is None:
            raise Refused(f"version {before[-1]} computes in another way than version {own}")
        beside += rule(node) or []
        _take_operator(node, before[-1])
    return beside


def _take_operator(node: Node, version: int) -> None:
    operator = contents.load(node.type, version)
    assert operator is not None
    node.operator, node.version = operator, operator.opset
    node.attributes = {
        attribute.name: node.attributes.get(attribute.name, attribute.default) for attribute in operator.attributes
    }
    _check_types(node, operator)


def _check_types(node: Node, operator: Operator) -> None:
    for index, value in enumerate(node.inputs):
        entry = operator.signature.input(index)
        kind = value.type.element_type if value is not None else None
        if kind is not None and not kind.is_dynamic and kind not in entry.elements.types:
            raise Refused(f"{operator.versioned_name} takes no {kind} as {entry.name}")


def insert(model: Model, beside: Sequence[Node], node: Node) -> None:
    """Put nodes before another one in the order of a model."""
    place = model.nodes.index(node)
    model.nodes[place:place] = beside


# What rules ask


def _older(type: str, *versions: int) -> Callable[[Rule], Rule]:
    """The rule for the given versions of an operator."""

    def note(rule: Rule) -> Rule:
        RULES.update({(type, version): rule for version in versions})
        return rule

    return note


def _need(holds: bool, otherwise: str) -> None:
    if not holds:
        raise Refused(otherwise)


def _attribute(node: Node, name: str) -> Any:
    assert node.operator is not None
    declared = next(attribute for attribute in node.operator.attributes if attribute.name == name)
    return node.attributes.get(name, declared.default)


def _need_attribute(node: Node, name: str, *allowed: Any) -> None:
    value = _attribute(node, name)
    _need(value in allowed, f"{name} is {value}")


def _input(node: Node, index: int) -> Value | None:
    return node.inputs[index] if index < len(node.inputs) else None


def _constant(node: Node, index: int, name: str) -> list[int]:
    """The values of an integer input. Raises Refused where they are not known."""
    value = _input(node, index)
    array = value.node.constant if value is not None and value.node.type == "Const" else None
    known = [int(item) for item in array.ravel()] if array is not None else value.type.ints if value else None
    _need(known is not None, f"the values of {name} are not constant")
    return known or []


def _need_unused(node: Node, output: int, name: str) -> None:
    """Drop an output that nothing takes."""
    if output < len(node.outputs):
        _need(not consumers(node.outputs[output]), f"{name} is used")
        _need(not node.outputs[output].names, f"{name} has a name")
        del node.outputs[output:]


def _made(node: Node, array: Array, kind: Any, role: str) -> Node:
    """A constant for an input of a node."""
    operator = contents.load("Const", 1)
    name = f"{node.given_name}/{role}" if node.given_name else ""
    made = Node(
        operator, (), {"element_type": kind, "shape": array.shape, "offset": 0, "size": array.nbytes}, name=name
    )
    made.constant = array
    made.set_outputs([TensorType.of(array, kind)])
    return made


def _same(node: Node) -> None:
    """The older version is the same operator under given attributes, which both have."""


# The rules, by the type and the newer version

_older("Assign", 6)(_same)


@_older("ReadValue", 6)
def _(node: Node) -> None:
    given = _input(node, 0)
    _need(given is not None, "there is no initial value")
    assert given is not None
    own = node.outputs[0].type
    same = own.element_type is given.type.element_type and own.shape == given.type.shape
    _need(same, f"the variable is {own.element_type} {own.shape}, its initial value is not")


@_older("AvgPool", 16)
def _(node: Node) -> None:
    _need(all(step == 1 for step in _attribute(node, "dilations")), "it has dilations")


@_older("AvgPool", 14)
@_older("MaxPool", 14)
def _(node: Node) -> None:
    _need_attribute(node, "rounding_type", "floor", "ceil")


@_older("MaxPool", 8)
def _(node: Node) -> None:
    _need(all(step == 1 for step in _attribute(node, "dilations")), "it has dilations")
    _need_unused(node, 1, "the output of indices")


@_older("BatchNormInference", 5)
def _(node: Node) -> None:
    data, gamma, beta, *others = node.inputs
    node.inputs[:] = [gamma, beta, data, *others]
    node.input_rt_info = {}


@_older("Broadcast", 3)
def _(node: Node) -> None:
    _need_attribute(node, "mode", "numpy", "explicit")


@_older("DeformableConvolution", 8)
def _(node: Node) -> None:
    _need(_input(node, 3) is None, "it has a mask")
    _need_attribute(node, "bilinear_interpolation_pad", False)
    del node.inputs[3:]


@_older("DetectionOutput", 8)
def _(node: Node) -> None:
    classes, proposals = (value.type.shape if value is not None else None for value in node.inputs[1:3])
    known = classes is not None and proposals is not None and classes.rank == 2 and proposals.rank == 3
    _need(known and classes[1].is_static and proposals[2].is_static, "the number of classes is not known")  # type: ignore[index]
    priors = proposals[2].value // (4 if _attribute(node, "normalized") else 5)  # type: ignore[index]
    node.attributes = {**node.attributes, "num_classes": classes[1].value // max(priors, 1)}  # type: ignore[index]


@_older("Gather", 8)
def _(node: Node) -> None:
    """An index that is negative or outside has a meaning in Gather-8 alone."""
    data, (axis, *_) = _input(node, 0), _constant(node, 2, "axis")
    indices = _constant(node, 1, "indices")
    shape = data.type.shape if data is not None else None
    extent = shape[axis] if shape is not None and shape.rank is not None else None
    inside = extent is not None and extent.is_static and all(0 <= index < extent.value for index in indices)
    _need(inside, "an index is negative or may be outside of data")


@_older("Gather", 7)
def _(node: Node) -> None:
    _need_attribute(node, "batch_dims", 0)


@_older("GatherND", 8)
def _(node: Node) -> None:
    batch_dims = _attribute(node, "batch_dims")
    _need(batch_dims <= 1, f"batch_dims is {batch_dims}: the result has other dims")


@_older("Gelu", 7)
def _(node: Node) -> None:
    _need_attribute(node, "approximation_mode", "erf", "ERF")


@_older("Interpolate", 11)
def _(node: Node) -> list[Node]:
    """Version 4 has sizes and scales as inputs of their own, of which it reads one."""
    _need(not str(_attribute(node, "mode")).endswith("pillow"), f"mode is {_attribute(node, 'mode')}")
    image, given, *axes = node.inputs
    shape = given.type.shape if given is not None else None
    _need(shape is not None and shape.rank == 1 and shape[0].is_static, "the number of sizes or scales is not known")
    count = shape[0].value  # type: ignore[index]
    by_sizes = _attribute(node, "shape_calculation_mode") == "sizes"
    other = _made(node, np.ones(count, np.float32 if by_sizes else np.int64), F32 if by_sizes else I64, "unread")
    made = other.outputs[0]
    node.inputs[:] = [image, given, made, *axes] if by_sizes else [image, made, given, *axes]
    node.input_rt_info = {}
    return [other]


_older("LSTMCell", 4)(_same)


@_older("MVN", 6)
def _(node: Node) -> None:
    axes = _constant(node, 1, "axes")
    inside = str(_attribute(node, "eps_mode")).lower() == "inside_sqrt"
    _need(inside or not _attribute(node, "normalize_variance"), f"eps_mode is {_attribute(node, 'eps_mode')}")
    _need(bool(axes), "there are no axes")
    node.attributes = {**node.attributes, "reduction_axes": tuple(axes), "across_channels": 1 in axes}
    del node.inputs[1:]
    node.input_rt_info = {}


@_older("MulticlassNms", 9)
def _(node: Node) -> None:
    _need(_input(node, 2) is None, "it has roisnum")


@_older("NonMaxSuppression", 9)
def _(node: Node) -> None:
    sigma = _input(node, 5)
    value = sigma.type.scalar if sigma is not None else 0
    _need(value == 0, "soft_nms_sigma is not known to be 0")


@_older("NonMaxSuppression", 3)
def _(node: Node) -> None:
    _need_attribute(node, "output_type", "i64")


@_older("OneHot", 16)
def _(node: Node) -> None:
    _need(str(_attribute(node, "negative_indices_mode")).startswith("ignore"), "negative indices are normalised")


@_older("Pad", 12)
def _(node: Node) -> None:
    pads = [*_constant(node, 1, "pads_begin"), *_constant(node, 2, "pads_end")]
    _need(all(pad >= 0 for pad in pads), "a pad is negative")


@_older("PriorBox", 8)
def _(node: Node) -> None:
    _need_attribute(node, "min_max_aspect_ratios_order", True)


@_older("Proposal", 4)
def _(node: Node) -> None:
    _need_unused(node, 1, "the output of probabilities")


@_older("ROIAlign", 9)
def _(node: Node) -> None:
    _need_attribute(node, "aligned_mode", "asymmetric")


@_older("Range", 4)
def _(node: Node) -> None:
    kinds = [value.type.element_type for value in node.inputs if value is not None]
    made = node.outputs[0].type.element_type
    _need(all(kind is made for kind in kinds), f"it makes {made} of {', '.join(map(str, kinds))}")


@_older("ScatterElementsUpdate", 12)
def _(node: Node) -> None:
    _need_attribute(node, "reduction", "none")
    (axis, *_), data = _constant(node, 3, "axis"), _input(node, 0)
    shape = data.type.shape if data is not None else None
    extent = shape[axis] if shape is not None and shape.rank is not None else None
    indices = _constant(node, 1, "indices")
    inside = extent is not None and extent.is_static and all(0 <= index < extent.value for index in indices)
    _need(inside, "an index is negative or may be outside of data")


@_older("ScatterNDUpdate", 15)
def _(node: Node) -> None:
    _need_attribute(node, "reduction", "none")
    indices, value = _constant(node, 1, "indices"), _input(node, 1)
    length = value.type.shape[-1].value if value is not None and value.type.shape.rank else 1
    rows = [tuple(indices[start : start + length]) for start in range(0, len(indices), length or 1)]
    _need(all(index >= 0 for index in indices), "an index is negative")
    _need(len(set(rows)) == len(rows), "two updates go to one place")


@_older("ShapeOf", 3)
def _(node: Node) -> None:
    _need(node.outputs[0].type.element_type is I64, f"output_type is {node.outputs[0].type.element_type}")


@_older("SoftMax", 8)
def _(node: Node) -> None:
    axis, data = _attribute(node, "axis"), _input(node, 0)
    rank = data.type.rank if data is not None else None
    _need(axis >= 0 or rank is not None, f"axis is {axis}, and the rank is not known")
    node.attributes = {**node.attributes, "axis": axis if axis >= 0 else axis + (rank or 0)}


@_older("Squeeze", 15)
def _(node: Node) -> None:
    _need_attribute(node, "allow_axis_skip", False)


@_older("TopK", 11)
def _(node: Node) -> None:
    _need_attribute(node, "stable", False)


_older("TopK", 3)(_same)
