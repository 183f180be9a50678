"""Values that OpenVINO's device computes differently. By layer: `tests/api/openvino/test_device_faults.py`."""

from __future__ import annotations

from support.api_programs.patterns import RUN, Known

_F16 = "layers of f16 round to f16; OpenVINO's device computes them in f32"
_PADDING = "a maximum over padding alone is -inf, as the page says"
_TIE = "a division is a division; OpenVINO's device multiplies by the reciprocal, and a tie falls to the other side"
_DECLARED_RANK = "a result has the rank that the model declares; OpenVINO's device makes a scalar of some"
_HALF = "0.5 of an integer Sigmoid is rounded up; OpenVINO's device rounds to even"
# An array of integers.
_INTEGERS = r"array\(\[+ ?-?\d+[,\]]"
_U8_ARITHMETIC = r"(?s)u(int)?8.*(ops\.(subtract|add|multiply|negative|squared_difference)\(| [-+*] )"
_F16_TO_INTEGER = r"(?s)f(loat)?16.*ops\.convert\(n\d+, '[iu]\d+'"
_INTEGER = r"(?s)(\w+) = ops\.\w+\([^\n]*(np\.(u?int|bool)|Type\.[iub]).*ops\.sigmoid\(\1\)"
# A finite number whose square overflows in f32.
_ABOVE_ROOT = r"\de\+(19|2\d|3\d)"
# A program without Parameters that ends with an Abs of another layer.
_CONSTANT_ABS = (
    r"\A(?!(?s:.*)ops\.parameter\()(?s:.*)(data\(\[\d+\], |ops\.(range|reduce_\w+)\()(?s:.*)\n\w+ = ops\.abs\(n\d+\)\Z"
)
# Functions that are NaN if their values are -inf, maxima over padding alone, or weight these with both signs.
_GATED_PADDING = r"(?s)ops\.max_pool\(.*ops\.(h?swish|mish|gelu|(log_)?softmax|normalize_l2|convolution|matmul)\("
# An i32 or i64 that was converted from NaN or an infinity.
_LEAST_INTEGER = r"-(2147483648|9223372036854775808)\b"
# Functions that are finite at -inf, which the device computes before the maximum.
_BOUNDED_PADDING = r"(?s)ops\.max_pool\(.*ops\.(clamp|elu|exp|hard_sigmoid|relu|selu|sigmoid|softplus|tanh)\("
# A reduction that drops axes, followed by a layer that reads the result and a vector.
_AFTER_REDUCTION = (
    r"(n\d+) = ops\.reduce_\w+\([np]\d+, .*, False\)(?s:.*)"
    r"(= ops\.\w+\(\1, |(n\d+) = ops\.convert\(\1, .*\)(?s:.*)= ops\.\w+\(\3, )data\(\[\d+\], "
)

DEVICE = [
    Known("results", _TIE, line=RUN, theirs="True|False", layers=r"(?s)fake_quantize.*ops\.(greater|less|equal|not_e)"),
    Known(
        "results",
        "ReduceL2 of large values is finite; OpenVINO's device squares them in f32",
        line=RUN,
        theirs=r"\binf\b",
        mine=_ABOVE_ROOT,
        program=r"ops\.reduce_l2\(",
    ),
    Known(
        "results",
        "an integer Exp is rounded; OpenVINO truncates it where it folds constants",
        line=RUN,
        theirs=_INTEGERS,
        layers=r"(?s)(ops\.(range|shape_of)\(|constant\([^\n]*int).*ops\.exp\(",
    ),
    Known(
        "results",
        _HALF,
        line=RUN,
        program=_INTEGER,
    ),
    Known("results", _HALF, line=RUN, theirs=_INTEGERS, layers=r"(?s)ops\.(range|shape_of)\(.*ops\.sigmoid\("),
    Known("results|shapes", _PADDING, line=RUN, theirs=r"\de\+3[78]", mine=r"\binf\b|nan", program=r"ops\.max_pool"),
    Known("results", _PADDING, line=RUN, theirs=r"-3\.4028235e\+38", layers=_BOUNDED_PADDING),
    Known("results", _PADDING, line=RUN, theirs="^(?!.*(nan|inf))", mine="nan|-inf", layers=_GATED_PADDING),
    Known("results", _PADDING, line=RUN, theirs=_INTEGERS, mine=_LEAST_INTEGER, layers=_GATED_PADDING),
    Known("results", _F16, line=RUN, theirs=r"dtype=int|\[[-\d, ]+\]", layers=_F16_TO_INTEGER),
    Known("results", _DECLARED_RANK, line=RUN, theirs=r"array\(-?\d", mine=r"array\(\[-?\d[\d.]*\]"),
    Known(
        "results",
        "HSigmoid of 3 is 1; OpenVINO's device computes the float below it",
        line=RUN,
        theirs="True|False",
        layers=r"(?s)ops\.hsigmoid.*ops\.(greater|less|equal|not_e)",
    ),
    Known(
        "results",
        "OpenVINO's device drops the Abs of a vector that other layers compute from constants",
        line=RUN,
        layers=_CONSTANT_ABS,
    ),
    Known(
        "results",
        "OpenVINO's device applies the operand of a layer after a reduction along the wrong axis",
        line=RUN,
        program=_AFTER_REDUCTION,
    ),
    Known("results|shapes", "integers wrap; OpenVINO's device saturates u8", line=RUN, layers=_U8_ARITHMETIC),
]
