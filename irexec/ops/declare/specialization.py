"""The argument and the result of a function that specialises a kernel for one node: see `Operator.specialize`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from irexec.ops.declare.prepared import Prepared
from irexec.records import field, record
from irexec.types import Array, TensorType


@record(frozen=True, eq=False)
class NodeTypes:
    """The argument of `specialize`: the static types of one node, its constants and its attributes.

    `used` flags the outputs that are read; None if they are not known. `prepared`: forms of constants.
    """

    inputs: tuple[TensorType | None, ...]
    outputs: tuple[TensorType, ...]
    constants: tuple[Array | None, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    used: tuple[bool, ...] | None = None
    prepared: Prepared = field(default_factory=Prepared)


class PassThrough(NamedTuple):
    """A specialised kernel that returns its input or a view of it, although the operator's kernel takes `out`."""

    call: Callable[..., Any]
