"""Attributes that an operator does not have: what a converter left, and what was meant by the others.

Source of the leftovers: the attributes that the Model Optimizer wrote, compared with the operation pages: those of all
its operators in the releases 2021.3 to 2023.3, of detection and pooling in 2019 and 2020, and in files of these years.
"""

from __future__ import annotations

from functools import cache

from irexec.core.diagnostics.nearest import nearest
from irexec.ir.document import Layer
from irexec.ops.spec import contents
from irexec.ops.spec.attributes import AttributeFault
from irexec.ops.spec.operator import Operator

# Operators (a type, or a type and an opset; * for all), attributes, and the values with which nothing is lost; without
# values, all. The settings of Caffe's DetectionOutput for drawing and saving never change what it computes.
_TABLE = """
* : cacheable
BinaryConvolution Convolution DeformableConvolution GroupConvolution : output_padding = 0
DetectionOutput : eta prob = 0 1
DetectionOutput : height height_scale width width_scale = 0
DetectionOutput : interp_mode pad_mode pad_value resize_mode visualize visualize_threshold
DetectionOutput : label_map_file name_size_file num_test_image save_file
DetectionOutput : output_directory output_format output_name_prefix
GRUSequence LSTMSequence RNNSequence : batch_dim = 0
GRUSequence LSTMSequence RNNSequence : axis sequence_dim = 1
LSTMCell LSTMSequence RNNCell RNNSequence : linear_before_reset = 0 false
PriorBox PriorBoxClustered : img_h img_size img_w = 0
AvgPool MaxPool : dilations = 1
Pad : pad_value = 0
Proposal : for_deformable = 0
PriorBox : step_h step_w = 0
PriorBoxClustered : flip = 0 1 false true
"""


@cache
def _neutral() -> dict[tuple[str, str], frozenset[str]]:
    """Return the neutral values by operator and attribute; the empty set stands for all values."""
    found: dict[tuple[str, str], frozenset[str]] = {}
    for line in _TABLE.split("\n")[1:-1]:
        operators, _, rest = line.partition(" : ")
        names, _, values = rest.partition(" = ")
        for operator in operators.split():
            found |= dict.fromkeys(((operator, name) for name in names.split()), frozenset(values.split()))
    return found


def is_leftover(operator: Operator, name: str, text: str) -> bool:
    """Return True if an attribute that the operator does not have is a leftover, and its value changes nothing."""
    owners = ("*", operator.type, f"{operator.type}-{operator.opset}")
    neutral = next((values for owner in owners if (values := _neutral().get((owner, name))) is not None), None)
    if neutral is None:
        return _is_default_of_another_version(operator, name, text)
    return not neutral or all(_plain(item) in neutral for item in text.split(","))


def _is_default_of_another_version(operator: Operator, name: str, text: str) -> bool:
    """Return True for the default of another version's attribute: with it both versions compute the same. The
    quantization tool of OpenVINO wrote all attributes that it knew.
    """
    for other in _other_versions(operator):
        for attribute in other.attributes:
            if attribute.file_name == name and not attribute.required:
                given, faults = other.parse_attributes({name: text})
                if attribute.name in given and not any(fault.attribute == name for fault in faults):
                    return bool(given[attribute.name] == attribute.default)
    return False


def _plain(item: str) -> str:
    """Return an item of a list in the table's notation: `1` for 1.0."""
    text = item.strip().lower()
    whole, _, fraction = text.partition(".")
    return text if fraction.strip("0") else whole


def explained(fault: AttributeFault, layer: Layer, operator: Operator) -> AttributeFault:
    """Return the fault of an unknown attribute with what it may have been meant for: the same attribute of another
    version, an input that is not connected, or an attribute that is absent.
    """
    name = fault.attribute
    if (others := _versions_with(name, operator)) is not None:
        return fault._replace(message=f"{operator} has no attribute {name!r}", hint=others, candidates=())
    port = _port_of(name, operator)
    if port is not None and port[0] >= len(layer.inputs):
        number, input_name = port
        message = f"{operator.type} has no attribute {name!r}; {input_name!r} is an input of it"
        if input_name == name:
            message = f"{name!r} is an input of {operator.type}, not an attribute"
        hint = f"connect a Const with the value to input {number}, {input_name!r}"
        return fault._replace(message=message, hint=hint, candidates=())
    absent = tuple(other for other in fault.candidates if other not in layer.data)
    if absent == fault.candidates:
        return fault
    guess = f"did you mean {' or '.join(map(repr, absent))}?" if absent else None
    return fault._replace(hint=guess, candidates=absent)


def _versions_with(name: str, operator: Operator) -> str | None:
    """Return a hint that names the opsets whose version of the operator has the attribute; None if none has it."""
    others = {contents.OPSETS[other.opset]: other for other in _other_versions(operator)}
    having = [n for n, other in others.items() if any(a.file_name == name for a in other.attributes)]
    if not having:
        return None
    own = contents.OPSETS[operator.opset]
    if later := [n for n in having if n > own]:
        return f'version="opset{min(later)}" has it'
    return f"opset{min(n for n in (*others, own) if n > max(having))} removed it: remove the attribute"


def _other_versions(operator: Operator) -> list[Operator]:
    """Return the operators of other opsets with the same type."""
    if operator.opset not in contents.OPSETS or operator.type not in contents.CONTENTS:
        return []
    found = (contents.load(operator.type, n) for n in contents.CONTENTS[operator.type][1])
    return [other for other in found if other is not None and other is not operator]


def _port_of(name: str, operator: Operator) -> tuple[int, str] | None:
    """Return the number and name of the input port that corresponds to another framework's attribute."""
    names = {port.name: number for number, port in enumerate(operator.signature.inputs) if len(port.name) > 2}
    own = nearest(name, [a.file_name for a in operator.attributes], 1)
    close = nearest(name, names, 1, 0.75 if own else 0.6)
    if not close or (own and close[0] != name):
        return None
    return names[close[0]], close[0]
