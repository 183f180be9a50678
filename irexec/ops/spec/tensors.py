"""The annotations of ports that several operators share: a set of element types, and the type variable of the page.

Ports with the same variable have the same element type. The name `Each...` stands for ports without a variable, each of
which may have a type of its own; the types of a `Loose...` variable should be equal, but need not be.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from irexec.core.types import ANY, BOOLEAN, DYNAMIC, FLOATS, FOREIGN, I64, INDICES, INTEGERS, NUMERIC, STRING, Array
from irexec.core.types.containers import CONTAINERS
from irexec.ops.spec.signature import Elements, TypeFrom

FloatTensor: TypeAlias = Annotated[Array, Elements("T", FLOATS)]
AnyTensor: TypeAlias = Annotated[Array, Elements("T", ANY)]
NumericTensor: TypeAlias = Annotated[Array, Elements("T", NUMERIC)]
NumericOrBooleanTensor: TypeAlias = Annotated[Array, Elements("T", NUMERIC | {BOOLEAN})]
AnyValueTensor: TypeAlias = Annotated[Array, Elements("T", ANY | FOREIGN | CONTAINERS)]
StringTensor: TypeAlias = Annotated[Array, Elements("T", {STRING})]
BooleanTensor: TypeAlias = Annotated[Array, Elements("T_BOOL", {BOOLEAN})]
FloatTensor1: TypeAlias = Annotated[Array, Elements("T1", FLOATS)]
FloatTensor2: TypeAlias = Annotated[Array, Elements("T2", FLOATS)]
FloatTensorF: TypeAlias = Annotated[Array, Elements("T_F", FLOATS)]
FloatInput: TypeAlias = Annotated[Array, Elements("T_IN", FLOATS)]
NumericTensor1: TypeAlias = Annotated[Array, Elements("T1", NUMERIC)]
IntegerTensor: TypeAlias = Annotated[Array, Elements("T_INT", INTEGERS)]
IntegerTensor1: TypeAlias = Annotated[Array, Elements("T1", INTEGERS)]
IntegerTensor2: TypeAlias = Annotated[Array, Elements("T2", INTEGERS)]
IndexTensor2: TypeAlias = Annotated[Array, Elements("T2", INDICES)]
AnyTensor2: TypeAlias = Annotated[Array, Elements("T2", ANY)]
Indices: TypeAlias = Annotated[Array, Elements("T_IND", INDICES)]
SparseIndices: TypeAlias = Annotated[Array, Elements("T_IDX", INDICES)]
IntegerIndices: TypeAlias = Annotated[Array, Elements("T_IND", INTEGERS)]
LooseIndices: TypeAlias = Annotated[Array, Elements("T_IND", INTEGERS, binding=False)]
LooseIntegers: TypeAlias = Annotated[Array, Elements("T_INT", INTEGERS, binding=False)]
Axis: TypeAlias = Annotated[Array, Elements("T_AXIS", INDICES)]
IntegerAxis: TypeAlias = Annotated[Array, Elements("T_AXIS", INTEGERS)]
IntegerAxes: TypeAlias = Annotated[Array, Elements("T_AXES", INTEGERS)]
ShapeTensor: TypeAlias = Annotated[Array, Elements("T_SHAPE", INDICES)]
IntegerShape: TypeAlias = Annotated[Array, Elements("T_SHAPE", INTEGERS)]
MaxBoxes: TypeAlias = Annotated[Array, Elements("T_MAX_BOXES", INTEGERS)]
Thresholds: TypeAlias = Annotated[Array, Elements("T_THRESHOLDS", FLOATS)]
EachTensor: TypeAlias = Annotated[Array, Elements(None, ANY)]
EachOrDynamicTensor: TypeAlias = Annotated[Array, Elements(None, ANY | {DYNAMIC})]
EachFloatTensor: TypeAlias = Annotated[Array, Elements(None, FLOATS)]
EachIndexTensor: TypeAlias = Annotated[Array, Elements(None, INDICES)]
I64Tensor: TypeAlias = Annotated[Array, Elements(None, {I64})]
TensorOfIndexType: TypeAlias = Annotated[Array, TypeFrom("index_element_type")]
TensorOfOutputType: TypeAlias = Annotated[Array, TypeFrom("output_type")]
TensorOfTargetType: TypeAlias = Annotated[Array, TypeFrom("to")]
