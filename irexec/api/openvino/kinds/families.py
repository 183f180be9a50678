"""The classes of op.util that stand for families of operators: `isinstance(node, ArithmeticReduction)`."""

from __future__ import annotations

from typing import Any, ClassVar

from irexec.api.openvino.exceptions import NotOffered
from irexec.model.graph import model as graph


class Family(type):
    """A class whose instances are the nodes of several types."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, graph.Node) and instance.type in cls.types  # type: ignore[attr-defined]

    def __call__(cls, *arguments: Any, **keywords: Any) -> Any:
        raise NotOffered(f"nodes of the class {cls.__name__}", "create one with a function of an opset")


class ArithmeticReduction(metaclass=Family):
    """Reductions of numbers along axes."""

    types: ClassVar = frozenset({"ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum"})


class BinaryElementwiseArithmetic(metaclass=Family):
    """Arithmetic of two tensors that are broadcast."""

    types: ClassVar = frozenset(
        {"Add", "Divide", "FloorMod", "Maximum", "Minimum", "Mod", "Multiply", "Power", "Subtract"}
    )


class BinaryElementwiseComparison(metaclass=Family):
    """Comparisons of two tensors that are broadcast."""

    types: ClassVar = frozenset({"Equal", "Greater", "GreaterEqual", "Less", "LessEqual", "NotEqual"})


class BinaryElementwiseLogical(metaclass=Family):
    """Logic of two tensors that are broadcast."""

    types: ClassVar = frozenset({"LogicalAnd", "LogicalOr", "LogicalXor", "Xor"})


class IndexReduction(metaclass=Family):
    """Reductions to the index of an element: no operator of the opsets belongs to this family."""

    types: ClassVar = frozenset[str]()


class UnaryElementwiseArithmetic(metaclass=Family):
    """Functions of each element of one tensor."""

    types: ClassVar = frozenset(
        {
            "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceiling", "Clamp", "Cos", "Cosh", "Erf", "Exp",
            "Floor", "Gelu", "HSigmoid", "HSwish", "Log", "Negative", "ReLU", "Round", "Sigmoid", "Sign", "Sin",
            "Sinh", "SoftPlus", "SoftSign", "Sqrt", "Tan", "Tanh",
        }
    )  # fmt: skip
