"""The calls of an opset's functions: OpenVINO's order and names of parameters, from the operator's declaration.

As a rule a function takes the operator's inputs, then its attributes, under their own names. Where OpenVINO's Python
API has another order or another name, `_CALLS` lists it, once. The operator's own names also work everywhere.
"""

from __future__ import annotations

import inspect
from ast import literal_eval
from dataclasses import dataclass, field, replace
from functools import cache
from types import GenericAlias
from typing import Any, Literal, NamedTuple, get_args, get_origin

import numpy as np

from irexec.api.opsets.computed import value_of
from irexec.api.opsets.left_out import complete
from irexec.core.diagnostics import IRError
from irexec.core.diagnostics.findings import Findings
from irexec.core.types import ElementType, PartialShape, shape_like
from irexec.ops.spec import contents
from irexec.ops.spec.attributes import Attribute, base_type
from irexec.ops.spec.operator import Operator

# A word is a parameter: OpenVINO's name, then `=` and the operator's own name if it differs, then `~` and a default if
# the operator has none. `{attrs}` is a dict of attributes. Words that do not apply to a version of the operator are
# omitted; parameters that are not listed are keyword-only. A key may name one version: `Interpolate-1`.
_ARITHMETIC = "left_node=a right_node=b auto_broadcast"
_CELL = "activations activations_alpha activations_beta clip linear_before_reset"
_POOL = "strides dilations pads_begin pads_end kernel_shape=kernel exclude_pad rounding_type auto_pad"
_DECONVOLUTION = "data filters=kernel strides output_shape pads_begin pads_end dilations auto_pad output_padding"
_INTERPOLATE = "mode shape_calculation_mode pads_begin pads_end coordinate_transformation_mode nearest_mode antialias"
_CALLS = {
    "Abs Acos Acosh Asin Asinh Atan Atanh Ceiling Cos Cosh Erf ErfInv Exp Floor Gelu-2 Log Negative ReLU Sign Sin "
    "Sinh Sqrt Tan Tanh": "node=x",
    "BitwiseNot LogicalNot SoftSign": "node=data",
    "HSigmoid HSwish Mish Sigmoid SoftPlus": "data=x",
    "Add Divide Equal FloorMod Greater GreaterEqual Less LessEqual LogicalAnd LogicalOr LogicalXor Xor Maximum Minimum "
    "Mod Multiply NotEqual Power Subtract BitwiseAnd BitwiseOr BitwiseXor": _ARITHMETIC,
    "BitwiseLeftShift BitwiseRightShift": "arg0=a arg1=b auto_broadcast",
    "SquaredDifference": "x1=a x2=b auto_broadcast",
    "ReduceL1 ReduceL2 ReduceLogicalAnd ReduceLogicalOr ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum": (
        "node=data reduction_axes=axes keep_dims"
    ),
    "Assign": "new_value=value variable_id",
    "AvgPool": f"data_batch=data {_POOL.replace('dilations ', '')} dilations",
    "BatchNormInference": "data gamma beta mean variance epsilon",
    "BinaryConvolution": "data filters=kernel strides pads_begin pads_end dilations mode pad_value auto_pad",
    "Broadcast-1": "data target_shape axes_mapping mode",
    "Broadcast": "data target_shape axes_mapping broadcast_spec=mode",
    "CTCGreedyDecoder": "data sequence_mask merge_repeated=ctc_merge_repeated",
    "Clamp": "data=x min_value=min max_value=max",
    "Col2Im": "data output_size kernel_size strides dilations pads_begin pads_end",
    "Concat": "nodes=tensors axis",
    "Convert": "data=input destination_type",
    "ConvertPromoteTypes": "left_node=input_0 right_node=input_1 promote_unsafe pytorch_scalar_promotion "
    "u64_integer_promotion_target",
    "Convolution GroupConvolution": "data filters=kernel strides pads_begin pads_end dilations auto_pad",
    "ConvolutionBackpropData GroupConvolutionBackpropData": _DECONVOLUTION,
    "CumSum": "arg=x axis exclusive reverse",
    "DeformableConvolution-1": "data deformable_values=offsets filters=kernel strides pads_begin pads_end dilations "
    "auto_pad group deformable_group",
    "DeformableConvolution": "data offsets filters=kernel strides pads_begin pads_end dilations mask auto_pad group "
    "deformable_group bilinear_interpolation_pad",
    "DeformablePSROIPooling": "feature_maps coords=rois output_dim spatial_scale group_size mode spatial_bins_x "
    "spatial_bins_y trans_std part_size offsets",
    "DetectionOutput": "box_logits class_preds proposals {attrs} aux_class_preds aux_box_preds",
    "DepthToSpace": "node=data mode block_size",
    "Elu": "data=x alpha",
    "ExtractImagePatches": "image=data sizes strides rates auto_pad",
    "Eye": "num_rows num_columns diagonal_index output_type batch_shape",
    "FakeConvert": "data scale shift destination_type~f8e4m3",
    "FakeQuantize": "data=x input_low input_high output_low output_high levels auto_broadcast",
    "GRUCell": f"X=x initial_hidden_state W=w R=r B=b hidden_size {_CELL}",
    "GRUSequence": f"X=x initial_hidden_state sequence_lengths W=w R=r B=b hidden_size direction {_CELL}",
    "GatherElements": "data indices axis~0",
    "GatherTree": "step_ids parent_idx=parent_ids max_seq_len end_token",
    "Gelu": "data=x approximation_mode",
    "GenerateProposals": "im_info anchors deltas=boxesdeltas scores min_size nms_threshold pre_nms_count "
    "post_nms_count normalized nms_eta roi_num_type",
    "GridSample": "data grid {attributes}",
    "HardSigmoid": "data=x alpha beta",
    "I420toBGR I420toRGB": "arg arg_u=u arg_v=v",
    "ISTFT": "data window frame_size frame_step center normalized signal_length",
    "Identity": "data=input",
    "Interpolate-1": "image=data output_shape=target_spatial_shape {attrs}",
    "Interpolate-4": f"image=data output_shape=sizes scales {_INTERPOLATE} cube_coeff axes",
    "Interpolate": f"image scales_or_sizes {_INTERPOLATE} cube_coeff axes",
    "Inverse": "data=input adjoint",
    "IsInf": "data {attributes}",
    "LRN": "data axes alpha~1.0 beta~0.5 bias~1.0 size~5",
    "LSTMCell": f"X=x initial_hidden_state initial_cell_state W=w R=r B=b hidden_size {_CELL}",
    "LSTMSequence": "X=x initial_hidden_state initial_cell_state sequence_lengths W=w R=r B=b hidden_size direction "
    + _CELL,
    "LogSoftmax SoftMax": "data=x axis",
    "MVN-2": "data across_channels normalize_variance~False eps~1e-9",
    "MatMul": "data_a=a data_b=b transpose_a transpose_b",
    "MatrixNms": "boxes scores sort_result_type sort_result_across_batch output_type score_threshold nms_top_k "
    "keep_top_k background_class decay_function gaussian_sigma post_threshold normalized",
    "MaxPool": f"data {_POOL} index_element_type axis",
    "MulticlassNms": "boxes scores roisnum sort_result_type sort_result_across_batch output_type iou_threshold "
    "score_threshold nms_top_k keep_top_k background_class nms_eta normalized",
    "NV12toBGR NV12toRGB": "arg arg_uv=uv",
    "PSROIPooling": "input=feature_maps coords=rois output_dim group_size spatial_scale spatial_bins_x spatial_bins_y "
    "mode",
    "Pad": "arg=data pads_begin pads_end pad_mode arg_pad_value=pad_value",
    "PriorBox": "layer_shape=output_size image_shape=image_size {attrs}",
    "PriorBoxClustered": "output_size image_size {attrs}",
    "Proposal": "class_probs bbox_deltas image_shape {attrs}",
    "RNNCell": f"X=x initial_hidden_state=h W=w R=r B=b hidden_size {_CELL}",
    "RNNSequence": f"X=x initial_hidden_state=h sequence_lengths W=w R=r B=b hidden_size direction {_CELL}",
    "ROIAlign ROIAlignRotated": "data=feature_maps rois batch_indices pooled_h pooled_w sampling_ratio spatial_scale "
    "mode aligned_mode clockwise_mode",
    "ROIPooling": "input=feature_maps coords=rois output_roi spatial_scale method",
    "RandomUniform": "output_shape=shape min_val=minval max_val=maxval output_type global_seed op_seed alignment",
    "RegionYolo": "input=data coords classes num do_softmax mask axis end_axis anchors",
    "ReorgYolo": "input=data stride",
    "Reshape": "node=data output_shape=shape special_zero",
    "Result": "data=input",
    "ReverseSequence": "input=data seq_lengths batch_axis seq_axis",
    "Round": "data=x mode",
    "STFT": "data=signal window frame_size frame_step transpose_frames",
    "ScaledDotProductAttention": "query key value attention_mask scale causal~False sink",
    "SearchSorted": "sorted_sequence=sorted values right_mode",
    "Select": "cond then_node=then else_node=else_ auto_broadcast",
    "Selu": "data alpha lambda_value=lambda_",
    "ShapeOf": "data=input output_type",
    "SpaceToDepth": "data mode block_size",
    "StridedSlice": "data begin end strides=stride begin_mask end_mask new_axis_mask shrink_axis_mask ellipsis_mask",
    "TopK": "data k axis mode sort index_element_type stable",
    "Transpose": "data=arg input_order",
}
_BY_TYPE = {type: words for types, words in _CALLS.items() for type in types.split()}

