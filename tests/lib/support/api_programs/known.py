"""Intended differences, each with its reason; `device.py` lists those of the device's values."""

from __future__ import annotations

from support.api_programs.comparing import Difference
from support.api_programs.device import DEVICE
from support.api_programs.patterns import RUN, Known

_NUMBERS = "a number or a list takes the element type of the node beside it; OpenVINO makes it i64 or f64"
_MEMBERS = "nodes and ports have members that OpenVINO gives to a few classes only"
_MISSING = "calling a CompiledModel needs all inputs; OpenVINO computes with whatever memory it has"
_MEMORY = "nothing was inferred, or it failed: OpenVINO returns whatever its memory holds"
_LOSSY = "an array is converted where its values survive; OpenVINO converts it to any type"
_NAMES = "a Result gets a name when the model is compiled or is named after its producer, so that no file has a counter"
_CONTAINERS = "any collection of names, numbers or nodes is accepted"
_AT_ONCE = "a layer that cannot run is refused when it is made; OpenVINO refuses it when the model runs"
_TYPES = "the types that an operator accepts are those of its page"
_POSITION = "a name given by position is the node's; OpenVINO ignores it"
_DIMENSIONS = "an empty interval is not a dimension; OpenVINO makes it a dynamic dimension"
_KEPT = "an input that was refused is not kept"
_RANK = "a scalar for an input of several elements is an IRError"
_OWN_TENSOR = "an output that takes an input has a tensor of its own; in OpenVINO both are one tensor"
_TENSOR_NAME = "a Parameter's name is its tensor's name at once, in OpenVINO when a model is made"
_MODEL_NAME = "a model's `name` is the one in its file, and `get_name()` is OpenVINO's `name`"
_CHANGES = "a change is seen at once; OpenVINO sees it when the model is validated"
_ARRAYS = "a function of arrays alone is evaluated"
_ONE_CONSTANT = "all opsets have one function `constant`"
_LAST = "results are those of the last inference; OpenVINO shows the tensors that were set since"
_UNDECLARED = "a model without a Parameter that it needs is refused at once"
_HIDDEN = "an output is added that has a Result elsewhere; OpenVINO finds a removed one or a clone's, and adds none"
_QUOTIENT = "an extent that is divided into parts has at least one for each; OpenVINO divides its least value"
_BUILD = "`build` adds layers; OpenVINO also folds constants"
_BEYOND = "an extent that becomes known while running must fit; OpenVINO computes with whatever memory follows"
_STEP_LAYOUT = "the layout of a step is that of the model"
_STEP_ORDER = (
    "an input has the extents from which all its steps lead to those of the model; in OpenVINO some are others"
)
_PARTLY = "a refused change of a model changes nothing; OpenVINO has inferred and folded earlier layers"
_FOLDABLE = "folding computes every operator; OpenVINO folds those that it can evaluate alone"
_FOLDED = "folding replaces the layers that others take; OpenVINO replaces those that only folded layers take, too"
_MERGED = "`reshape` keeps equal layers; OpenVINO merges them"
_BOTH = "a tensor that is an output keeps all its names in copies; OpenVINO's copies keep those of its Result"
_OWN = "an output that takes an input has its own names; OpenVINO's compiled model adds those of the input"
_NONE = "None stands for an argument that is left out"
_KEPT_INFO = "a file keeps all texts in the rt_info of layers; OpenVINO keeps those whose keys begin with user_data"

_ANOTHER_CLASS = r"AttributeError: 'openvino\.(Node|_pyopenvino\.\w+)' object has no attr"
_NAMED_BY_POSITION = r"ops\.parameter\([^\n]*, ['\"]\w+['\"]\)"

