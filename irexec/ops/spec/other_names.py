"""Names of operators and attributes in other frameworks, ONNX and old IRs, and the corresponding names in an IR."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Meant(NamedTuple):
    """The meaning of a foreign name: types of an IR, and a `note` if more than the type has to change."""

    types: tuple[str, ...]
    note: str | None = None


# Foreign names of the same operation with the same inputs.
_SAME = {
    "AveragePool": "AvgPool", "AveragePooling": "AvgPool", "Cast": "Convert", "Ceil": "Ceiling",
    "Concatenate": "Concat", "Conv": "Convolution", "Conv1d": "Convolution", "Conv2d": "Convolution",
    "Conv3d": "Convolution", "ConvTranspose": "ConvolutionBackpropData", "Deconvolution": "ConvolutionBackpropData",
    "Div": "Divide", "Input": "Parameter", "Max": "Maximum", "MaxPooling": "MaxPool", "Min": "Minimum",
    "Mul": "Multiply", "Neg": "Negative", "Output": "Result", "Permute": "Transpose", "Placeholder": "Parameter",
    "Pow": "Power", "Sub": "Subtract", "Where": "Select",
}  # fmt: skip
_OTHER = {
    "ArgMax": Meant(("TopK",), "with k = 1 its second output is the index"),
    "ArgMin": Meant(("TopK",), 'with mode="min" and k = 1 its second output is the index'),
    "BatchNorm": Meant(("BatchNormInference",), "its inputs are data, gamma, beta, mean, variance"),
    "BatchNormalization": Meant(("BatchNormInference",), "its inputs are data, gamma, beta, mean, variance"),
    "Dense": Meant(("MatMul",), "write the bias as an Add after it"),
    "Dropout": Meant((), "it has no effect in inference; connect its input to its readers"),
    "Eltwise": Meant(("Add", "Multiply", "Maximum", "Subtract"), "each operation is a type of its own"),
    "Embedding": Meant(("Gather",), "its inputs are the table, the indices and the axis"),
    "Flatten": Meant(("Reshape",), "its second input is the shape, such as 0, -1"),
    "FullyConnected": Meant(("MatMul",), "write the bias as an Add after it"),
    "Gemm": Meant(("MatMul",), "write the bias as an Add after it, alpha and beta as Multiply"),
    "GlobalAveragePool": Meant(("ReduceMean",), "its second input contains the axes, such as 2, 3"),
    "GlobalMaxPool": Meant(("ReduceMax",), "its second input contains the axes, such as 2, 3"),
    "InnerProduct": Meant(("MatMul",), "write the bias as an Add after it"),
    "LayerNorm": Meant(("MVN",), "write scale and bias as a Multiply and an Add after it"),
    "LayerNormalization": Meant(("MVN",), "write scale and bias as a Multiply and an Add after it"),
    "LeakyRelu": Meant(("PReLU",), "its second input is the slope"),
    "Linear": Meant(("MatMul",), "write the bias as an Add after it"),
    "NullNode": Meant((), "it stands for an input that the original model omits: remove the layer and that input"),
    "Pooling": Meant(("MaxPool", "AvgPool"), "each method is a type of its own"),
    "ReLU6": Meant(("Clamp",), 'with min="0" max="6"'),
    "Resize": Meant(("Interpolate",), "its second input contains the sizes or scales"),
    "ScaleShift": Meant(("Multiply",), "write the shift as an Add after it"),
    "Upsample": Meant(("Interpolate",), "its second input contains the sizes or scales"),
}
_UNCONVERTED = "it stands for a layer that the converter did not know: convert the model again with a newer OpenVINO"
_OTHER |= dict.fromkeys(
    (f"{frontend}FrameworkNode" for frontend in ("", "JAX", "ONNX", "Pt", "TF", "TFL")), Meant((), _UNCONVERTED)
)
_MEANT = {name.lower(): Meant((type,)) for name, type in _SAME.items()}
_MEANT |= {name.lower(): meant for name, meant in _OTHER.items()}


def meant_by(text: str) -> Meant | None:
    """Return the meaning of another framework's operator name; letter case and underscores are ignored."""
    return _MEANT.get(text.lower().replace("_", ""))


# Foreign names of attributes with the same meaning; similar names need no entry.
_ATTRIBUTES = {
    "dim": ("axis",),
    "dtype": ("destination_type", "element_type", "output_type"),
    "kernel_shape": ("kernel",),
    "kernel_size": ("kernel",),
    "to": ("destination_type",),
}


def suggested_attributes(text: str, own: Sequence[str]) -> list[str]:
    """Return the operator's attribute with the meaning of another framework's attribute name, if it has one."""
    return [name for name in _ATTRIBUTES.get(text.lower(), ()) if name in own][:1]