Kind = Literal["input", "inputs", "attribute", "attributes"]

_OPERAND = "Node | Output | ArrayLike"


@dataclass(frozen=True)
class Parameter:
    """One parameter of an opset function. `index`: the input's position; `default` None: the parameter is optional."""

    name: str
    own: str
    kind: Kind
    index: int = -1
    attribute: Attribute | None = None
    default: Any = inspect.Parameter.empty
    keyword_only: bool = False

    @property
    def required(self) -> bool:
        return self.default is inspect.Parameter.empty

    @property
    def annotation(self) -> Any:
        """The accepted values for `help`: nodes or arrays for an input, the declared type for an attribute."""
        if self.kind == "attribute" and self.attribute is not None:
            return _plain(self.attribute.annotation)
        return {"input": _OPERAND, "inputs": f"Sequence[{_OPERAND}]"}.get(self.kind, "dict[str, AttributeValue]")


def _plain(annotation: Any) -> Any:
    """Return a declared type without its limits."""
    base = base_type(annotation)
    return GenericAlias(tuple, (_plain(get_args(base)[0]), ...)) if get_origin(base) is tuple else base


@cache
def parameters(operator: Operator) -> tuple[Parameter, ...]:
    """Return the parameters of an operator's function; parameters that may be positional come first."""
    own = _own_parameters(operator)
    words = _BY_TYPE.get(operator.versioned_name) or _BY_TYPE.get(operator.type) or " ".join(own)
    found: list[Parameter] = []
    for word in words.split():
        name, _, default = word.partition("~")
        name, _, of = name.partition("=")
        if name.startswith("{"):
            found.append(Parameter(name[1:-1], name, "attributes", default=None))
        elif parameter := own.pop(of or name, None):
            given = {"default": _literal(default)} if default else {}
            found.append(replace(parameter, name=name, **given))
    return (*found, *(replace(p, keyword_only=True) for p in own.values()))