# Calls of a request whose earlier inference failed; calls with one array, for a model with two inputs.
_FAILED = r"r\d+\.(infer|start_async|set_)"
_ONE_ARRAY = r"[cr]\d+(\.infer|\.start_async)?\(\[?(ov\.Tensor\()?data\([^)]*\)\)?\]?(, share_\w+=True)?\)"
_CHANGED = r"p\d\.set_(element_type|partial_shape)"
_NAMED_LATER = r"(?s)ov\.Model\(.*n\d+\.output\(0\)(\.tensor)?\.(set|add)_names"
_TWO_INPUTS = r"(?s)ops\.parameter\(.*ops\.parameter\("
# Functions whose pages allow only floating-point types.
_OF_FLOATS = (
    r"ops\.(elu|fake_quantize|gelu|hsigmoid|hswish|log_softmax|mish|mvn|normalize_l2|selu|softmax|softplus|swish)\("
)
# Functions whose pages allow only numeric types.
_OF_NUMBERS = r"ops\.(avg_pool|cum_sum|elu|log_softmax|max_pool|mvn|prelu|round|softmax|topk)\("
_ADDED_AGAIN = r"(?s)(remove_result|\.clone\(\)).*add_outputs"
_RUN_MODEL = r"compile_model\(|[cr]\d+(\.infer)?\("
_REFUSED = r"validate_nodes|\.reshape\(|run_passes|serialize"
_RESHAPED = r"(?s)m\d*\.reshape\("
_OUTPUT_IS_INPUT = r"ops\.result\(p\d\)|ov\.Model\((results=)?\[?(\w+, )*p\d|\.replace\(p\d\.output\(0\)\)"
_TWO_LAYOUT_STEPS = r"(?s)preprocess\(\)\.convert_layout\(\[.*convert_layout"
# The tensor has the layout of the model, and a step changes it, so that another step restores it.
_RESTORED_LAYOUT = (
    r"(?s)tensor\(\)\.set_layout\(ov\.Layout\('NCHW'\)\).*\bi\.model\(\)\.set_layout\(ov\.Layout\('NCHW'\)\)"
    r".*preprocess\(\)\.convert_layout\(\["
)
# The tensor has the layout of its color format, and OpenVINO the extents of the model in another order.
_COLOR_LAYOUT = r"(?s)set_color_format\(.*ColorFormat\.(BGR|RGB)\).*convert_layout\(ov\.Layout\('NCHW'\)\)"
# A request of a model with two inputs was given one array.
_ONE_OF_TWO = rf"{_TWO_INPUTS}.*\br\d+\.(infer|start_async)\(\[?(ov\.Tensor\()?data\([^)]*\)\)?\]?[,)]"
# Operators that OpenVINO's constant folding does not evaluate.
_NOT_EVALUATED = "Elu|LogSoftmax|NormalizeL2|Selu|FakeQuantize|HardSigmoid|IsNaN|IsFinite|GatherElements|GatherND"
_NOT_EVALUATED_FUNCTIONS = (
    "elu|log_softmax|normalize_l2|selu|fake_quantize|hard_sigmoid|is_nan|is_finite|gather_elements|gather_nd"
)
_NO_RETURN = r"TypeError: Unable to convert function return value.*OVAny"

