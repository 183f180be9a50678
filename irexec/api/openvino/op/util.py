"""Variables, the descriptions of bodies and families of operators, under the name of OpenVINO's module."""

from irexec.api.openvino.kinds.descriptions import (
    BodyOutputDescription,
    ConcatOutputDescription,
    InputDescription,
    InvariantInputDescription,
    MergedInputDescription,
    OutputDescription,
    SliceInputDescription,
    Variable,
    VariableInfo,
)
from irexec.api.openvino.kinds.families import (
    ArithmeticReduction,
    BinaryElementwiseArithmetic,
    BinaryElementwiseComparison,
    BinaryElementwiseLogical,
    IndexReduction,
    UnaryElementwiseArithmetic,
)

__all__ = [
    "ArithmeticReduction", "BinaryElementwiseArithmetic", "BinaryElementwiseComparison", "BinaryElementwiseLogical",
    "BodyOutputDescription", "ConcatOutputDescription", "IndexReduction", "InputDescription",
    "InvariantInputDescription", "MergedInputDescription", "OutputDescription", "SliceInputDescription",
    "UnaryElementwiseArithmetic", "Variable", "VariableInfo",
]  # fmt: skip