def _own_parameters(operator: Operator) -> dict[str, Parameter]:
    """Return the operator's inputs and attributes, by their own names."""
    own = {}
    for index, port in enumerate(operator.inputs):
        kind: Kind = "inputs" if port.variadic else "input"
        default = None if port.optional else inspect.Parameter.empty
        own[port.name] = Parameter(port.name, port.name, kind, index, default=default)
    for attribute in operator.attributes:
        name, default = attribute.name, inspect.Parameter.empty if attribute.required else attribute.default
        own[name] = Parameter(name, name, "attribute", attribute=attribute, default=default)
    return own


def _literal(text: str) -> Any:
    try:
        return literal_eval(text)
    except ValueError:
        return text


@cache
def signature(operator: Operator) -> inspect.Signature:
    """Return the signature of an operator's function, as `help` shows it."""
    shown, optional = [], False
    for parameter in parameters(operator):
        kind = inspect.Parameter.KEYWORD_ONLY if parameter.keyword_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
        optional |= not parameter.required
        # After a parameter with a default, Python requires defaults; the call reports missing required arguments.
        default = None if parameter.required and optional and not parameter.keyword_only else parameter.default
        shown.append(inspect.Parameter(parameter.name, kind, default=default, annotation=parameter.annotation))
    name = inspect.Parameter("name", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None, annotation="str | None")
    first_keyword = next((i for i, p in enumerate(shown) if p.kind is inspect.Parameter.KEYWORD_ONLY), len(shown))
    result = "Node | Array" if len(operator.outputs) == 1 else "Node | tuple[Array, ...]"
    return inspect.Signature([*shown[:first_keyword], name, *shown[first_keyword:]], return_annotation=result)