KNOWN = [
    Known("looser", "a clone of a model with a replaced Parameter is OpenVINO's error", theirs="unordered_map::at"),
    Known(
        "exception type",
        "a clone of a model with an undeclared Parameter names it; OpenVINO fails to find its copy",
        line=r"\.clone\(\)",
        theirs="IndexError: unordered_map::at",
        mine="undeclared parameters",
    ),
    Known("names|shapes", _HIDDEN, line=r"_ops\(\)|get_names|get_results|outputs", program=_ADDED_AGAIN, longer=True),
    Known("results", _HIDDEN, line=_RUN_MODEL, program=_ADDED_AGAIN, longer=True),
    Known("shapes", _HIDDEN, line=r"get_output_size\(\)", program=_ADDED_AGAIN),
    Known(
        "shapes",
        _QUOTIENT,
        line=r"output|shape",
        theirs=r"[,\[]\.\.\d",
        mine=r"[,\[]1(\.\.\d|[,\]])",
        program=r"ops\.split\(",
    ),
    Known("stricter", _TYPES, line=_OF_NUMBERS, mine=r"error\[O002\] \w+ is boolean"),
    Known("stricter", _TYPES, line=r"ops\.negative\(", mine=r"error\[O002\] x is u\d+"),
    Known("stricter", _MISSING, line=r"r\d+\.\w+\(", mine=r"input '\w+' has shape \[.*\b0\b.*\], which .*\.\."),
    Known("results", _MEMORY, line="get_tensor", program=r"(?s)ops\.parameter\(.*ops\.parameter\(.*AsyncInferQueue"),
    Known(
        "names",
        _BOTH,
        line=r"(inputs|outputs)|(in|out)put\(.*name",
        theirs=r"\[\]|(Parameter|Result)_#|\['(more|out)'\]",
        mine=r"'(p\d|x)'",
        program=_OUTPUT_IS_INPUT,
    ),
    Known(
        "names",
        _OWN,
        line=r"c\d+\.outputs",
        theirs=r"(Parameter_#', 'Result_#|Result_#', 'p\d)'",
        mine=r"\['Result_#'\]",
        program=_OUTPUT_IS_INPUT,
    ),
    Known("looser", _BOTH, line="outputs", theirs="a name for a Tensor without names", program=_OUTPUT_IS_INPUT),
    Known(
        "stricter",
        _OWN,
        line=r"c\d+\.output\(\"p\d\"\)",
        mine="is not found",
        program=r"\.replace\(p\d\.output\(0\)\)",
    ),
    Known(
        "names",
        _BOTH,
        line=r"output\(0\)\.get_names",
        theirs=r"^\['\w+#?'\]$",
        mine=",",
        program=r"(?s)output\(0\)\.(set|add)_names.*\.clone\(\)",
    ),
    Known("stricter", _HIDDEN, line="add_outputs", mine="was not found", program="replace_parameter"),
    Known("shapes", "a boolean is 0 or 1; OpenVINO keeps the byte", line=r"ov\.Type\.boolean\)"),
    Known("shapes", _STEP_ORDER, line="inputs", theirs=r"\?", program=_TWO_LAYOUT_STEPS),
    Known("shapes", _STEP_ORDER, line=r"n\.(in|out)puts", program=_RESTORED_LAYOUT),
    Known("looser", _STEP_ORDER, line=r"compile_model", theirs="Can't set the input tensor", program=_RESTORED_LAYOUT),
    Known("shapes", _STEP_ORDER, line=r"n\.(in|out)puts", theirs=r",3,", program=_COLOR_LAYOUT),
    Known("looser", _STEP_ORDER, line=r"compile_model", theirs="Can't set the input tensor", program=_COLOR_LAYOUT),
    Known("names", _FOLDABLE, line=r"_ops\(\)", theirs=_NOT_EVALUATED, program="ConstantFolding"),
    Known("shapes", _FOLDABLE, line=r"_ops\(\)", program=rf"(?s)ops\.({_NOT_EVALUATED_FUNCTIONS})\(.*ConstantFolding"),
    Known("shapes", _ARRAYS, line=r"^bool\(n\d+\)$", theirs="True", mine="False"),
    Known("shapes", _ARRAYS, line="get_target_inputs", mine=r"^\[\]$", program=r"ops\.range\(\d"),
    Known("looser", _ARRAYS, line=r"len\(n\d+\)", theirs=r"object of type 'openvino\._pyopenvino\.Node' has no len"),
    Known("stricter", _BEYOND, line=rf"{RUN}|reshape", mine=r"error\[O001\] b has \d+ rows, expected \d+"),
    Known("stricter", _BEYOND, line=RUN, mine=r"error\[O005\] data has \d+ elements along axis -?\d, expected 1"),
    Known("looser", _STEP_LAYOUT, line=r"build\(\)", theirs=r"doesn't have `(width|height)`|is not aligned"),
    Known("shapes", _PARTLY, line=r"partial_shape|add_outputs", raised=_REFUSED),
    Known("names", _PARTLY, line=r"_ops\(\)|input_value", raised="run_passes"),
    Known("shapes", _PARTLY, line=r"taken\(", theirs=r"^\[\]$", raised="run_passes"),
    Known("looser", _PARTLY, line="get_target_inputs", theirs="KeyError", raised="run_passes"),
    Known("looser", _PARTLY, line=r"compile_model|\.clone\(\)", theirs="While validating node", raised=_REFUSED),
    Known(
        "shapes", _KEPT_INFO, line=r"get_rt_info", theirs=r"^\{\}$", mine=r"^\{'key': 'value'\}$", program="read_model"
    ),
    Known("looser", "OpenVINO leaves marks in rt_info that Python cannot read", line="rt_info", theirs=_NO_RETURN),
    Known("shapes", _CHANGES, line="partial_shape|add_outputs", program="replace_parameter"),
    Known("shapes", "folding leaves no marks in rt_info", line="rt_info", theirs="can_be_folded"),
    Known("stricter", _UNDECLARED, line="compile|build", mine="undeclared param", program="remove_param|add_outputs"),
    Known("shapes", "a request that has not run has no latency", line=r"\.latency", theirs="False", raised=_FAILED),
    Known("stricter", _DIMENSIONS, mine="Cannot parse (min|max) bound"),
    Known("results", _LAST, line=r"\.results", program=r"\.set_output_tensors?\("),
    Known("shapes", "`query_model` lists all layers", line=r"query_model"),
    Known(
        "stricter", "layers of another model need its Parameters", mine="undeclared parameters", program=r"\.clone\(\)"
    ),
    Known("shapes", "irexec keeps caches in the model's type", line="'KV_CACHE_PRECISION'", mine="Type f32"),
    Known("shapes", "boolean has no sign", line=r"ov\.Type\.boolean\.is_signed"),
    Known("stricter", _CHANGES, line=r"\.clone\(\)", mine=r"error\[O00\d\]", program=_CHANGED),
    Known("stricter", _CHANGES, line=RUN, mine="ParameterMismatch", program=_CHANGED),
    Known("shapes", _KEPT, line=r"get_tensor\(r\d+\.model_inputs|input_tensor", raised=_FAILED),
    Known("looser", _NUMBERS, theirs=r"element::Type::merge", mine="done"),
    Known("looser|exception type", _MEMBERS, theirs=_ANOTHER_CLASS),
    Known("stricter|exception type", _MISSING, mine=r"expected \d arrays, one for each input"),
    Known("stricter|exception type", _MEMORY, line=r"\.results", mine="nothing was inferred yet"),
    Known("results|shapes", _MEMORY, line=r"r\d+\.(infer\(\)|results|get_(output_)?tensor|output_t)", raised=_FAILED),
    Known(
        "results",
        _LAST,
        line=r"\.results|get_(output_)?tensor|output_tensors",
        program=rf"(?s)({_OUTPUT_IS_INPUT}).*\.set_(input_)?tensors?\(",
    ),
    Known("results", _MISSING, line=_ONE_ARRAY, program=_TWO_INPUTS),
    Known("stricter", _LOSSY, mine=r"the array for input '\w+' is \w+, expected"),
    Known("names", _MODEL_NAME, line=r"get_name\(\) == \w+\.name", mine="False"),
    Known("names", _POSITION, mine=r"\b(p\d|more|other)\b", program=_NAMED_BY_POSITION),
    Known("names", _POSITION, line="inputs", theirs="Parameter_#", program=_NAMED_BY_POSITION),
    Known("names", _POSITION, line="friendly_name", mine="^f32$", program=r"ops\.range\([^\n]*, 'f32'\)"),
    Known("looser", _POSITION, theirs=r"was not found|is not found|without names", program=_NAMED_BY_POSITION),
    Known("looser", _BOTH, line=r"p\d", theirs=r"p\d'? (was|is) not found|KeyError: .*p\d", program=_OUTPUT_IS_INPUT),
    Known("looser", _CONTAINERS, line=r"(set|add)_names\(\[", theirs="TypeError"),
    Known("looser|exception type", _CONTAINERS, line=r"ov\.Model\(", theirs="TypeError: __init__"),
    Known("looser", _CONTAINERS, line=r"add_outputs\(", theirs="TypeError: Incorrect type of a value to add as output"),
    Known("looser", _CONTAINERS, line=r"PartialShape.* == \[", theirs="Cannot compare dynamic shape"),
    Known("looser", _CONTAINERS, line=r"OVAny\(\[\]\)", theirs="Unable to convert function return value"),
    Known("looser", _ONE_CONSTANT, line="shared_memory=True", theirs="TypeError: constant"),
    Known("stricter", _AT_ONCE, line=r"ops\.topk", mine=r"k is \d, expected"),
    Known("stricter", _AT_ONCE, line=r"ops\.matmul", mine=r"error\[O001\] b has \d+ rows, expected \d+\.\."),
    Known("stricter", _AT_ONCE, line=r"ops\.broadcast", mine=r"target_shape\[\d\] is -1"),
    Known("stricter", _TYPES, mine=r"error\[O002\] data is \w+, expected boolean", program=r"ops\.logical_not\("),
    Known("stricter", _TYPES, line=_OF_FLOATS, mine=r"error\[O002\] \w+ is \w+, expected one of bf16, f16, f32, f64"),
    Known("stricter|exception type", _DIMENSIONS, mine="contains no dimension"),
    Known("stricter", "a tensor is not larger than its array; OpenVINO reads beyond it", mine=r"but the memory has"),
    Known("stricter", "a position has its coordinates; OpenVINO reads beyond them", mine="IndexError: list index"),
    Known("stricter", "a dynamic Parameter has no static shape", line=r"p\d\.(get_)?shape", mine="is not static"),
    Known("looser", _KEPT, line=r"start_async|wait_for|r\d+\.infer\(\)", theirs="RuntimeError", raised=_FAILED),
    Known("looser|exception type", _NONE, line=r"\.(in|out)put\(None\)", theirs="TypeError"),
    Known("stricter", _BUILD, line=_RUN_MODEL, mine="undeclared param", program=r"(?s)\.build\(\).*\.replace\(p\d\."),
    Known("names|shapes", _BUILD, line=r"_ops\(\)", program=r"= (ppp\d+|steps)\.build"),
    Known("looser", "an input is found by its layer's name, too", theirs=r"Port for tensor name \w+ was not found"),
    Known("exception type", _RANK, theirs="cannot reshape", mine=r"has shape \[\], which"),
    Known(
        "results|shapes",
        _OWN_TENSOR,
        line=r"r\d+\.(infer\(\)|get_tensor)",
        program=r'(?s)add_outputs\(\("p\d".*\.set_output_tensors?\(',
    ),
    Known(
        "names",
        "OpenVINO's compiled model gives an output the names of the layer before a Convert without effect",
        line=r"^\[port\.get_names\(\) for port in c\d+\.outputs\]",
        theirs=r"'t\d+'",
        program=r"ops\.convert\(n\d+, 'f32'\)",
    ),
    Known("looser", _NUMBERS, line=r"\[\]", theirs="is_integral_number"),
    Known("exception type", "without a Parameter nothing is evaluated", line="evaluate", program="remove_parameter"),
    Known(
        "looser",
        "OpenVINO keeps a replaced Parameter among the nodes that it found before",
        line="validate_nodes|serialize",
        theirs="unregistered_parameters",
        program="replace_parameter",
    ),
    Known("looser", "a transformation of OpenVINO fails", theirs="PullReshapeThroughReduce"),
    Known(
        "looser",
        "OpenVINO keeps the names of nodes that it found once, and misses later ones",
        line=r"add_outputs\(\[?\(",
        theirs="m_cached_op_names",
        program=r"(?s)replace.*add_outputs.*add_outputs",
    ),
    Known(
        "looser",
        "OpenVINO validates nodes before their inputs",
        program="replace_parameter",
        line="compile|serialize|save_model",
        theirs="While validating node",
    ),
    Known("stricter|exception type", _AT_ONCE, mine=r"error\[O001\] (axis|axes\[\d\]|the axis) .*is outside \["),
    Known("stricter", _AT_ONCE, line=r"build\(\)", mine=r"error\[O"),
    Known("stricter", _TYPES, line=r"ops\.(prelu|fake_quantize)", mine=r"error\[O003\]"),
    Known("stricter", _MEMORY, line=r"r\d+\.(infer|start_async)\(\)", mine=r"error\[O001\]"),
    Known("stricter", _MISSING, mine="no array was given for"),
    Known(
        "stricter",
        _MISSING,
        line=r"r\d+\.(infer|start_async)\(\{0: ",
        mine=r"error\[O001\] b has \d+ rows, expected 0,",
        program=_TWO_INPUTS,
    ),
    Known("looser", "Swish without beta needs no constant of its type", line="swish", theirs="Swish"),
    Known("stricter", _CHANGES, line="reshape", program=r"p\d\.set_(element_type|partial_shape)"),
    Known(
        "shapes",
        _CHANGES,
        line=r"shape|element_type|dynamic|\.(in|out)put\(",
        program=r"p\d\.set_(element_type|partial_shape)",
    ),
    Known("names", "the order of a changed model is that of a new one", line="ordered_ops", program="add_outputs"),
    Known("looser", _POSITION, theirs=r"Model doesn't have (in|out)put with name", program=_NAMED_BY_POSITION),
    Known("looser|exception type", _CONTAINERS, theirs=r"unsupported operand type"),
    Known("stricter", "`evaluate` converts no types", line="evaluate", mine="cannot copy from"),
    Known("exception type", _ARRAYS, mine="an array has no attribute"),
    Known("stricter", _ARRAYS, mine="The truth value of an array"),
    Known("names", "a new name of an input's layer names an input without names", mine="begin"),
    Known(
        "exception type", "a wrong argument is a TypeError", theirs="Unable to cast Python instance", mine="TypeError"
    ),
    Known("exception type", "OpenVINO cannot decode its own message", theirs="UnicodeDecodeError"),
    Known(
        "shapes", "irexec quantizes no activations", line="'DYNAMIC_QUANTIZATION_GROUP_SIZE'", theirs="^32$", mine="^0$"
    ),
    Known("shapes", "the number of requests suits the machine", line="'OPTIMAL_NUMBER_OF_INFER_REQUESTS'"),
    Known("looser", _ONE_CONSTANT, line=r"ops\.constant\(ov\.Tensor\(", theirs="Unidentified data type"),
    Known("names", "OpenVINO names an output anew if it folds its layer", line=r"^c\d+", program=r"ops\.shape_of\("),
    Known(
        "looser", "a scalar has the axis 0, also where reductions keep it", theirs="Accessing out-of-range dimension"
    ),
    Known("stricter", _CHANGES, line="compile_model|run_passes", mine=r"error\[O00\d\]", program=_CHANGED),
    Known(
        "stricter",
        _CHANGES,
        line="run_passes",
        mine=r"error\[O00[23]\]",
        program=r"\.replace\(|replace_[np]",
    ),
    Known("looser", _CHANGES, line="reshape", program=_CHANGED),
    Known("looser", _CHANGES, line="compile_model", theirs="While validating node", program=_CHANGED),
    Known("shapes", _CHANGES, line="outputs|shape", program="replace_source_output"),
    Known("shapes", _CHANGES, line=r"m\d*\.outputs", program=r"replace_node\("),
    Known("shapes", _ARRAYS, line=r"n\d+ == n\d+", mine=r"^\[[][ True]+\]$"),
    Known("names", _NAMES, line="name", theirs="Result_#", mine="/result", program=r"read_model\("),
    Known("stricter", _AT_ONCE, line=r"ops\.cum_sum", mine="x is a scalar, expected rank 1 or more"),
    Known(
        "shapes",
        "an attribute is the number that was given; OpenVINO stores some in f32",
        line="get_attributes",
        theirs=r"\d\.\d{12}",
    ),
    Known("names", _FOLDED, line="get_target_inputs", theirs=r"^\[\]$", program="ConstantFolding"),
    Known("shapes", "a copy of Pad has the inputs of Pad", line=r"_ops\(\)", program=r"ops\.pad\("),
    Known("names", "Python's collector frees replaced nodes", line="get_target_inputs", program=r"node = \{.*\}"),
    Known("stricter", _TYPES, line="compile_model", mine=r"error\[O003\] slope"),
    Known(
        "stricter",
        _TYPES,
        line=_RUN_MODEL,
        mine=r"error\[O002\] \w+ is (i|u)\d+, expected one of bf16, f16, f32, f64",
        program=rf"(?s){_OF_FLOATS}.*replace_node\(",
    ),
    Known(
        "shapes",
        "a piece of VariadicSplit has at most the extent of the rest; OpenVINO knows no bound",
        line="outputs|shape",
        theirs=r"[\[,]\?",
        mine=r"[\[,](0|\.\.\d)",
        program=r"ops\.variadic_split\(",
    ),
    Known("results|shapes", _MISSING, line=r"r\d+\.(infer\(\)$|results|get_(output_)?tensor|o)", program=_ONE_OF_TWO),
    Known(
        "results",
        _ONE_CONSTANT,
        line=r"ops\.constant\(.*ov\.Type\.boolean\)",
        program=r"ops = ov\.opset([1-9]|1[0-2])\n",
    ),
    Known("names|shapes", _MERGED, line=r"_ops\(\)", program=_RESHAPED),
    Known(
        "looser",
        "OpenVINO gives a Parameter the shape of a Result that is reconnected with it",
        line="compile_model",
        theirs=r"While validating node.*Parameter",
        program=r"\.replace\(p\d\.output\(0\)\)",
    ),
    Known("stricter", _TYPES, line=_RUN_MODEL, mine=r"error\[O002\] \w+ is boolean", program=r"\.replace\("),
    Known(
        "stricter",
        _MISSING,
        line=_ONE_ARRAY,
        mine=r"error\[O001\] .*(the range from 0 to -1|the dimension) is empty",
        program=_TWO_INPUTS,
    ),
    Known(
        "looser",
        _CHANGES,
        line=r"m\.inputs\[0\]",
        theirs="Can't set the input tensor",
        program=r"(?s)replace_parameter.*\.clone\(\)",
    ),
    *DEVICE,
]


def reason(difference: Difference) -> str | None:
    """Return the reason for a difference, or None if it is not intended."""
    return next((known.why for known in KNOWN if known.holds(difference)), None)
