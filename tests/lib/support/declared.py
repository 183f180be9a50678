"""An operator with an attribute of every kind."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from irexec.core.types import F32, ElementType, PartialShape
from irexec.ops.spec.attributes import AsRead, AttributeFault, NonNegative, NonNegativeInts, PositiveInts
from irexec.ops.spec.operator import Operator
from irexec.ops.spec.tensors import AnyTensor

T: TypeAlias = AnyTensor


def _kernel(
    x: T,
    /,
    *,
    count: int,
    scale: float = 1.5,
    flag: bool = False,
    mode: Literal["linear", "cubic"] = "linear",
    name: str = "",
    kind: ElementType = F32,
    shape: PartialShape = PartialShape(()),  # noqa: B008 - immutable
    pads: tuple[int, ...] = (),
    weights: tuple[float, ...] = (),
    strides: PositiveInts = (1,),
    offsets: NonNegativeInts = (),
    groups: NonNegative = 0,
    ratio: Annotated[float, Field(gt=0)] = 1.0,
    odd_name: Annotated[int, AsRead("odd-name")] = 3,
    differs: Annotated[int, AsRead(default=7)] = 5,
    maybe: int | None = None,
) -> T:
    return x


OP = Operator("Sample", "opset1", _kernel)


def read(**given: Any) -> tuple[dict[str, Any], list[AttributeFault]]:
    """Return the attributes that the operator reads, with `count` set to 1 if it is not given."""
    return OP.parse_attributes({"count": "1"} | {k.replace("odd_name", "odd-name"): v for k, v in given.items()})