class Call(NamedTuple):
    """A call of an opset function, in the operator's form: inputs in order, attributes by their names in a file."""

    inputs: list[Any]
    attributes: dict[str, Any]
    name: str


def bind(operator: Operator, positional: tuple[Any, ...], keywords: dict[str, Any]) -> Call:
    """Return the arguments of a call as inputs and attributes. Raises IRError for too many or duplicate arguments."""
    given = _given(operator, positional, keywords)
    inputs: list[Any] = [None] * sum(not i.variadic for i in operator.inputs)
    # ONNX is case-sensitive.
    any_case = operator.opset not in contents.ONNX_OPSETS
    attributes: dict[str, Any] = {}
    for parameter in parameters(operator):
        value = given.values.get(parameter.own)
        if value is None and parameter.attribute and parameter.attribute.required and not parameter.required:
            value = parameter.default
        if value is None:
            continue
        if parameter.kind == "input":
            inputs[parameter.index] = value
        elif parameter.kind == "attribute" and parameter.attribute is not None:
            attributes[parameter.attribute.file_name] = attribute_value(parameter.attribute, value, any_case=any_case)
        else:
            given.others.update(value)
    declared = {a.file_name: a for a in operator.attributes} | {a.name: a for a in operator.attributes}
    for key, value in given.others.items():
        if (attribute := declared.get(key)) is None:
            attributes[key] = value
        elif value is not None:
            attributes[attribute.file_name] = attribute_value(attribute, value, any_case=any_case)
    inputs += given.items or []
    complete(operator, inputs, attributes)
    while len(inputs) and inputs[-1] is None and not given.items:
        inputs.pop()
    return Call(inputs, attributes, given.name if isinstance(given.name, str) else "")


@dataclass(slots=True)
class _Given:
    """The arguments of a call: the values of parameters by their own names, and any other arguments.

    `items`: the values of a variadic input.
    """

    values: dict[str, Any]
    items: list[Any] | None
    name: Any = None
    others: dict[str, Any] = field(default_factory=dict)


def _given(operator: Operator, positional: tuple[Any, ...], keywords: dict[str, Any]) -> _Given:
    """Return the value of each parameter. Raises IRError for too many or duplicate arguments."""
    takes = parameters(operator)
    items, positional = _variadic_items(operator, positional)
    in_order = [p for p in takes if not p.keyword_only and (items is None or p.kind != "inputs")]
    if len(positional) > len(in_order) + 1:
        names = ", ".join(p.name for p in in_order)
        raise IRError(Findings().add("P007", f"{operator} takes {names}; {len(positional)} arguments were given"))
    given = _Given({p.own: value for p, value in zip(in_order, positional, strict=False)}, items)
    given.name = positional[len(in_order)] if len(positional) > len(in_order) else None
    if isinstance(given.name, (np.ndarray, np.generic)) or value_of(given.name) is not None:
        names = ", ".join(p.name for p in in_order)
        raise IRError(Findings().add("P007", f"{operator} takes {names} and the node's name, which is a text"))
    by_name = {p.own: p for p in takes} | {p.attribute.file_name: p for p in takes if p.attribute}
    by_name |= {p.name: p for p in takes}
    by_name |= {name: by_name[port.name] for name, port in zip(_decorated(operator), operator.inputs, strict=True)}
    if len(positional) <= len(operator.inputs) and any(
        k in by_name and by_name[k].own in given.values for k in keywords
    ):
        # The alternative order: all inputs as on the operator's page, and attributes by name.
        given.values = {port.name: value for port, value in zip(operator.inputs, positional, strict=False)}
    for key, value in keywords.items():
        parameter = by_name.get(key)
        if key == "name" and parameter is None:
            if not isinstance(value, (str, type(None))):
                raise TypeError(f"the name of a node is a text, not {value!r}")
            if given.name is not None:
                raise IRError(Findings().add("P007", f"{operator}: 'name' is given twice"))
            given.name = value
        elif parameter is None:
            given.others[key] = value
        elif parameter.own in given.values:
            raise IRError(Findings().add("P007", f"{operator}: {key!r} is given twice"))
        elif parameter.kind == "inputs":
            given.items = list(value)
        else:
            given.values[parameter.own] = value
    return given


def _decorated(operator: Operator) -> tuple[str, ...]:
    """Return the names of the inputs; for one or two inputs, the names that OpenVINO's decorators of functions use."""
    count = len(operator.inputs)
    return {1: ("input_value",), 2: ("left", "right")}.get(count, tuple(port.name for port in operator.inputs))


def _variadic_items(operator: Operator, positional: tuple[Any, ...]) -> tuple[list[Any] | None, tuple[Any, ...]]:
    """Split arguments into the items of a variadic input (one list, or consecutive arguments) and all other
    arguments.
    """
    before = next((i for i, port in enumerate(operator.inputs) if port.variadic), None)
    if before is None or len(positional) <= before:
        return None, positional
    first = positional[before]
    if isinstance(first, (list, tuple)):
        return list(first), (*positional[:before], *positional[before + 1 :])
    return list(positional[before:]), positional[:before]


def attribute_value(attribute: Attribute, value: Any, *, any_case: bool = True) -> Any:
    """Return an argument as the attribute's Python type: names in any letter case, arrays as tuples."""
    base = base_type(attribute.annotation)
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if base is ElementType:
        return _element_type(value)
    if base is PartialShape:
        return shape_like(value)
    if attribute.members:
        if not isinstance(value, str) and (kind := _element_type(value)) is not value:
            value = kind
        return _member(attribute.members, value) if any_case else value
    if not isinstance(value, (str, bytes, dict)) and hasattr(value, "__iter__"):
        items = tuple(v.item() if isinstance(v, np.generic) else v for v in value)
        if base is int and len(items) == 1:
            return items[0]  # OpenVINO's ReorgYolo accepts a list of one stride.
        item = get_args(base)[0] if get_origin(base) is tuple else None
        if any_case and get_origin(item) is Literal:
            return tuple(_member(get_args(item), v) for v in items)
        return items
    return float(value) if base is float and isinstance(value, int) and not isinstance(value, bool) else value


def _member(members: tuple[str, ...], value: Any) -> Any:
    """Return the member with this name in any letter case; a value that names no member is returned unchanged."""
    return {m.lower(): m for m in members}.get(str(value).lower(), value)


def _element_type(value: Any) -> Any:
    """Return the element type that a type, a NumPy dtype or a name denotes; any other value is returned unchanged."""
    if isinstance(value, str):
        return ElementType.from_attribute(value) or value
    if isinstance(value, ElementType):
        return value
    try:
        return ElementType.of(value)
    except TypeError:
        return value
